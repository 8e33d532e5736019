"""Scores by rank, and the features at chosen ranks."""

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray, NumberArray, WordArray

_TABLE_BITS = 16
_PIECE = 1 << 15
_MIXER = np.uint64(0x9E3779B97F4A7C15)


class Ranking:
    """Scores in descending order: rank 1 is the largest. Equal scores rank by descending index.

    Sorting the values alone is several times faster than sorting indices with them, so the indices
    of the few ranks that a draw needs are looked up afterwards.
    """

    def __init__(self, values: NumberArray) -> None:
        """Sort `values`: finite, of an integer or a floating-point type."""
        # Adding 0 turns -0.0 into 0.0, so that equal scores have equal bits.
        self._values = np.ascontiguousarray(values) + values.dtype.type(0)
        self._ascending = np.sort(self._values)
        self._order: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of scores."""
        return len(self._values)

    def values(self, ranks: IntArray) -> NumberArray:
        """Return the scores at `ranks`."""
        return self._ascending[len(self) - ranks]

    def indices(self, ranks: IntArray) -> IntArray:
        """Return the indices of the scores at distinct `ranks`; the first call sorts them all."""
        if self._order is None:
            self._order = np.argsort(self._values, kind="stable")
        return self._order[len(self) - ranks]

    def few_indices(self, ranks: IntArray) -> IntArray:
        """Return the same indices as `indices`, in any order, for a few ranks of many scores."""
        wanted = np.sort(self.values(ranks))
        table = np.zeros(1 << _TABLE_BITS, dtype=np.bool_)
        table[_buckets(wanted)] = True
        # In pieces that stay in the processor's cache.
        candidates = np.concatenate(
            [
                first + np.flatnonzero(table[_buckets(self._values[first : first + _PIECE])])
                for first in range(0, len(self), _PIECE)
            ]
        )
        candidates = candidates[_among(wanted, self._values[candidates])]
        # All scores that are equal to a wanted one are candidates, so a candidate's place among
        # its equals here is also its place among its equals in the whole order.
        candidates = candidates[np.argsort(self._values[candidates], kind="stable")]
        values = self._values[candidates]
        places_in_tie = np.arange(len(values)) - np.searchsorted(values, values)
        places = np.searchsorted(self._ascending, values) + places_in_tie
        return candidates[_among(np.sort(len(self) - ranks), places)]


def _among(wanted: NumberArray, values: NumberArray) -> BoolArray:
    """Return which values are among `wanted`, which is sorted. `np.isin` is slow to import."""
    near = np.searchsorted(wanted, values)
    is_wanted: BoolArray = wanted[np.minimum(near, len(wanted) - 1)] == values
    return is_wanted


def _buckets(values: NumberArray) -> WordArray:
    """Hash 64-bit numbers to 16 bits; equal numbers share a bucket."""
    return (values.view(np.uint64) * _MIXER) >> np.uint64(64 - _TABLE_BITS)
