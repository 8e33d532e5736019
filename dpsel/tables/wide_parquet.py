"""The reader of Parquet files with few rows and thousands of columns.

It uses polars, which reads such files several times faster than pyarrow.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, RealArray
from dpsel.core.batch import Batch
from dpsel.core.words import plain_nans
from dpsel.errors import InputError
from dpsel.system.frames import pl
from dpsel.tables.columns import PANDAS, Column, Kind, Layout, marked_index, pandas_index
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import FORMATS, InputFormat
from dpsel.tables.parquet_footer import WideFooter
from dpsel.tables.provenance import KEY, from_metadata, record_in, recorded_columns
from dpsel.tables.sources import Source, named_in_utf8
from dpsel.tables.spill import rows_of_columns
from dpsel.tables.table import PendingBatch, RowGroup, RowReader, RowsRead


def open_wide_parquet(source: Source, footer: WideFooter) -> "WideParquetTable | None":
    """Return a table that reads a wide file, or None to leave it to the other reader."""
    if source.path is None or not named_in_utf8(source.path):
        return None
    try:
        scan = WideScan(source.path, footer)
    except OSError:
        return None  # The other reader says what is wrong.
    try:
        table = WideParquetTable(source, scan)
        if not table.has_rare_types:
            return table
    except (InputError, UnicodeDecodeError):
        pass  # The other reader says what is wrong, or which names are repeated.
    scan.wait()  # Its thread must not fail while that reader is imported.
    return None


class WideScan:
    """A lazy scan of a wide file.

    Parsing the footer takes polars a third of the time that the whole file takes, so it starts at
    once, in a thread.
    """

    def __init__(self, path: Path, footer: WideFooter) -> None:
        """Start parsing the footer of a file whose shape is known."""
        self.path = path
        self.shape = footer.shape
        # Polars reads a fifth faster from memory than from a file that it maps. It needs no
        # statistics, because no row is filtered out.
        source = footer.file.wait() or path
        self._scan = pl.scan_parquet(
            source, glob=False, hive_partitioning=False, use_statistics=False
        )
        self._reader = threading.Thread(target=self._read_footer, daemon=True)
        self._reader.start()
        self.recorded = KEY in footer.content or PANDAS in footer.content
        """Whether the footer may hold metadata that dpsel or pandas wrote about the table."""

    def wait(self) -> None:
        """Wait until the footer is parsed, or has turned out to be damaged."""
        self._reader.join()

    def schema(self) -> pl.Schema:
        """Return names and types, once the footer is parsed."""
        self.wait()
        return self._scan.collect_schema()

    def read(self, positions: list[int] | None) -> pl.DataFrame:
        """Return columns by position, or all columns: polars takes some names for patterns."""
        self.wait()
        columns = self._scan if positions is None else self._scan.select(pl.nth(*positions))
        return columns.collect()

    def _read_footer(self) -> None:
        """Make the scan parse the footer, and keep it, without reading any row.

        Errors are ignored here, since they are raised again by the next use of the scan.
        """
        with suppress(InputError), plain_errors(self.path.name, FORMATS[InputFormat.PARQUET].kind):
            self._scan.select(pl.nth(0)).limit(0).collect()


_KIND = FORMATS[InputFormat.PARQUET].kind
_CELLS_AT_ONCE = 1 << 25
# How many cells a thread works on at a time: few enough that threads end at about the same time,
# even on 100 x 22,283 cells.
_CELLS_A_SHARE = 1 << 18
# More for `stump`, whose many steps on short columns make threads wait for Python's lock:
# 100 x 22,283 cells take one thread 24 ms, and two threads 30 ms or more.
_CELLS_A_SHARE_OF_WORDS = 1 << 22


class WideParquetTable:
    """One wide file, read by polars; each batch has all rows of some columns."""

    sources: tuple[Source, ...] = ()
    whole_columns = True

    def __init__(self, source: Source, scan: WideScan) -> None:
        """Take the names and types of the columns from a scan of the file."""
        self.label = source.label
        self._source = source
        self._scan = scan
        self._width = max(1, _CELLS_AT_ONCE // max(1, scan.shape.rows))
        floats = scan.shape.floats
        self._all_floats, self.has_rare_types = floats is not None, False
        with plain_errors(self.label, _KIND):
            if floats is not None:
                self.columns = tuple(map(Column, floats.read(), repeat(Kind.NUMBER)))
            else:
                self.columns = self._typed_columns()
            metadata: dict[bytes, bytes] = {}
            if scan.recorded:
                texts = pl.read_parquet_metadata(scan.path)
                metadata = {name.encode(): text.encode() for name, text in texts.items()}
        self.provenance = from_metadata(metadata, [column.name for column in self.columns])
        marked = marked_index(self.columns, pandas_index(metadata))
        self.columns = recorded_columns(marked, record_in(metadata), self._names_of_floats)

    def _names_of_floats(self) -> list[str]:
        """Return the names of the columns of floats."""
        if self._all_floats:
            return [column.name for column in self.columns]
        return [name for name, dtype in self._scan.schema().items() if dtype.is_float()]

    def _typed_columns(self) -> tuple[Column, ...]:
        """Return the columns by the types in the schema; also set `has_rare_types`."""
        schema = self._scan.schema()
        # The classes of the types are enough here: comparing the types takes a microsecond each.
        classes: list[Any] = list(map(type, schema.dtypes()))
        kinds = {dtype: _kind_of(dtype) for dtype in set(classes)}
        # This reader does not know how extension types are stored. And polars reads some times in
        # another way than pyarrow: times of day beyond 24 hours, and instants in INT96 that
        # nanoseconds cannot count, such as 9999-12-31. The types do not tell INT96 from others.
        # Integers of 128 bits are read by polars alone.
        extensions = getattr(pl, "BaseExtension", ())
        rare = (pl.Decimal, pl.Time, pl.Datetime, pl.Int128, getattr(pl, "UInt128", None))
        self.has_rare_types = any(dtype in rare or issubclass(dtype, extensions) for dtype in kinds)
        return tuple(map(Column, schema.names(), map(kinds.__getitem__, classes)))

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        if not self._in_utf8(layout, features=rows.words):
            yield from self._other_reader().pending_batches(layout, rows)
            return
        count = len(layout.features)
        if layout.whole_rows and self._scan.shape.rows * count > _CELLS_AT_ONCE:
            # Every slice of rows would need another read of all columns.
            by_columns = self.pending_batches(replace(layout, whole_rows=False), rows)
            yield from rows_of_columns(by_columns, count, 1.0)
            return
        rows_read: RowsRead | None = None
        for first in range(0, max(1, count), self._width):
            features = list(layout.features[first : first + self._width])
            with plain_errors(self.label, _KIND):
                # The first read includes the target and the person.
                others = layout.target_and_person if rows_read is None else ()
                columns = self._read([*features, *others])
                if rows_read is None:
                    rows_read = _rows_read(columns, layout, rows)
                cells, floats = _cells_of(columns, features, words=rows.words)
            # The threads share the work on these columns.
            share = self._columns_a_share(len(features), layout, words=rows.words)
            for start in range(0, max(1, len(features)), share):
                some = cells[:, start : start + share]
                done = first + min(start + share, len(features))
                read = partial(_batch_of, rows_read, first + start, some, floats=floats)
                yield PendingBatch(read, min(1.0, done / max(1, count)))

    def _columns_a_share(self, features: int, layout: Layout, *, words: bool) -> int:
        """Return how many columns a thread works on at a time."""
        if layout.whole_rows:
            return max(1, features)
        cells = _CELLS_A_SHARE_OF_WORDS if words else _CELLS_A_SHARE
        return max(1, cells // max(1, self._scan.shape.rows))

    def row_groups(self, layout: Layout) -> list[RowGroup] | None:
        """Return None, since reading all columns at once is better, unless polars cannot do it."""
        if self._in_utf8(layout, features=True):
            return None
        groups: list[RowGroup] = self._other_reader().row_groups(layout)
        return groups

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        try:
            with plain_errors(self.label, _KIND):
                column = self._read([position]).column(position)
        except InputError:  # It may hold text that is not UTF-8.
            yield from self._other_reader().persons(position)
        else:
            yield column

    def close(self) -> None:
        """Do nothing: every reader closes its own file."""

    def _in_utf8(self, layout: Layout, *, features: bool) -> bool:
        """Return whether all texts to be read are UTF-8: polars fails on any other text.

        There may be texts inside nested values, too.
        """
        needed = layout.features if features and not self._all_floats else ()
        read = [*layout.target_and_person, *needed]
        kinds = (Kind.TEXT, Kind.OTHER)
        texts = [place for place in read if self.columns[place].kind in kinds]
        try:
            with plain_errors(self.label, _KIND):
                if texts:
                    self._read(texts)
        except InputError:
            return False
        return True

    def _read(self, positions: list[int]) -> "_Columns":
        """Read columns by position; reading all of them is fastest."""
        ordered = sorted(set(positions))
        some = len(ordered) < len(self.columns)
        # Before the read, while polars is still parsing the footer.
        names = [self.columns[position].name for position in ordered]
        frame = self._scan.read(ordered if some else None)
        if frame.columns != names:
            raise InputError(f"{self.label}: its columns were read in two ways; this is no table")
        return _Columns(frame, ordered, self._all_floats)

    def _other_reader(self) -> Any:
        """Return the slower reader, which can read any file."""
        from dpsel.tables.parquet import ParquetTable

        return ParquetTable(self._source)


class _Columns:
    """Some columns of a table, by their positions in the table."""

    def __init__(self, frame: pl.DataFrame, positions: list[int], all_floats: bool) -> None:
        self._frame = frame
        self._all_floats = all_floats
        self._place: range | dict[int, int] = range(frame.width)
        if positions[-1] != frame.width - 1:
            self._place = {position: place for place, position in enumerate(positions)}

    def column(self, position: int, *, numbers: bool = False) -> Any:
        """Return one column as an Arrow column, without copying texts.

        With `numbers`, a column of floats is returned as an array.
        """
        column = self._frame.to_series(self._place[position])
        if numbers and column.dtype.is_float():
            return column.to_numpy().astype(np.float64)
        return column.to_arrow(compat_level=pl.CompatLevel.newest())

    def matrix(self, positions: Sequence[int]) -> RealArray:
        """Return columns of numbers as a matrix, with NaN where a cell is missing."""
        places: Sequence[int] = positions
        if isinstance(self._place, dict):
            places = [self._place[position] for position in positions]
        if self._all_floats:
            return _columns_of(self._frame.to_numpy(), places)
        frame = self._frame
        if len(places) < frame.width:
            frame = frame.select(pl.nth(*places))
        if not all(dtype.is_float() for dtype in frame.dtypes):
            frame = frame.cast(pl.Float64, strict=False)
        return np.asarray(frame.to_numpy(), order="F")

    def floats(self, positions: Sequence[int]) -> bool:
        """Return whether all these columns are floats, and so hold no words."""
        if self._all_floats:
            return True
        dtypes = self._frame.dtypes
        return all(dtypes[self._place[position]].is_float() for position in positions)

    def cells(self, positions: Sequence[int]) -> FloatArray:
        """Return columns of any types: numbers, words, and NaN where a cell is missing."""
        # Imported here, since it takes a sixth of a wide table's time and floats do not need it.
        from dpsel.tables.arrow_cells import column_cells

        cells = np.empty((self._frame.height, len(positions)), order="F")
        for place, position in enumerate(positions):
            cells[:, place] = column_cells(self.column(position))
        return cells


def _rows_read(columns: _Columns, layout: Layout, rows: RowReader) -> RowsRead:
    """Return which rows count, by their target and their person."""
    target = columns.column(layout.target, numbers=not layout.labels)
    person = None if layout.person is None else columns.column(layout.person)
    return rows.rows(target, person)


def _cells_of(columns: _Columns, features: list[int], *, words: bool) -> tuple[RealArray, bool]:
    """Return the cells of features, and whether their NaNs have yet to be told from words."""
    floats = words and columns.floats(features)
    return columns.cells(features) if words and not floats else columns.matrix(features), floats


def _batch_of(rows: RowsRead, place: int, cells: RealArray, *, floats: bool) -> Batch:
    """Return a batch. A NaN among floats must not be taken for a word, here or as a double."""
    return rows.batch(place, plain_nans(cells) if floats else cells)


def _columns_of(matrix: RealArray, places: Sequence[int]) -> RealArray:
    """Return some columns, without a copy if they are adjacent and in ascending order."""
    places = list(places)
    if not places:
        return matrix[:, :0]
    if places == list(range(places[0], places[0] + len(places))):
        return matrix[:, places[0] : places[-1] + 1]
    return matrix.T[places].T


def _kind_of(dtype: Any) -> Kind:
    """Return the kind of column that a polars type makes."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return Kind.NUMBER
    if dtype.is_temporal():
        return Kind.TIME
    if dtype == pl.Binary:
        return Kind.BINARY
    return Kind.OTHER if dtype.is_nested() else Kind.TEXT
