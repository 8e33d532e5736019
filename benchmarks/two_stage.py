"""How long the block votes of two-stage take, compared with a plain loop over the blocks.

    python benchmarks/two_stage.py FOLDER

It reads every Parquet table of the folder with a text column `y`, and a made-up tall table. Labels
are coded 0, 1, ...; all columns are centered and divided by their largest absolute value. There are
sqrt(rows) blocks, and k = 5. It prints median seconds and the time of the loop over ours.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.linear_model import Lasso

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.randomness import make_randomness
from dpsel.core.votes import Voting, block_votes, random_partition
from dpsel.selection.lasso import PENALTY, block_fit, lasso_coefficients
from dpsel.system.threads import Threads

K = 5


def seconds(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def scaled(values: FloatArray) -> FloatArray:
    """Return the columns, centered and then divided by their largest absolute value."""
    centred = values - values.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    return np.asarray(centred / np.where(largest > 0, largest, 1.0))


def tables(folder: Path) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield the name, features and target of every table."""
    for path in sorted(folder.glob("*.parquet")):
        table = pl.read_parquet(path)
        codes = {label: code for code, label in enumerate(table["y"].unique().sort())}
        y = np.array([codes[label] for label in table["y"]], dtype=np.float64)
        yield path.stem, scaled(table.drop("y").to_numpy().astype(np.float64)), scaled(y)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40_000, 500))
    y = X[:, :20].sum(axis=1) + rng.standard_normal(len(X))
    yield "made-up", X, scaled(y)


def plain_loop(X: FloatArray, y: FloatArray, block_of_row: IntArray, blocks: int) -> IntArray:
    """Return the votes, computed one block after the other."""
    votes = np.zeros(X.shape[1], dtype=np.int64)
    for block in range(blocks):
        rows = block_of_row == block
        weights = np.abs(Lasso(alpha=PENALTY).fit(X[rows], y[rows]).coef_)
        best = np.argsort(-weights, kind="stable")[:K]
        votes[best[weights[best] > 0]] += 1
    return votes


def main() -> None:
    """Print one line per table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repetitions", type=int, default=9)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    warnings.simplefilter("ignore")
    print(
        f"k = {K}, sqrt(rows) blocks, {cores} threads; seconds, and the plain loop's time over it"
    )
    print("  table          rows features    votes     loop  ratio  one LASSO")
    for name, X, y in tables(arguments.folder):
        blocks = int(len(y) ** 0.5)
        cut = random_partition(len(y), blocks, make_randomness(0))

        def ours(
            X: FloatArray = X, y: FloatArray = y, cut: IntArray = cut, blocks: int = blocks
        ) -> IntArray:
            with block_fit() as fit:
                return block_votes(X, y, cut, K, Voting(blocks, fit, Threads(cores)))

        def loop(
            X: FloatArray = X, y: FloatArray = y, cut: IntArray = cut, blocks: int = blocks
        ) -> IntArray:
            return plain_loop(X, y, cut, blocks)

        assert np.array_equal(ours(), loop()), name
        pairs = [(seconds(ours), seconds(loop)) for _ in range(arguments.repetitions)]
        votes, plain = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(plain / votes for votes, plain in pairs)
        whole = seconds(partial(lasso_coefficients, X, y))
        print(
            f"  {name:<12} {len(y):>6} {X.shape[1]:>8} {votes:>8.3f} {plain:>8.3f} {ratio:>6.2f}"
            f"  {whole:>9.3f}"
        )


if __name__ == "__main__":
    main()
