"""Medians of columns too long for memory, by counting in fixed bins. Not for release.

The bins of a column lie around its mean, as far as its extremes. Their width is a 128th of their
distance from the mean, down to a 2^24th of the farthest value. So

- a median is off by at most a 256th of its distance from the mean, which is never more than a
  standard deviation, or a 2^24th of the column's reach;
- a distance from it is off by at most that, plus a 256th of the value's distance from the mean.

Counts add up in any order, so the result does not depend on the order of rows.
"""

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.statistics import NORMAL_MAD, ColumnStatistics, exact_sums, means

_OCTAVES = 24
_BINS_PER_OCTAVE = 128
# One side: the bin of what is next to the mean, the octaves, and the farthest value itself.
_SIDE = 2 + _OCTAVES * _BINS_PER_OCTAVE
_BINS = 2 * _SIDE


class Distances:
    """How often values lie in each bin around the mean, added up over parts of a table."""

    def __init__(self, columns: int) -> None:
        """Start with no row."""
        self.counts = np.zeros((columns, _BINS), dtype=np.int64)
        self.squares = np.zeros(columns, dtype=object)

    @staticmethod
    def of(X: FloatArray, around: ColumnStatistics) -> "Distances":
        """Return the counts of some rows; `around` has the mean and the extremes."""
        found = Distances(X.shape[1])
        finite = np.isfinite(X)
        moved = np.where(finite, X, around.mean) - around.mean
        reach = _reach(around)
        # Scaled by its reach, no square can overflow.
        scaled = np.divide(moved, reach, out=np.zeros_like(moved), where=reach > 0)
        found.squares = exact_sums(scaled * scaled)
        places = _bins(scaled) + _BINS * np.arange(X.shape[1])
        flat = np.bincount(places[finite], minlength=found.counts.size)
        found.counts = flat.reshape(found.counts.shape)
        return found

    def add(self, first: int, other: "Distances") -> None:
        """Add the counts of columns from `first` on."""
        some = slice(first, first + len(other.counts))
        self.counts[some] += other.counts
        self.squares[some] += other.squares

    def statistics(self, around: ColumnStatistics) -> ColumnStatistics:
        """Return mean, extremes, and the sketched median and robust deviation."""
        reach = _reach(around)
        middles = _middles()
        medians = np.array([_weighted_median(middles, counts) for counts in self.counts])
        spreads = np.array(
            [
                _weighted_median(np.abs(middles - median), counts)
                for median, counts in zip(medians, self.counts, strict=True)
            ]
        )
        deviations = np.sqrt(means(self.squares, self.counts.sum(axis=1)))
        # Less than a bin is nothing: a constant column, or one that mostly has one value.
        robust = np.where(spreads > 2.0**-_OCTAVES, NORMAL_MAD * spreads, deviations)
        return ColumnStatistics(
            around.mean, around.low, around.high, around.mean + medians * reach, robust * reach
        )


def _reach(around: ColumnStatistics) -> FloatArray:
    """Return the distance of the farthest value from the mean."""
    return np.maximum(around.high - around.mean, around.mean - around.low)


def _bins(scaled: FloatArray) -> IntArray:
    """Return the bin of each number in [-1, 1], from 0 for -1 on upwards."""
    mantissas, exponents = np.frexp(np.abs(scaled))
    inner = ((mantissas - 0.5) * (2 * _BINS_PER_OCTAVE)).astype(np.int64)
    side = 1 + (exponents + _OCTAVES - 1) * _BINS_PER_OCTAVE + inner
    side = np.clip(np.where(scaled == 0.0, 0, side), 0, _SIDE - 1)
    return np.where(scaled < 0.0, _SIDE - 1 - side, _SIDE + side)


def _middles() -> FloatArray:
    """Return the middle of each bin."""
    steps = np.arange(_OCTAVES * _BINS_PER_OCTAVE)
    octave, inner = np.divmod(steps, _BINS_PER_OCTAVE)
    mantissas = 0.5 + (inner + 0.5) / (2 * _BINS_PER_OCTAVE)
    side = np.concatenate([[0.0], np.ldexp(mantissas, octave - _OCTAVES + 1), [1.0]])
    return np.concatenate([-side[::-1], side])


def _weighted_median(values: FloatArray, counts: NumberArray) -> float:
    """Return the median of values that occur so often; 0 for none at all."""
    total = int(counts.sum())
    if not total:
        return 0.0
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    below = values[order[np.searchsorted(reached, (total + 1) // 2)]]
    above = values[order[np.searchsorted(reached, total // 2 + 1)]]
    return float(0.5 * below + 0.5 * above)
