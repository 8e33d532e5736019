"""The best yes/no question about short columns, and about words: see `stump.py`."""

from collections.abc import Iterator

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray, WordArray
from dpsel.core.scores.cell_keys import CellKeys, key_ranks
from dpsel.core.scores.float_bins import farthest

# Columns of fewer rows are sorted, many at once; longer ones are counted in bins first.
_FEW_ROWS = 1 << 13
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
        self.keys = keys.keys
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

    Numbers of many rows are not for this, but for `ask_in_bins`.

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
    """Raise `best`, for every round, to the best question about the words of one column.

    Words are counted in bins that scatter them evenly. Only those are sorted whose bins hold
    several words, and weigh enough to beat the best.
    """
    bins = _Bins(*asked.column(column), asked.bits)
    sums: IntArray = asked.weights @ bins.counts.T
    up = np.maximum(asked.weights, 0) @ bins.counts.T
    every, least = asked.every[:, column, np.newaxis], best[:, np.newaxis]
    better = (2 * up - every > least) | (2 * (up - sums) + every > least)
    opened = np.asarray(better.any(axis=0))
    inside = bins.inside(opened)
    several = bins.several_words(inside)
    if (single := opened & ~several).any():
        np.maximum(best, farthest(sums[:, single], every[:, 0]), out=best)
    inside = inside[several.take(bins.of(inside))]
    if not len(inside):
        return
    keys, tags = asked.column(column)
    packed = asked.packed(keys[np.newaxis, inside], tags[np.newaxis, inside])
    places = np.flatnonzero(_run_ends(packed >> asked.bits))
    for index, running in enumerate(asked.running(packed)):
        words = np.diff(running[0].take(places), prepend=0)
        best[index] = max(best[index], farthest(words, every[index, 0]))


class _Bins:
    """Counts of a column's words, by bin and weight."""

    def __init__(self, keys: WordArray, tags: WordArray, bits: np.uint64) -> None:
        self._keys = keys
        # About one bin for every two cells.
        bin_bits = min(max(1, len(keys).bit_length() - 1), _MOST_BIN_BITS)
        self._shift = np.uint64(_WORD_BITS - bin_bits)
        counts = np.zeros(1 << (bin_bits + int(bits)), dtype=np.int64)
        # Part by part, which takes less room; but counting writes all slots every time.
        at_once = max(_ROWS_AT_ONCE, 4 * len(counts))
        for first in range(0, len(keys), at_once):
            part = slice(first, first + at_once)
            slots = (self.of(part) << bits.view(np.int64)) | tags[part].view(np.int64)
            counts += np.bincount(slots, minlength=len(counts))
        self.counts: IntArray = counts.reshape(1 << bin_bits, -1)

    def of(self, which: IntArray | slice) -> IntArray:
        """Return the bins of some cells."""
        # Times an odd number: the first bits depend on all.
        found: IntArray = ((self._keys[which] * _SCATTER) >> self._shift).view(np.int64)
        return found

    def inside(self, opened: BoolArray) -> IntArray:
        """Return the places of the cells in opened bins."""
        found = [np.zeros(0, dtype=np.int64)]
        for first in range(0, len(self._keys), _ROWS_AT_ONCE):
            bins = self.of(slice(first, first + _ROWS_AT_ONCE))
            found.append(first + np.flatnonzero(opened.take(bins)))
        return np.concatenate(found)

    def several_words(self, inside: IntArray) -> BoolArray:
        """Tell which bins hold more than one word, of those that some cells are in."""
        keys, bins = self._keys[inside], self.of(inside)
        one_of = np.zeros(len(self.counts), dtype=np.uint64)
        one_of[bins] = keys
        several = np.zeros(len(self.counts), dtype=np.bool_)
        several[bins[one_of.take(bins) != keys]] = True
        return several


def _run_ends(sorted_keys: WordArray) -> BoolArray:
    """Tell where a run of equal keys ends, in each row."""
    ends = np.ones(sorted_keys.shape, dtype=np.bool_)
    np.not_equal(sorted_keys[:, 1:], sorted_keys[:, :-1], out=ends[:, :-1])
    return ends
