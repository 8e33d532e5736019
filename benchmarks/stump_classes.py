"""How `stump` does on rare classes: 50, 20, 10, 5 and 2 % positives, at epsilon 2.

    python benchmarks/stump_classes.py [--tables 60]

The tables are planted ones (n rows, 50 features of which 5 are shifted by 0.7 standard deviations),
and breast_cancer with malignant rows left out at random. Three draws per table, k = 5. It prints
the mean |correlation| of the picks over the best possible for three kinds of weights: plain ones, 1
and -1; balanced by the true share, which no epsilon pays for; and as shipped, with noisy counts
from a tenth of epsilon. The last two columns are ratios of means, paired over tables, plus or minus
one standard error.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
from compared_methods import Stump, correlations
from real_tables import RealTable
from sklearn.datasets import load_breast_cancer

from dpsel.core.arrays import FloatArray
from dpsel.core.randomness import derived_seed

EPSILON, DRAWS = 2.0, 3
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)


def planted(rows: int, share: float, seed: int) -> RealTable:
    """Return a table with 5 features that depend on the class."""
    rng = np.random.default_rng([1, seed])
    y = np.zeros(rows)
    y[: round(share * rows)] = 1.0
    X = rng.standard_normal((rows, 50))
    X[:, :5] += 0.7 * y[:, np.newaxis]
    return RealTable(f"planted, {rows} rows", "", X, y, 2)


def thinned(share: float, seed: int) -> RealTable:
    """Return breast_cancer with fewer malignant rows, or fewer benign ones for a larger share."""
    X, benign = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng([2, seed])
    positive, negative = np.flatnonzero(benign == 0), np.flatnonzero(benign == 1)
    wanted = round(share / (1 - share) * len(negative))
    if wanted <= len(positive):
        positive = rng.choice(positive, wanted, replace=False)
    else:
        negative = rng.choice(negative, round(len(positive) * (1 - share) / share), replace=False)
    rows = np.concatenate([positive, negative])
    return RealTable("breast_cancer", "", X[rows], 1.0 - benign[rows], 2)


def shares(table: RealTable) -> dict[str, Fraction | None]:
    """Return the public share for each kind of weights: a half makes them 1 and -1."""
    true = Fraction(int(table.y.sum()), len(table.y))
    return {"plain": Fraction(1, 2), "true share": true, "shipped": None}


def reached(tables: list[RealTable], weights: str) -> FloatArray:
    """Return, for each table, the mean share of the best correlation over draws."""
    found = []
    for index, table in enumerate(tables):
        values = correlations(table.X, table.y)
        stump = Stump(table, shares(table)[weights])
        seeds = [derived_seed(0, weights, index, draw) for draw in range(DRAWS)]
        picks = [stump.draw(EPSILON, seed) for seed in seeds]
        found.append(values[np.array(picks)].mean() / np.sort(values)[-table.k :].mean())
    return np.array(found)


def ratio(ours: FloatArray, other: FloatArray) -> str:
    """Return the ratio of two means, and its standard error over tables."""
    value = ours.mean() / other.mean()
    error = (ours - value * other).std(ddof=1) / len(ours) ** 0.5 / other.mean()
    return f"{value:.2f} ± {error:.2f}"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    count = parser.parse_args().tables
    kinds: dict[str, Callable[[float, int], RealTable]] = {
        **{f"planted, {n} rows": partial(planted, n) for n in (500, 1000, 2000)},
        "breast_cancer": thinned,
    }
    print(f"epsilon {EPSILON:g}, {count} tables a line, {DRAWS} draws each\n")
    print("| table | positives | plain | true share | shipped | of true share | of plain |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, make in kinds.items():
        for share in SHARES:
            tables = [make(share, seed) for seed in range(count)]
            found = {weights: reached(tables, weights) for weights in shares(tables[0])}
            means = " | ".join(f"{values.mean():.2f}" for values in found.values())
            rows = int(tables[0].y.sum())
            print(
                f"| {name} | {share:.0%} ({rows} rows) | {means} | "
                f"{ratio(found['shipped'], found['true share'])} | "
                f"{ratio(found['shipped'], found['plain'])} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
