"""The paper's table of R^2, and ours beside it. The paper's is not reproduced."""

from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.choices import Scale
from dpsel.core.evaluation.data import EvaluationData
from dpsel.core.kept import Matrix, changed, column_groups, row_chunks
from dpsel.core.lasso import lasso_coefficients

PAPER = {
    "alon": 0.4822,
    "borovecki": 0.9011,
    "burczynski": 0.2175,
    "chiaretti": 0.2705,
    "chin": 0.5879,
    "chowdary": 0.8338,
    "christensen": 0.7870,
    "golub": 0.6819,
    "gordon": 0.2432,
    "gravier": 0.0689,
    "khan": 0.6961,
    "shipp": 0.4204,
    "singh": 0.6449,
    "sorlie": 0.9300,
    "su": 0.9602,
    "subramanian": 0.5340,
    "tian": 0.0080,
    "west": 0.7044,
    "yeoh": 0.4611,
}
"""Table 1 of the paper: R^2 of a LASSO with lambda = 0.1."""


def r_squared(X: Matrix, y: FloatArray) -> tuple[float, int]:
    """Return R^2 of a LASSO with lambda = 0.1 on its own rows, and its number of features."""
    weights = lasso_coefficients(X, y)
    means = np.concatenate([columns.mean(axis=0) for _, columns in column_groups(X)])
    rest = y - y.mean()
    for row, rows in row_chunks(X):
        rest[row : row + len(rows)] -= (rows - means) @ weights
    spread = float(((y - y.mean()) ** 2).sum())
    share = 1.0 - float((rest**2).sum()) / spread if spread else 0.0
    return share, int(np.count_nonzero(weights))


def r_squared_row(data: EvaluationData) -> dict[str, Any]:
    """Return ours under two scalings, and the paper's.

    The first is that of all experiments here: mean and largest value. The second, columns between
    their smallest and largest value, came nearest of all that were tried.
    """
    rows = data.scaled(Scale.MAX_ABS, 1.0)
    ours, used = r_squared(rows.X, rows.y)
    ends = [(X.min(axis=0), X.max(axis=0)) for _, X in column_groups(data.raw.X)]
    low, high = (np.concatenate(end) for end in zip(*ends, strict=True))
    width = np.where(high > low, high - low, 1.0)
    spread_out = changed(data.raw.X, lambda some, X: 2.0 * (X - low[some]) / width[some] - 1.0)
    nearest, nearest_used = r_squared(spread_out, rows.y)
    return {
        "dataset": data.name,
        "n": len(rows.y),
        "d": len(data.features),
        "paper": PAPER.get(data.name.lower()),
        "mean_and_max_abs": ours,
        "features_used": used,
        "min_max": nearest,
        "features_used_min_max": nearest_used,
    }
