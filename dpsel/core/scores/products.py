"""Sums of products of bounded integers, exact in any order."""

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, RealArray
from dpsel.core.bounds import bounded_integers

# Products are within 2^32, so float64 adds 2^21 of them exactly, in any order, and int64 2^31.
_ROWS_PER_FLOAT_SUM = 1 << 21
# Cells that are bounded at once: they stay in the processor's cache.
_CELLS_AT_ONCE = 1 << 15


def exact_products(
    weights: FloatArray, X: RealArray, lower: FloatArray, upper: FloatArray
) -> IntArray:
    """Return weights @ X, for X within bounds and weights of whole numbers within 2^16."""
    sums = np.zeros((len(weights), X.shape[1]), dtype=np.int64)
    for first in range(0, X.shape[0], _ROWS_PER_FLOAT_SUM):
        some = slice(first, first + _ROWS_PER_FLOAT_SUM)
        sums += _float_products(weights[:, some], X[some], lower, upper)
    return sums


def _float_products(
    weights: FloatArray, X: RealArray, lower: FloatArray, upper: FloatArray
) -> IntArray:
    """Return the same for at most 2^21 rows: whole numbers below 2^53 all the way."""
    rows, columns = X.shape
    sums = np.zeros((len(weights), columns))
    at_once = max(1, _CELLS_AT_ONCE // rows)
    step = min(rows, _CELLS_AT_ONCE)
    for column in range(0, columns, at_once):
        features = slice(column, column + at_once)
        for row in range(0, rows, step):
            piece = bounded_integers(
                X[row : row + step, features], lower[features], upper[features]
            )
            sums[:, features] += weights[:, row : row + step] @ piece
    return sums.astype(np.int64)
