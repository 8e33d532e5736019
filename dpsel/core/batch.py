"""Batches: raw cells of some rows and some adjacent features, with the target of those rows."""

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray, RealArray
from dpsel.records import frozen


class Columns:
    """Columns of one type, in separate arrays, that can be sliced like a matrix without a copy."""

    def __init__(self, columns: Sequence[RealArray]) -> None:
        """Take one or more columns, without copying them."""
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
        """Return some rows of one or more columns as a matrix; a single column is not copied."""
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
    """Counts of text cells that are neither a number nor a missing value.

    Both arrays have one entry per feature of a batch and then one for the target: how many rows
    were looked at, and how many of their cells could not be read.
    """

    rows: IntArray = field(repr=False)
    cells: IntArray = field(repr=False)


@frozen
class Batch:
    """Raw values, NaN where a cell is missing or not a number. Private, so not in `repr`.

    `X` has one column for every feature from `first_feature` on. Each cell of a table is in
    exactly one batch. Single-precision values are kept as they are until they are bounded: each of
    them is also a double.
    """

    first_feature: int
    X: RealArray | Columns = field(repr=False)
    y: FloatArray = field(repr=False)
    unreadable: Unreadable | None = field(default=None, repr=False)
    """For text: how many of the NaN cells could not be read. For the data holder only."""

    @property
    def features(self) -> slice:
        """Return the positions of its features among all features of the table."""
        return slice(self.first_feature, self.first_feature + self.X.shape[1])


def rows_of(X: RealArray | Columns, which: slice | BoolArray) -> RealArray | Columns:
    """Return some rows of a batch's features."""
    return X.rows(which) if isinstance(X, Columns) else X[which]


def matrix_of(X: RealArray | Columns, rows: slice, columns: slice) -> RealArray:
    """Return some rows of some of a batch's features, as a matrix."""
    return X.cells(rows, columns) if isinstance(X, Columns) else X[rows, columns]
