"""The best yes/no question about long columns of numbers, counted in bins: see `stump.py`.

A cell x of a row in group g is counted in slot g * bins + rint(x * scale). Any function of x alone
that never falls would do for the bin. Adding 1.5 * 2^52 to a double rounds it to a whole number,
half to even, and leaves that number in its last bits. g * bins is added as well; it is even, so
numbers are rounded in the same way in every group. One product and two sums thus give the slots of
all cells.
"""

from collections.abc import Iterator
from dataclasses import field

import numpy as np
from numpy.typing import DTypeLike

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.records import frozen

_ROUND = 1.5 * 2.0**52
_ROUND_BITS = np.float64(_ROUND).view(np.int64)
# Products up to this size are accurate to 1/8, and the sums stay where doubles are whole numbers.
_FARTHEST = 2.0**50
# Bins that are kept free: rounding may need one at each end, and a common value takes two.
_SPARE = 6
CELLS_AT_ONCE = 1 << 20
"""Cells that are worked on at once. With 2^18, two threads wait for Python's lock a third of the
time; more than this do not fit in the processor's cache."""
# There are 2^5 sqrt(n) bins: see `RowSlots.of`.
_BIN_BITS = 5
# At most 1 in so many cells of a column may be sorted.
_FEW = 16
# The size of the sample by which the bins of a column are chosen, how many of its cells are dropped
# at each end, and how much wider than the rest the bins reach: outliers share the outer bins.
_SAMPLE, _TAIL, _MARGIN = 256, 1, 0.125
# Bins of equal width are not used for a column if 2/5 of it lie within 1 / _DENSEST of its range.
_DENSEST = 8
# A value is common if it makes up more than 1 in so many cells of the sample.
_COMMON = 16
_DECIMALS = (1.0, 10.0, 100.0, 1000.0, 10000.0)


@frozen
class RowSlots:
    """Where the counts of each row's group begin, as the double that is added for rounding.

    The same for all columns.
    """

    begins: FloatArray = field(repr=False)
    bins: int
    values: IntArray = field(repr=False)
    """The weight of every group, for each round."""
    used: list[int] = field(repr=False)
    """The groups that have rows and a weight other than 0."""

    @staticmethod
    def of(groups: IntArray, values: IntArray) -> "RowSlots":
        """Return the slots of rows that are in these groups.

        The sums of a column that tells nothing about the target reach about sqrt(n). Of some
        32 sqrt(n) bins, only a few are so close to the best question, and hold so many cells, that
        a question inside the bin could be better.
        """
        bins = 1 << (_BIN_BITS + len(groups).bit_length() // 2)
        begins = groups * np.float64(bins)
        begins += _ROUND
        counts = np.bincount(groups, minlength=values.shape[1])
        used = np.flatnonzero(counts * values.any(axis=0))
        return RowSlots(begins, bins, values, used.tolist())


@frozen
class Numbers:
    """Columns of numbers, one row of `cells` per column, and the sums of weights in every round."""

    cells: FloatArray = field(repr=False)
    missing: BoolArray | None = field(repr=False)
    every: IntArray = field(repr=False)
    """The sums of the weights of all cells that are numbers or words."""
    numbers: IntArray = field(repr=False)
    """The sums of the weights of all cells that are numbers."""

    def some(self, which: BoolArray) -> "Numbers":
        """Return some of the columns; if all are chosen, nothing is copied."""
        if which.all():
            return self
        missing = None if self.missing is None else self.missing[which]
        return Numbers(self.cells[which], missing, self.every[:, which], self.numbers[:, which])


# Numbers may overflow to infinity, and a NaN may be one that signals: neither is worth a warning.
@np.errstate(over="ignore", invalid="ignore")
def ask_in_bins(columns: Numbers, rows: RowSlots, best: IntArray) -> BoolArray:
    """Raise `best`, for every round and column, to the best question.

    Cells are counted in bins, which answers all questions about thresholds between bins. Inside a
    bin a sum can only move by the weights in it, so only the cells of bins that could beat the best
    question are sorted. If these are many, bins of equal width were a bad choice: then the bins are
    wider the farther they are from 0.

    Returns the columns for which questions about single values are left to the caller, because
    almost any value could beat the best question. For these the order of values does not matter.

    Privacy:
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/core/test_stump.py, tests/core/test_float_bins.py
    """
    # Equal widths first, then bent bins for the columns that are left.
    left = np.ones(len(columns.cells), dtype=np.bool_)
    values_left = np.zeros_like(left)
    for bent in (False, True):
        scales = _Scales.of(columns.some(left).cells, rows.bins, bent=bent)
        chosen = left.copy()
        chosen[left] = usable = scales.usable
        if chosen.any():
            raised = best[:, chosen]
            bins = _Bins(columns.some(chosen), rows, scales.some(usable))
            left[chosen], values_left[chosen] = bins.ask(raised, all_of_them=bent)
            best[:, chosen] = raised
        if not left.any():
            break
    return values_left


@frozen
class _Scales:
    """How columns are cut into bins: by rint(x * scale), with x clipped to low..high.

    With a `bend` b, x is first replaced by the number of floats between b and b + |x|, with the
    sign of x: proportional to about log(1 + |x| / b). A common value (NaN for none) has a bin of
    its own: it is moved up by one bin, and the numbers above it by two.
    """

    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    scale: FloatArray = field(repr=False)
    common: FloatArray = field(repr=False)
    single: BoolArray = field(repr=False)
    """Whether every bin of the column holds only one value."""
    bend: FloatArray | None = field(repr=False)

    @staticmethod
    @np.errstate(all="ignore")
    def of(numbers: FloatArray, bins: int, *, bent: bool) -> "_Scales":
        """Choose by a sample of each column; this changes no score, only the time it takes."""
        step = -(-numbers.shape[1] // _SAMPLE)
        sample = np.sort(numbers[:, ::step], axis=1)
        common = _common(sample)
        apart = (sample == common[:, np.newaxis]) | np.isinf(sample)
        others = np.sort(np.where(apart, np.nan, sample), axis=1) if apart.any() else sample
        bend = _bend(others) if bent else None
        if bend is not None:
            bent_others = _bent(others, bend, np.empty_like(others))
            others = np.where(np.isnan(others), np.nan, bent_others)
        low, high, densest = _spread(others)
        scale = (bins - _SPARE) / (high - low)
        scale[~(np.maximum(np.abs(low), np.abs(high)) * scale <= _FARTHEST)] = np.nan
        single = np.zeros(len(low), dtype=np.bool_)
        scales = _Scales(low, high, scale, common, single, bend)
        if bent:
            for values in (low, high, scale):
                values[~np.isfinite(scale)] = 0.0
            return scales
        scale[~(densest * _DENSEST > high - low)] = np.nan
        for column, power, kind in _rounded(sample):
            cells = numbers[column]
            least, most = np.fmin.reduce(cells), np.fmax.reduce(cells)
            few = (most - least) * power < bins - _SPARE
            near = max(-least, most) * power <= _FARTHEST
            if few and near and _is_rounded(cells, power, kind):
                low[column], high[column], scale[column] = least, most, power
                common[column], single[column] = np.nan, True
        return scales

    @property
    def usable(self) -> BoolArray:
        """Return which columns can be cut into these bins."""
        return np.isfinite(self.scale)

    def some(self, which: BoolArray) -> "_Scales":
        """Return the scales of some columns."""
        low, high, scale = self.low[which], self.high[which], self.scale[which]
        bend = None if self.bend is None else self.bend[which]
        return _Scales(low, high, scale, self.common[which], self.single[which], bend)

    def scaled(self, cells: FloatArray, out: FloatArray) -> None:
        """Write x * scale for cells of all columns."""
        low, high = self.low[:, np.newaxis], self.high[:, np.newaxis]
        if self.bend is not None:
            cells = _bent(cells, self.bend, out)
        np.clip(cells, low, high, out=out)
        out *= self.scale[:, np.newaxis]

    def first(self) -> IntArray:
        """Return rint(x * scale) of the smallest number of each column."""
        return np.rint(self.low * self.scale).astype(np.int64)

    def alone(self, bins: int) -> BoolArray:
        """Return which bins of each column hold only one value."""
        alone = np.repeat(self.single[:, np.newaxis], bins, axis=1)
        columns = np.flatnonzero(~np.isnan(self.common))
        places = np.empty((len(self.common), 1))
        self.scaled(self.common[:, np.newaxis], places)
        bins_of_common = np.rint(places[columns, 0]).astype(np.int64) - self.first()[columns] + 1
        alone[columns, bins_of_common] = True
        return alone


def _bend(sample: FloatArray) -> FloatArray:
    """Return, for each column of a sample, a magnitude below which about 1/16 of its cells are."""
    sizes = np.sort(np.abs(sample), axis=1)
    last = np.count_nonzero(~np.isnan(sizes), axis=1, keepdims=True) - 1
    small = np.take_along_axis(sizes, np.maximum(last, 0) // 16, axis=1)[:, 0]
    return np.where(np.isfinite(small) & (small > 0), small, 1.0)


def _bent(numbers: FloatArray, bend: FloatArray, out: FloatArray) -> FloatArray:
    """Write the number of floats between the bend b and b + |x|, with the sign of x, to `out`."""
    bend = bend[:, np.newaxis]
    np.abs(numbers, out=out)
    out += bend
    # Positive floats are in the same order as their bits read as whole numbers.
    bits = out.view(np.int64)
    bits -= bend.view(np.int64)
    return np.copysign(bits.astype(np.float64), numbers, out=out)


def _common(sample: FloatArray) -> FloatArray:
    """Return a common value of each column, given a sorted sample; NaN for none."""
    many = 1 + sample.shape[1] // _COMMON
    repeated = sample[:, many:] == sample[:, :-many]
    common = np.full(len(sample), np.nan)
    columns, places = np.nonzero(repeated)
    common[columns] = sample[columns, places]
    return common


def _spread(sample: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return roughly where each column begins and ends, and the width of its densest 2/5."""
    last = np.count_nonzero(~np.isnan(sample), axis=1, keepdims=True) - 1
    tail = np.where(last < _SAMPLE // 8, 0, _TAIL)
    low = np.take_along_axis(sample, tail, axis=1)[:, 0]
    high = np.take_along_axis(sample, np.maximum(last - tail, 0), axis=1)[:, 0]
    further = np.arange(sample.shape[1]) + 1 + last * 2 // 5
    width = np.take_along_axis(sample, np.clip(further, 0, last), axis=1) - sample
    margin = _MARGIN * (high - low)
    return low - margin, high + margin, np.where(further <= last, width, np.inf).min(axis=1)


def _rounded(sample: FloatArray) -> Iterator[tuple[int, float, DTypeLike]]:
    """Yield columns whose sample has few decimals, with the power of 10 for these and the type."""
    left = np.ones(len(sample), dtype=np.bool_)
    for kind in (np.float64, np.float32):
        rounded = left & _has_decimals(sample, _DECIMALS[-1], kind).all(axis=1)
        left &= ~rounded
        for column in np.flatnonzero(rounded).tolist():
            one = sample[column]
            fits = (power for power in _DECIMALS if _has_decimals(one, power, kind).all())
            yield column, next(fits), kind


def _has_decimals(cells: FloatArray, power: float, kind: DTypeLike) -> BoolArray:
    """Return which cells are whole multiples of 1 / `power` in the precision `kind`, or NaN.

    A decimal is read as the nearest float, and a quotient of whole numbers is rounded to it too.
    """
    rounded = (np.rint(cells * power) / power).astype(kind, copy=False)
    return np.asarray((rounded == cells) | np.isnan(cells))


def _is_rounded(cells: FloatArray, power: float, kind: DTypeLike) -> bool:
    """Return whether all cells are whole multiples of 1 / `power` in precision `kind`, or NaN."""
    parts = range(0, len(cells), CELLS_AT_ONCE)
    return all(_has_decimals(cells[i : i + CELLS_AT_ONCE], power, kind).all() for i in parts)


class _Bins:
    """The counts of columns by group and bin, and the sums of weights for every round."""

    def __init__(self, columns: Numbers, rows: RowSlots, scales: _Scales) -> None:
        self._columns, self._rows, self._scales = columns, rows, scales
        # The slots of few cells are kept; those of many are computed again when needed.
        self._parts: list[tuple[FloatArray, IntArray]] = []
        if columns.cells.size <= CELLS_AT_ONCE:
            self._parts = list(self._slots())
        shape = len(columns.cells), rows.values.shape[1], rows.bins
        counts = np.zeros(shape[0] * shape[1] * shape[2], dtype=np.int64)
        for _, slots in self._parts or self._slots():
            counts += np.bincount(slots, minlength=len(counts))
        self._counts = counts.reshape(shape)
        self._sums = self._weighed(rows.values)
        self._after = np.cumsum(self._sums, axis=-1)
        self._alone = scales.alone(rows.bins)

    def _slots(self) -> Iterator[tuple[FloatArray, IntArray]]:
        """Yield some cells at a time, with the slots in which they are counted."""
        columns, count = self._columns.cells.shape
        width = max(1, min(count, CELLS_AT_ONCE // columns))
        room = np.empty(columns * width)
        begins = np.arange(columns) * (self._rows.values.shape[1] * self._rows.bins)
        begins -= self._scales.first() + _ROUND_BITS
        common = self._scales.common[:, np.newaxis]
        any_common = not np.isnan(common).all()
        for first in range(0, count, width):
            part = slice(first, first + width)
            cells = self._columns.cells[:, part]
            rounded = room[: cells.size].reshape(cells.shape)
            self._scales.scaled(cells, rounded)
            rounded += self._rows.begins[part]
            slots = rounded.view(np.int64)
            slots += begins[:, np.newaxis]
            if any_common:
                slots += cells >= common
                slots += cells > common
            if self._columns.missing is not None:
                # Missing cells go to slot 0, which is in group 0: it does not count.
                np.copyto(slots, 0, where=self._columns.missing[:, part])
            yield cells.reshape(-1), slots.reshape(-1)

    def _weighed(self, values: IntArray) -> IntArray:
        """Return the sum of the weights of the cells in each bin."""
        sums = np.zeros((len(values), len(self._counts), self._rows.bins), dtype=np.int64)
        for group in self._rows.used:
            sums += values[:, group, np.newaxis, np.newaxis] * self._counts[:, group]
        return sums

    def ask(self, best: IntArray, *, all_of_them: bool) -> tuple[BoolArray, BoolArray]:
        """Raise `best`; return the columns for which too many cells would have to be sorted.

        There are two kinds: columns that need other bins (none, with `all_of_them`), and columns
        for which only questions about single values are left.
        """
        self._ask_between(best)
        near, same = self._opened(best)
        few = len(self._rows.begins) // _FEW
        crowded = (self._cells_in(near) > few) & (not all_of_them)
        many_values = (self._cells_in(same & ~near) > few) & ~crowded
        same[many_values] = False
        opened = near | same
        opened[crowded] = False
        if opened.any():
            self._ask_inside(opened, best)
        return crowded, many_values

    def _cells_in(self, opened: BoolArray) -> IntArray:
        """Return the number of cells of each column in opened bins."""
        columns, bins = np.nonzero(opened)
        cells = self._counts[columns, :, bins][:, self._rows.used].sum(axis=1)
        return np.bincount(columns, cells, len(opened)).astype(np.int64)

    def _ask_between(self, best: IntArray) -> None:
        """Raise `best` to the best threshold between bins, and the best value with its own bin."""
        np.maximum(best, farthest(self._after, self._columns.numbers), out=best)
        self._ask_values(self._alone, best)

    def _ask_values(self, alone: BoolArray, best: IntArray) -> None:
        """Raise `best` to the best question about a value that is alone in its bin."""
        if alone.any():
            values = np.abs(2 * self._sums - self._columns.every[..., np.newaxis])
            np.maximum(best, np.where(alone, values, 0).max(axis=-1), out=best)

    def _opened(self, best: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return which bins of several values may hold a better threshold, and which a value."""
        every, numbers = self._columns.every, self._columns.numbers
        least = best[..., np.newaxis]
        up = 2 * self._weighed(np.maximum(self._rows.values, 0))
        down = up - 2 * self._sums
        before = 2 * (self._after - self._sums) - numbers[..., np.newaxis]
        near = (before + up > least) | (before - down < -least)
        same = (up > least + every[..., np.newaxis]) | (down > least - every[..., np.newaxis])
        return near.any(axis=0) & ~self._alone, same.any(axis=0) & ~self._alone

    def _ask_inside(self, opened: BoolArray, best: IntArray) -> None:
        """Raise `best` to the best question about the cells of opened bins.

        The cells are sorted, except in bins that turn out to hold only one value.
        """
        cells, places, groups = self._inside(opened)
        several = _several(cells, places, opened.size)
        self._ask_values(opened & ~several.reshape(opened.shape), best)
        chosen = several[places]
        cells, places, groups = cells[chosen], places[chosen], groups[chosen]
        if not len(cells):
            return
        order = np.argsort(cells)
        # Then by column, with a stable sort, which is fast for small integers.
        column_of = (places[order] // self._rows.bins).astype(np.uint16)
        order = order[np.argsort(column_of, kind="stable")]
        cells, places, groups = cells[order], places[order], groups[order]
        differ = (cells[1:] != cells[:-1]) | (places[1:] != places[:-1])
        ends = np.flatnonzero(np.append(differ, True))
        columns = places[ends] // self._rows.bins
        every, numbers = self._columns.every, self._columns.numbers
        ranks = (np.cumsum(several) - 1)[places[ends]]
        for index, weights in enumerate(self._rows.values):
            sums, after = self._sums[index].reshape(-1), self._after[index].reshape(-1)
            # The weights that come before a bin in its column but are in none of these bins.
            skipped = after[several] - np.cumsum(sums[several])
            yes = np.cumsum(weights[groups])[ends]
            values = np.diff(yes, prepend=0)
            yes += skipped[ranks]
            for answer, total in ((values, every), (yes, numbers)):
                np.maximum.at(best[index], columns, np.abs(2 * answer - total[index, columns]))

    def _inside(self, opened: BoolArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the cells of opened bins, their bins (numbered over all columns) and groups."""
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


def _several(cells: FloatArray, places: IntArray, bins: int) -> BoolArray:
    """Return which of `bins` bins hold several values, given some cells and their bins."""
    one_of = np.zeros(bins)
    one_of[places] = cells
    several = np.zeros(bins, dtype=np.bool_)
    several[places[one_of[places] != cells]] = True
    return several


def farthest(sums: IntArray, totals: IntArray) -> IntArray:
    """Return the largest |2 s - total| over the last axis."""
    high, low = sums.max(axis=-1), sums.min(axis=-1)
    return np.asarray(np.maximum(np.abs(2 * high - totals), np.abs(2 * low - totals)))
