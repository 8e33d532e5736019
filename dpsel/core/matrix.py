"""Tables that need not fit in memory: cut into tiles, which are kept there or on a disk."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, RealArray
from dpsel.core.batch import Columns

TILE_CELLS = 1 << 22
"""How many cells of a table in memory are worked on at once."""


class Tile(Protocol):
    """Some rows of some columns, kept somewhere. Threads may read it."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        ...

    def columns(self, first: int, last: int) -> FloatArray:
        """Return all rows of the columns from `first` to before `last`."""
        ...


class Keeper(Protocol):
    """Keeps tiles: in memory for as long as that is wise."""

    @property
    def cells_at_once(self) -> int | None:
        """Return how many cells may be in memory at once; None as long as all of them are."""
        ...

    @property
    def tile_cells(self) -> int:
        """Return how many cells of whole rows are cut off at once."""
        ...

    def keep(self, X: FloatArray) -> Tile:
        """Keep a tile, whose array must not be changed any more."""
        ...

    def another(self) -> "Keeper":
        """Return one for further tiles, with which they also go."""
        ...

    def mapped(self, rows: int, columns: int) -> FloatArray:
        """Return a table of zeros that lies on disk, column after column."""
        ...


class KeptTable:
    """A table that is added block by block, and read by columns or by rows.

    Blocks are cut into tiles at the same rows everywhere, so that either costs one reading.

    Privacy:
        Guarantee: none; the cells are private.
        Tested by: tests/core/test_matrix.py
    """

    def __init__(self, keeper: Keeper, columns: int, *, tile_cells: int | None = None) -> None:
        """Begin without a row; `tile_cells` is how many cells are cut off at once."""
        self.keeper = keeper
        self._rows_of = np.zeros(columns, dtype=np.int64)
        self._cut = max(1, (tile_cells or keeper.tile_cells) // max(1, columns))
        self._by_column: dict[int, list[tuple[int, Tile]]] = {}
        self._by_row: dict[int, list[tuple[int, int, Tile]]] = {}
        self._waiting: dict[int, tuple[int, list[FloatArray]]] = {}
        self._widest = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        rows = int(self._rows_of.max(initial=0))
        if (self._rows_of != rows).any():
            raise ValueError("some features have fewer rows than others")
        return rows, len(self._rows_of)

    @property
    def in_memory(self) -> bool:
        """Return whether nothing of it went to a disk."""
        return self.keeper.cells_at_once is None

    def __len__(self) -> int:
        """Return the number of rows, of a table whose columns all have as many."""
        return self.shape[0]

    def add(self, first: int, features: RealArray | Columns) -> None:
        """Add the next rows of the columns from `first` on."""
        X: FloatArray = np.asarray(features)
        columns = X.shape[1]
        if not columns:
            return
        rows_of = self._rows_of[first : first + columns]
        if (rows_of != rows_of[0]).any():
            raise ValueError("blocks were not added in the order of the rows")
        start = 0
        while start < len(X):
            end = start + self._cut - int(rows_of[0]) % self._cut
            if self.in_memory:
                self._keep(first, int(rows_of[0]), X[start:end])
                rows_of += len(X[start:end])
            else:
                self._wait(first, X[start:end])
            start = end

    def columns(self, first: int, last: int) -> FloatArray:
        """Return all rows of the columns from `first` to before `last`, each in one piece."""
        self._settle()
        found = np.empty((int(self._rows_of[first]), last - first), order="F")
        starts = sorted(self._by_column)
        for start in starts[bisect_right(starts, first - self._widest) : bisect_left(starts, last)]:
            for row, tile in self._by_column[start]:
                rows, width = tile.shape
                left, right = max(first, start), min(last, start + width)
                if left < right:
                    here = slice(row, row + rows), slice(left - first, right - first)
                    found[here] = tile.columns(left - start, right - start)
        return found

    def row_chunks(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield rows with the number of rows before them."""
        self._settle()
        rows, columns = self.shape
        for number in sorted(self._by_row):
            begin = number * self._cut
            found = np.empty((min(self._cut, rows - begin), columns), order="F")
            for row, first, tile in self._by_row[number]:
                height, width = tile.shape
                here = slice(row - begin, row - begin + height), slice(first, first + width)
                found[here] = tile.columns(0, width)
            yield begin, found

    def array(self) -> FloatArray:
        """Return all of it in memory, column after column, and let go of the tiles."""
        self._settle()
        found = np.empty(self.shape, order="F")
        self._by_row.clear()
        for first, tiles in self._by_column.items():
            while tiles:
                row, tile = tiles.pop()
                rows, width = tile.shape
                found[row : row + rows, first : first + width] = tile.columns(0, width)
        return found

    def column_groups(self) -> Iterator[tuple[int, int]]:
        """Yield where groups of columns begin and end that may be in memory at once."""
        rows, columns = self.shape
        at_once = self.keeper.cells_at_once
        width = columns if at_once is None else max(1, at_once // max(1, rows))
        # Some kernels add in another order where a number of columns is odd.
        width = width // 16 * 16 or width
        for first in range(0, columns, max(1, width)):
            yield first, min(first + width, columns)

    def _wait(self, first: int, X: FloatArray) -> None:
        """Put rows together, up to the next cut: a disk is slow with small pieces."""
        row = int(self._rows_of[first])
        begin, waiting = self._waiting.get(first, (row, []))
        follows = begin + sum(map(len, waiting)) == row
        if waiting and not (follows and waiting[0].shape[1] == X.shape[1]):
            self._settle(first)
            begin, waiting = row, []
        # A copy, so that nothing larger is held by it.
        waiting.append(np.array(X, order="F"))
        self._waiting[first] = begin, waiting
        self._rows_of[first : first + X.shape[1]] += len(X)
        if (row + len(X)) % self._cut == 0:
            self._settle(first)

    def _settle(self, first: int | None = None) -> None:
        """Keep what has been waiting, at one place or at all."""
        for place in list(self._waiting) if first is None else [first]:
            row, waiting = self._waiting.pop(place)
            self._keep(place, row, waiting[0] if len(waiting) == 1 else np.concatenate(waiting))

    def _keep(self, first: int, row: int, X: FloatArray) -> None:
        """Hand over a tile."""
        tile = self.keeper.keep(X)
        self._by_column.setdefault(first, []).append((row, tile))
        self._by_row.setdefault(row // self._cut, []).append((row, first, tile))
        self._widest = max(self._widest, X.shape[1])


Matrix = FloatArray | KeptTable
"""One row a row of the table, one column a feature."""


class MemoryTile:
    """A tile that is an array."""

    def __init__(self, X: FloatArray) -> None:
        """Keep the array itself."""
        self._X = X

    @property
    def shape(self) -> tuple[int, int]:
        """Return rows and columns."""
        rows, columns = self._X.shape
        return rows, columns

    def columns(self, first: int, last: int) -> FloatArray:
        """Return a view."""
        return self._X[:, first:last]


class MemoryKeeper:
    """Keeps everything in memory, whatever it takes."""

    cells_at_once: int | None = None
    tile_cells = TILE_CELLS

    def keep(self, X: FloatArray) -> Tile:
        """Keep the array itself."""
        return MemoryTile(X)

    def another(self) -> Keeper:
        """Return itself: it remembers nothing."""
        return self

    def mapped(self, rows: int, columns: int) -> FloatArray:
        """Return an array in memory."""
        return np.zeros((rows, columns), order="F")


def column_of(X: Matrix, place: int) -> FloatArray:
    """Return one column."""
    return X.columns(place, place + 1)[:, 0] if isinstance(X, KeptTable) else X[:, place]


def row_chunks(X: Matrix) -> Iterator[tuple[int, FloatArray]]:
    """Yield rows with the number of rows before them."""
    if isinstance(X, KeptTable):
        yield from X.row_chunks()
        return
    most = max(1, TILE_CELLS // max(1, X.shape[1]))
    for start in range(0, len(X), most):
        yield start, X[start : start + most]


def column_groups(X: Matrix) -> Iterator[tuple[slice, FloatArray]]:
    """Yield all rows of a few columns at a time, and which columns they are."""
    if isinstance(X, KeptTable):
        for first, last in X.column_groups():
            yield slice(first, last), X.columns(first, last)
        return
    width = max(1, TILE_CELLS // max(1, len(X)))
    for first in range(0, X.shape[1], width):
        some = slice(first, min(first + width, X.shape[1]))
        yield some, X[:, some]


def changed(X: Matrix, change: Callable[[slice, FloatArray], FloatArray]) -> Matrix:
    """Return a table of other values, where X is.

    `change` gets columns and some cells in them, and must look at each cell alone.
    """
    if isinstance(X, KeptTable):
        columns = X.shape[1]
        kept = KeptTable(X.keeper.another(), columns)
        for _, rows in X.row_chunks():
            kept.add(0, change(slice(0, columns), rows))
        return kept
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
    if not isinstance(X, KeptTable):
        found: FloatArray = y @ X
        return found
    found = np.zeros(X.shape[1])
    for row, rows in X.row_chunks():
        found += y[row : row + len(rows)] @ rows
    return found


def rows_of_lots(lot_of_row: IntArray, lots: int) -> list[IntArray]:
    """Return the rows of each lot, in the order of the table, whatever the other lots hold."""
    order = np.argsort(lot_of_row, kind="stable")
    return np.split(order, np.searchsorted(lot_of_row[order], np.arange(1, lots)))
