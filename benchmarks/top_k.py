"""How long a private top-k takes, relative to a plain sort; and the lazy sampler to the direct one.

    python benchmarks/top_k.py [--quick]

It prints medians over repetitions of the ratio of two times, measured one after the other. The
direct sampler at k = 1000 visits 10^9 classes; --quick leaves it out.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.mechanisms.ranking import Ranking
from dpsel.core.mechanisms.samplers import lazy_classes
from dpsel.core.mechanisms.subset_classes import LipschitzLosses, uniform_members
from dpsel.core.randomness import make_randomness
from dpsel.core.release import top_k

PROFILES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, d: np.abs(rng.standard_normal(d)) * 100,
    "uniform": lambda rng, d: rng.uniform(0, 1000, d),
    "20 signals": lambda rng, d: np.concatenate(
        [np.full(20, 5000.0), np.abs(rng.standard_normal(d - 20)) * 30]
    ),
}


def seconds(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(work: Callable[[], object], base: Callable[[], object], times: int) -> float:
    """Return the median ratio of two times, each pair measured one after the other."""
    return statistics.median(seconds(work) / seconds(base) for _ in range(times))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    d = 1_000_000

    print(f"top_k at d = {d}, epsilon = 1: time relative to np.sort of d floats (target: <= 3)")
    for name, make in PROFILES.items():
        x = make(rng, d)
        for k in (10, 100, 1000):
            found = ratio(partial(top_k, x, k, 1.0), partial(np.sort, x), 15)
            print(f"  {name:<11} k = {k:<5} {found:5.2f}")

    print(f"direct relative to lazy at d = {d}, epsilon = 1 (target: >= 50)")
    x = PROFILES["normal"](rng, d)
    for k in (100,) if quick else (100, 1000):
        lazy = statistics.median(seconds(partial(top_k, x, k, 1.0)) for _ in range(9))
        direct = seconds(partial(top_k, x, k, 1.0, sampler="direct"))
        print(f"  normal      k = {k:<5} {direct / lazy:8.0f}")

    print("one draw after the sort, in milliseconds (median of 50)")
    system = make_randomness(None)
    for d, k in ((22_283, 10), (22_283, 100), (1_000_000, 100), (1_000_000, 1000)):
        losses = LipschitzLosses(Ranking(PROFILES["normal"](rng, d)), k, 0.5, 1.0)

        def draw(losses: LipschitzLosses = losses, k: int = k) -> None:
            uniform_members(*lazy_classes(losses, 1, system), k, system)

        times = [seconds(draw) for _ in range(50)]
        print(f"  d = {d:<8} k = {k:<5} {1000 * statistics.median(times):6.2f}")


if __name__ == "__main__":
    main()
