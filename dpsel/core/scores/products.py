"""Sums of products of bounded integers, exact in any order."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray, RealArray
from dpsel.core.blocks import Columns, cells_of, rows_of
from dpsel.core.bounds import bounded_integers, is_unit, unit_integers

# Products are within 2^32, so float64 adds 2^21 of them exactly, in any order, and int64 2^31.
_ROWS_PER_FLOAT_SUM = 1 << 21
# Cells that are bounded at once: they stay in the processor's cache. Fewer, and threads would
# wait for one another at every step.
_CELLS_AT_ONCE = 1 << 18


def exact_products(
    weights: FloatArray, X: RealArray | Columns, lower: FloatArray, upper: FloatArray
) -> IntArray:
    """Return weights @ X, for X within bounds and weights of whole numbers within 2^16.

    Privacy:
        Domain: any floats; a missing value counts 0.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_products.py
    """
    sums = np.zeros((len(weights), X.shape[1]), dtype=np.int64)
    products = _UnitProducts(X.dtype) if is_unit(lower, upper) else _bounded_products
    for first in range(0, X.shape[0], _ROWS_PER_FLOAT_SUM):
        some = slice(first, first + _ROWS_PER_FLOAT_SUM)
        sums += _float_products(weights[:, some], rows_of(X, some), lower, upper, products)
    return sums


_Products = Callable[[FloatArray, RealArray, FloatArray, FloatArray], FloatArray]


def _float_products(
    weights: FloatArray,
    X: RealArray | Columns,
    lower: FloatArray,
    upper: FloatArray,
    products: _Products,
) -> IntArray:
    """Return the same for at most 2^21 rows: whole numbers below 2^53 all the way."""
    rows, columns = X.shape
    sums = np.zeros((len(weights), columns))
    at_once = max(1, _CELLS_AT_ONCE // rows)
    step = min(rows, _CELLS_AT_ONCE)
    for row in range(0, rows, step):
        some = slice(row, row + step)
        # The weights of these rows stay in the cache too.
        for column in range(0, columns, at_once):
            features = slice(column, column + at_once)
            sums[:, features] += products(
                weights[:, some], cells_of(X, some, features), lower[features], upper[features]
            )
    return sums.astype(np.int64)


def _bounded_products(
    weights: FloatArray, X: RealArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Return the sums of a few cells with any bounds."""
    return weights @ bounded_integers(X, lower, upper)


class _UnitProducts:
    """The sums of a few cells within [-1, 1]: most tables, in fewer steps, in the same memory."""

    def __init__(self, kind: Any) -> None:
        self._work = np.empty(_CELLS_AT_ONCE, dtype=kind)
        self._doubles = np.empty(_CELLS_AT_ONCE)

    def __call__(
        self, weights: FloatArray, X: RealArray, lower: FloatArray, upper: FloatArray
    ) -> FloatArray:
        integers = self._like(self._doubles, X)
        work = integers if X.dtype == np.float64 else self._like(self._work, X)
        unit_integers(X, work)
        if work is not integers:
            integers[...] = work
        sums = weights @ integers
        if np.isnan(sums).any():  # Any missing cell makes its sum one.
            integers[np.isnan(integers)] = 0.0
            sums = weights @ integers
        return sums

    @staticmethod
    def _like(memory: NumberArray, X: RealArray) -> NumberArray:
        """Return as many cells of a piece of memory, in columns."""
        return memory[: X.size].reshape(X.shape, order="F")
