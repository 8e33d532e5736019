"""Statistics of columns, the same for any order of rows. Without any privacy: not for release."""

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray
from dpsel.records import frozen
from dpsel.system.threads import Threads

# Sums are integer multiples of 2^-1088, because every 32-bit digit times its unit is one.
_UNIT_BITS = 1088
_DIGIT_BITS = 32
_ROWS_AT_ONCE = 1 << 20
# Cells that one thread works on at a time.
_CELLS_AT_ONCE = 1 << 22


@frozen
class ColumnStatistics:
    """One number per column; 0 for a column without any value."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    empty: BoolArray
    """Which columns have no value."""
    median: FloatArray | None = None
    robust_deviation: FloatArray | None = None


class Moments:
    """Counts, exact sums and extremes of columns, added up over parts of a table."""

    def __init__(self, columns: int) -> None:
        """Start without a row."""
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

    def add(self, other: "Moments") -> None:
        """Add the moments of other rows."""
        self.count += other.count
        self.total += other.total
        self.low = np.minimum(self.low, other.low)
        self.high = np.maximum(self.high, other.high)

    def statistics(self) -> ColumnStatistics:
        """Return means, correctly rounded, and extremes."""
        some = self.count > 0
        return ColumnStatistics(
            means(self.total, self.count),
            np.where(some, self.low, 0.0),
            np.where(some, self.high, 0.0),
            ~some,
        )


def exact_sums(X: FloatArray) -> NumberArray:
    """Return the exact sum of each column of finite numbers, as integers in units of 2^-1088.

    Numbers are split into digits of 32 bits. The digits of one place are added in floating point,
    which is exact because there are at most 2^20 of them.
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
    """Return half the distance of the farthest value from a center, which cannot overflow."""
    return np.maximum(0.5 * high - 0.5 * center, 0.5 * center - 0.5 * low)


NORMAL_MAD = 1.4826
"""The standard deviation of a normal column, in units of its median distance from the median."""


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


def threaded_statistics(X: FloatArray, threads: Threads) -> ColumnStatistics:
    """Return the statistics of a table in memory, some columns at a time, on several threads."""
    width = max(1, _CELLS_AT_ONCE // max(1, len(X)))
    parts = [X[:, first : first + width] for first in range(0, X.shape[1], width)]
    return joined_statistics(list(threads.map(exact_statistics, parts, len(parts))))


def joined_statistics(parts: Sequence[ColumnStatistics]) -> ColumnStatistics:
    """Return the statistics of all columns, from those of some columns at a time."""
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
    """Return the standard deviation, the same for any order and without overflow inside."""
    halves = 0.5 * values - 0.5 * mean
    reach = float(np.abs(halves).max())
    if reach == 0.0:
        return 0.0
    return 2.0 * reach * math.sqrt(math.fsum((halves / reach) ** 2) / len(values))
