"""Tables that do not fit in memory: how much memory there is, and a temporary file for the rest."""

import os
import re
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, NumberArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds
from dpsel.core.matrix import TILE_CELLS, Keeper, KeptTable, Matrix, Tile
from dpsel.errors import InputError, UsageError
from dpsel.reporter import Reporter
from dpsel.system.process import reason
from dpsel.tables.cell_counts import CellCounts
from dpsel.tables.columns import Layout
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import file_bytes
from dpsel.tables.table import PendingBatch, RowReader, Table, read_batches

VARIABLE = "DPSEL_MEMORY"
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_BINARY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
# Programs need some for themselves, and others may come to need some.
_SHARE = 0.75
_UNKNOWN = 1 << 30


def memory_for_tables() -> int:
    """Return how many bytes tables may take: $DPSEL_MEMORY, or three quarters of what is free."""
    asked = memory_asked()
    return int(_SHARE * max(0, min(_left(), default=_UNKNOWN))) if asked is None else asked


def memory_asked() -> int | None:
    """Return how many bytes the user lets tables take, if $DPSEL_MEMORY says so."""
    asked = os.environ.get(VARIABLE, "").strip()
    return parsed_size(asked) if asked else None


def parsed_size(text: str) -> int:
    """Return the bytes that a text such as `2GB`, `500 MiB` or `1000000` stands for."""
    found = _SIZE.fullmatch(text)
    if found is None or (found[3] and not found[2]):
        raise UsageError(f"{VARIABLE} must be a size such as 2GB or 500MB, got '{text}'")
    unit = found[2].lower()
    return int(float(found[1]) * (_BINARY_UNITS if found[3] else _UNITS)[unit])


def _left() -> Iterator[int]:
    """Yield what is left of the machine's memory and of every limit that is set."""
    with suppress(OSError, ValueError, IndexError):
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        yield int(fields["MemAvailable"].split()[0]) * 1024
        yield from _left_of_groups()
        yield from _left_of_limits()
        return
    with suppress(OSError, ValueError, AttributeError):
        # No Linux: half of all there is.
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def _left_of_groups() -> Iterator[int]:
    """Yield what is left in the control groups of this process, old and new ones."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, place = line.split(":", 2)
        if kinds == "":
            root, limit, used, cache = "", "memory.max", "memory.current", "inactive_file"
        elif "memory" in kinds.split(","):
            root, limit, used = "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            cache = "total_inactive_file"
        else:
            continue
        # In a container its own group may be seen as the root.
        for folder in (
            Path("/sys/fs/cgroup", root, place.lstrip("/")),
            Path("/sys/fs/cgroup", root),
        ):
            with suppress(OSError, ValueError):
                most = int((folder / limit).read_text())
                taken = int((folder / used).read_text())
                statistics = (folder / "memory.stat").read_text().splitlines()
                freed = sum(int(s.split()[1]) for s in statistics if s.split()[0] == cache)
                yield most - taken + freed


def _left_of_limits() -> Iterator[int]:
    """Yield what is left of the limits that `ulimit` sets."""
    import resource

    pages = [int(field) for field in Path("/proc/self/statm").read_text().split()]
    size = os.sysconf("SC_PAGE_SIZE")
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - used * size


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
        # By their bits: words are NaN with bits that count.
        if np.array_equal(short.astype(np.float64).view(np.int64), values.view(np.int64)):
            values = short
        self._file, self._kind, self._begin = file, values.dtype, file.append(values)
        self._X = None


class ScratchKeeper:
    """Keeps arrays in memory, and all of them in a temporary file once they are too large.

    They are if `copies` times their bytes are more than the memory for tables: the caller says
    how many copies its work makes of a table. Without `copies` none is kept in memory.

    Privacy:
        Guarantee: none; the file holds the rows, and is as private as the table.
        Tested by: tests/tables/test_spill.py
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


def as_it_is(block: Batch) -> Batch:
    """Change nothing."""
    return block


def all_rows(
    table: Table,
    layout: Layout,
    coding: TargetCoding,
    reporter: Reporter,
    threads: int,
    *,
    copies: float,
    clipping: Bounds | None,
    change: Callable[[Batch], Batch] = as_it_is,
) -> tuple[Matrix, FloatArray, CellCounts]:
    """Read all rows: features in columns that lie together in memory, and the target.

    The counts tell which cells are of no use, if they are clipped to `clipping`.

    If `copies` of the features would not fit in memory, they are kept in a temporary file.
    `change` is done to every block; it must look at each cell alone.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/cli/test_baseline.py, tests/cli/test_larger_than_memory.py
    """
    X = KeptTable(ScratchKeeper(copies), len(layout.names))
    targets: list[FloatArray] = [np.empty(0)]

    cells = CellCounts(len(layout.names))

    def add(part: tuple[Batch, CellCounts]) -> None:
        block, counted = part
        cells.add(counted)
        X.add(block.first_feature, block.X)
        if block.first_feature == 0:
            targets.append(block.y)

    reporter.size(file_bytes(table))
    read_batches(
        table.pending_batches(layout, RowReader(coding)),
        lambda block: (change(block), CellCounts.of(block, clipping)),
        add,
        threads=threads,
        progress=reporter.progress,
    )
    return X.array() if X.in_memory else X, np.concatenate(targets), cells


_COPIES = 2


def rows_of_columns(
    pieces: Iterator[PendingBatch], features: int, done: float
) -> Iterator[PendingBatch]:
    """Read all pieces, each of a few columns, and yield whole rows, which then are `done`.

    What does not fit in memory meanwhile is in a temporary file.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/tables/test_spill.py
    """
    kept = KeptTable(ScratchKeeper(_COPIES), features)
    targets: list[FloatArray] = [np.empty(0)]
    for piece in pieces:
        block = piece.read()
        kept.add(block.first_feature, block.X)
        if block.first_feature == 0:
            targets.append(block.y)
    y = np.concatenate(targets)
    for row, X in kept.row_chunks():
        block = Batch(0, X, y[row : row + len(X)])
        yield PendingBatch(lambda block=block: block, done)  # type: ignore[misc]
