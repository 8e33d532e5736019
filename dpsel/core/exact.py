"""Selection without privacy, for comparison."""

import numpy as np

from dpsel.core.arrays import IntArray, NumberArray
from dpsel.core.checks import check_k


def exact_top_k(values: NumberArray, k: int) -> IntArray:
    """Return the ascending indices of the k largest values, ties to the smaller. Not private."""
    check_k(k, len(values))
    # Stable and ascending on the reversed values: among equals the smaller index comes last.
    best = len(values) - 1 - np.argsort(values[::-1], kind="stable")[-k:]
    return np.sort(best).astype(np.int64, copy=False)
