"""Counts of cells that were clipped, missing or not numbers, for the data holder only."""

from collections.abc import Sequence

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, RealArray
from dpsel.core.batch import Batch, rows_of
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.words import words_of

# Rows of a batch to look at: enough for shares that are right within a few per cent, and fast.
_ROWS_LOOKED_AT, _RUNS = 1 << 10, 4
# The rows of the array of counts: cells looked at, those clipped and those that are not numbers;
# cells looked at as texts, and those unreadable.
_CELLS, _CLIPPED, _NO_NUMBER, _TEXTS, _UNREADABLE = range(5)


class CellCounts:
    """How many cells of each column were clipped, missing or unreadable.

    Of a batch with many rows only some are looked at, in runs spread over it. The counts are
    integers in one array: one row per kind, one column per feature, and a last one for the target.

    Privacy:
        Guarantee: none; the counts are private, and for nobody but the data holder.
        Tested by: tests/preprocessing/test_statistics.py
    """

    def __init__(self, features: int, first_feature: int = 0) -> None:
        """Start at zero, for so many features; the first is number `first_feature` of the table."""
        self._first_feature = first_feature
        self._counts = np.zeros((5, features + 1), dtype=np.int64)

    @staticmethod
    def of(batch: Batch, bounds: Bounds | None) -> "CellCounts":
        """Count the cells in some rows of a batch; without bounds nothing is clipped."""
        columns = batch.X.shape[1]
        counts = CellCounts(columns, batch.first_feature)
        limits = target_limits = None
        if bounds is not None:
            limits = bounds.lower[batch.features], bounds.upper[batch.features]
            target_limits = _limits_of(bounds.target)
        for some in _runs(len(batch.y)):
            cells, target = np.asarray(rows_of(batch.X, some)), batch.y[some]
            counts._count(slice(0, columns), cells, limits)
            counts._count(slice(columns, columns + 1), target[:, np.newaxis], target_limits)
        if batch.unreadable is not None:
            # Columns that come from folder names are not in the text.
            known = [*range(len(batch.unreadable.cells) - 1), columns]
            counts._counts[_TEXTS, known] += batch.unreadable.rows
            counts._counts[_UNREADABLE, known] += batch.unreadable.cells
        return counts

    def _count(
        self, columns: slice, cells: RealArray, limits: tuple[FloatArray, FloatArray] | None
    ) -> None:
        """Count cells of some columns: all, those outside the limits, and those missing."""
        self._counts[_CELLS, columns] += len(cells)
        # Most tables have no such cell at all, and finding that out is much faster.
        if limits is not None:
            outside = (cells < limits[0]) | (cells > limits[1])
            if np.count_nonzero(outside):
                self._counts[_CLIPPED, columns] += outside.sum(axis=0)
        missing = np.isnan(cells)
        if np.count_nonzero(missing):
            # Words are NaN but not missing; only arrays of doubles hold any.
            if cells.dtype == np.float64:
                missing &= ~words_of(cells.astype(np.float64, copy=False))[0]
            self._counts[_NO_NUMBER, columns] += missing.sum(axis=0)

    def add(self, other: "CellCounts") -> None:
        """Add the counts of some features; the target's are added with the first feature's."""
        first, count = other._first_feature, other._counts.shape[1] - 1
        self._counts[:, first : first + count] += other._counts[:, :count]
        if first == 0:
            self._counts[:, -1] += other._counts[:, -1]

    def of_features(self, features: IntArray) -> "CellCounts":
        """Return the counts of some features and of the target."""
        counts = CellCounts(len(features))
        counts._counts[:, :-1] = self._counts[:, features]
        counts._counts[:, -1] = self._counts[:, -1]
        return counts

    @property
    def any_rows(self) -> bool:
        """Return whether there are any rows."""
        return bool(self._counts[_CELLS, -1])

    @property
    def unusable_targets(self) -> float:
        """Return the share of the target's cells that are missing or unreadable."""
        return float(self.shares()[1:, -1].sum())

    def shares(self) -> FloatArray:
        """Return the shares of each column's cells that are clipped, missing and unreadable."""
        cells, clipped, no_number, texts, unreadable = self._counts / 1.0
        no_number /= np.maximum(cells, 1.0)
        clipped /= np.maximum(cells, 1.0)
        # The two counts come from different rows.
        unread = np.minimum(unreadable / np.maximum(texts, 1.0), no_number)
        if (known := texts > 0).any() and unread.any():
            # Of very many columns only some were looked at as text: assume that others are alike.
            unread[~known] = no_number[~known] * unread.sum() / no_number[known].sum()
        return np.stack([clipped, no_number - unread, unread])


def _runs(rows: int) -> list[slice]:
    """Return the rows of a batch to look at: all if they are few, else runs spread over it."""
    if rows <= _ROWS_LOOKED_AT:
        return [slice(0, rows)]
    run = _ROWS_LOOKED_AT // _RUNS
    starts = [place * (rows - run) // (_RUNS - 1) for place in range(_RUNS)]
    return [slice(start, start + run) for start in starts]


def _limits_of(interval: Interval) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a single column."""
    return np.array([interval.lower]), np.array([interval.upper])


# Shares of cells that the holder should know about, and how many columns a note names at most.
_MANY, _MOST, _NAMED = 0.01, 0.5, 5


def cell_notes(cells: CellCounts, names: Sequence[str], *, assumed: bool) -> list[str]:
    """Return notes for the data holder about clipped, missing and unreadable cells, in shares.

    `names` are those of the features, then the target's. `assumed` says that nobody gave the
    bounds: then many clipped cells are a mistake. Bounds that were given are only questioned if
    most of a column is affected.
    """
    shares = cells.shares()
    features = shares[:, :-1].mean(axis=1) if len(names) > 1 else shares[:, -1]
    notes = []
    if assumed and features[0] > _MANY:
        notes.append(
            f"{features[0]:.0%} of the cells are outside [-1, 1] and were clipped; "
            "give public bounds with --bounds, or run `dpsel preprocess` first"
        )
    affected = shares.sum(axis=0)
    if (affected > _MOST).any():
        worst = [place for place in np.argsort(-affected, kind="stable") if affected[place]]
        notes.append(
            f"of the features' cells {features[0]:.1%} were clipped to their bounds, "
            f"{features[1]:.1%} are missing and {features[2]:.1%} are not numbers; worst: "
            + ", ".join(_described(names[place], shares[:, place]) for place in worst[:_NAMED])
        )
    return notes


def _described(name: str, shares: FloatArray) -> str:
    """Return the shares of a column's clipped, missing and unreadable cells, for a note."""
    kinds = zip(shares.tolist(), ("clipped", "missing", "not numbers"), strict=True)
    found = [f"{share:.1%} {kind}" for share, kind in kinds if share > 0]
    return f"'{name}' ({', '.join(found)})"
