"""Medians of columns too long for memory, by counting in bins. Not for release.

The bins of a column lie around an anchor, at first its mean. Their width is a 64th of their
distance from the anchor, down to a 2^56th of the column's reach. If a bin at the median is wider
than a 16th of the spread, the table is counted again, in a narrower window around the median that
was found, whatever outliers have done to the mean. Once that has ended,

- a median is off by at most 4 % of the median distance from it;
- the median distance from it is off by at most 8 %.

Counts add up in any order, so the result does not depend on the order of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray
from dpsel.core.statistics import NORMAL_MAD, ColumnStatistics, exact_sums, half_reach, means

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
