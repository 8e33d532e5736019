"""The score `stump`: how well the best yes/no question about a feature predicts the target.

    S = max over questions q of |sum over rows i of a_i q(x_i)|,  q = +1 yes, -1 no, 0 no answer

Here x_i is the cell of the feature in row i. The weight a_i in [-1, 1] of the row depends on its
own target: see `dpsel.core.target`. There are two kinds of questions:

    "is x > t?"   for every number t, including infinity; only numbers answer
    "is x = v?"   for every value v, number or word; numbers and words answer

A missing cell answers no question.

Sensitivity: for a fixed q, one more row changes the sum by at most 1. If every function of a fixed
family changes by at most s, so does their maximum. The family is infinite and the same for every
table, so it needs no bounds, no types and no list of values. The best question is not released.

Exactness: weights are integer multiples of 2^-30, so sums over 2^31 rows are exact in 64-bit
integers, in any order.

Computation: if the weights of all cells that answer add up to T, and those of yes to s, the sum is
s - (T - s) = 2 s - T. Swapping yes and no only changes its sign. It is enough to try values of the
column as t and v, where s is a running sum over sorted numbers, or the sum over equal cells; and
one v that no cell has, where s is 0. Short columns are sorted (`questions.py`). In long columns
most cells are only counted in bins (`float_bins.py` for numbers, `questions.py` for words).
"""

from collections.abc import Callable
from dataclasses import field
from functools import cached_property

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, RealArray
from dpsel.core.batch import Batch, rows_of
from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import Neighbors, Unit, rows_changed
from dpsel.core.scores.base import Scores
from dpsel.core.scores.cell_keys import number_keys, word_keys
from dpsel.core.scores.float_bins import CELLS_AT_ONCE, Numbers, RowSlots, ask_in_bins
from dpsel.core.scores.questions import TaggedCells, are_sorted, ask
from dpsel.core.words import words_of
from dpsel.errors import UsageError
from dpsel.records import frozen

UNIT = 1 << 30
"""The integer that represents a weight, or a score, of 1."""

# The weights of group 0, which does not count, of targets up to 0, and of targets above 0.
_ABOVE_0 = np.array([[0, -UNIT, UNIT]])

# How many cells of short columns are worked on at once. Each takes some 60 bytes.
_CELLS_AT_ONCE = 1 << 16


@frozen
class RowWeights:
    """The weight of every row, in one or several rounds; rows of the same group weigh the same.

    `groups` has the group of each row. `values[w, g]` is the weight of group g in round w, in units
    of 2^-30. Group 0 is for rows that do not count.
    """

    groups: IntArray = field(repr=False)
    values: IntArray = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse weights that would break the sensitivity."""
        if self.values.ndim != 2 or not self.values.shape[1] or self.values.dtype != np.int64:
            raise UsageError("weights must be whole numbers, one for every round and group")
        if (self.values > UNIT).any() or (self.values < -UNIT).any() or self.values[:, 0].any():
            raise UsageError("weights must be between -1 and 1, and 0 for group 0")
        if self.groups.ndim != 1 or self.groups.dtype != np.int64:
            raise UsageError("groups must be whole numbers, one for every row")
        # Read as unsigned, a negative number is a large one, so one comparison checks both ends.
        if (self.groups.view(np.uint64) >= self.values.shape[1]).any():
            raise UsageError("groups must be columns of the weights")

    @cached_property
    def counts(self) -> IntArray:
        """Return the number of rows in each group."""
        return np.bincount(self.groups, minlength=self.values.shape[1])

    @cached_property
    def slots(self) -> RowSlots:
        """Return where the cells of long columns are counted, which is the same for all columns."""
        return RowSlots.of(self.groups, self.values)


@frozen
class Cells:
    """Some columns of a table, with one row of each array per column.

    Every cell is a number in `numbers`, or a word with a code from 0 on in `codes`, or missing. NaN
    is not a number, a negative code is not a word, and a cell with both a number and a code is a
    number. Codes are only compared for equality, within a column. -0.0 equals 0.0, and infinities
    are numbers.
    """

    numbers: FloatArray = field(repr=False)
    codes: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse arrays of other types, or whose shapes differ."""
        if self.numbers.ndim != 2 or self.numbers.dtype != np.float64:
            raise UsageError("numbers must be doubles, a row for every column")
        if self.codes is None:
            return
        if self.codes.shape != self.numbers.shape or self.codes.dtype != np.int64:
            raise UsageError("codes must be whole numbers, as many as there are cells")

    @staticmethod
    def of(X: RealArray) -> "Cells":
        """Return the cells of a batch, which has one row per row of the table.

        In double precision, a NaN may be a word: see `dpsel.core.words`. In single precision, any
        NaN is a missing cell, whatever its bits.
        """
        cells = np.ascontiguousarray(X.T, dtype=np.float64)
        # If any cell is NaN, so is the minimum. Checking this first takes a tenth of the time.
        if X.dtype != np.float64 or not np.isnan(cells.min(initial=0.0)):
            return Cells(cells)
        words, codes = words_of(cells)
        return Cells(cells, codes if words.any() else None)

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of columns, and the number of rows."""
        return self.numbers.shape[0], self.numbers.shape[1]

    def columns(self, some: slice) -> "Cells":
        """Return some of the columns."""
        codes = None if self.codes is None else self.codes[some]
        return Cells(self.numbers[some], codes)


def stump_sensitivity(neighbors: Neighbors, unit: Unit) -> int:
    """Return how much one unit can change a score, in units of 2^-30.

    That is 1 for each row that is added or removed, and 2 for each row that is replaced.
    """
    return UNIT * rows_changed(neighbors, unit)


def stump_scores(cells: Cells, weights: RowWeights) -> IntArray:
    """Return the scores in units of 2^-30: one row per round, and one column per column.

    Privacy:
        Domain: any cells, at most 2^31 - 1 rows; weights in [-1, 1] that follow from the row's own
            target by a rule that is public, or that was paid for.
        Neighbors: one row, or all kept rows of one person.
        Sensitivity: `stump_sensitivity`, exactly.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_stump_sensitivity.py, tests/core/test_stump.py
    """
    return _scores_in_parts(cells.columns, cells.shape, weights)


def matrix_scores(X: RealArray, weights: RowWeights) -> IntArray:
    """Return `stump_scores(Cells.of(X), weights)`, using less memory.

    Only a few columns at a time are converted to cells, so that they stay in the processor's cache.

    Privacy:
        Sensitivity: `stump_sensitivity`, exactly.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/core/test_stump.py
    """
    rows, columns = X.shape
    return _scores_in_parts(lambda some: Cells.of(X[:, some]), (columns, rows), weights)


def _scores_in_parts(
    cells: Callable[[slice], Cells], shape: tuple[int, int], weights: RowWeights
) -> IntArray:
    """Return the scores, a few columns at a time; `shape` is the number of columns and of rows."""
    count, rows = shape
    if rows != len(weights.groups):
        raise UsageError("weights must have as many rows as the cells")
    scores = np.zeros((len(weights.values), count), dtype=np.int64)
    if rows == 0:
        return scores
    short = are_sorted(rows, weights.values.shape[1])
    at_once = max(1, (_CELLS_AT_ONCE if short else CELLS_AT_ONCE) // rows)
    for first in range(0, count, at_once):
        some = slice(first, first + at_once)
        scores[:, some] = _scores(cells(some), weights)
    return scores


def _scores(cells: Cells, weights: RowWeights) -> IntArray:
    """Return the scores of a few columns."""
    not_numbers = np.isnan(cells.numbers) if np.isnan(cells.numbers.min()) else None
    # Sums of weights: of cells that are numbers, and of those that are numbers or words.
    numbers = every = _sums(not_numbers, len(cells.numbers), weights)
    words = None
    if cells.codes is not None and not_numbers is not None:
        words = word_keys(cells.codes, ~not_numbers | (cells.codes < 0))
        every = numbers + _sums(words.missing, len(cells.numbers), weights)
    # "Is x = v?" for a value that no cell has: all answer no.
    best: IntArray = np.abs(every)
    groups, values = weights.groups, weights.values
    if are_sorted(len(groups), values.shape[1]):
        ask(TaggedCells(number_keys(cells.numbers), groups, values, every, numbers), best)
    else:
        columns = Numbers(cells.numbers, not_numbers, every, numbers)
        values_left = ask_in_bins(columns, weights.slots, best)
        for column in np.flatnonzero(values_left).tolist():
            # Only "is x = v?" is left, for which numbers can be treated like words.
            one = slice(column, column + 1)
            keys = number_keys(cells.numbers[one])
            ask(TaggedCells(keys, groups, values, every[:, one], None), best[:, one])
    if words is not None:
        ask(TaggedCells(words, groups, values, every, None), best)
    return best


def _sums(missing: BoolArray | None, columns: int, weights: RowWeights) -> IntArray:
    """Return the sum of the weights of all cells but the missing ones, by round and column."""
    groups = weights.values.shape[1]
    counts = np.tile(weights.counts, (columns, 1))
    if missing is not None:
        for column in np.flatnonzero(missing.any(axis=1)):
            groups_of_missing = weights.groups[missing[column]]
            counts[column] -= np.bincount(groups_of_missing, minlength=groups)
    return np.asarray(weights.values @ counts.T)


class StumpScore:
    """The score with public weights: 1 where the target is above 0, and -1 where it is not.

    Rows without a target weigh 0. The score is for audits, and for tables that are in memory.
    `dpsel select` finds better weights: see `release_stump`.

    Privacy:
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Sensitivity: `stump_sensitivity`, exactly.
        Guarantee: none; the scores are private input for a mechanism.
        Tested by: tests/privacy/test_stump_sensitivity.py
    """

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score as many features as there are bounds; the bounds themselves are not used."""
        self._weighed = WeighedStump(len(bounds.lower), WeightRule(_ABOVE_0, 2))
        self._sensitivity = stump_sensitivity(neighbors, unit)

    def part(self, batch: Batch) -> Batch:
        """Return the batch: all rows are needed at once."""
        return self._weighed.part(batch)

    def add(self, part: Batch) -> None:
        """Keep a batch until the scores are computed."""
        self._weighed.add(part)

    def scores(self) -> Scores:
        """Return the scores, from all rows that were added."""
        return Scores(self._weighed.total()[1][0], float(self._sensitivity))


@frozen
class WeightRule:
    """How the weight of a row follows from its own target: the same rule on any machine.

    With two classes, the groups are 1 for targets up to 0, and 2 above. With more, class c is group
    c + 1. With 0 classes, the groups are 1 below the center, 2 at the center, and 3 above. Rows
    with any other target, or none, are in group 0.
    """

    values: IntArray = field(repr=False)
    """The weight of every group, for each round; group 0 does not count."""
    classes: int
    center: float = field(default=0.0, repr=False)

    def groups(self, y: FloatArray) -> IntArray:
        """Return the group of every row."""
        # All comparisons with NaN are false, so a missing target stays in group 0.
        groups: IntArray = (y == y).astype(np.int64)
        if self.classes > 2:
            groups *= (y >= 0) & (y < self.classes)
            known = groups > 0
            groups[known] += y[known].astype(np.int64)
        elif self.classes == 2:
            groups += y > 0
        else:
            groups += y >= self.center
            groups += y > self.center
        return groups

    def weights(self, y: FloatArray) -> RowWeights:
        """Return the weights of some rows.

        Privacy:
            Guarantee: none; a row's weight depends on its own target, and on a rule that is public
                or was paid for.
            Tested by: tests/privacy/test_target.py
        """
        return RowWeights(self.groups(y), self.values)


class WeighedStump:
    """The score of some features, with weights by a rule; totals can be sent to other machines.

    Add batches that together hold all rows of a feature, or totals from another machine.

    Privacy:
        Guarantee: none; totals are private input for a mechanism.
        Tested by: tests/cluster/test_stump.py
    """

    def __init__(self, features: int, rule: WeightRule) -> None:
        """Score this many features."""
        self._rule = rule
        self._values = np.zeros((len(rule.values), features), dtype=np.int64)
        self._batches: list[Batch] = []

    def part(self, batch: Batch) -> Batch:
        """Return the batch: all rows are needed at once."""
        return batch

    def add(self, part: "Batch | tuple[int, IntArray]") -> None:
        """Keep a batch, or add the total of some features."""
        if isinstance(part, Batch):
            self._batches.append(part)
        else:
            # A sum works because only one part has the scores of a feature; others have 0.
            first, values = part
            self._values[:, first : first + values.shape[1]] += values

    def total(self, first_feature: int = 0) -> tuple[int, IntArray]:
        """Return `first_feature`, and the scores of all features from there on, a row per round."""
        by_feature: dict[int, list[Batch]] = {}
        for batch in self._batches:
            by_feature.setdefault(batch.first_feature, []).append(batch)
        for first, batches in by_feature.items():
            X = np.concatenate([np.asarray(rows_of(batch.X, slice(None))) for batch in batches])
            y = np.concatenate([batch.y for batch in batches])
            self.add((first, matrix_scores(X, self._rule.weights(y))))
        self._batches.clear()
        return first_feature, self._values

    def scores(self) -> Scores:
        """Refuse, because with several rounds a feature has more than one score."""
        raise UsageError("rounds have scores of their own")
