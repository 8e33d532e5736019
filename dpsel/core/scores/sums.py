"""The scores `dot` and `covariance`: sums of products of bounded integers, exact in any order."""

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray, RealArray
from dpsel.core.batch import Batch, Columns, matrix_of, rows_of
from dpsel.core.bounds import ONE, Bounds, Interval, bounded_integers, is_unit, unit_integers
from dpsel.core.guarantee import MOST_ROWS, Neighbors, Unit, rows_changed
from dpsel.core.scores.base import Scores
from dpsel.errors import InputError
from dpsel.records import frozen

# Products are within 2^32, so the sum of 2^21 of them is exact in float64, in any order, and the
# sum of 2^31 of them fits in int64.
_ROWS_PER_FLOAT_SUM = 1 << 21
# Cells that are bounded at once. They fit in the processor's cache; with fewer, threads would wait
# for one another at every step.
_CELLS_AT_ONCE = 1 << 18


def exact_products(
    weights: FloatArray, X: RealArray | Columns, lower: FloatArray, upper: FloatArray
) -> IntArray:
    """Return weights @ X exactly, for X bounded to integers and whole weights within 2^16.

    Privacy:
        Domain: any floats; a missing value counts 0.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_sums.py
    """
    sums = np.zeros((len(weights), X.shape[1]), dtype=np.int64)
    products = _UnitProducts(X.dtype) if is_unit(lower, upper) else _bounded_products
    for first in range(0, X.shape[0], _ROWS_PER_FLOAT_SUM):
        rows = slice(first, first + _ROWS_PER_FLOAT_SUM)
        sums += _float_products(weights[:, rows], rows_of(X, rows), lower, upper, products)
    return sums


_Products = Callable[[FloatArray, RealArray, FloatArray, FloatArray], FloatArray]


def _float_products(
    weights: FloatArray,
    X: RealArray | Columns,
    lower: FloatArray,
    upper: FloatArray,
    products: _Products,
) -> IntArray:
    """Return the same for at most 2^21 rows, where all sums are whole numbers within 2^53."""
    count, columns = X.shape
    sums = np.zeros((len(weights), columns))
    at_once = max(1, _CELLS_AT_ONCE // count)
    step = min(count, _CELLS_AT_ONCE)
    for row in range(0, count, step):
        rows = slice(row, row + step)
        # The weights of these rows stay in the cache too.
        for column in range(0, columns, at_once):
            features = slice(column, column + at_once)
            sums[:, features] += products(
                weights[:, rows], matrix_of(X, rows, features), lower[features], upper[features]
            )
    return sums.astype(np.int64)


def _bounded_products(
    weights: FloatArray, X: RealArray, lower: FloatArray, upper: FloatArray
) -> FloatArray:
    """Return weights @ X for a few cells with any bounds."""
    return weights @ bounded_integers(X, lower, upper)


class _UnitProducts:
    """weights @ X for a few cells with the bounds -1 and 1, which most tables have.

    It takes fewer steps than `_bounded_products`, and reuses its memory.
    """

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
        if np.isnan(sums).any():  # A missing cell makes its sum NaN.
            integers[np.isnan(integers)] = 0.0
            sums = weights @ integers
        return sums

    @staticmethod
    def _like(memory: NumberArray, X: RealArray) -> NumberArray:
        """Return the start of `memory` as an array of the shape of X, in column order."""
        return memory[: X.size].reshape(X.shape, order="F")


class BoundedTarget:
    """Turns targets into whole numbers; batches with the same rows share the result.

    Privacy:
        Domain: any floats; each value is treated alone.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_sums.py
    """

    def __init__(self, bounds: Interval) -> None:
        """Bound targets by public `bounds`."""
        self._lower, self._upper = np.array(bounds.lower), np.array(bounds.upper)
        self._last: tuple[FloatArray, FloatArray] | None = None

    def __call__(self, y: FloatArray) -> FloatArray:
        """Return a target as bounded integers. Threads may call this."""
        last = self._last
        if last is None or last[0] is not y:
            self._last = last = y, bounded_integers(y, self._lower, self._upper)
        return last[1]


@frozen
class CovariancePartial:
    """The sums of one batch: row 0 of `sums` has the sums of x, row 1 those of x y."""

    first_feature: int
    rows: int
    target_sum: int = field(repr=False)
    sums: IntArray = field(repr=False)


class CovarianceScore:
    """The score `covariance`: adds up batches, in any order, and turns the sums into scores.

    With n rows, C = sum (x - mean x)(y - mean y) = (n Sxy - Sx Sy) / n, where Sx, Sy and Sxy are
    the sums of x, y and x y. All values are within [-1, 1], so differences are within 2.

    Add-remove: one more row (a, b) adds n / (n + 1) (a - mean x)(b - mean y) to C, which is
    within 4 n / (n + 1). So |C| moves by less than 4; 4 is the supremum and is never attained.

    Replace-one: over the same n - 1 other rows, C moves by (n - 1) / n times the difference of two
    products u v, where u = a - mean x and v = b - mean y. A product is largest at a corner with
    equal signs and smallest at one with unequal signs. So one factor is the same, within 2, and the
    other differs by 2. So |C| moves by at most 4 (n - 1) / n, less than 4, again the supremum.

    Rounding: a score is |C| rounded down to a multiple of 2^-32. If u <= v + s for a whole number
    s, then floor(u) <= floor(v) + s. So rounding all scores down does not change a whole
    sensitivity.

    Privacy:
        Domain: any floats, at most 2^31 - 1 rows.
        Neighbors: one row, or all kept rows of one person, at most `unit.rows` of them.
        Sensitivity: 4 per row under add-remove and under replace-one.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_row_sensitivity.py,
            tests/privacy/test_covariance_sensitivity.py
    """

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score features and target within public `bounds`; both relations have one sensitivity."""
        self._bounds = bounds
        self._target = BoundedTarget(bounds.target)
        self._sensitivity = 4 * ONE * ONE * unit.rows
        self._sums = np.zeros((2, len(bounds.lower)), dtype=np.int64)
        self._target_sum = 0
        self._rows = 0

    def part(self, batch: Batch) -> CovariancePartial:
        """Return the sums of one batch. Touches nothing shared, so threads may call it."""
        lower, upper = self._bounds.lower[batch.features], self._bounds.upper[batch.features]
        y = self._target(batch.y)
        sums = exact_products(np.stack([np.ones(len(y)), y]), batch.X, lower, upper)
        target_sum = int(y.astype(np.int64).sum())
        return CovariancePartial(batch.first_feature, len(y), target_sum, sums)

    def add(self, part: CovariancePartial) -> None:
        """Add the sums of one batch to the total."""
        features = slice(part.first_feature, part.first_feature + part.sums.shape[1])
        self._sums[:, features] += part.sums
        # The same rows come once for every group of features: count them with the first group.
        if part.first_feature == 0:
            self._rows += part.rows
            self._target_sum += part.target_sum
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def total(self, first_feature: int = 0) -> CovariancePartial:
        """Return all sums so far, as a partial for the score of a table with these features."""
        return CovariancePartial(first_feature, self._rows, self._target_sum, self._sums.copy())

    def scores(self) -> Scores:
        """Return the scores of all batches added, in units of 2^-32, rounded down."""
        n = self._rows
        # Python integers, since n Sxy may have 94 bits. The scores are within n 2^32 < 2^63.
        values = [
            abs(n * xy - x * self._target_sum) // n if n else 0
            for x, xy in zip(*self._sums.tolist(), strict=True)
        ]
        return Scores(np.array(values, dtype=np.int64), float(self._sensitivity))


@frozen
class DotPartial:
    """The sums of one batch: of x y, for every feature."""

    first_feature: int
    rows: int
    sums: IntArray = field(repr=False)


class DotScore:
    """The score `dot`: adds up batches, in any order, and turns the sums of x y into scores.

    Privacy:
        Domain: any floats, at most 2^31 - 1 rows.
        Neighbors: one row, or all kept rows of one person, at most `unit.rows` of them.
        Sensitivity: 1 per row under add-remove, 2 under replace-one, exactly.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_row_sensitivity.py, tests/privacy/test_dot_sensitivity.py
    """

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score features and target within public `bounds`."""
        self._bounds = bounds
        self._target = BoundedTarget(bounds.target)
        self._sensitivity = ONE * ONE * rows_changed(neighbors, unit)
        self._sums = np.zeros(len(bounds.lower), dtype=np.int64)
        self._rows = 0

    def part(self, batch: Batch) -> DotPartial:
        """Return the sums of one batch. Touches nothing shared, so threads may call it."""
        lower, upper = self._bounds.lower[batch.features], self._bounds.upper[batch.features]
        y = self._target(batch.y)
        sums = exact_products(y[np.newaxis], batch.X, lower, upper)[0]
        return DotPartial(batch.first_feature, len(y), sums)

    def add(self, part: DotPartial) -> None:
        """Add the sums of one batch to the total."""
        self._sums[part.first_feature : part.first_feature + len(part.sums)] += part.sums
        if part.first_feature == 0:
            self._rows += part.rows
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def total(self, first_feature: int = 0) -> DotPartial:
        """Return all sums so far, as a partial for the score of a table with these features."""
        return DotPartial(first_feature, self._rows, self._sums.copy())

    def scores(self) -> Scores:
        """Return the scores of all batches added, in units of 2^-32."""
        return Scores(np.abs(self._sums), float(self._sensitivity))
