"""Rows that do not fit in memory: in a temporary file without a name, gone with the process."""

import os
import tempfile
import weakref
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, NumberArray
from dpsel.core.errors import InputError
from dpsel.core.kept import TILE_CELLS, Keeper, Tile
from dpsel.io.memory import memory_for_tables
from dpsel.io.streams import reason

# Of the memory for tables: what is worked on at once, of which there are several copies.
_SHARE_AT_ONCE = 8
_LEAST_AT_ONCE = 1 << 17
_CELL = 8


def unnamed_file(*, buffering: int = -1) -> Any:
    """Return a new file without a name in $TMPDIR, and nowhere else if that is set.

    Python would pass over a folder that it cannot write to, and rows would be on another disk than
    the user wants them on.
    """
    return tempfile.TemporaryFile(buffering=buffering, dir=os.environ.get("TMPDIR") or None)


class _ScratchFile:
    """A file that only grows, readable by nobody else: it has no name, and the mode 0600."""

    def __init__(self) -> None:
        try:
            with unnamed_file(buffering=0) as file:
                self._descriptor = os.dup(file.fileno())
        except OSError as error:
            raise _failure(error) from None
        weakref.finalize(self, os.close, self._descriptor)
        self._end = 0

    def append(self, values: NumberArray) -> int:
        """Write the bytes of an array in its own order, and return where they begin."""
        begin = self._end
        content = _bytes_of(values.reshape(-1, order="A"))
        try:
            while content:
                written = os.pwrite(self._descriptor, content, self._end)
                self._end += written
                content = content[written:]
        except OSError as error:
            raise _failure(error) from None
        return begin

    def read(self, begin: int, values: NumberArray) -> None:
        """Fill an array with the bytes from `begin` on."""
        content = _bytes_of(values.reshape(-1))
        while content:
            got = os.preadv(self._descriptor, [content], begin)
            if got == 0:
                raise InputError("the temporary file for rows that do not fit in memory was cut")
            begin += got
            content = content[got:]

    def mapped(self, rows: int, columns: int) -> FloatArray:
        """Return a new part of the file as an array."""
        begin = -(-self._end // 4096) * 4096
        self._end = begin + rows * columns * _CELL
        try:
            # Room for all of it now: later it could only be refused by a signal.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(self._descriptor, begin, max(1, self._end - begin))
            else:
                os.ftruncate(self._descriptor, self._end)
            with os.fdopen(os.dup(self._descriptor), "r+b") as file:
                return np.memmap(file, np.float64, "r+", begin, (rows, columns), order="F")
        except (OSError, MemoryError) as error:
            raise _failure(error if isinstance(error, OSError) else OSError(12, "")) from None


class _ScratchTile:
    """An array, in memory or in a file."""

    def __init__(self, X: FloatArray) -> None:
        self._X: FloatArray | None = X
        rows, columns = X.shape
        self.shape = (rows, columns)

    def columns(self, first: int, last: int) -> FloatArray:
        """Return all rows of some columns."""
        if self._X is not None:
            return self._X[:, first:last]
        rows = self.shape[0]
        found = np.empty((last - first, rows), dtype=self._kind)
        self._file.read(self._begin + first * rows * found.itemsize, found)
        return found.T.astype(np.float64, copy=False)

    def move(self, file: _ScratchFile) -> None:
        """Write the array to a file, in half the bytes if no value changes by that."""
        assert self._X is not None
        values: NumberArray = np.asfortranarray(self._X)
        with np.errstate(over="ignore"):
            short = values.astype(np.float32)
        if np.array_equal(short, values, equal_nan=True):
            values = short
        self._file, self._kind, self._begin = file, values.dtype, file.append(values)
        self._X = None


class ScratchKeeper:
    """Keeps arrays in memory, and all of them in a temporary file once they are too large.

    They are if `copies` times their bytes are more than the memory for tables: the caller says
    how many copies its work makes of a table. Without `copies` none is kept in memory.

    Privacy:
        Guarantee: none; the file holds the rows, and is as private as the table.
        Tested by: tests/io/test_scratch.py
    """

    def __init__(self, copies: float | None) -> None:
        """Look at how much memory there is now."""
        memory = memory_for_tables()
        self._at_once = max(_LEAST_AT_ONCE, memory // _CELL // _SHARE_AT_ONCE)
        self._most = -1.0 if copies is None else memory / copies
        # Whoever asked for a tile holds it, and may let go of it.
        self._held: list[weakref.ref[_ScratchTile]] = []
        self._bytes = 0
        self._file: _ScratchFile | None = None if copies is not None else _ScratchFile()

    @property
    def cells_at_once(self) -> int | None:
        """Return how many cells may be in memory at once; None as long as all of them are."""
        return None if self._file is None else self._at_once

    @property
    def tile_cells(self) -> int:
        """Return how many cells of whole rows are cut off at once."""
        return min(TILE_CELLS, self._at_once)

    def keep(self, X: FloatArray) -> Tile:
        """Keep a tile."""
        tile = _ScratchTile(X)
        self._bytes += X.size * _CELL
        if self._file is None and self._bytes <= self._most:
            self._held.append(weakref.ref(tile))
            return tile
        self._file = self._file or _ScratchFile()
        for reference in self._held:
            if (held := reference()) is not None:
                held.move(self._file)
        self._held.clear()
        tile.move(self._file)
        return tile

    def another(self) -> Keeper:
        """Return one that writes to a file of its own at once."""
        found = ScratchKeeper(None)
        found._at_once = self._at_once
        return found

    def mapped(self, rows: int, columns: int) -> FloatArray:
        """Return a table of zeros that lies in the file, column after column."""
        self._file = self._file or _ScratchFile()
        return self._file.mapped(rows, columns)


def _bytes_of(values: NumberArray) -> memoryview:
    """Return the bytes of an array themselves, not a copy."""
    return memoryview(values.view(np.uint8).data)


def _failure(error: OSError) -> InputError:
    """Return the error for a file that cannot be written."""
    return InputError(
        f"a temporary file for rows that do not fit in memory cannot be written: {reason(error)}; "
        "set TMPDIR to a folder with more room"
    )
