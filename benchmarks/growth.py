"""How the time grows with the number N of rows, d of features and k of picks.

    python benchmarks/growth.py [--runs 3] [--figure docs/reference/performance_growth.png]

Every time is the minimum over some runs of one call in this process, without start-up. `select` and
`baseline` read Parquet files of float32; a draw alone is `top_k` of 10^6 scores. An exponent is the
slope of the best line through the logarithms of the three largest sizes and their times.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from processes import CORES
from tables import write_parquet

from dpsel.cli.app import run
from dpsel.core.release import top_k
from dpsel.selection.api import select

Times = dict[int, float]
FITTED = 3
EPSILON = 1.0


def least_seconds(work: Callable[[], object], runs: int) -> float:
    """Return the minimum time of some runs, after a warm-up run."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def exponent(times: Times) -> float:
    """Return the slope of a line through the logarithms of the largest sizes and their times."""
    sizes = np.array(sorted(times)[-FITTED:], dtype=float)
    values = np.array([times[int(size)] for size in sizes])
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def selecting(folder: Path, score: str, sizes: list[tuple[int, int]], runs: int) -> list[float]:
    """Return the times of `select` on tables of these sizes."""
    found = []
    for rows, columns in sizes:
        path = folder / f"{rows}_{columns}.parquet"
        if not path.exists():
            write_parquet(path, rows, columns + 1, 1_000_000)

        def work(path: Path = path) -> Any:
            bound = None if score in ("kendall", "stump") else 1.0
            lower = None if bound is None else -bound
            return select(
                path, target="y", k=5, epsilon=EPSILON, score=score, lower=lower, upper=bound
            )

        found.append(least_seconds(work, runs))
    return found


def two_stage(folder: Path, sizes: list[tuple[int, int]], runs: int) -> list[float]:
    """Return the times of two-stage, whose number of blocks is the square root of the rows."""
    found = []
    for rows, columns in sizes:
        path = folder / f"{rows}_{columns}.parquet"
        if not path.exists():
            write_parquet(path, rows, columns + 1, 1_000_000)
        words = ["baseline", str(path), "--target", "y", "--k", "5", "--method", "two-stage"]
        words += ["--epsilon", "1", "--neighbors", "replace-one", "--quiet", "--force"]
        words += ["--lower", "-1", "--upper", "1"]
        words += ["--output", str(folder / "out.json")]

        def work(words: list[str] = words) -> None:
            assert run(words) == 0

        found.append(least_seconds(work, runs))
    return found


def drawing(mechanism: str, ks: list[int], runs: int) -> list[float]:
    """Return the times of one draw from 10^6 scores, sorting included."""
    scores = np.random.default_rng(0).standard_normal(1_000_000)
    return [
        least_seconds(partial(top_k, scores, k, EPSILON, mechanism=mechanism), runs) for k in ks
    ]


def measured(folder: Path, runs: int) -> dict[str, dict[str, Times]]:
    """Return all times, by what grows and by method."""
    rows = [62_500, 250_000, 1_000_000, 4_000_000]
    some_rows = [10_000, 40_000, 160_000, 640_000]
    few_rows = [1_000, 4_000, 16_000]
    columns = [1_000, 4_000, 16_000, 64_000]
    few_columns = [500, 2_000, 8_000]
    ks, few_ks = [1, 10, 100, 1_000, 10_000, 100_000], [1, 10, 100]
    found: dict[str, dict[str, Times]] = {"rows N": {}, "features d": {}, "picks k": {}}

    def note(group: str, name: str, sizes: list[int], times: list[float]) -> None:
        found[group][name] = dict(zip(sizes, times, strict=True))
        listed = ", ".join(f"{size:,}: {t:.3g}" for size, t in found[group][name].items())
        power = exponent(found[group][name])
        print(f"{group}, {name}: {listed} s; exponent {power:.2f}", flush=True)

    for score in ("stump", "dot", "covariance"):
        note("rows N", score, rows, selecting(folder, score, [(n, 50) for n in rows], runs))
    sizes = [(n, 10) for n in some_rows]
    note("rows N", "kendall", some_rows, selecting(folder, "kendall", sizes, runs))
    note("rows N", "two-stage", few_rows, two_stage(folder, [(n, 500) for n in few_rows], runs))
    for score in ("stump", "dot", "covariance", "kendall"):
        sizes = [(1_000, d) for d in columns]
        note("features d", score, columns, selecting(folder, score, sizes, runs))
    sizes = [(1_000, d) for d in few_columns]
    note("features d", "two-stage", few_columns, two_stage(folder, sizes, runs))
    for mechanism in ("canonical-lipschitz", "margin-lipschitz", "peeling", "oneshot-laplace"):
        note("picks k", mechanism, ks, drawing(mechanism, ks, runs))
    for mechanism in ("permute-and-flip", "joint"):
        note("picks k", mechanism, few_ks, drawing(mechanism, few_ks, runs))
    return found


def draw(found: dict[str, dict[str, Times]], path: str) -> None:
    """Draw one panel for each quantity that grows."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    titles = {
        "rows N": "rows N\n(50 features; kendall 10, two-stage 500)",
        "features d": "features d\n(1,000 rows)",
        "picks k": "picks k\n(one draw from $10^6$ scores)",
    }
    figure, axes = pyplot.subplots(1, 3, figsize=(10.5, 4.4), layout="constrained")
    for panel, (group, methods) in zip(axes, found.items(), strict=True):
        for (name, times), sign in zip(methods.items(), "os^Dvx+", strict=False):
            label = f"{name}: {exponent(times):.2f}"
            panel.loglog(list(times), list(times.values()), marker=sign, ms=4, lw=1.2, label=label)
        panel.set_xlabel(titles[group])
        panel.grid(alpha=0.3, lw=0.6)
        panel.yaxis.set_minor_formatter("")
        panel.legend(
            title="method: exponent",
            loc="upper center",
            bbox_to_anchor=(0.5, -0.24),
            ncols=2,
            fontsize=7.5,
            title_fontsize=7.5,
            frameon=False,
        )
    axes[0].set_ylabel("seconds")
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--figure")
    options = parser.parse_args()
    print(f"{CORES} cores")
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), options.runs)
    if options.figure:
        draw(found, options.figure)


if __name__ == "__main__":
    main()
