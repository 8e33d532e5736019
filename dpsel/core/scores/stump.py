"""The score `stump`: how well the best yes/no question about a cell tells the target's weights.

    S = max over questions q of |sum over rows i of a_i q(x_i)|,  q = +1 yes, -1 no, 0 no answer

Questions are "is x > t?" for every number t, infinity too, which cells that are no number do not
answer, and "is x = v?" for every value v, number or word. A missing cell answers nothing. The
weight a_i in [-1, 1] comes from the row's own target: see `dpsel.core.target`.

For fixed q a further row moves the sum by at most 1, and a maximum over a fixed family of functions
that move by at most s moves by at most s. The family is infinite and the same for every table: it
needs no bounds, no types and no list of values. Which question won is not released.

Weights are whole multiples of 2^-30, so sums over 2^31 rows are exact in 64 bits, in any order.
"""

from dataclasses import field
from functools import cached_property

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, RealArray
from dpsel.core.batch import Batch, rows_of
from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.cell_keys import number_keys, word_keys
from dpsel.core.scores.float_bins import CELLS_AT_ONCE, Numbers, RowSlots, ask_in_bins
from dpsel.core.scores.questions import Asked, are_sorted, ask
from dpsel.core.words import words_of
from dpsel.errors import UsageError
from dpsel.records import frozen

UNIT = 1 << 30
"""The integer that stands for a weight, and a score, of 1."""

# Two classes, of which one has targets above 0.
_ABOVE_0 = np.array([[0, -UNIT, UNIT]])

# Cells of wide tables that are worked on at once: some 60 bytes each.
_CELLS_AT_ONCE = 1 << 16


@frozen
class RowWeights:
    """What every row weighs, in one or several rounds: rows of one group weigh the same.

    `values[w, g]` is the weight of group g in round w, in units of 2^-30. Group 0 is for rows that
    do not count.
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
        # As words a negative number is a large one.
        if (self.groups.view(np.uint64) >= self.values.shape[1]).any():
            raise UsageError("groups must be columns of the weights")

    @cached_property
    def counts(self) -> IntArray:
        """How many rows each group has."""
        return np.bincount(self.groups, minlength=self.values.shape[1])

    @cached_property
    def slots(self) -> RowSlots:
        """Where long columns are counted."""
        return RowSlots.of(self.groups, self.values)


@frozen
class Cells:
    """Some columns of a table, one row of each array a column: every cell is one of three.

    A number, from `numbers`; or a word, by its code from 0 on in `codes`; or missing. NaN is no
    number, negative codes are no words, and a cell with both is a number. Codes need mean nothing
    but equality, within a column. -0.0 is 0.0, and infinities are numbers.
    """

    numbers: FloatArray = field(repr=False)
    codes: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other."""
        if self.numbers.ndim != 2 or self.numbers.dtype != np.float64:
            raise UsageError("numbers must be doubles, a row for every column")
        if self.codes is None:
            return
        if self.codes.shape != self.numbers.shape or self.codes.dtype != np.int64:
            raise UsageError("codes must be whole numbers, as many as there are cells")

    @staticmethod
    def of(X: RealArray) -> "Cells":
        """Return the cells of a batch, whose rows are rows: numbers, words in NaNs, or missing."""
        cells = np.ascontiguousarray(X.T, dtype=np.float64)
        # A word is a NaN, and a smallest number takes a tenth of the time to find.
        if not np.isnan(cells.min(initial=0.0)):
            return Cells(cells)
        words, codes = words_of(cells)
        return Cells(cells, codes if words.any() else None)

    @property
    def shape(self) -> tuple[int, int]:
        """How many columns and rows there are."""
        return self.numbers.shape[0], self.numbers.shape[1]

    def columns(self, first: int, last: int) -> "Cells":
        """Return some of the columns."""
        codes = None if self.codes is None else self.codes[first:last]
        return Cells(self.numbers[first:last], codes)


def stump_sensitivity(neighbors: Neighbors, unit: Unit) -> int:
    """Return how far one unit moves any score, in units of 2^-30: 1 a row, 2 if it is replaced."""
    return UNIT * unit.rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1)


def stump_scores(cells: Cells, weights: RowWeights) -> IntArray:
    """Return the scores in units of 2^-30: a row for every round, a column for every column.

    Privacy:
        Domain: any cells, at most 2^31 - 1 rows; weights in [-1, 1] by a public rule, or one that
            was paid for, from the row's own target.
        Neighbors: one row, or all kept rows of one person.
        Sensitivity: `stump_sensitivity`, exactly.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_stump_sensitivity.py, tests/core/test_stump.py
    """
    count, rows = cells.shape
    if rows != len(weights.groups):
        raise UsageError("weights must have as many rows as the cells")
    if rows == 0:
        return np.zeros((len(weights.values), count), dtype=np.int64)
    short = are_sorted(rows, weights.values.shape[1])
    at_once = max(1, (_CELLS_AT_ONCE if short else CELLS_AT_ONCE) // rows)
    parts = [
        _scores(cells.columns(first, first + at_once), weights)
        for first in range(0, count, at_once)
    ]
    return np.concatenate([np.zeros((len(weights.values), 0), dtype=np.int64), *parts], axis=1)


def _scores(cells: Cells, weights: RowWeights) -> IntArray:
    """Return the scores of columns that fit in at once."""
    missing = np.isnan(cells.numbers) if np.isnan(cells.numbers.min()) else None
    numbers = every = _sums(missing, len(cells.numbers), weights)
    words = None
    if cells.codes is not None and missing is not None:
        words = word_keys(cells.codes, ~missing | (cells.codes < 0))
        every = numbers + _sums(words.missing, len(cells.numbers), weights)
    # What is said of a value that no cell has.
    best: IntArray = np.abs(every)
    groups, values = weights.groups, weights.values
    if are_sorted(len(groups), values.shape[1]):
        ask(Asked(number_keys(cells.numbers), groups, values, every, numbers), best)
    else:
        left = ask_in_bins(Numbers(cells.numbers, missing, every, numbers), weights.slots, best)
        for column in np.flatnonzero(left).tolist():
            # Which values are equal is all that is left to ask, as of words.
            one = slice(column, column + 1)
            keys = number_keys(cells.numbers[one])
            ask(Asked(keys, groups, values, every[:, one], None), best[:, one])
    if words is not None:
        ask(Asked(words, groups, values, every, None), best)
    return best


def _sums(missing: BoolArray | None, columns: int, weights: RowWeights) -> IntArray:
    """Return the sum of the weights of the cells that are there, for every round and column."""
    groups = weights.values.shape[1]
    counts = np.tile(weights.counts, (columns, 1))
    if missing is not None:
        for column in np.flatnonzero(missing.any(axis=1)):
            gone = weights.groups[missing[column]]
            counts[column] -= np.bincount(gone, minlength=groups)
    return np.asarray(weights.values @ counts.T)


class StumpScore:
    """The score with public weights: 1 where the target is above 0, -1 elsewhere.

    For audits, and whoever scores a table that is in memory. `dpsel select` finds better weights:
    see `release_stump`.

    Privacy:
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Sensitivity: `stump_sensitivity`, exactly.
        Guarantee: none; the scores are private input for a mechanism.
        Tested by: tests/privacy/test_stump_sensitivity.py
    """

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score the features that have bounds; what these are does not matter."""
        self._weighed = WeighedStump(len(bounds.lower), WeightRule(_ABOVE_0, 2))
        self._sensitivity = stump_sensitivity(neighbors, unit)

    def part(self, batch: Batch) -> Batch:
        """Return the batch: all rows are needed at once."""
        return self._weighed.part(batch)

    def add(self, part: Batch) -> None:
        """Keep a batch."""
        self._weighed.add(part)

    def scores(self) -> Scores:
        """Return the scores of all rows that were added."""
        return Scores(self._weighed.total()[1][0], float(self._sensitivity))


@frozen
class WeightRule:
    """What a row weighs, by its own target alone: the same rule for all rows, on any machine."""

    values: IntArray = field(repr=False)
    """The weight of every group, for each round; group 0 does not count."""
    classes: int
    center: float = field(default=0.0, repr=False)

    def groups(self, y: FloatArray) -> IntArray:
        """Return the group of every row."""
        # NaN compares with nothing: it stays in group 0.
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
    """The score of some features with weights by a rule, whose total can be sent away.

    What is added is batches that together have all rows of these features, or totals of others.

    Privacy:
        Guarantee: none; totals are private input for a mechanism.
        Tested by: tests/cluster/test_stump.py
    """

    def __init__(self, features: int, rule: WeightRule) -> None:
        """Score so many features."""
        self._rule = rule
        self._values = np.zeros((len(rule.values), features), dtype=np.int64)
        self._batches: list[Batch] = []

    def part(self, batch: Batch) -> Batch:
        """Return the batch: all rows are needed at once."""
        return batch

    def add(self, part: "Batch | tuple[int, IntArray]") -> None:
        """Keep a batch, or take the total of some features."""
        if isinstance(part, Batch):
            self._batches.append(part)
        else:
            # 0 for features that are not in the part: each is in one.
            first, values = part
            self._values[:, first : first + values.shape[1]] += values

    def total(self, first_feature: int = 0) -> tuple[int, IntArray]:
        """Return the scores of all features, a row for every round, and where they begin."""
        own: dict[int, list[Batch]] = {}
        for batch in self._batches:
            own.setdefault(batch.first_feature, []).append(batch)
        for first, some in own.items():
            X = np.concatenate([np.asarray(rows_of(batch.X, slice(None))) for batch in some])
            y = np.concatenate([batch.y for batch in some])
            self.add((first, stump_scores(Cells.of(X), self._rule.weights(y))))
        self._batches.clear()
        return first_feature, self._values

    def scores(self) -> Scores:
        """Refuse: with several rounds there is no one score a feature."""
        raise UsageError("rounds have scores of their own")
