"""The exact top k, and its ties: selection without privacy, for the methods that are compared."""

import numpy as np

from dpsel.core.arrays import IntArray, NumberArray
from dpsel.core.guarantee import check_k


def exact_top_k(values: NumberArray, k: int) -> IntArray:
    """Return the indices of the k largest values, ascending; first wins a tie. Not private."""
    check_k(k, len(values))
    # A stable ascending sort of the reversed values puts the smaller index last among equals.
    best = len(values) - 1 - np.argsort(values[::-1], kind="stable")[-k:]
    return np.sort(best).astype(np.int64, copy=False)


def tied_share(scores: NumberArray, k: int) -> float:
    """Return the share of rows in which the k-th best score and the next one are equal.

    There the best k features are not unique. `scores` is one row of scores, or one row per trial.
    """
    rows = np.atleast_2d(scores)
    if k >= rows.shape[1]:
        return 0.0
    best = np.sort(rows, axis=1)[:, ::-1]
    return float((best[:, k - 1] == best[:, k]).mean())
