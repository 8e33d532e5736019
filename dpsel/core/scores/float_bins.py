"""The best yes/no question about numbers, counted in bins of equal width: see `questions.py`.

A cell x of a row in group g is counted in slot g * bins + rint(x * scale). For the bin any function
of x alone will do that never falls. Adding 1.5 * 2^52 to a double rounds it to a whole number, half
to even, and leaves that number in its last bits. With g * bins added as well, which is even, it is
rounded the same way in every group: a product and two sums find the slots of all cells.
"""

from collections.abc import Iterator
from dataclasses import field

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.records import frozen

_ROUND = 1.5 * 2.0**52
_ROUND_BITS = np.float64(_ROUND).view(np.int64)
# Products up to here are right within 1/8, and far from where sums are no whole numbers.
_FARTHEST = 2.0**50
# Bins that are left free: rounding may need one at either end, and a common value takes two.
_SPARE = 6
CELLS_AT_ONCE = 1 << 20
"""Cells that are worked on at once. With 2^18 two threads wait for Python's lock a third of the
time, and more do not fit in the processor's cache."""
_BIN_BITS = 5
# Of the cells of a column so large a part, 1 in so many, may be sorted.
_FEW = 16
# Cells of a column that are looked at to choose its bins, how many of them are left out at either
# end, and how much wider it is taken to be than the others: outliers share the outer bins.
_SAMPLE, _TAIL, _MARGIN = 256, 1, 0.125
# Columns are left out of which 2/5 lie closer together than this part of the whole: 1 in so many.
_DENSEST = 8
# What is more often in the sample than 1 in so many is common.
_COMMON = 16
_DECIMALS = (1.0, 10.0, 100.0, 1000.0, 10000.0)


@frozen
class RowSlots:
    """Where the counts of each row's group begin, as the double that rounds: for all columns."""

    begins: FloatArray = field(repr=False)
    bins: int
    values: IntArray = field(repr=False)
    """The weight of every group, for each round."""
    used: list[int]
    """The groups that have rows, and weights."""

    @staticmethod
    def of(groups: IntArray, values: IntArray) -> "RowSlots":
        """Return the slots of rows that are in these groups.

        There are some 32 sqrt(n) bins: about as far as sqrt(n) the sums of a column get that tells
        nothing, and few bins hold enough cells to get farther.
        """
        bins = 1 << (_BIN_BITS + len(groups).bit_length() // 2)
        begins = groups * np.float64(bins)
        begins += _ROUND
        counts = np.bincount(groups, minlength=values.shape[1])
        used = np.flatnonzero(counts * values.any(axis=0))
        return RowSlots(begins, bins, values, used.tolist())


@frozen
class Totals:
    """Sums of weights, for every round and column: of all cells, and of numbers alone."""

    every: IntArray = field(repr=False)
    numbers: IntArray = field(repr=False)

    def columns(self, which: BoolArray) -> "Totals":
        """Return those of some columns."""
        return Totals(self.every[:, which], self.numbers[:, which])


def ask_in_bins(
    numbers: FloatArray,
    missing: BoolArray | None,
    rows: RowSlots,
    totals: Totals,
    best: IntArray,
) -> BoolArray:
    """Raise `best`, for every round and column, to the best question, and tell for which columns.

    Cells are counted in bins. That answers questions between bins. Inside a bin a sum can only move
    by the weights in it: only the cells of bins that could beat the best are sorted. Left out are
    columns that cannot be cut in bins of equal width, or have too many cells in such bins.

    Privacy:
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/core/test_stump.py, tests/core/test_float_bins.py
    """
    scales = _Scales.of(numbers, rows.bins)
    done = scales.usable
    if not done.any():
        return done
    if not done.all():
        numbers, scales, totals = numbers[done], scales.columns(done), totals.columns(done)
        missing = None if missing is None else missing[done]
    bins = _Bins(numbers, missing, rows, scales)
    raised = best[:, done]
    bins.ask_between(totals, raised)
    opened = bins.opened(totals, raised)
    crowded = bins.rows(opened) > numbers.shape[1] // _FEW
    opened[crowded] = False
    bins.ask_inside(opened, totals, raised)
    best[:, done] = raised
    done[done] = ~crowded
    return done


@frozen
class _Scales:
    """How columns are cut into bins: by rint(x * scale), of x between low and high.

    A common value, NaN for none, has a bin of its own: it is moved on by one bin, and the numbers
    above it by two.
    """

    low: FloatArray
    high: FloatArray
    scale: FloatArray
    common: FloatArray
    single: BoolArray
    """Whether all numbers in a bin are the same, in any bin of the column."""

    @staticmethod
    def of(numbers: FloatArray, bins: int) -> "_Scales":
        """Choose by a sample of each column; which changes no score, only how long it takes."""
        step = -(-numbers.shape[1] // _SAMPLE)
        sample = np.sort(numbers[:, ::step], axis=1)
        common = _common(sample)
        others = sample
        if not np.isnan(common).all():
            others = np.sort(np.where(sample == common[:, np.newaxis], np.nan, sample), axis=1)
        low, high, densest = _spread(others)
        with np.errstate(all="ignore"):
            scale = (bins - _SPARE) / (high - low)
            scale[~(densest * _DENSEST > high - low)] = np.nan
            scale[np.maximum(np.abs(low), np.abs(high)) * scale > _FARTHEST] = np.nan
        found = _Scales(low, high, scale, common, np.zeros(len(low), dtype=np.bool_))
        for column, decimals in _rounded(sample):
            found._cut_by_value(column, numbers[column], decimals, bins)
        return found

    def _cut_by_value(self, column: int, cells: FloatArray, decimals: float, bins: int) -> None:
        """Give each value of a column a bin, if they are few and all have few decimals."""
        low, high = np.fmin.reduce(cells), np.fmax.reduce(cells)
        far = max(abs(low), abs(high)) * decimals > _FARTHEST
        if far or not (high - low) * decimals < bins - _SPARE or not _is_rounded(cells, decimals):
            return
        self.low[column], self.high[column], self.scale[column] = low, high, decimals
        self.common[column], self.single[column] = np.nan, True

    def first(self) -> IntArray:
        """Return what the smallest number of each column comes to."""
        return np.rint(self.low * self.scale).astype(np.int64)

    def alone(self, bins: int) -> BoolArray:
        """Tell which bins of each column hold one value only."""
        found = np.repeat(self.single[:, np.newaxis], bins, axis=1)
        columns = np.flatnonzero(~np.isnan(self.common))
        place = np.rint(np.clip(self.common, self.low, self.high) * self.scale)[columns]
        found[columns, place.astype(np.int64) - self.first()[columns] + 1] = True
        return found

    @property
    def usable(self) -> BoolArray:
        """Return which columns can be cut."""
        return np.isfinite(self.scale)

    def columns(self, which: BoolArray) -> "_Scales":
        """Return those of some columns."""
        low, high, scale = self.low[which], self.high[which], self.scale[which]
        return _Scales(low, high, scale, self.common[which], self.single[which])


def _common(sample: FloatArray) -> FloatArray:
    """Return a value that is common in a sorted sample, for every column; NaN for none."""
    many = 1 + sample.shape[1] // _COMMON
    again = sample[:, many:] == sample[:, :-many]
    found = np.full(len(sample), np.nan)
    columns, places = np.nonzero(again)
    found[columns] = sample[columns, places]
    return found


def _spread(sample: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return about where a column begins and ends, and how wide the densest 2/5 of it are."""
    last = np.count_nonzero(~np.isnan(sample), axis=1, keepdims=True) - 1
    tail = np.where(last < _SAMPLE // 8, 0, _TAIL)
    low = np.take_along_axis(sample, tail, axis=1)[:, 0]
    high = np.take_along_axis(sample, np.maximum(last - tail, 0), axis=1)[:, 0]
    further = np.arange(sample.shape[1]) + 1 + last * 2 // 5
    with np.errstate(all="ignore"):
        width = np.take_along_axis(sample, np.clip(further, 0, last), axis=1) - sample
        margin = _MARGIN * (high - low)
        return low - margin, high + margin, np.where(further <= last, width, np.inf).min(axis=1)


def _rounded(sample: FloatArray) -> Iterator[tuple[int, float]]:
    """Yield columns of which a sample has few decimals, and by what these become whole numbers."""
    for column in np.flatnonzero(_has_decimals(sample, _DECIMALS[-1]).all(axis=1)).tolist():
        fits = (decimals for decimals in _DECIMALS if _has_decimals(sample[column], decimals).all())
        yield column, next(fits)


def _has_decimals(cells: FloatArray, decimals: float) -> BoolArray:
    """Tell which cells are whole multiples of 1 / `decimals`, or missing.

    A number with few decimals is read as the double nearest to it, and so is a quotient rounded.
    """
    with np.errstate(over="ignore"):
        return np.asarray((np.rint(cells * decimals) / decimals == cells) | np.isnan(cells))


def _is_rounded(cells: FloatArray, decimals: float) -> bool:
    """Tell whether all cells are whole multiples of 1 / `decimals`, or missing."""
    parts = range(0, len(cells), CELLS_AT_ONCE)
    return all(_has_decimals(cells[i : i + CELLS_AT_ONCE], decimals).all() for i in parts)


class _Bins:
    """The counts of columns by weight and bin; the sums of weights are for every round."""

    def __init__(
        self, numbers: FloatArray, missing: BoolArray | None, rows: RowSlots, scales: _Scales
    ) -> None:
        self._numbers, self._rows, self._scales = numbers, rows, scales
        self._missing = missing
        # Of few cells the slots are kept.
        self._parts: list[tuple[FloatArray, IntArray]] = []
        shape = len(numbers), rows.values.shape[1], rows.bins
        counts = np.zeros(shape[0] * shape[1] * shape[2], dtype=np.int64)
        if numbers.size <= CELLS_AT_ONCE:
            self._parts = list(self._slots())
        for _, slots in self._parts or self._slots():
            counts += np.bincount(slots, minlength=len(counts))
        self._counts = counts.reshape(shape)
        self._sums = self._weighed(rows.values)
        self._after = np.cumsum(self._sums, axis=-1)
        self._alone = scales.alone(rows.bins)

    def _slots(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield some cells at a time, and where they are counted."""
        columns, count = self._numbers.shape
        width = max(1, min(count, CELLS_AT_ONCE // columns))
        room = np.empty(columns * width)
        low, high = self._scales.low[:, np.newaxis], self._scales.high[:, np.newaxis]
        scale = self._scales.scale[:, np.newaxis]
        begins = np.arange(columns)[:, np.newaxis] * (self._rows.values.shape[1] * self._rows.bins)
        begins -= self._scales.first()[:, np.newaxis] + _ROUND_BITS
        common = self._scales.common[:, np.newaxis]
        any_common = not np.isnan(common).all()
        for first in range(0, count, width):
            part = slice(first, first + width)
            cells = self._numbers[:, part]
            rounded = room[: cells.size].reshape(cells.shape)
            np.clip(cells, low, high, out=rounded)
            rounded *= scale
            rounded += self._rows.begins[part]
            slots = rounded.view(np.int64)
            slots += begins
            if any_common:
                slots += cells >= common
                slots += cells > common
            if self._missing is not None:
                # Group 0 does not count.
                np.copyto(slots, 0, where=self._missing[:, part])
            yield cells.reshape(-1), slots.reshape(-1)

    def _weighed(self, values: IntArray) -> IntArray:
        """Return what the cells in each bin weigh."""
        found = np.zeros((len(values), len(self._counts), self._rows.bins), dtype=np.int64)
        for group in self._rows.used:
            found += values[:, group, np.newaxis, np.newaxis] * self._counts[:, group]
        return found

    def ask_between(self, totals: Totals, best: IntArray) -> None:
        """Raise `best` to the best threshold between bins; and value, if bins have only one."""
        np.maximum(best, farthest(self._after, totals.numbers), out=best)
        if self._alone.any():
            values = np.abs(2 * self._sums - totals.every[..., np.newaxis])
            np.maximum(best, np.where(self._alone, values, 0).max(axis=-1), out=best)

    def opened(self, totals: Totals, best: IntArray) -> BoolArray:
        """Tell for each column which bins of several values may hold a better question."""
        least, numbers = best[..., np.newaxis], totals.numbers[..., np.newaxis]
        every = totals.every[..., np.newaxis]
        up = 2 * self._weighed(np.maximum(self._rows.values, 0))
        down = up - 2 * self._sums
        before = 2 * (self._after - self._sums) - numbers
        better = (before + up > least) | (before - down < -least)
        better |= (up - every > least) | (down + every > least)
        return np.asarray(better.any(axis=0) & ~self._alone)

    def rows(self, opened: BoolArray) -> IntArray:
        """Return how many cells of each column are in opened bins."""
        columns, bins = np.nonzero(opened)
        counts = self._counts[columns, :, bins][:, self._rows.used].sum(axis=1)
        return np.bincount(columns, counts, len(opened)).astype(np.int64)

    def ask_inside(self, opened: BoolArray, totals: Totals, best: IntArray) -> None:
        """Raise `best` to the best question about the cells of opened bins."""
        if not opened.any():
            return
        cells, places, groups = self._inside(opened)
        order = np.argsort(cells)
        # By column, in order: so few different numbers are sorted in no time.
        few = (places[order] // self._rows.bins).astype(np.uint16)
        order = order[np.argsort(few, kind="stable")]
        cells, places, groups = cells[order], places[order], groups[order]
        differ = (cells[1:] != cells[:-1]) | (places[1:] != places[:-1])
        ends = np.flatnonzero(np.append(differ, True))
        columns = places[ends] // self._rows.bins
        chosen = opened.reshape(-1)
        ranks = (np.cumsum(chosen) - 1)[places[ends]]
        for index, weights in enumerate(self._rows.values):
            sums, after = self._sums[index].reshape(-1), self._after[index].reshape(-1)
            # What comes before an opened bin in its column, but is in no opened bin.
            skipped = after[chosen] - np.cumsum(sums[chosen])
            yes = np.cumsum(weights[groups])[ends]
            values = np.diff(yes, prepend=0)
            yes += skipped[ranks]
            for found, total in ((values, totals.every), (yes, totals.numbers)):
                np.maximum.at(best[index], columns, np.abs(2 * found - total[index, columns]))

    def _inside(self, opened: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the cells of opened bins, their bins, counted over all columns, and groups."""
        wanted = np.zeros(self._counts.shape, dtype=np.bool_)
        for group in self._rows.used:
            wanted[:, group] = opened
        cells, slots = [], []
        for some, places in self._parts or self._slots():
            inside = np.flatnonzero(wanted.take(places))
            cells.append(some[inside])
            slots.append(places[inside])
        begins, bins = np.divmod(np.concatenate(slots), self._rows.bins)
        columns, groups = np.divmod(begins, self._rows.values.shape[1])
        return np.concatenate(cells), columns * self._rows.bins + bins, groups


def farthest(sums: IntArray, totals: IntArray) -> IntArray:
    """Return the largest |2 s - total| over the last axis."""
    high, low = sums.max(axis=-1), sums.min(axis=-1)
    return np.asarray(np.maximum(np.abs(2 * high - totals), np.abs(2 * low - totals)))
