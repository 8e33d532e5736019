"""How much robust clipping improves k = 5 picks, compared with the paper's scaling.

    python benchmarks/clipping.py ../shared/data

For every table in the folder (text labels in column y), it measures the mean |correlation| of the
picks with the coded label, relative to that of the best possible picks. For the paper's synthetic
design, it measures the share of the picks that are planted. 100 draws each, mean over tables.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import ONE
from dpsel.core.release import top_k
from dpsel.preprocessing.options import Center, Scale
from dpsel.preprocessing.scaling import data_scaling
from dpsel.preprocessing.statistics import exact_statistics

K, DRAWS = 5, 100
EPSILONS = (1.0, 2.0, 5.0, 10.0, 20.0)
METHODS: dict[str, tuple[Center, Scale, float]] = {
    "max-abs": (Center.MEAN, Scale.MAX_ABS, 1.0),
    **{f"robust {c:g}": (Center.MEDIAN, Scale.ROBUST, c) for c in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)},
}


def scaled(X: FloatArray, center: Center, scale: Scale, clip: float) -> FloatArray:
    """Return the table that `dpsel preprocess` writes."""
    return data_scaling(exact_statistics(X), center, scale, clip).apply(X)


def scores_of(
    X: FloatArray, y: FloatArray, method: tuple[Center, Scale, float], *, labels: bool
) -> FloatArray:
    """Return the scores that `dpsel select` uses; labels always get the paper's scaling."""
    target = METHODS["max-abs"] if labels else method
    whole_X = np.rint(scaled(X, *method) * ONE)
    whole_y = np.rint(scaled(y[:, None], *target)[:, 0] * ONE)
    return np.asarray(np.abs(whole_y @ whole_X))


def quality(scores: FloatArray, worth: FloatArray, epsilon: float, seed: int) -> float:
    """Return the mean worth of the picks relative to the best possible."""
    picks = top_k(scores, K, epsilon, sensitivity=ONE * ONE, seed=seed, draws=DRAWS)
    return float(worth[picks].mean() / np.sort(worth)[-K:].mean())


def real_table(path: Path) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return features, coded labels, and the |correlation| of each feature."""
    frame = pl.read_parquet(path)
    labels = sorted(frame["y"].unique().to_list())
    y = np.array([float(labels.index(label)) for label in frame["y"]])
    X = frame.drop("y").to_numpy().astype(np.float64)
    with np.errstate(invalid="ignore"):
        centred = X - X.mean(axis=0)
        worth = np.abs((y - y.mean()) @ centred) / np.sqrt(
            (centred**2).sum(axis=0) * y.var() * len(y)
        )
    return X, y, np.nan_to_num(worth)


def synthetic_table(rows: int, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return features, target, and 1 for the eight planted features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 2000))
    weights = np.zeros(2000)
    signals = rng.choice(2000, 8, replace=False)
    signs = np.where(rng.random(8) < 0.4, -1.0, 1.0)
    weights[signals] = signs * (4 * np.log(rows) / np.sqrt(rows) + np.abs(rng.standard_normal(8)))
    worth = np.zeros(2000)
    worth[signals] = 1.0
    return X, X @ weights + rng.normal(0, 1.5, rows), worth


def report(
    title: str, tables: list[tuple[FloatArray, FloatArray, FloatArray]], *, labels: bool
) -> None:
    """Print a table with one row per method and one column per epsilon."""
    print(f"\n{title}")
    print("  method      " + "".join(f"  eps {epsilon:<4g}" for epsilon in EPSILONS))
    for name, method in METHODS.items():
        cells = []
        for X, y, worth in tables:
            scores = scores_of(X, y, method, labels=labels)
            cells.append([quality(scores, worth, e, seed) for seed, e in enumerate(EPSILONS)])
        print(f"  {name:<12}" + "".join(f"  {value:8.2f}" for value in np.mean(cells, axis=0)))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    paths = sorted(parser.parse_args().folder.glob("*.parquet"))
    report(
        f"{len(paths)} microarray tables: mean |correlation| of the picks / best possible",
        [real_table(path) for path in paths],
        labels=True,
    )
    for rows in (100, 400):
        report(
            f"synthetic, n = {rows}, d = 2000, 8 planted: share of the picks that are planted",
            [synthetic_table(rows, seed) for seed in range(5)],
            labels=False,
        )


if __name__ == "__main__":
    main()
