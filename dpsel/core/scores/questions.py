"""The best yes/no question about columns whose numbers have become keys: see `stump.py`."""

from collections.abc import Iterator
from copy import copy

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray, WordArray
from dpsel.core.scores.cell_keys import CellKeys, key_ranks
from dpsel.core.scores.float_bins import farthest

# Columns of fewer rows are sorted, many at once; longer ones are counted in bins first.
_FEW_ROWS = 1 << 13
# As many bins as 16 cells a bin take, within limits: with fewer most are opened if a column tells
# nothing, and more do not fit in the processor's cache.
_CELLS_A_BIN = 16
_LEAST_BIN_BITS, _LARGE_BIN_BITS = 14, 17
_FINE_BIN_BITS = 18
_MOST_BIN_BITS = 22
_ROWS_AT_ONCE = 1 << 16
# With more different weights than that, counts by bin and weight take too much room.
_MOST_GROUPS = 16
_WORD_BITS = 64
# 2^64 over the golden ratio.
_SCATTER = np.uint64(0x9E3779B97F4A7C15)


class Asked:
    """Cells of one kind, numbers or words, with the weights of their rows.

    A question about cells whose weights add up to `total`, with yes for some that add up to s,
    comes to 2 s - total. Weights of missing cells are 0: their keys do no harm.
    """

    def __init__(
        self,
        keys: CellKeys,
        groups: IntArray,
        weights: IntArray,
        every: IntArray,
        numbers: IntArray | None,
    ) -> None:
        """Take the sums of all weights, `every`, and of numbers alone; None for words."""
        self.keys, self.largest = keys.keys, keys.largest
        self.bits = np.uint64((weights.shape[1] - 1).bit_length())
        # All tags have a weight, also those that no group has.
        tags = 1 << int(self.bits)
        self.weights = np.pad(weights, ((0, 0), (0, tags - weights.shape[1])))
        self.tags = groups.view(np.uint64)[np.newaxis]
        if keys.missing is not None:
            self.tags = np.where(keys.missing, np.uint64(0), self.tags)
        self.every = every
        self.numbers = numbers

    def column(self, index: int) -> tuple[WordArray, WordArray]:
        """Return the keys and tags of one column."""
        return self.keys[index], self.tags[index if len(self.tags) > 1 else 0]

    def scattered(self, index: int) -> "Asked":
        """Return one column with keys in no order, for questions about values alone."""
        other = copy(self)
        keys, tags = self.column(index)
        # By an odd number: different words stay different.
        other.keys, other.tags = (keys * _SCATTER)[np.newaxis], tags[np.newaxis]
        other.largest = np.full(1, np.iinfo(np.uint64).max, dtype=np.uint64)
        other.every, other.numbers = self.every[:, [index]], None
        return other

    def packed(self, keys: WordArray, tags: WordArray) -> WordArray:
        """Return each row's keys, sorted, with the tags as their last bits."""
        if int(keys.max(initial=0)) >> (_WORD_BITS - int(self.bits)):
            keys = key_ranks(keys)
        packed = (keys << self.bits) | tags
        packed.sort(axis=1)
        return packed

    def running(self, packed: WordArray) -> Iterator[IntArray]:
        """Give for every round the running sums of the weights."""
        tags = (packed & np.uint64((1 << int(self.bits)) - 1)).view(np.int64)
        for weights in self.weights:
            yield np.cumsum(weights.take(tags), axis=1)


def are_sorted(rows: int, groups: int) -> bool:
    """Tell whether columns of so many rows are sorted, and not counted in bins."""
    return rows <= _FEW_ROWS or groups > _MOST_GROUPS


def ask(asked: Asked, best: IntArray) -> None:
    """Raise `best`, for every round and column, to the best question about these cells.

    Privacy:
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/core/test_stump.py
    """
    if are_sorted(asked.keys.shape[1], asked.weights.shape[1]):
        _sort_and_ask(asked, best)
        return
    for column in range(len(asked.keys)):
        _count_and_ask(asked, column, best[:, column])


def _sort_and_ask(asked: Asked, best: IntArray) -> None:
    """Raise `best`, for every round and column, to the best question: all columns at once."""
    packed = asked.packed(asked.keys, asked.tags)
    ends = _run_ends(packed >> asked.bits)
    places = np.flatnonzero(ends)
    runs = np.count_nonzero(ends, axis=1)
    firsts = np.cumsum(runs) - runs
    for index, running in enumerate(asked.running(packed)):
        sums = running.reshape(-1).take(places)
        values = np.diff(sums, prepend=0)
        values[firsts] = sums[firsts]
        questions = [(values, asked.every[index])]
        if asked.numbers is not None:
            questions.append((sums, asked.numbers[index]))
        for yes, totals in questions:
            for extreme in (np.maximum.reduceat(yes, firsts), np.minimum.reduceat(yes, firsts)):
                np.maximum(best[index], np.abs(2 * extreme - totals), out=best[index])


def _count_and_ask(asked: Asked, column: int, best: IntArray) -> None:
    """Raise `best`, for every round, to the best question about one column.

    Cells are counted in bins of neighboring keys. That answers questions between bins. Inside a bin
    a sum can only move by the weights in it: only bins that could beat the best are opened, that is
    counted again in finer bins if thresholds open many, and else sorted. If there are still many
    cells, it is because of single values: only those are sorted then that thresholds need. The
    order does not matter for values: they are counted in bins that scatter them evenly.
    """
    few = asked.keys.shape[1] // 8
    bins = _Bins.of(asked, column)
    bins.ask_between(best)
    near, same = bins.opened(best)
    if bins.rows(near) > few:
        bins = bins.finer(near | same)
        bins.ask_between(best)
        near, same = bins.opened(best)
    if asked.numbers is None or bins.rows(near | same) <= few:
        bins.ask_inside(near | same, best)
    else:
        bins.ask_inside(near, best)
        _count_and_ask(asked.scattered(column), 0, best)


class _Bins:
    """Counts of some of a column's cells, by bins of neighboring keys and by weight.

    The cells come from segments of the column, each of 2^`width` keys; `skipped` is what the
    weights of all cells before a segment add up to, less those before it that are here.
    """

    def __init__(
        self,
        asked: Asked,
        column: int,
        cells: tuple[WordArray, WordArray],
        width: int,
        skipped: IntArray,
        bits: int,
    ) -> None:
        self._asked, self._column = asked, column
        self._keys, self._tags = cells
        self._every = asked.every[:, column]
        self._numbers = None if asked.numbers is None else asked.numbers[:, column]
        segments = skipped.shape[1]
        self.shift = max(0, width - max(0, bits - (segments - 1).bit_length()))
        count = segments << (width - self.shift)
        self._counts = self._counted(count << int(asked.bits)).reshape(count, -1)
        self._sums: IntArray = asked.weights @ self._counts.T
        self._skipped = np.repeat(skipped, count // segments, axis=1)
        self._after = np.cumsum(self._sums, axis=1) + self._skipped

    @staticmethod
    def of(asked: Asked, column: int) -> "_Bins":
        """Count all cells of a column."""
        cells = asked.column(column)
        width = int(asked.largest[column]).bit_length()
        bits = _MOST_BIN_BITS
        if asked.numbers is not None:
            wanted = (len(cells[0]) // _CELLS_A_BIN).bit_length()
            bits = min(max(wanted, _LEAST_BIN_BITS), _LARGE_BIN_BITS)
        none = np.zeros((len(asked.weights), 1), dtype=np.int64)
        return _Bins(asked, column, cells, width, none, min(bits, _fine(cells[0])))

    def finer(self, opened: BoolArray) -> "_Bins":
        """Count the cells of opened bins again, each bin a segment."""
        inside = self._inside(opened)
        keys = self._keys[inside]
        places = (np.cumsum(opened) - 1).astype(np.uint64)
        shift = np.uint64(self.shift)
        bins = places.take((keys >> shift).view(np.int64))
        keys &= (np.uint64(1) << shift) - np.uint64(1)
        keys |= bins << shift
        bits = min(_fine(keys), _FINE_BIN_BITS)
        skipped = self._before(opened)
        cells = (keys, self._tags[inside])
        return _Bins(self._asked, self._column, cells, self.shift, skipped, bits)

    def _before(self, opened: BoolArray) -> IntArray:
        """Return what comes before each opened bin in the column, but in no opened bin."""
        return np.asarray(self._after[:, opened] - np.cumsum(self._sums[:, opened], axis=1))

    def _counted(self, slots: int) -> IntArray:
        """Return how many cells each bin has of each weight."""
        counts = np.zeros(slots, dtype=np.int64)
        # Part by part, which takes less room; but counting writes all slots every time.
        at_once = max(_ROWS_AT_ONCE, 4 * slots)
        for first in range(0, len(self._keys), at_once):
            part = slice(first, first + at_once)
            found = (self._keys[part] >> np.uint64(self.shift)) << self._asked.bits
            found |= self._tags[part]
            counts += np.bincount(found.view(np.int64), minlength=slots)
        return counts

    def _inside(self, opened: BoolArray) -> IntArray:
        """Return the places of the cells in opened bins."""
        found = [np.zeros(0, dtype=np.int64)]
        for first in range(0, len(self._keys), _ROWS_AT_ONCE):
            bins = self._keys[first : first + _ROWS_AT_ONCE] >> np.uint64(self.shift)
            found.append(first + np.flatnonzero(opened.take(bins.view(np.int64))))
        return np.concatenate(found)

    def _several_values(self, inside: IntArray, bins: IntArray, count: int) -> BoolArray:
        """Tell which bins hold more than one value, of those that some cells are in."""
        keys = self._keys[inside]
        one_of = np.zeros(count, dtype=np.uint64)
        one_of[bins] = keys
        several = np.zeros(count, dtype=np.bool_)
        several[bins[one_of.take(bins) != keys]] = True
        return several

    def _best_value(self, single: BoolArray) -> IntArray:
        """Return the best question about a value, for every round, in bins that hold one each."""
        sums = self._sums[:, single]
        return farthest(sums, self._every) if sums.size else np.zeros_like(self._every)

    def rows(self, chosen: BoolArray) -> int:
        """Return how many cells some bins have."""
        return int(self._counts[chosen].sum())

    def ask_between(self, best: IntArray) -> None:
        """Raise `best` to the best threshold between bins; and value, if bins have only one."""
        if self._numbers is not None:
            np.maximum(best, farthest(self._after, self._numbers), out=best)
        if self.shift == 0:
            np.maximum(best, farthest(self._sums, self._every), out=best)

    def opened(self, best: IntArray) -> tuple[BoolArray, BoolArray]:
        """Tell which bins of several keys may hold a better threshold, and which a better value."""
        if self.shift == 0:
            none = np.zeros(len(self._counts), dtype=np.bool_)
            return none, none
        up = np.maximum(self._asked.weights, 0) @ self._counts.T
        down = up - self._sums
        every, least = self._every[:, np.newaxis], best[:, np.newaxis]
        same = (np.abs(2 * up - every) > least) | (np.abs(2 * down + every) > least)
        near = np.zeros_like(same)
        if self._numbers is not None:
            before = 2 * (self._after - self._sums) - self._numbers[:, np.newaxis]
            near = (np.abs(before + 2 * up) > least) | (np.abs(before - 2 * down) > least)
        return near.any(axis=0), same.any(axis=0)

    def ask_inside(self, opened: BoolArray, best: IntArray) -> None:
        """Raise `best` to the best question about the cells of opened bins.

        They are sorted, but for those of bins with one value only: rounded numbers, codes and words
        fill most bins so, and what is between these was asked before.
        """
        inside = self._inside(opened)
        bins = (self._keys[inside] >> np.uint64(self.shift)).view(np.int64)
        several = self._several_values(inside, bins, len(opened))
        np.maximum(best, self._best_value(opened & ~several), out=best)
        if not several.any():
            return
        inside, opened = inside[several.take(bins)], several
        skipped = self._before(opened)
        of_bin = np.repeat(np.arange(skipped.shape[1]), self._counts[opened].sum(axis=1))
        packed = self._asked.packed(self._keys[np.newaxis, inside], self._tags[np.newaxis, inside])
        places = np.flatnonzero(_run_ends(packed >> self._asked.bits))
        for index, running in enumerate(self._asked.running(packed)):
            yes = running[0].take(places)
            found = farthest(np.diff(yes, prepend=0), self._every[index])
            if self._numbers is not None:
                yes += skipped[index].take(of_bin.take(places))
                found = np.maximum(found, farthest(yes, self._numbers[index]))
            best[index] = max(best[index], found)


def _fine(keys: WordArray) -> int:
    """Return for how many bits there is about one bin for every two cells."""
    return max(1, len(keys).bit_length() - 1)


def _run_ends(sorted_keys: WordArray) -> BoolArray:
    """Tell where a run of equal keys ends, in each row."""
    ends = np.ones(sorted_keys.shape, dtype=np.bool_)
    np.not_equal(sorted_keys[:, 1:], sorted_keys[:, :-1], out=ends[:, :-1])
    return ends
