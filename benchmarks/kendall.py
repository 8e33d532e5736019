"""How long Kendall scores take, compared with limits in seconds and with a loop over scipy.

    python benchmarks/kendall.py

For each table it prints the median time and processor time over repetitions, the peak memory of
numpy beyond the table, and the time of `scipy.stats.kendalltau` for as many features relative to
ours (extrapolated from some of the features; both are timed in turn).
"""

import os
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.stats import kendalltau

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import KendallScore
from dpsel.system.threads import Threads

REPETITIONS = 5
# Rows, features, classes of the target (None: no ties), limit in seconds, features for scipy.
TABLES = [
    (100, 22_283, 2, 2.0, 300),
    (100, 22_283, None, 2.0, 300),
    (100_000, 100, 2, 10.0, 10),
    (100_000, 100, None, 10.0, 10),
]


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return how long the work takes: wall-clock time, and time of all processors."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used


def make_table(rows: int, features: int, classes: int | None) -> tuple[FloatArray, FloatArray]:
    """Return a table whose first feature is correlated with the target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, features))
    y = X[:, 0] + rng.standard_normal(rows)
    return X, y if classes is None else np.floor(classes * np.argsort(np.argsort(y)) / rows)


def kendall_scores(X: FloatArray, y: FloatArray) -> Scores:
    """Return the scores of a table, read as one batch."""
    bounds = Bounds.of([UNIT_INTERVAL] * X.shape[1], UNIT_INTERVAL)
    score = KendallScore(bounds, Neighbors.ADD_REMOVE, Unit())
    score.work_with(Threads(len(os.sched_getaffinity(0))))
    score.add(score.part(Batch(0, X, y)))
    return score.scores()


def megabytes(work: Callable[[], object]) -> float:
    """Return the peak memory of the work."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def main() -> None:
    """Print one line per table."""
    for rows, features, classes, most, some in TABLES:
        X, y = make_table(rows, features, classes)

        def ours(X: FloatArray = X, y: FloatArray = y) -> Scores:
            return kendall_scores(X, y)

        def theirs(X: FloatArray = X, y: FloatArray = y, some: int = some) -> list[float]:
            return [kendalltau(X[:, column], y).statistic for column in range(some)]

        pairs = [(seconds(ours), seconds(theirs)) for _ in range(REPETITIONS)]
        wall = statistics.median(own[0] for own, _ in pairs)
        used = statistics.median(own[1] for own, _ in pairs)
        ratio = statistics.median(other[0] * features / some / own[0] for own, other in pairs)
        target = "no ties" if classes is None else f"{classes} classes"
        print(
            f"{rows:>7} x {features:<6} {target:<9} {wall:5.2f} s (target: <= {most:g}), "
            f"{used:5.2f} s of processors, {megabytes(ours):4.0f} MB, scipy / ours {ratio:5.1f}"
        )


if __name__ == "__main__":
    main()
