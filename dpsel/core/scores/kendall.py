"""The score `kendall`: |S| / (n - 1), where S counts agreeing minus disagreeing pairs of rows."""

from collections.abc import Callable
from dataclasses import field
from fractions import Fraction
from functools import partial

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import MOST_ROWS, Neighbors, Unit
from dpsel.core.matrix import TiledMatrix
from dpsel.core.scores.base import IN_TURN, Mapper, Scores
from dpsel.errors import InputError
from dpsel.records import frozen

UNIT = 1 << 32
"""The integer that represents a score of 1."""

# Cells that are worked on in one task, and in all tasks at a time: about 85 bytes each, 180 MB in
# total. More only if a single feature has more rows.
_CELLS_AT_ONCE = 1 << 17
_CELLS_IN_ALL = 1 << 21
# A sort key holds a number below 2^31 above the bits of another.
_BITS = 32


@frozen
class KendallTotal:
    """S of some features, each over all rows; 0 rows for a feature that is not there yet."""

    first_feature: int
    rows: IntArray = field(repr=False)
    pairs: IntArray = field(repr=False)


class KendallScore:
    """The score `kendall`: keeps all rows, in memory or on disk, and compares all pairs at the end.

    S = sum over pairs i < j of sign(x_i - x_j) sign(y_i - y_j). Ties count 0, and so does a pair
    with a missing value, whose row still counts in n. Infinities are ordinary extreme values.
    T = |S| / (n - 1), or 0 if n <= 1. Always |S| <= n (n - 1) / 2.

    Add-remove: one more row makes S' with |S' - S| <= n and T' = |S'| / n. For n >= 2,
    T' - T <= (|S| + n) / n - |S| / (n - 1) <= 1, and
    T - T' <= |S| / (n - 1) - (|S| - n) / n = 1 + |S| / (n (n - 1)) <= 3/2.
    For n <= 1, T = 0 and T' <= 1. So T rises by at most 1 and falls by at most 3/2, and the score,
    T + n / 4, moves by at most 5/4. n / 4 is the same for all features, and mechanisms look only at
    differences of scores, so it changes no law. Attained: n >= 3 agreeing rows, and one that
    disagrees with all of them; or a constant feature, and a row that agrees with all others.

    Add-remove, two classes of n1 and n0 rows: then |S| <= n1 n0. One more row of class 0 changes S
    by at most n1, so T' - T <= n1 / n <= 1, and T - T' <= n1 / n + n1 n0 / (n (n - 1)), whose
    largest value is 1, at n0 = 1. The same holds for the other class. A row without a label changes
    no pair, and T falls by at most n1 n0 / (n (n - 1)) <= 1/2. So the score is T itself and moves
    by at most 1. Attained: the only row of its class, above or below all rows of the other class,
    and a row that disagrees.

    Replace-one: n - 1 pairs change, each by at most 2, so |S' - S| <= 2 (n - 1) and T moves by at
    most 2. Attained: n >= 4 agreeing rows, one of which comes to disagree with all others. For two
    classes 2 is the supremum: T moves by 2 (n - 2) / (n - 1) with two rows in one class.

    Rounding: T is rounded down to a multiple of 2^-32. n / 4 and the sensitivities are whole
    multiples s of that, and u <= v + s implies floor(u) <= floor(v) + s, so they do not change.

    Batches: for one feature, batches must be added in the order of the table's rows, as
    `read_batches` does; where the table is cut into batches does not matter. The scores depend on
    the rows, but not on their order. Pairs cannot be added up over rows: a total covers all rows of
    some features, and totals of other features can be added to it in any order.

    Privacy:
        Domain: any floats, at most 2^31 - 1 rows.
        Neighbors: one row, or all kept rows of one person, at most `unit.rows` of them.
        Sensitivity: 5/4 per row under add-remove, 1 if the target is known to have two classes; 2
            under replace-one.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_row_sensitivity.py,
            tests/privacy/test_kendall_sensitivity.py, tests/core/test_kendall.py
    """

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score raw values: `bounds` only gives the number of features, and whether two classes.

        With `bounds.two_classes`, all targets above 0 are one class and all others the other one.
        """
        self._two_classes = bounds.two_classes
        self._sensitivity = kendall_move(neighbors, bounds.two_classes) * UNIT * unit.rows
        centered = neighbors is Neighbors.ADD_REMOVE and not bounds.two_classes
        self._shift = UNIT // 4 if centered else 0
        self._mapper: Mapper = IN_TURN
        self._table = TiledMatrix(len(bounds.lower))
        # The number of rows of each feature whose pairs were counted in another process.
        self._rows_elsewhere = np.zeros(len(bounds.lower), dtype=np.int64)
        self._pairs = np.zeros(len(bounds.lower), dtype=np.int64)
        self._targets: list[FloatArray] = []
        self._rows = 0

    def work_with(self, mapper: Mapper) -> None:
        """Compare the pairs of several features at a time; without this call, one at a time."""
        self._mapper = mapper

    def keep_in(self, matrix: TiledMatrix) -> None:
        """Add all rows to `matrix`, which has none yet; call this before any row is added."""
        self._table = matrix

    def take(self, matrix: TiledMatrix, y: FloatArray) -> None:
        """Score a matrix that already has all rows; call this instead of adding any."""
        self._table, self._targets, self._rows = matrix, [y], len(y)

    def part(self, batch: Batch) -> Batch:
        """Return the batch itself, since pairs need all rows."""
        return batch

    def add(self, part: Batch | KendallTotal) -> None:
        """Keep a batch, which has the next rows of its features; or add a total."""
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
        """Add the pairs of features that have no rows in this score yet."""
        features = slice(total.first_feature, total.first_feature + len(total.rows))
        elsewhere = self._rows_elsewhere[features]
        if len(self._table) or (np.minimum(elsewhere, total.rows) > 0).any():
            raise ValueError("a total needs all rows of its features at once")
        elsewhere += total.rows
        self._pairs[features] += total.pairs
        self._rows = int(self._rows_elsewhere.max(initial=self._rows))
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def total(self, first_feature: int = 0) -> KendallTotal:
        """Return S of all features that have rows, as a partial for the score of a larger table."""
        if not len(self._table):
            return KendallTotal(first_feature, self._rows_elsewhere.copy(), self._pairs.copy())
        if self._rows_elsewhere.any() or len(self._table) != self._rows:
            raise ValueError("some features have fewer rows than others")
        rows = np.full(len(self._pairs), self._rows, dtype=np.int64)
        return KendallTotal(first_feature, rows, self._pair_sums())

    def scores(self) -> Scores:
        """Return the scores, T or T + n / 4, in units of 2^-32, rounded down."""
        total = self.total()
        if (total.rows != self._rows).any():
            raise ValueError("some features have fewer rows than others")
        # In two steps, so that nothing exceeds 64 bits: the remainder is below n - 1 < 2^31.
        whole, rest = np.divmod(np.abs(total.pairs), max(1, self._rows - 1))
        values = whole * UNIT + rest * UNIT // max(1, self._rows - 1)
        # Together at most 3/4 of 2^31, in units of 2^-32.
        values += self._shift * self._rows
        return Scores(values, float(self._sensitivity))

    def _pair_sums(self) -> IntArray:
        """Return S for every feature; the mapper works on groups of features."""
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

        def work(columns: Callable[[int, int], FloatArray], features: range) -> IntArray:
            return pair_sums(columns(features.start, features.stop).T[:, rows], classes)

        sums = [np.zeros(0, dtype=np.int64)]
        for first, last in self._table.column_groups():
            columns = self._columns(first, last)
            ranges = [range(s, min(s + width, last)) for s in range(first, last, width)]
            sums += self._mapper.map(partial(work, columns), ranges, most)
        return np.concatenate(sums)

    def _columns(self, first: int, last: int) -> Callable[[int, int], FloatArray]:
        """Return a function for the columns of a group; from disk the whole group is read once."""
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
    """Return S for every feature, which is a row of `columns`; NaN is missing.

    `classes` is the target as ascending whole numbers from 0 on, equal where the target is equal.
    Kendall's count: S = pairs - tied in x - tied in y + tied in both - 2 disagreeing pairs.

    Privacy:
        Domain: any floats, below 2^31 rows.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_kendall.py
    """
    rows = columns.shape[1]
    missing = np.isnan(columns)
    # numpy sorts much faster without NaN. The next sort puts missing values last.
    x = np.where(missing, np.inf, columns)
    order = np.argsort(x, axis=1)
    runs = _runs(_at(x, order))
    runs[_at(missing, order)] = rows
    # Sort by x, and among equal x by y, since the columns are already in the order of y.
    runs, order = _sorted_by(runs, order)
    missing = runs == rows
    x_runs = np.where(missing, np.arange(rows), runs)
    # Sort by y, and among equal y by the current place: only disagreeing pairs are out of order.
    runs = classes[order]
    runs[missing] = rows
    runs, places = _sorted_by(runs, np.arange(rows))
    y_runs = _runs(runs, missing)
    both = _runs((y_runs << _BITS) + _at(x_runs, places), missing)
    present = rows - np.count_nonzero(missing, axis=1)
    untied = present * (present - 1) // 2 - _tied_pairs(x_runs) - _tied_pairs(y_runs)
    return np.asarray(untied + _tied_pairs(both) - 2 * inversions(places))


def inversions(permutations: IntArray) -> IntArray:
    """Return the number of pairs out of order in every row, which is a permutation of 0, 1, ...

    A pair is out of order if, at the highest bit in which its numbers differ, the 1 comes before
    the 0. So go through the bits from the highest on, and move the zeros before the ones, keeping
    their order. Numbers with the same higher bits are then always together, in groups of a known
    size, half of them zeros. A zero has as many ones before it as the places it has to move within
    its group.

    Privacy:
        Domain: permutations of less than 2^31 numbers.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_kendall.py
    """
    count, length = permutations.shape
    size = _padded(length)
    # Fill up to a power of 2 with numbers that are in order.
    filled = np.tile(np.arange(size, dtype=np.int32), (count, 1))
    filled[:, :length] = permutations
    values = filled.reshape(-1)
    out_of_order = np.zeros(count, dtype=np.int64)
    group = size
    while group > 1:
        half = group // 2
        ones = (values & np.int32(half)) != 0
        zero_places, one_places = np.flatnonzero(~ones), np.flatnonzero(ones)
        values = np.concatenate([values.take(zero_places), values.take(one_places)])
        zero_places &= group - 1
        # For each value of the higher bits, the groups of all permutations are adjacent.
        out_of_order += zero_places.reshape(-1, count, half).sum(axis=(0, 2))
        out_of_order -= size // group * (half * (half - 1) // 2)
        group = half
    return out_of_order


def _sorted_by(major: IntArray, minor: IntArray) -> tuple[IntArray, IntArray]:
    """Return both, each row sorted by `major` and then `minor`; all numbers are below 2^31."""
    keys = major << _BITS
    keys += minor
    keys.sort(axis=1)
    return keys >> _BITS, keys & ((1 << _BITS) - 1)


def _at(values: NumberArray, places: IntArray) -> NumberArray:
    """Return `np.take_along_axis(values, places, axis=1)`."""
    before = np.arange(len(values))[:, np.newaxis] * values.shape[1]
    return np.asarray(values.reshape(-1).take(places + before))


def _runs(sorted_values: NumberArray, apart: BoolArray | None = None) -> IntArray:
    """Return the start of each place's run of equal values; a place in `apart` starts a new run."""
    begins = np.ones(sorted_values.shape, dtype=np.bool_)
    np.not_equal(sorted_values[:, 1:], sorted_values[:, :-1], out=begins[:, 1:])
    if apart is not None:
        begins |= apart
    places = begins * np.arange(sorted_values.shape[1])
    np.maximum.accumulate(places, axis=1, out=places)
    return places


def _tied_pairs(runs: IntArray) -> IntArray:
    """Return how many pairs are in the same run: each place counts those before it in its run."""
    size = runs.shape[1]
    return np.asarray(size * (size - 1) // 2 - runs.sum(axis=1))


def _padded(rows: int) -> int:
    """Return the smallest power of 2 that is at least `rows`, which is at least 1."""
    return 1 << (rows - 1).bit_length()
