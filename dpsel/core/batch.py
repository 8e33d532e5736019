"""Pieces of a table: some rows of some neighboring features, with the target of those rows."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray, RealArray
from dpsel.records import frozen


class Columns:
    """Columns of one type that lie apart in memory, cut like a matrix, which would be a copy."""

    def __init__(self, columns: Sequence[RealArray]) -> None:
        """Take one column or more, as they are."""
        self._columns = columns
        self.dtype = columns[0].dtype
        self.shape = len(columns[0]), len(columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    def rows(self, which: slice | BoolArray) -> "Columns":
        """Return some rows of all columns."""
        return Columns([column[which] for column in self._columns])

    def cells(self, rows: slice, columns: slice) -> RealArray:
        """Return some rows of one column or more as a matrix; of a single one without a copy."""
        chosen = [column[rows] for column in self._columns[columns]]
        if len(chosen) == 1:
            return chosen[0][:, np.newaxis]
        stacked: NumberArray = np.stack(chosen).T
        return stacked

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumberArray:
        """Return all cells as one matrix."""
        return np.asarray(self.cells(slice(None), slice(None)), dtype=dtype)


@frozen
class Unreadable:
    """Cells of a text that are no number, and do not stand for a missing one either.

    One count for every feature of a batch, and then one for the target, each of some rows of it.
    """

    rows: IntArray = field(repr=False)
    cells: IntArray = field(repr=False)


@frozen
class Batch:
    """Raw values; NaN where a cell is missing or is no number. Private, and off `repr`.

    Single precision stays as it is until the values are bounded: every such number is a double.

    `X` has one column for every feature from `first_feature` on. Each cell of a table is in
    exactly one batch.
    """

    first_feature: int
    X: RealArray | Columns = field(repr=False)
    y: FloatArray = field(repr=False)
    unreadable: Unreadable | None = field(default=None, repr=False)
    """What a reader of text knows about cells that are NaN here: for the data's holder only."""


def rows_of(X: RealArray | Columns, which: slice | BoolArray) -> RealArray | Columns:
    """Return some rows of a batch's features."""
    return X.rows(which) if isinstance(X, Columns) else X[which]


def cells_of(X: RealArray | Columns, rows: slice, columns: slice) -> RealArray:
    """Return some rows of some of a batch's features, as a matrix."""
    return X.cells(rows, columns) if isinstance(X, Columns) else X[rows, columns]
