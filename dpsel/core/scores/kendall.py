"""The score `kendall`: |S| / (n - 1), where S counts agreeing less disagreeing pairs of rows."""

from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from functools import partial

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import MOST_ROWS, Neighbors, Unit
from dpsel.core.mapper import IN_TURN, Mapper
from dpsel.core.matrix import TiledMatrix
from dpsel.core.scores.base import Scores
from dpsel.errors import InputError
from dpsel.records import frozen

UNIT = 1 << 32
"""The integer that stands for a score of 1."""

# Cells that are worked on in one task, and in all of them at a time: some 85 bytes each, 180 MB
# in all.
# More only where a single feature has more rows.
_CELLS_AT_ONCE = 1 << 17
_CELLS_IN_ALL = 1 << 21
# A sort key holds a number below 2^31 above the bits of another.
_BITS = 32


@frozen
class KendallTotal:
    """S of some features, each over all rows; 0 rows where a feature has yet to come."""

    first_feature: int
    rows: IntArray = field(repr=False)
    pairs: IntArray = field(repr=False)


class KendallScore:
    """Keeps all batches, in memory or where it is told to, and compares all pairs at the end.

    S = sum over pairs i < j of sign(x_i - x_j) sign(y_i - y_j). Ties count 0, and so does a pair
    with a missing value, whose row still counts in n. Infinities are ordinary extreme values.
    T = |S| / (n - 1) is 0 where n <= 1. Always |S| <= n (n - 1) / 2.

    Add-remove: a further row makes S' with |S' - S| <= n and T' = |S'| / n. For n >= 2,
    T' - T <= (|S| + n) / n - |S| / (n - 1) <= 1, and
    T - T' <= |S| / (n - 1) - (|S| - n) / n = 1 + |S| / (n (n - 1)) <= 3/2.
    For n <= 1, T = 0 and T' <= 1. So T rises by at most 1 and falls by at most 3/2, and the score,
    T + n / 4, moves by at most 5/4. n / 4 is the same for all features, and mechanisms look at
    differences of scores only, so it changes no law. Attained: n >= 3 agreeing rows, and one at
    odds with them all; or a constant feature, and a row that agrees with all others.

    Add-remove, two classes of n1 and n0 rows: then |S| <= n1 n0. A further row of class 0 changes S
    by at most n1, so T' - T <= n1 / n <= 1, and T - T' <= n1 / n + n1 n0 / (n (n - 1)), which is
    largest, 1, at n0 = 1. The other class is alike; a row without a label changes no pair, and T
    falls by at most n1 n0 / (n (n - 1)) <= 1/2. So the score is T itself and moves by at most 1.
    Attained: a row that stands alone above, or below, all of the other class, and one at odds.

    Replace-one: n - 1 pairs change, each by at most 2, so |S' - S| <= 2 (n - 1) and T moves by at
    most 2. Attained: n >= 4 agreeing rows, of which one comes to be at odds with all others. For
    two classes it is the supremum: 2 (n - 2) / (n - 1), with two rows in one of them.

    Rounding: T is rounded down to a multiple of 2^-32. n / 4 and sensitivities are whole multiples
    s of that, and u <= v + s implies floor(u) <= floor(v) + s: they stay as they are.

    Batches: for one feature, batches must be added in the order of the table's rows, as
    `read_batches` does; where the rows and features are cut does not matter. The scores
    depend on the rows, not on their order. Pairs cannot be added up over rows: a total holds all
    rows of some features, and totals of other features add to it, in any order.

    Privacy:
        Domain: any floats, at most 2^31 - 1 rows.
        Neighbors: one row, or all kept rows of one person, at most `unit.rows` of them.
        Sensitivity: 5/4 a row under add-remove, 1 if the target is known to have two classes; 2
            under replace-one.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_row_sensitivity.py,
            tests/privacy/test_kendall_sensitivity.py, tests/core/test_kendall.py
    """

    needs_bounds = False

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score raw values: `bounds` only tell how many features and classes there are.

        With `bounds.two_classes` all targets above 0 are one class, and all others the other.
        """
        self._two_classes = bounds.two_classes
        self._sensitivity = kendall_move(neighbors, bounds.two_classes) * UNIT * unit.rows
        centered = neighbors is Neighbors.ADD_REMOVE and not bounds.two_classes
        self._shift = UNIT // 4 if centered else 0
        self._mapper: Mapper = IN_TURN
        self._table = TiledMatrix(len(bounds.lower))
        # Of features whose pairs were counted elsewhere: how many rows they have there.
        self._rows_elsewhere = np.zeros(len(bounds.lower), dtype=np.int64)
        self._pairs = np.zeros(len(bounds.lower), dtype=np.int64)
        self._targets: list[FloatArray] = []
        self._rows = 0

    def work_with(self, mapper: Mapper) -> None:
        """Compare the pairs of several features side by side; in turn, if nothing is said."""
        self._mapper = mapper

    def keep_in(self, matrix: TiledMatrix) -> None:
        """Add the rows to `matrix`, which has none yet; for a score without any."""
        self._table = matrix

    def take(self, matrix: TiledMatrix, y: FloatArray) -> None:
        """Score a matrix that has all its rows; for a score without any."""
        self._table, self._targets, self._rows = matrix, [y], len(y)

    def part(self, batch: Batch) -> Batch:
        """Return the batch itself: pairs need all rows."""
        return batch

    def add(self, part: Batch | KendallTotal) -> None:
        """Keep a batch, the next rows of its features; or add the total of other features."""
        if isinstance(part, KendallTotal):
            self._add_total(part)
            return
        self._table.add(part.first_feature, part.X)
        if part.first_feature == 0:
            self._targets.append(part.y)
            self._rows += len(part.X)
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def _add_total(self, total: KendallTotal) -> None:
        """Add the pairs of features that have no rows here yet."""
        features = slice(total.first_feature, total.first_feature + len(total.rows))
        there = self._rows_elsewhere[features]
        if len(self._table) or (np.minimum(there, total.rows) > 0).any():
            raise ValueError("a total needs all rows of its features at once")
        there += total.rows
        self._pairs[features] += total.pairs
        self._rows = int(self._rows_elsewhere.max(initial=self._rows))
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def total(self, first_feature: int = 0) -> KendallTotal:
        """Return S of all features that have rows, as a part for a table with these features."""
        if not len(self._table):
            return KendallTotal(first_feature, self._rows_elsewhere.copy(), self._pairs.copy())
        if self._rows_elsewhere.any() or len(self._table) != self._rows:
            raise ValueError("some features have fewer rows than others")
        rows = np.full(len(self._pairs), self._rows, dtype=np.int64)
        return KendallTotal(first_feature, rows, self._pair_sums())

    def scores(self) -> Scores:
        """Return T of all that was added, or T + n / 4, in units of 2^-32, rounded down."""
        total = self.total()
        if (total.rows != self._rows).any():
            raise ValueError("some features have fewer rows than others")
        # In two steps, so that nothing leaves 64 bits: the rest is below n - 1 < 2^31.
        whole, rest = np.divmod(np.abs(total.pairs), max(1, self._rows - 1))
        values = whole * UNIT + rest * UNIT // max(1, self._rows - 1)
        # Together at most 3/4 of 2^31, in units of 2^-32.
        values += self._shift * self._rows
        return Scores(values, float(self._sensitivity))

    def _pair_sums(self) -> IntArray:
        """Return S for every feature, from groups of features side by side."""
        features = self._table.shape[1]
        y = np.concatenate([np.zeros(0), *self._targets])
        if self._two_classes:
            y = np.where(np.isnan(y), y, y > 0.0)
        rows = np.argsort(y, kind="stable")[: np.count_nonzero(~np.isnan(y))]
        if len(rows) < 2:
            return np.zeros(features, dtype=np.int64)
        classes = _runs(y[rows][np.newaxis])[0]
        padded = _padded(len(rows))
        most = max(1, min(self._mapper.at_once, _CELLS_IN_ALL // padded))
        width = max(1, min(_CELLS_AT_ONCE, _CELLS_IN_ALL // most) // padded)

        def work(columns: Callable[[int, int], FloatArray], some: range) -> IntArray:
            return pair_sums(columns(some.start, some.stop).T[:, rows], classes)

        found = [np.zeros(0, dtype=np.int64)]
        for first, last in self._table.column_groups():
            columns = self._columns(first, last)
            ranges = [range(s, min(s + width, last)) for s in range(first, last, width)]
            found += self._mapper.map(partial(work, columns), ranges, most)
        return np.concatenate(found)

    def _columns(self, first: int, last: int) -> Callable[[int, int], FloatArray]:
        """Return what has the features of a group; from a disk they are read all at once."""
        if self._table.fits_in_memory:
            return self._table.columns
        group = self._table.columns(first, last)
        return lambda start, end: group[:, start - first : end - first]


def kendall_move(neighbors: Neighbors, two_classes: bool = False) -> Fraction:
    """Return how far one row can move a score: see `KendallScore`."""
    if neighbors is Neighbors.REPLACE_ONE:
        return Fraction(2)
    return Fraction(1) if two_classes else Fraction(5, 4)


def pair_sums(columns: FloatArray, classes: IntArray) -> IntArray:
    """Return S for every row of `columns`, a feature; NaN is missing.

    `classes` stand for the target: whole numbers from 0 on, rising, equal where the target is.
    Kendall's count: S = pairs - tied in x - tied in y + tied in both - 2 disagreeing pairs.

    Privacy:
        Domain: any floats, below 2^31 rows.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_kendall.py
    """
    rows = columns.shape[1]
    missing = np.isnan(columns)
    # numpy sorts much faster without NaN. Missing values come to stand last in the next sort.
    x = np.where(missing, np.inf, columns)
    order = np.argsort(x, axis=1)
    runs = _runs(_at(x, order))
    runs[_at(missing, order)] = rows
    # By x, and by y among equal x, since the columns come by y.
    runs, order = _sorted_by(runs, order)
    missing = runs == rows
    x_runs = np.where(missing, np.arange(rows), runs)
    # By y, and by the place so far among equal y: only disagreeing pairs are out of order.
    runs = classes[order]
    runs[missing] = rows
    runs, places = _sorted_by(runs, np.arange(rows))
    y_runs = _runs(runs, missing)
    both = _runs((y_runs << _BITS) + _at(x_runs, places), missing)
    present = rows - np.count_nonzero(missing, axis=1)
    untied = present * (present - 1) // 2 - _tied_pairs(x_runs) - _tied_pairs(y_runs)
    return np.asarray(untied + _tied_pairs(both) - 2 * inversions(places))


def inversions(permutations: IntArray) -> IntArray:
    """Return for every row, a permutation from 0 on, how many pairs are out of order.

    A pair is out of order at the highest bit in which its numbers differ: there the 1 comes
    before the 0. So take bit by bit, and move the zeros before the ones, keeping their order.
    Then numbers with the same higher bits always stand together, in groups of a known size, half
    of them zeros; a zero has as many ones before it as it has to move within its group.

    Privacy:
        Domain: permutations of less than 2^31 numbers.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_kendall.py
    """
    count, length = permutations.shape
    size = _padded(length)
    # What fills up to a power of 2 is in order.
    filled = np.tile(np.arange(size, dtype=np.int32), (count, 1))
    filled[:, :length] = permutations
    values = filled.reshape(-1)
    found = np.zeros(count, dtype=np.int64)
    group = size
    while group > 1:
        half = group // 2
        ones = (values & np.int32(half)) != 0
        zero_places, one_places = np.flatnonzero(~ones), np.flatnonzero(ones)
        values = np.concatenate([values.take(zero_places), values.take(one_places)])
        zero_places &= group - 1
        # For each value of the higher bits, the groups of all permutations are neighbors.
        found += zero_places.reshape(-1, count, half).sum(axis=(0, 2))
        found -= size // group * (half * (half - 1) // 2)
        group = half
    return found


def _sorted_by(major: IntArray, minor: IntArray) -> tuple[IntArray, IntArray]:
    """Return both, each row sorted by the first and then the second; all are below 2^31."""
    keys = major << _BITS
    keys += minor
    keys.sort(axis=1)
    return keys >> _BITS, keys & ((1 << _BITS) - 1)


def _at(values: NumberArray, places: IntArray) -> NumberArray:
    """Return from each row of `values` what is at the places in the same row of `places`."""
    before = np.arange(len(values))[:, np.newaxis] * values.shape[1]
    return np.asarray(values.reshape(-1).take(places + before))


def _runs(sorted_values: NumberArray, apart: BoolArray | None = None) -> IntArray:
    """Return for every place where its run of equal values begins; where `apart`, a new one."""
    begins = np.ones(sorted_values.shape, dtype=np.bool_)
    np.not_equal(sorted_values[:, 1:], sorted_values[:, :-1], out=begins[:, 1:])
    if apart is not None:
        begins |= apart
    places = begins * np.arange(sorted_values.shape[1])
    np.maximum.accumulate(places, axis=1, out=places)
    return places


def _tied_pairs(runs: IntArray) -> IntArray:
    """Return how many pairs are in one run: every place counts those before it in its run."""
    size = runs.shape[1]
    return np.asarray(size * (size - 1) // 2 - runs.sum(axis=1))


def _padded(rows: int) -> int:
    """Return the least power of 2 that is not below `rows`, itself at least 1."""
    return 1 << (rows - 1).bit_length()
