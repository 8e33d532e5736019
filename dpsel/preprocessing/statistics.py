"""Statistics of columns, the same for any order of rows. Not private, not for release."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray

# Sums are whole multiples of 2^-1088, which every product of a 32-bit digit and its unit is.
_UNIT_BITS = 1088
_DIGIT_BITS = 32
_ROWS_AT_ONCE = 1 << 20


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


_OCTAVES = 56
_BINS_PER_OCTAVE = 64
# One side: the bin of what is next to the anchor, the octaves, and the farthest value itself.
_SIDE = 2 + _OCTAVES * _BINS_PER_OCTAVE
_BINS = 2 * _SIDE
_FINE = 1.0 / 16.0
# Counting again reaches so many bins' widths: a spread that is not yet known is smaller.
_WINDOW = 2.0**10
_MOST_COUNTS = 12


@dataclass(frozen=True)
class Anchors:
    """Where the bins of each column lie: a centre, and how far from it they reach."""

    center: FloatArray
    half_reach: FloatArray
    low: FloatArray
    high: FloatArray
    """The median is known to lie between these."""

    @staticmethod
    def first(around: ColumnStatistics) -> "Anchors":
        """Return bins around the mean, as far as the column's extremes."""
        reach = half_reach(around.low, around.high, around.mean)
        return Anchors(around.mean, reach, around.low, around.high)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Return distances from the centre, in units of the reach, cut off there."""
        moved = 0.5 * np.where(np.isfinite(X), X, self.center) - 0.5 * self.center
        reach = self.half_reach
        with np.errstate(over="ignore"):
            scaled = np.divide(moved, reach, out=np.zeros_like(moved), where=reach > 0)
        return np.clip(scaled, -1.0, 1.0, out=scaled)


@dataclass(frozen=True)
class Sketch:
    """What one count has found."""

    median: FloatArray
    spread: FloatArray
    """The median distance from the median."""
    deviation: FloatArray
    """The standard deviation around the centre, of values cut off at the reach."""
    close: BoolArray
    """Which columns are found closely enough."""
    following: Anchors
    """Where to count again."""


class Distances:
    """How often values lie in each bin, added up over parts of a table."""

    def __init__(self, columns: int) -> None:
        """Start with no row."""
        self.counts = np.zeros((columns, _BINS), dtype=np.int64)
        self.squares = np.zeros(columns, dtype=object)
        self.lowest = np.full(columns, np.inf)
        self.highest = np.full(columns, -np.inf)

    @staticmethod
    def of(X: FloatArray, anchors: Anchors) -> "Distances":
        """Return the counts of some rows."""
        found = Distances(X.shape[1])
        scaled = anchors.scaled(X)
        found.squares = exact_sums(scaled * scaled)
        places = _bins(scaled) + _BINS * np.arange(X.shape[1])
        flat = np.bincount(places[np.isfinite(X)], minlength=found.counts.size)
        found.counts = flat.reshape(found.counts.shape)
        inside = (anchors.low <= X) & (anchors.high >= X)
        found.lowest = np.where(inside, X, np.inf).min(axis=0, initial=np.inf)
        found.highest = np.where(inside, X, -np.inf).max(axis=0, initial=-np.inf)
        return found

    def add(self, first: int, other: "Distances") -> None:
        """Add the counts of columns from `first` on."""
        some = slice(first, first + len(other.counts))
        self.counts[some] += other.counts
        self.squares[some] += other.squares
        self.lowest[some] = np.minimum(self.lowest[some], other.lowest)
        self.highest[some] = np.maximum(self.highest[some], other.highest)

    def sketch(self, anchors: Anchors) -> Sketch:
        """Return what the counts around some anchors say."""
        middles, widths = _middles()
        medians, spreads, wide = np.zeros((3, len(self.counts)))
        for place, counts in enumerate(self.counts):
            medians[place], wide[place] = _weighted_median(middles, widths, counts)
            spreads[place], _ = _weighted_median(np.abs(middles - medians[place]), widths, counts)
        # All values that can be the median are one: that is it, exactly.
        same = self.lowest >= self.highest
        close = (wide <= _FINE * spreads) | same
        center = anchors.center + 2.0 * (medians * anchors.half_reach)
        margin = 2.0 * (wide * anchors.half_reach)
        shrunk = np.minimum(1.0, wide * _WINDOW) * anchors.half_reach
        deviation = np.sqrt(means(self.squares, self.counts.sum(axis=1)))
        following = Anchors(
            np.where(close, anchors.center, center),
            np.where(close, anchors.half_reach, shrunk),
            np.where(close, anchors.low, np.maximum(anchors.low, center - margin)),
            np.where(close, anchors.high, np.minimum(anchors.high, center + margin)),
        )
        return Sketch(
            median=np.where(same & np.isfinite(self.lowest), self.lowest, center),
            spread=2.0 * (spreads * anchors.half_reach),
            deviation=2.0 * (deviation * anchors.half_reach),
            close=close,
            following=following,
        )


def sketched_statistics(
    around: ColumnStatistics, count: Callable[[Anchors], Distances]
) -> tuple[ColumnStatistics, bool]:
    """Return statistics with medians by counting, and whether all of them were found closely.

    `count` goes through the table once. A column that mostly has one value has a spread of 0, and
    the standard deviation takes its place.
    """
    sketch = count(Anchors.first(around)).sketch(Anchors.first(around))
    deviation = sketch.deviation
    for _ in range(_MOST_COUNTS - 1):
        if sketch.close.all():
            break
        sketch = count(sketch.following).sketch(sketch.following)
    robust = np.where(sketch.spread > 0, NORMAL_MAD * sketch.spread, deviation)
    found = replace(around, median=sketch.median, robust_deviation=robust)
    return found, bool(sketch.close.all())


def _bins(scaled: FloatArray) -> IntArray:
    """Return the bin of each number in [-1, 1], from 0 for -1 on upwards."""
    mantissas, exponents = np.frexp(np.abs(scaled))
    inner = ((mantissas - 0.5) * (2 * _BINS_PER_OCTAVE)).astype(np.int64)
    side = 1 + (exponents + _OCTAVES - 1) * _BINS_PER_OCTAVE + inner
    side = np.clip(np.where(scaled == 0.0, 0, side), 0, _SIDE - 1)
    return np.where(scaled < 0.0, _SIDE - 1 - side, _SIDE + side)


def _middles() -> tuple[FloatArray, FloatArray]:
    """Return the middle and the width of each bin."""
    steps = np.arange(_OCTAVES * _BINS_PER_OCTAVE)
    octave, inner = np.divmod(steps, _BINS_PER_OCTAVE)
    mantissas = 0.5 + (inner + 0.5) / (2 * _BINS_PER_OCTAVE)
    smallest = 2.0**-_OCTAVES
    side = np.concatenate([[0.0], np.ldexp(mantissas, octave - _OCTAVES + 1), [1.0]])
    width = np.ldexp(0.5 / _BINS_PER_OCTAVE, octave - _OCTAVES + 1)
    width = np.concatenate([[smallest], width, [0.0]])
    return np.concatenate([-side[::-1], side]), np.concatenate([width[::-1], width])


def _weighted_median(
    values: FloatArray, widths: FloatArray, counts: NumberArray
) -> tuple[float, float]:
    """Return the median of values that occur so often, and the width of its bin; 0 for none."""
    total = int(counts.sum())
    if not total:
        return 0.0, 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    below = order[np.searchsorted(reached, (total + 1) // 2)]
    above = order[np.searchsorted(reached, total // 2 + 1)]
    width = max(widths[below], widths[above])
    return float(0.5 * values[below] + 0.5 * values[above]), float(width)
