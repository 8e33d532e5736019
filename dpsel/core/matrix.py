"""Matrices of all rows, one column a feature: arrays, and tiles that need not be in memory."""

from collections.abc import Callable, Iterator

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, RealArray
from dpsel.core.batch import Columns

TILE_CELLS = 1 << 22
"""How many cells of a matrix in memory are worked on at once."""

Tile = Callable[[], FloatArray]
"""Returns the cells of a tile, to be read and written: of one in a file, a new mapping of it."""


class TiledMatrix:
    """A matrix that batches are added to, and that is read by columns or by rows, in threads too.

    Each tile has all columns of so many rows, column after column, and stays where it was made.
    Here that is in memory, whatever it takes; `tables.spill.Spill` has most tiles in a file.

    Privacy:
        Guarantee: none; the cells are private.
        Tested by: tests/core/test_matrix.py
    """

    def __init__(self, columns: int, *, tile_cells: int = TILE_CELLS) -> None:
        """Begin without a row."""
        self._rows_of = np.zeros(columns, dtype=np.int64)
        self._tile_rows = max(1, tile_cells // max(1, columns))
        self._tiles: list[Tile] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
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
        """Return whether all of it may be in memory at once."""
        return self.cells_at_once is None

    def __len__(self) -> int:
        """Return the number of rows, of a matrix whose columns all have as many."""
        return self.shape[0]

    def add(self, first: int, features: RealArray | Columns) -> None:
        """Add the next rows of the columns from `first` on."""
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
            some = X[start : start + self._tile_rows - row]
            self._tiles[number]()[row : row + len(some), first:last] = some
            rows_of += len(some)
            start += len(some)

    def columns(self, first: int, last: int) -> FloatArray:
        """Return all rows of the columns from `first` to before `last`, each in one piece."""
        found = np.empty((int(self._rows_of[first]), last - first), order="F")
        for number, tile in enumerate(self._tiles):
            rows = found[number * self._tile_rows : (number + 1) * self._tile_rows]
            rows[:] = tile()[: len(rows), first:last]
        return found

    def row_chunks(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield rows, which must not be changed, with the number of rows before them."""
        rows = len(self)
        for number, tile in enumerate(self._tiles):
            begin = number * self._tile_rows
            yield begin, tile()[: rows - begin]

    def column_groups(self) -> Iterator[tuple[int, int]]:
        """Yield where groups of columns begin and end that may be in memory at once."""
        rows, columns = self.shape
        at_once = self.cells_at_once
        width = columns if at_once is None else max(1, at_once // max(1, rows))
        # Some kernels add in another order where a number of columns is odd.
        width = width // 16 * 16 or width
        for first in range(0, columns, max(1, width)):
            yield first, min(first + width, columns)

    def array(self) -> FloatArray:
        """Return all of it in memory, column after column, and let go of the tiles."""
        found = np.empty(self.shape, order="F")
        while self._tiles:
            tile = self._tiles.pop()
            begin = len(self._tiles) * self._tile_rows
            found[begin : begin + self._tile_rows] = tile()[: len(found) - begin]
        return found

    def others(self, count: int, *, tile_cells: int | None = None) -> "list[TiledMatrix]":
        """Return new ones of as many columns, without a row; of a spill, in one new file."""
        cells = tile_cells or TILE_CELLS
        return [TiledMatrix(len(self._rows_of), tile_cells=cells) for _ in range(count)]

    def zeros(self) -> FloatArray:
        """Return zeros of the same shape, column after column; of a spill, in a new file."""
        return np.zeros(self.shape, order="F")

    def _new_tile(self) -> Tile:
        """Return one more tile."""
        cells = np.empty((self._tile_rows, len(self._rows_of)), order="F")
        return lambda: cells


Matrix = FloatArray | TiledMatrix
"""One row a row of the table, one column a feature."""


def column_of(X: Matrix, place: int) -> FloatArray:
    """Return one column."""
    return X.columns(place, place + 1)[:, 0] if isinstance(X, TiledMatrix) else X[:, place]


def row_chunks(X: Matrix) -> Iterator[tuple[int, FloatArray]]:
    """Yield rows, which must not be changed, with the number of rows before them."""
    if isinstance(X, TiledMatrix):
        yield from X.row_chunks()
        return
    most = max(1, TILE_CELLS // max(1, X.shape[1]))
    for start in range(0, len(X), most):
        yield start, X[start : start + most]


def column_groups(X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Yield all rows of a few columns at a time, and which columns they are."""
    if isinstance(X, TiledMatrix):
        for first, last in X.column_groups():
            yield slice(first, last), X.columns(first, last)
        return
    width = max(1, TILE_CELLS // max(1, len(X)))
    for first in range(0, X.shape[1], width):
        some = slice(first, min(first + width, X.shape[1]))
        yield some, X[:, some]


def changed(X: Matrix, change: Callable[[slice, FloatArray], FloatArray]) -> Matrix:
    """Return a matrix of other values, where X is.

    `change` gets columns and some cells in them, and must look at each cell alone.
    """
    if isinstance(X, TiledMatrix):
        (other,) = X.others(1)
        for _, rows in X.row_chunks():
            other.add(0, change(slice(0, X.shape[1]), rows))
        return other
    found = np.empty(X.shape, order="F")
    for some, values in column_groups(X):
        found[:, some] = change(some, values)
    return found


def target_products(X: Matrix, y: FloatArray) -> FloatArray:
    """Return y @ X: exact for values on the grid of all scores, up to 2^21 rows.

    Privacy:
        Guarantee: none; the result is private.
        Tested by: tests/core/test_matrix.py
    """
    if not isinstance(X, TiledMatrix):
        found: FloatArray = y @ X
        return found
    found = np.zeros(X.shape[1])
    for row, rows in X.row_chunks():
        found += y[row : row + len(rows)] @ rows
    return found


def rows_of_groups(group_of_row: IntArray, groups: int) -> list[IntArray]:
    """Return the rows of each group, in the order of the table, whatever other groups hold."""
    order = np.argsort(group_of_row, kind="stable")
    return np.split(order, np.searchsorted(group_of_row[order], np.arange(1, groups)))
