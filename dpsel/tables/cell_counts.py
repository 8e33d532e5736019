"""How many cells were clipped, missing or no numbers: for the data's holder only."""

from collections.abc import Sequence

import numpy as np

from dpsel.core.arrays import FloatArray, RealArray
from dpsel.core.batch import Batch, rows_of
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.words import words_of

# Of a batch: enough for shares that are right within a few per cent, and hardly any time.
_ROWS_LOOKED_AT, _RUNS = 1 << 10, 4


class CellCounts:
    """How many cells of each column were of no use, and why: for the data's holder only.

    Of a batch with many rows some are looked at, in runs all over it. The counts are whole numbers
    in one table: a row a kind, a column for every feature, and the last for the target.

    Privacy:
        Guarantee: none; the counts are private, and for nobody but the data's holder.
        Tested by: tests/preprocessing/test_statistics.py
    """

    def __init__(self, features: int, first_feature: int = 0) -> None:
        """Start with no cell of so many features, from one on that has this place elsewhere."""
        self._first_feature = first_feature
        self._counts = np.zeros((5, features + 1), dtype=np.int64)

    @staticmethod
    def of(batch: Batch, bounds: Bounds | None) -> "CellCounts":
        """Look at some rows of a batch; without bounds nothing is clipped."""
        columns = batch.X.shape[1]
        features = slice(batch.first_feature, batch.first_feature + columns)
        found = CellCounts(columns, batch.first_feature)
        for some in _runs(len(batch.y)):
            cells, target = np.asarray(rows_of(batch.X, some)), batch.y[some]
            limits = None if bounds is None else (bounds.lower[features], bounds.upper[features])
            found._look(slice(0, columns), cells, limits)
            limits = None if bounds is None else _limits_of(bounds.target)
            found._look(slice(columns, columns + 1), target[:, np.newaxis], limits)
        if batch.unreadable is not None:
            # Columns that the folders of a file add are no text.
            known = [*range(len(batch.unreadable.cells) - 1), columns]
            found._counts[3:, known] += batch.unreadable.rows, batch.unreadable.cells
        return found

    def _look(
        self, columns: slice, cells: RealArray, limits: tuple[FloatArray, FloatArray] | None
    ) -> None:
        """Count cells of some columns, which lie within limits or not."""
        self._counts[0, columns] += len(cells)
        # Most tables have none at all, which is found out much faster.
        if limits is not None:
            outside = (cells < limits[0]) | (cells > limits[1])
            if np.count_nonzero(outside):
                self._counts[1, columns] += outside.sum(axis=0)
        missing = np.isnan(cells)
        if np.count_nonzero(missing):
            # Words are there, and no numbers; only doubles have any.
            if cells.dtype == np.float64:
                missing &= ~words_of(cells.astype(np.float64, copy=False))[0]
            self._counts[2, columns] += missing.sum(axis=0)

    def add(self, other: "CellCounts") -> None:
        """Add the counts of some features; those of the target come with the first one's."""
        first, count = other._first_feature, other._counts.shape[1] - 1
        self._counts[:, first : first + count] += other._counts[:, :count]
        if first == 0:
            self._counts[:, -1] += other._counts[:, -1]

    def shares(self) -> FloatArray:
        """Return the shares of each column's cells that are clipped, missing and unreadable."""
        cells, clipped, no_number, texts, unreadable = self._counts / 1.0
        no_number /= np.maximum(cells, 1.0)
        clipped /= np.maximum(cells, 1.0)
        # Not the same rows were looked at for both.
        unread = np.minimum(unreadable / np.maximum(texts, 1.0), no_number)
        if (known := texts > 0).any() and unread.any():
            # Of very many columns not all texts were looked at: the others are taken to be alike.
            unread[~known] = no_number[~known] * unread.sum() / no_number[known].sum()
        return np.stack([clipped, no_number - unread, unread])


def _runs(rows: int) -> list[slice]:
    """Return the rows of a batch that are looked at: all of few, else some runs all over it."""
    if rows <= _ROWS_LOOKED_AT:
        return [slice(0, rows)]
    run = _ROWS_LOOKED_AT // _RUNS
    starts = [place * (rows - run) // (_RUNS - 1) for place in range(_RUNS)]
    return [slice(start, start + run) for start in starts]


def _limits_of(interval: Interval) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a single column."""
    return np.array([interval.lower]), np.array([interval.upper])


# Shares of cells that the holder should know about, and how many columns are named at the most.
_MANY, _MOST, _NAMED = 0.01, 0.5, 5


def cell_notes(cells: CellCounts, names: Sequence[str], *, assumed: bool) -> list[str]:
    """Return what the data's holder should know about cells that were of no use, in shares.

    `names` are those of the features, and then the target's. `assumed` says that nobody gave the
    bounds: then many clipped cells are a mistake. Where they were given, it takes most of a column.
    """
    shares = cells.shares()
    features = shares[:, :-1].mean(axis=1) if len(names) > 1 else shares[:, -1]
    notes = []
    if assumed and features[0] > _MANY:
        notes.append(
            f"{features[0]:.0%} of the cells are outside [-1, 1] and were clipped; "
            "give public bounds with --bounds, or run `dpsel preprocess` first"
        )
    of_no_use = shares.sum(axis=0)
    if (of_no_use > _MOST).any():
        worst = [place for place in np.argsort(-of_no_use, kind="stable") if of_no_use[place]]
        notes.append(
            f"of the features' cells {features[0]:.1%} were clipped to their bounds, "
            f"{features[1]:.1%} are missing and {features[2]:.1%} are no numbers; worst: "
            + ", ".join(_of_no_use(names[place], shares[:, place]) for place in worst[:_NAMED])
        )
    return notes


def _of_no_use(name: str, shares: FloatArray) -> str:
    """Return which cells of a column are of no use."""
    kinds = zip(shares.tolist(), ("clipped", "missing", "no numbers"), strict=True)
    found = [f"{share:.1%} {kind}" for share, kind in kinds if share > 0]
    return f"'{name}' ({', '.join(found)})"
