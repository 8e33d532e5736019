"""Statistics of columns that do not depend on the order of rows. Not private, and not for release.

Missing and infinite values have no part in them. Sums are exact, so any order and any cut of the
table gives the same bits.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray, RealArray
from dpsel.core.blocks import Block, rows_of
from dpsel.core.bounds import Bounds, Interval

# Sums are whole multiples of 2^-1088, which every product of a 32-bit digit and its unit is.
_UNIT_BITS = 1088
_DIGIT_BITS = 32
_ROWS_AT_ONCE = 1 << 20
# Of a block: enough for shares that are right within a few per cent, and hardly any time.
_ROWS_LOOKED_AT, _RUNS = 1 << 10, 4


@dataclass(frozen=True)
class ColumnStatistics:
    """One number a column; 0 where a column has no value at all."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    empty: BoolArray
    """Which columns have no value at all."""
    median: FloatArray | None = None
    robust_deviation: FloatArray | None = None


class CellCounts:
    """How many cells of each column were of no use, and why: for the data's holder only.

    Of a block with many rows some are looked at, in runs all over it. The counts are whole numbers
    in one table: a row a kind, a column for every feature, and the last for the target.

    Privacy:
        Guarantee: none; the counts are private, and for nobody but the data's holder.
        Tested by: tests/core/test_statistics.py
    """

    def __init__(self, features: int, first_feature: int = 0) -> None:
        """Start with no cell of so many features, from one on that has this place elsewhere."""
        self._first_feature = first_feature
        self._counts = np.zeros((5, features + 1), dtype=np.int64)

    @staticmethod
    def of(block: Block, bounds: Bounds | None) -> "CellCounts":
        """Look at some rows of a block; without bounds nothing is clipped."""
        columns = block.X.shape[1]
        features = slice(block.first_feature, block.first_feature + columns)
        found = CellCounts(columns, block.first_feature)
        for some in _runs(len(block.y)):
            cells, target = np.asarray(rows_of(block.X, some)), block.y[some]
            limits = None if bounds is None else (bounds.lower[features], bounds.upper[features])
            found._look(slice(0, columns), cells, limits)
            limits = None if bounds is None else _limits_of(bounds.target)
            found._look(slice(columns, columns + 1), target[:, np.newaxis], limits)
        if block.unreadable is not None:
            # Columns that the folders of a file add are no text.
            known = [*range(len(block.unreadable.cells) - 1), columns]
            found._counts[3:, known] += block.unreadable.rows, block.unreadable.cells
        return found

    def _look(
        self, columns: slice, cells: RealArray, limits: tuple[FloatArray, FloatArray] | None
    ) -> None:
        """Count cells of some columns, which lie within limits or not."""
        self._counts[0, columns] += len(cells)
        # Most tables have none at all, which is found out much faster.
        if limits is not None:
            outside = (cells < limits[0]) | (cells > limits[1])
            if np.count_nonzero(outside):
                self._counts[1, columns] += outside.sum(axis=0)
        missing = np.isnan(cells)
        if np.count_nonzero(missing):
            self._counts[2, columns] += missing.sum(axis=0)

    def add(self, other: "CellCounts") -> None:
        """Add the counts of some features; those of the target come with the first one's."""
        first, count = other._first_feature, other._counts.shape[1] - 1
        self._counts[:, first : first + count] += other._counts[:, :count]
        if first == 0:
            self._counts[:, -1] += other._counts[:, -1]

    def shares(self) -> FloatArray:
        """Return the shares of each column's cells that are clipped, missing and unreadable."""
        cells, clipped, no_number, texts, unreadable = self._counts / 1.0
        no_number /= np.maximum(cells, 1.0)
        clipped /= np.maximum(cells, 1.0)
        # Not the same rows were looked at for both.
        unread = np.minimum(unreadable / np.maximum(texts, 1.0), no_number)
        if (known := texts > 0).any() and unread.any():
            # Of very many columns not all texts were looked at: the others are taken to be alike.
            unread[~known] = no_number[~known] * unread.sum() / no_number[known].sum()
        return np.stack([clipped, no_number - unread, unread])


def _runs(rows: int) -> list[slice]:
    """Return the rows of a block that are looked at: all of few, else some runs all over it."""
    if rows <= _ROWS_LOOKED_AT:
        return [slice(0, rows)]
    run = _ROWS_LOOKED_AT // _RUNS
    starts = [place * (rows - run) // (_RUNS - 1) for place in range(_RUNS)]
    return [slice(start, start + run) for start in starts]


def _limits_of(interval: Interval) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a single column."""
    return np.array([interval.lower]), np.array([interval.upper])


class Moments:
    """Counts, exact sums, and extremes of columns, added up over parts of a table."""

    def __init__(self, columns: int) -> None:
        """Start with no row."""
        self.count = np.zeros(columns, dtype=np.int64)
        self.total = np.zeros(columns, dtype=object)
        self.low = np.full(columns, np.inf)
        self.high = np.full(columns, -np.inf)

    @staticmethod
    def of(X: FloatArray) -> "Moments":
        """Return the moments of some rows."""
        found = Moments(X.shape[1])
        finite = np.isfinite(X)
        found.count = np.count_nonzero(finite, axis=0)
        found.total = exact_sums(np.where(finite, X, 0.0))
        found.low = np.where(finite, X, np.inf).min(axis=0, initial=np.inf)
        found.high = np.where(finite, X, -np.inf).max(axis=0, initial=-np.inf)
        return found

    def add(self, first: int, other: "Moments") -> None:
        """Add the moments of columns from `first` on."""
        some = slice(first, first + len(other.count))
        self.count[some] += other.count
        self.total[some] += other.total
        self.low[some] = np.minimum(self.low[some], other.low)
        self.high[some] = np.maximum(self.high[some], other.high)

    def statistics(self) -> ColumnStatistics:
        """Return mean and extremes, correctly rounded."""
        some = self.count > 0
        return ColumnStatistics(
            means(self.total, self.count),
            np.where(some, self.low, 0.0),
            np.where(some, self.high, 0.0),
            ~some,
        )


def exact_sums(X: FloatArray) -> NumberArray:
    """Return the exact sum of each column of finite numbers, as integers in units of 2^-1088.

    Numbers are cut into digits of 32 bits, and the digits of one place are added in floating
    point, exactly, because there are at most 2^20 of them.
    """
    totals = np.zeros(X.shape[1], dtype=object)
    for first in range(0, X.shape[0], _ROWS_AT_ONCE):
        rest = np.array(X[first : first + _ROWS_AT_ONCE])
        while (largest := float(np.abs(rest).max(initial=0.0))) > 0.0:
            place = (math.frexp(largest)[1] - 1) // _DIGIT_BITS * _DIGIT_BITS
            digits = np.trunc(np.ldexp(rest, -place))
            rest -= np.ldexp(digits, place)
            sums = digits.sum(axis=0).tolist()
            totals += np.array([int(s) << (place + _UNIT_BITS) for s in sums], dtype=object)
    return totals


def means(totals: NumberArray, counts: IntArray) -> FloatArray:
    """Return exact sums over counts, correctly rounded; 0 for a count of 0."""
    return np.array(
        [
            float(Fraction(int(total), int(count) << _UNIT_BITS)) if count else 0.0
            for total, count in zip(totals, counts, strict=True)
        ],
        dtype=np.float64,
    )


def half_reach(low: FloatArray, high: FloatArray, center: FloatArray) -> FloatArray:
    """Return half the distance of the farthest value from a centre, which cannot overflow."""
    return np.maximum(0.5 * high - 0.5 * center, 0.5 * center - 0.5 * low)


NORMAL_MAD = 1.4826
"""A normal column's standard deviation, in units of its median distance from the median."""


def exact_statistics(X: FloatArray) -> ColumnStatistics:
    """Return the statistics of a table in memory, with exact medians.

    The robust deviation is 1.4826 times the median distance from the median, the standard
    deviation of a normal column; where it is 0, the standard deviation itself.
    """
    moments = Moments.of(X).statistics()
    columns = X.shape[1]
    medians, deviations = np.zeros(columns), np.zeros(columns)
    with np.errstate(over="ignore"):
        for place in np.flatnonzero(~moments.empty):
            values = X[:, place]
            values = values[np.isfinite(values)]
            medians[place] = _median(values)
            spread = NORMAL_MAD * _median(np.abs(values - medians[place]))
            deviations[place] = spread or _deviation(values, moments.mean[place])
    return replace(moments, median=medians, robust_deviation=deviations)


def joined_statistics(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Return the statistics of `exact_statistics` for columns that were looked at in parts."""
    names = [field.name for field in fields(ColumnStatistics)]
    return ColumnStatistics(
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    )


def _median(values: FloatArray) -> float:
    """Return the median; halves are added, so that two large numbers do not overflow."""
    middle = len(values) // 2
    if len(values) % 2:
        return float(np.partition(values, middle)[middle])
    ordered = np.partition(values, (middle - 1, middle))
    return float(0.5 * ordered[middle - 1] + 0.5 * ordered[middle])


def _deviation(values: FloatArray, mean: float) -> float:
    """Return the standard deviation, the same for any order, in units that cannot overflow."""
    halves = 0.5 * values - 0.5 * mean
    reach = float(np.abs(halves).max())
    if reach == 0.0:
        return 0.0
    return 2.0 * reach * math.sqrt(math.fsum((halves / reach) ** 2) / len(values))
