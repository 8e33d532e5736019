"""Time and memory of every mechanism, compared with OpenDP's noisy top-k at the same epsilon.

    pip install opendp && python benchmarks/mechanisms.py

One selection at epsilon = 1 and sensitivity 1 from normal scores. Times are medians of 5, relative
to OpenDP's permute-and-flip top-k (`make_noisy_top_k`, MaxDivergence, scale 2 k / epsilon) on the
same scores in the same run. Memory is the peak of what Python and numpy allocate.
"""

import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np
import opendp.prelude as dp

from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.release import top_k

REPEATS = 5


def seconds(work: Callable[[], object]) -> float:
    """Return the median time of a few runs."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def megabytes(work: Callable[[], object]) -> float:
    """Return the peak memory that Python and numpy allocate."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def opendp_top_k(k: int) -> Callable[[list[float]], object]:
    """Return OpenDP's measurement for epsilon 1 and sensitivity 1."""
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    measurement = dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=k, scale=2.0 * k)
    assert abs(measurement.map(1.0) - 1.0) < 1e-9
    found: Callable[[list[float]], object] = measurement
    return found


def main() -> None:
    """Print the table."""
    print(f"{'d':>8} {'k':>4}  {'mechanism':<20} {'ms':>8} {'/ OpenDP':>9} {'MB':>7}")
    for d in (10_000, 100_000, 1_000_000):
        x = np.abs(np.random.default_rng(0).standard_normal(d)) * 1000
        for k in (10, 100):
            measurement = opendp_top_k(k)
            listed = x.tolist()
            theirs = seconds(partial(measurement, listed))
            print(f"{d:>8} {k:>4}  {'opendp noisy_top_k':<20} {1000 * theirs:8.1f} {1.0:9.3f}")
            for name in MECHANISMS:

                def work(name: str = name, k: int = k, x: np.ndarray = x) -> object:
                    return top_k(x, k, 1.0, mechanism=name)

                ours = seconds(work)
                print(
                    f"{d:>8} {k:>4}  {name:<20} {1000 * ours:8.1f} {ours / theirs:9.3f} "
                    f"{megabytes(work):7.1f}"
                )


if __name__ == "__main__":
    main()
