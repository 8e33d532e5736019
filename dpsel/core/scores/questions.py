"""The best yes/no question about short columns, and about words: see `stump.py`.

Cells are compared by keys, which are unsigned integers: see `cell_keys.py`. The group of a cell's
row is kept in the last bits of its key, so that one sort of integers puts equal cells next to each
other and takes the weights along.
"""

from collections.abc import Iterator
from copy import copy

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray, WordArray
from dpsel.core.scores.cell_keys import CellKeys, key_ranks
from dpsel.core.scores.float_bins import farthest

# Columns of up to this many rows are sorted, many at once; longer ones are counted in bins first.
_FEW_ROWS = 1 << 13
_MOST_BIN_BITS = 22
_ROWS_AT_ONCE = 1 << 16
# With more groups than this, counts by bin and group take too much memory.
_MOST_GROUPS = 16
_KEY_BITS = 64
# 2^64 divided by the golden ratio, as in Fibonacci hashing.
_SCATTER = np.uint64(0x9E3779B97F4A7C15)


class TaggedCells:
    """Cells of one kind, numbers or words, with the weights of their rows.

    The tag of a cell is its row's group, or 0 if the cell is missing. Tag 0 has weight 0, so the
    keys of missing cells, which mean nothing, change no sum.
    """

    def __init__(
        self,
        keys: CellKeys,
        groups: IntArray,
        weights: IntArray,
        every: IntArray,
        numbers: IntArray | None,
    ) -> None:
        """Take keys, groups of rows, weights by round and group, and sums of weights.

        `every` is the sum over all numbers and words, for "is x = v?". `numbers` is the sum over
        numbers, for "is x > t?"; it is None if that is not asked.
        """
        self.keys = keys.keys
        self.bits = np.uint64((weights.shape[1] - 1).bit_length())
        # Of the 2^bits tags, those that are not groups get weight 0.
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

    def packed(self, keys: WordArray, tags: WordArray) -> WordArray:
        """Return the keys with the tags as their last bits, sorted within each column.

        Keys that leave no room for the tags are replaced by their ranks first.
        """
        if int(keys.max(initial=0)) >> (_KEY_BITS - int(self.bits)):
            keys = key_ranks(keys)
        packed = (keys << self.bits) | tags
        packed.sort(axis=1)
        return packed

    def running(self, packed: WordArray) -> Iterator[IntArray]:
        """Yield the running sums of the weights within each column, round by round."""
        tags = (packed & np.uint64((1 << int(self.bits)) - 1)).view(np.int64)
        for weights in self.weights:
            yield np.cumsum(weights.take(tags), axis=1)

    def some(self, columns: BoolArray) -> "TaggedCells":
        """Return a copy with the tags and sums of some columns; keys are not needed any more."""
        part = copy(self)
        part.tags = self.tags[columns] if len(self.tags) > 1 else self.tags
        part.every = self.every[:, columns]
        part.numbers = None if self.numbers is None else self.numbers[:, columns]
        return part


def are_sorted(rows: int, groups: int) -> bool:
    """Return whether columns of this size are sorted, rather than counted in bins."""
    return rows <= _FEW_ROWS or groups > _MOST_GROUPS


def ask(cells: TaggedCells, best: IntArray) -> None:
    """Raise `best`, for every round and column, to the best question about these cells.

    In long columns only "is x = v?" is asked: thresholds are left to `ask_in_bins`.

    Privacy:
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/core/test_stump.py
    """
    if are_sorted(cells.keys.shape[1], cells.weights.shape[1]):
        _sort_and_ask(cells, best)
        return
    for column in range(len(cells.keys)):
        _count_and_ask(cells, column, best[:, column])


def _sort_and_ask(cells: TaggedCells, best: IntArray) -> None:
    """Raise `best`, for every round and column, by sorting all columns at once."""
    packed = cells.packed(cells.keys, cells.tags)
    ends = _run_ends(packed >> cells.bits)
    distinct: BoolArray = np.asarray(ends.all(axis=1))
    if distinct.all():
        _ask_distinct(cells, packed, best)
    elif not distinct.any():
        _ask_runs(cells, packed, ends, best)
    else:
        tied: BoolArray = ~distinct
        parts = best[:, distinct], best[:, tied]
        _ask_distinct(cells.some(distinct), packed[distinct], parts[0])
        _ask_runs(cells.some(tied), packed[tied], ends[tied], parts[1])
        best[:, distinct], best[:, tied] = parts


def _ask_distinct(cells: TaggedCells, packed: WordArray, best: IntArray) -> None:
    """Raise `best` for columns in which no key occurs twice.

    This is for speed: it takes half the time of `_ask_runs`, which gives the same result.
    """
    for index, running in enumerate(cells.running(packed)):
        # Every value has one cell. Only extremes matter, so the cells need not be sorted.
        values = cells.weights[index].take(cells.tags.view(np.int64))
        questions = [(values, cells.every[index])]
        if cells.numbers is not None:
            questions.append((running, cells.numbers[index]))
        for yes, totals in questions:
            for extreme in (yes.max(axis=1), yes.min(axis=1)):
                np.maximum(best[index], np.abs(2 * extreme - totals), out=best[index])


def _ask_runs(cells: TaggedCells, packed: WordArray, ends: BoolArray, best: IntArray) -> None:
    """Raise `best` for columns whose runs of equal keys end at `ends`."""
    places = np.flatnonzero(ends)
    runs = np.count_nonzero(ends, axis=1)
    firsts = np.cumsum(runs) - runs
    for index, running in enumerate(cells.running(packed)):
        sums = running.reshape(-1).take(places)
        values = np.diff(sums, prepend=0)
        # Running sums begin again in each column.
        values[firsts] = sums[firsts]
        questions = [(values, cells.every[index])]
        if cells.numbers is not None:
            questions.append((sums, cells.numbers[index]))
        for yes, totals in questions:
            for extreme in (np.maximum.reduceat(yes, firsts), np.minimum.reduceat(yes, firsts)):
                np.maximum(best[index], np.abs(2 * extreme - totals), out=best[index])


def _count_and_ask(cells: TaggedCells, column: int, best: IntArray) -> None:
    """Raise `best`, for every round, to the best "is x = v?" about the words of one long column.

    Words are counted in bins that scatter them evenly. If the positive weights in a bin add up to
    `up` and all of them to `sums`, the sum s of any word in it is between sums - up and up. So
    |2 s - every| is at most 2 up - every or 2 (up - sums) + every. Only bins where this exceeds the
    best so far are opened, and of these only the ones that hold several words are sorted.
    """
    bins = _WordBins(*cells.column(column), cells.bits)
    sums: IntArray = cells.weights @ bins.counts.T
    up = np.maximum(cells.weights, 0) @ bins.counts.T
    every, least = cells.every[:, column, np.newaxis], best[:, np.newaxis]
    may_beat = (2 * up - every > least) | (2 * (up - sums) + every > least)
    opened = np.asarray(may_beat.any(axis=0))
    inside = bins.inside(opened)
    several = bins.several_words(inside)
    if (single := opened & ~several).any():
        np.maximum(best, farthest(sums[:, single], every[:, 0]), out=best)
    inside = inside[several.take(bins.of(inside))]
    if not len(inside):
        return
    keys, tags = cells.column(column)
    packed = cells.packed(keys[np.newaxis, inside], tags[np.newaxis, inside])
    places = np.flatnonzero(_run_ends(packed >> cells.bits))
    for index, running in enumerate(cells.running(packed)):
        words = np.diff(running[0].take(places), prepend=0)
        best[index] = max(best[index], farthest(words, every[index, 0]))


class _WordBins:
    """Counts of a column's words, by bin and tag."""

    def __init__(self, keys: WordArray, tags: WordArray, bits: np.uint64) -> None:
        self._keys = keys
        # The power of 2 between half the number of cells and that number, with a limit.
        bin_bits = min(max(1, len(keys).bit_length() - 1), _MOST_BIN_BITS)
        self._shift = np.uint64(_KEY_BITS - bin_bits)
        counts = np.zeros(1 << (bin_bits + int(bits)), dtype=np.int64)
        # Counting part by part takes less memory. But each part has a pass over all counts, so
        # parts are several times as long as these.
        at_once = max(_ROWS_AT_ONCE, 4 * len(counts))
        for first in range(0, len(keys), at_once):
            part = slice(first, first + at_once)
            slots = (self.of(part) << bits.view(np.int64)) | tags[part].view(np.int64)
            counts += np.bincount(slots, minlength=len(counts))
        self.counts: IntArray = counts.reshape(1 << bin_bits, -1)

    def of(self, which: IntArray | slice) -> IntArray:
        """Return the bins of some cells."""
        # The first bits of the product depend on all bits of the key.
        bins: IntArray = ((self._keys[which] * _SCATTER) >> self._shift).view(np.int64)
        return bins

    def inside(self, opened: BoolArray) -> IntArray:
        """Return the indices of the cells in opened bins."""
        inside = [np.zeros(0, dtype=np.int64)]
        for first in range(0, len(self._keys), _ROWS_AT_ONCE):
            bins = self.of(slice(first, first + _ROWS_AT_ONCE))
            inside.append(first + np.flatnonzero(opened.take(bins)))
        return np.concatenate(inside)

    def several_words(self, inside: IntArray) -> BoolArray:
        """Return which bins hold more than one word, judging by the cells `inside`.

        Each bin keeps one of its words; a cell with another word shows that there are several.
        """
        keys, bins = self._keys[inside], self.of(inside)
        one_of = np.zeros(len(self.counts), dtype=np.uint64)
        one_of[bins] = keys
        several = np.zeros(len(self.counts), dtype=np.bool_)
        several[bins[one_of.take(bins) != keys]] = True
        return several


def _run_ends(sorted_keys: WordArray) -> BoolArray:
    """Return where runs of equal keys end, in each column."""
    ends = np.ones(sorted_keys.shape, dtype=np.bool_)
    np.not_equal(sorted_keys[:, 1:], sorted_keys[:, :-1], out=ends[:, :-1])
    return ends
