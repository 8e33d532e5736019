"""Parquet files with few rows and thousands of columns: polars reads these several times faster."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, RealArray
from dpsel.core.batch import Batch
from dpsel.core.words import without_words
from dpsel.errors import InputError
from dpsel.system.frames import pl
from dpsel.tables.columns import PANDAS, Column, Kind, Layout, marked_index, pandas_index
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import FORMATS, InputFormat
from dpsel.tables.parquet_footer import WideFooter
from dpsel.tables.provenance import KEY, from_metadata, recorded_columns
from dpsel.tables.sources import Source, named_in_utf8
from dpsel.tables.spill import rows_of_columns
from dpsel.tables.table import PendingBatch, RowGroup, RowReader, RowsRead


def open_wide_parquet(source: Source, footer: WideFooter) -> "WideParquetTable | None":
    """Return a table over a wide file; None if it takes the other reader after all."""
    if source.path is None or not named_in_utf8(source.path):
        return None
    try:
        table = WideParquetTable(source, WideScan(source.path, footer))
    except InputError:
        return None  # The other reader finds out what is wrong, or which names are repeated.
    return None if table.has_rare_types else table


class WideScan:
    """To read its footer takes as long as to read such a file: it is begun in a thread."""

    def __init__(self, path: Path, footer: WideFooter) -> None:
        """Begin to read the footer of a file whose shape is known."""
        self.path = path
        self.shape = footer.shape
        self._scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        self._reader = threading.Thread(target=self._read_footer, daemon=True)
        self._reader.start()
        self.recorded = KEY in footer.content or PANDAS in footer.content
        """Whether the footer may hold a record of how the table was made, by us or by pandas."""

    def schema(self) -> pl.Schema:
        """Return names and types, once the footer is known."""
        self._reader.join()
        return self._scan.collect_schema()

    def read(self, positions: list[int] | None) -> pl.DataFrame:
        """Return columns by their positions, or all: polars takes some names for patterns."""
        self._reader.join()
        wanted = self._scan if positions is None else self._scan.select(pl.nth(*positions))
        return wanted.collect()

    def _read_footer(self) -> None:
        """Let the scan read the footer, which it keeps, and no row; errors come again later."""
        with suppress(InputError), plain_errors(self.path.name, FORMATS[InputFormat.PARQUET].kind):
            self._scan.select(pl.nth(0)).limit(0).collect()


_KIND = FORMATS[InputFormat.PARQUET].kind
_CELLS_AT_ONCE = 1 << 25
# Small enough that threads end together, also on 100 x 22,283.
_CELLS_A_SHARE = 1 << 18


class WideParquetTable:
    """One file, read by polars: each batch is all rows of very many columns."""

    sources: tuple[Source, ...] = ()
    whole_columns = True

    def __init__(self, source: Source, scan: WideScan) -> None:
        """Read a file by a scan of it."""
        self.label = source.label
        self._source = source
        self._scan = scan
        self._width = max(1, _CELLS_AT_ONCE // max(1, scan.shape.rows))
        self._share = max(1, _CELLS_A_SHARE // max(1, scan.shape.rows))
        floats = scan.shape.floats
        self._all_floats, self.has_rare_types = floats is not None, False
        with plain_errors(self.label, _KIND):
            if floats is not None:
                self.columns = tuple(map(Column, floats, repeat(Kind.NUMBER)))
            else:
                self.columns = self._typed_columns()
            metadata: dict[bytes, bytes] = {}
            if scan.recorded:
                found = pl.read_parquet_metadata(scan.path)
                metadata = {name.encode(): text.encode() for name, text in found.items()}
        self.provenance = from_metadata(metadata, [column.name for column in self.columns])
        marked = marked_index(self.columns, pandas_index(metadata))
        self.columns = recorded_columns(marked, self.provenance)

    def _typed_columns(self) -> tuple[Column, ...]:
        """Return columns of any types."""
        schema = self._scan.schema()
        # By class, which is enough here: to compare types of polars takes a microsecond each.
        classes: list[Any] = list(map(type, schema.dtypes()))
        kinds = {found: _kind_of(found) for found in set(classes)}
        # Types of others, which this reader may not know by what they are stored as.
        others = getattr(pl, "BaseExtension", ())
        self.has_rare_types = any(
            found is pl.Decimal or issubclass(found, others) for found in kinds
        )
        return tuple(map(Column, schema.names(), map(kinds.__getitem__, classes)))

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        if not self._in_utf8(layout, features=rows.words):
            yield from self._other_reader().pending_batches(layout, rows)
            return
        count = len(layout.features)
        if layout.whole_rows and self._scan.shape.rows * count > _CELLS_AT_ONCE:
            # A slice of rows would be cut from all columns, read again for every slice.
            by_columns = self.pending_batches(replace(layout, whole_rows=False), rows)
            yield from rows_of_columns(by_columns, count, 1.0)
            return
        these: RowsRead | None = None
        for first in range(0, max(1, count), self._width):
            features = list(layout.features[first : first + self._width])
            with plain_errors(self.label, _KIND):
                # The first read brings target and person along.
                found = self._read(features if these is not None else [*features, *layout.marks])
                if these is None:
                    target = found.column(layout.target, numbers=not layout.labels)
                    person = None if layout.person is None else found.column(layout.person)
                    these = rows.rows(target, person)
                floats = rows.words and found.floats(features)
                words = rows.words and not floats
                matrix = found.cells(features) if words else found.matrix(features)
            # The threads share what is to do with it.
            share = max(1, len(features)) if layout.whole_rows else self._share
            for start in range(0, max(1, len(features)), share):

                def read(
                    place: int = first + start,
                    some: RealArray = matrix[:, start : start + share],
                    rows: RowsRead = these,
                    floats: bool = floats,
                ) -> Batch:
                    return rows.batch(place, without_words(some) if floats else some)

                done = first + min(start + share, len(features))
                yield PendingBatch(read, min(1.0, done / max(1, count)))

    def row_groups(self, layout: Layout) -> list[RowGroup] | None:
        """Return None: all columns are read at once, unless that takes the other reader."""
        if self._in_utf8(layout, features=True):
            return None
        found: list[RowGroup] = self._other_reader().row_groups(layout)
        return found

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        try:
            with plain_errors(self.label, _KIND):
                found = self._read([position]).column(position)
        except InputError:  # It may be a text that is no UTF-8.
            yield from self._other_reader().persons(position)
        else:
            yield found

    def close(self) -> None:
        """Do nothing: every reader closes itself."""

    def _in_utf8(self, layout: Layout, *, features: bool) -> bool:
        """Return whether polars takes the texts that are needed; one that is no UTF-8 stops it."""
        read = [*layout.marks, *(layout.features if features and not self._all_floats else ())]
        texts = [place for place in read if self.columns[place].kind is Kind.TEXT]
        try:
            with plain_errors(self.label, _KIND):
                if texts:
                    self._read(texts)
        except InputError:
            return False
        return True

    def _read(self, positions: list[int]) -> "_Columns":
        """Read columns by position. All is fastest."""
        ordered = sorted(set(positions))
        some = len(ordered) < len(self.columns)
        frame = self._scan.read(ordered if some else None)
        these = map(self.columns.__getitem__, ordered) if some else self.columns
        if frame.columns != [column.name for column in these]:
            raise InputError(f"{self.label}: its columns were read in two ways; this is no table")
        return _Columns(frame, ordered, self._all_floats)

    def _other_reader(self) -> Any:
        """Return the reader that takes any file, and more time."""
        from dpsel.tables.parquet import ParquetTable

        return ParquetTable(self._source)


class _Columns:
    """Some columns of a table, by their positions there."""

    def __init__(self, frame: pl.DataFrame, positions: list[int], all_floats: bool) -> None:
        self._frame = frame
        self._all_floats = all_floats
        self._place: Sequence[int] | dict[int, int] = range(frame.width)
        if positions[-1] != frame.width - 1:
            self._place = {position: place for place, position in enumerate(positions)}

    def column(self, position: int, *, numbers: bool = False) -> Any:
        """Return one column for Arrow, without a copy of each text; or floats as `numbers`."""
        column = self._frame.to_series(self._place[position])
        if numbers and column.dtype.is_float():
            return column.to_numpy().astype(np.float64)
        return column.to_arrow(compat_level=pl.CompatLevel.newest())

    def matrix(self, positions: Sequence[int]) -> RealArray:
        """Return columns of numbers, NaN where a cell is missing."""
        places = list(map(self._place.__getitem__, positions))
        if self._all_floats:
            return _columns_of(self._frame.to_numpy(), places)
        frame = self._frame
        if len(places) < frame.width:
            frame = frame.select(pl.nth(*places))
        if not all(dtype.is_float() for dtype in frame.dtypes):
            frame = frame.cast(pl.Float64, strict=False)
        return np.asarray(frame.to_numpy(), order="F")

    def floats(self, positions: Sequence[int]) -> bool:
        """Return whether columns are floats, and so hold no words."""
        if self._all_floats:
            return True
        dtypes = self._frame.dtypes
        return all(dtypes[self._place[position]].is_float() for position in positions)

    def cells(self, positions: Sequence[int]) -> FloatArray:
        """Return columns of any types: numbers, words, NaN where a cell is missing."""
        # Not before it is needed: to import Arrow takes a sixth of a wide table's time.
        from dpsel.tables.typed_cells import column_cells

        found = np.empty((self._frame.height, len(positions)), order="F")
        for place, position in enumerate(positions):
            found[:, place] = column_cells(self.column(position))
        return found


def _columns_of(matrix: RealArray, places: list[int]) -> RealArray:
    """Return some columns; rising neighbors without a copy."""
    if not places:
        return matrix[:, :0]
    if places == list(range(places[0], places[0] + len(places))):
        return matrix[:, places[0] : places[-1] + 1]
    return matrix.T[places].T


def _kind_of(dtype: Any) -> Kind:
    """Return what a column of a polars type holds."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return Kind.NUMBER
    if dtype.is_temporal():
        return Kind.TIME
    if dtype == pl.Binary:
        return Kind.BINARY
    return Kind.OTHER if dtype.is_nested() else Kind.TEXT
