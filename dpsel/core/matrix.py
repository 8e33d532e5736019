"""Matrices with all rows of a table and one column per feature, in memory or in tiles on disk."""

from collections.abc import Callable, Iterator

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, RealArray
from dpsel.core.batch import Columns

TILE_CELLS = 1 << 22
"""How many cells of a matrix in memory are worked on at once."""
# Longer columns of a tile are copied no faster, and new memory for a tile that stays nearly empty
# takes longer than all else that is done with a small table: 1.5 ms for 14 columns.
_MOST_TILE_ROWS = 1 << 16

Tile = Callable[[], FloatArray]
"""Returns the cells of a tile, readable and writable; for a tile in a file, a new memory map."""


class TiledMatrix:
    """A matrix that is filled batch by batch and read by columns or by rows, also from threads.

    Each tile holds all columns of a fixed number of rows, in column order, and never moves. Here
    all tiles are in memory, however large they are; `tables.spill.Spill` keeps most in a file.

    Privacy:
        Guarantee: none; the cells are private.
        Tested by: tests/core/test_matrix.py
    """

    def __init__(self, columns: int, *, tile_cells: int = TILE_CELLS) -> None:
        """Start without any rows."""
        self._rows_of = np.zeros(columns, dtype=np.int64)
        self._tile_rows = min(_MOST_TILE_ROWS, max(1, tile_cells // max(1, columns)))
        self._tiles: list[Tile] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Return the numbers of rows and columns."""
        rows = int(self._rows_of.max(initial=0))
        if (self._rows_of != rows).any():
            raise ValueError("some features have fewer rows than others")
        return rows, len(self._rows_of)

    @property
    def cells_at_once(self) -> int | None:
        """Return how many cells may be in memory at once; None if all of them may."""
        return None

    @property
    def fits_in_memory(self) -> bool:
        """Return whether the whole matrix may be in memory at once."""
        return self.cells_at_once is None

    def __len__(self) -> int:
        """Return the number of rows, which must be the same for all columns."""
        return self.shape[0]

    def add(self, first: int, features: RealArray | Columns) -> None:
        """Append rows to the columns from `first` on."""
        X: FloatArray = np.asarray(features)
        last = first + X.shape[1]
        rows_of = self._rows_of[first:last]
        if first == last:
            return
        if (rows_of != rows_of[0]).any():
            raise ValueError("batches were not added in the order of the rows")
        start = 0
        while start < len(X):
            number, row = divmod(int(rows_of[0]), self._tile_rows)
            if number == len(self._tiles):
                self._tiles.append(self._new_tile())
            rows = X[start : start + self._tile_rows - row]
            self._tiles[number]()[row : row + len(rows), first:last] = rows
            rows_of += len(rows)
            start += len(rows)

    def columns(self, first: int, last: int) -> FloatArray:
        """Return all rows of the columns first..last-1, each column contiguous in memory."""
        cells = np.empty((int(self._rows_of[first]), last - first), order="F")
        for number, tile in enumerate(self._tiles):
            rows = cells[number * self._tile_rows : (number + 1) * self._tile_rows]
            rows[:] = tile()[: len(rows), first:last]
        return cells

    def row_chunks(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield chunks of rows, each with the index of its first row; they must not be changed."""
        rows = len(self)
        for number, tile in enumerate(self._tiles):
            begin = number * self._tile_rows
            yield begin, tile()[: rows - begin]

    def column_groups(self) -> Iterator[tuple[int, int]]:
        """Yield the first and last column (exclusive) of groups that may be in memory at once."""
        rows, columns = self.shape
        at_once = self.cells_at_once
        width = columns if at_once is None else max(1, at_once // max(1, rows))
        # A multiple of 16: some BLAS kernels add in another order if the number of columns is odd.
        width = width // 16 * 16 or width
        for first in range(0, columns, max(1, width)):
            yield first, min(first + width, columns)

    def array(self) -> FloatArray:
        """Return the whole matrix as one array in column order, and free the tiles."""
        cells = np.empty(self.shape, order="F")
        while self._tiles:
            tile = self._tiles.pop()
            begin = len(self._tiles) * self._tile_rows
            cells[begin : begin + self._tile_rows] = tile()[: len(cells) - begin]
        return cells

    def others(self, count: int, *, tile_cells: int | None = None) -> "list[TiledMatrix]":
        """Return new matrices with as many columns and no rows; a spill puts them in one file."""
        cells = tile_cells or TILE_CELLS
        return [TiledMatrix(len(self._rows_of), tile_cells=cells) for _ in range(count)]

    def zeros(self) -> FloatArray:
        """Return zeros of the same shape, in column order; a spill puts them in a new file."""
        return np.zeros(self.shape, order="F")

    def _new_tile(self) -> Tile:
        """Return a new tile."""
        cells = np.empty((self._tile_rows, len(self._rows_of)), order="F")
        return lambda: cells


Matrix = FloatArray | TiledMatrix
"""One row for every row of the table, one column for every feature."""


def column_of(X: Matrix, place: int) -> FloatArray:
    """Return one column."""
    return X.columns(place, place + 1)[:, 0] if isinstance(X, TiledMatrix) else X[:, place]


def row_chunks(X: Matrix) -> Iterator[tuple[int, FloatArray]]:
    """Yield chunks of rows, each with the index of its first row; they must not be changed."""
    if isinstance(X, TiledMatrix):
        yield from X.row_chunks()
        return
    most = max(1, TILE_CELLS // max(1, X.shape[1]))
    for start in range(0, len(X), most):
        yield start, X[start : start + most]


def column_groups(X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Yield a few columns at a time, as a slice of the columns and all their rows."""
    if isinstance(X, TiledMatrix):
        for first, last in X.column_groups():
            yield slice(first, last), X.columns(first, last)
        return
    width = max(1, TILE_CELLS // max(1, len(X)))
    for first in range(0, X.shape[1], width):
        columns = slice(first, min(first + width, X.shape[1]))
        yield columns, X[:, columns]


def changed(X: Matrix, change: Callable[[slice, FloatArray], FloatArray]) -> Matrix:
    """Return a matrix of changed values, in memory or on disk as X is.

    `change` gets a slice of columns and some of their cells, and must treat each cell alone.
    """
    if isinstance(X, TiledMatrix):
        (other,) = X.others(1)
        for _, rows in X.row_chunks():
            other.add(0, change(slice(0, X.shape[1]), rows))
        return other
    cells = np.empty(X.shape, order="F")
    for columns, values in column_groups(X):
        cells[:, columns] = change(columns, values)
    return cells


def target_products(X: Matrix, y: FloatArray) -> FloatArray:
    """Return y @ X: exact for multiples of 2^-16 within [-1, 1], up to 2^21 rows.

    Privacy:
        Guarantee: none; the result is private.
        Tested by: tests/core/test_matrix.py
    """
    if not isinstance(X, TiledMatrix):
        products: FloatArray = y @ X
        return products
    products = np.zeros(X.shape[1])
    for row, rows in X.row_chunks():
        products += y[row : row + len(rows)] @ rows
    return products


def rows_of_groups(group_of_row: IntArray, groups: int) -> list[IntArray]:
    """Return the rows of each group, in the order of the table."""
    order = np.argsort(group_of_row, kind="stable")
    return np.split(order, np.searchsorted(group_of_row[order], np.arange(1, groups)))
