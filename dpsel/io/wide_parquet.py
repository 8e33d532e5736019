"""Parquet files with few rows and thousands of columns: polars reads these several times faster."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dpsel.core.arrays import FloatArray
from dpsel.core.blocks import Block
from dpsel.core.errors import InputError
from dpsel.io.border import reading
from dpsel.io.columns import Column, Kind, Layout
from dpsel.io.formats import KINDS, InputFormat
from dpsel.io.parquet_footer import deepest_column
from dpsel.io.parquet_table import ParquetTable
from dpsel.io.pieces import Piece, RowReader, Rows
from dpsel.io.provenance import KEY, from_metadata
from dpsel.io.sources import Source
from dpsel.io.turned_pieces import rows_of_columns

_KIND = KINDS[InputFormat.PARQUET]
_LONG_FOOTER = 1 << 20
_FEW_ROWS = 1 << 16
_DEEPEST = 100
_CELLS_AT_ONCE = 1 << 25


def open_wide_parquet(source: Source) -> "WideParquetTable | None":
    """Return a table if the file is a wide one, by its footer; None if it is not."""
    if source.path is None or not source.is_file:
        return None
    footer = _footer(source.path)
    depth = None if footer is None else deepest_column(footer)
    if depth is None or depth > _DEEPEST:
        return None
    try:
        with reading(source.label, _KIND):
            schema = pl.scan_parquet(source.path, glob=False).collect_schema()
            rows = pl.scan_parquet(source.path, glob=False).select(pl.len()).collect().item()
    except InputError:
        return None  # The other reader finds out what is wrong, or which names are repeated.
    if rows > _FEW_ROWS or any(dtype == pl.Decimal for dtype in schema.dtypes()):
        return None
    return WideParquetTable(source, schema, rows)


class WideParquetTable:
    """One file, read by polars: each piece is all rows of very many columns."""

    def __init__(self, source: Source, schema: pl.Schema, rows: int) -> None:
        """Read a file of known schema, with that many rows."""
        assert source.path is not None
        self.label = source.label
        self._source = source
        self._path = source.path
        self._rows = rows
        self._width = max(1, _CELLS_AT_ONCE // max(1, rows))
        self.columns = tuple(Column(name, _kind_of(dtype)) for name, dtype in schema.items())
        found = pl.read_parquet_metadata(self._path).get(KEY.decode())
        self.provenance = from_metadata(
            None if found is None else {KEY: found.encode()}, list(schema)
        )

    def pieces(self, layout: Layout, rows: RowReader) -> Iterator[Piece]:
        """Yield all pieces, in order."""
        if not self._in_utf8(layout):
            yield from ParquetTable(self._source).pieces(layout, rows)
            return
        count = len(layout.features)
        if layout.whole_rows and self._rows * count > _CELLS_AT_ONCE:
            # A slice of rows would be cut from all columns, read again for every slice.
            by_columns = self.pieces(replace(layout, whole_rows=False), rows)
            yield from rows_of_columns(by_columns, count, 1.0)
            return
        marks = [layout.target] if layout.person is None else [layout.target, layout.person]
        these: Rows | None = None
        for first in range(0, count, self._width):
            features = list(layout.features[first : first + self._width])
            with reading(self.label, _KIND):
                # The first read brings target and person along.
                found = self._read(features if these is not None else [*features, *marks])
                if these is None:
                    columns = [_marks(found.pop(mark)) for mark in marks]
                    these = rows.rows(columns[0], None if layout.person is None else columns[1])
            frame = pl.DataFrame([found[position] for position in features])

            def read(first: int = first, frame: pl.DataFrame = frame, rows: Rows = these) -> Block:
                return rows.block(first, _matrix(frame))

            yield Piece(read, min(1.0, (first + self._width) / count))

    def close(self) -> None:
        """Do nothing: every reader closes itself."""

    def _in_utf8(self, layout: Layout) -> bool:
        """Return whether polars takes the texts that are needed; one that is no UTF-8 stops it."""
        marks = [place for place in (layout.target, layout.person) if place is not None]
        texts = [place for place in marks if self.columns[place].kind is Kind.TEXT]
        try:
            with reading(self.label, _KIND):
                if texts:
                    self._read(texts)
        except InputError:
            return False
        return True

    def _read(self, positions: list[int]) -> dict[int, pl.Series]:
        """Read columns by position: polars takes some names for patterns. All is fastest."""
        ordered = sorted(positions)
        columns = None if len(ordered) == len(self.columns) else ordered
        frame = pl.read_parquet(self._path, columns=columns, glob=False)
        return dict(zip(ordered, frame.get_columns(), strict=True))


def _marks(column: pl.Series) -> Any:
    """Return a target or persons for Arrow, without a copy of each text for every row."""
    return column.to_arrow(compat_level=pl.CompatLevel.newest())


def _matrix(frame: pl.DataFrame) -> FloatArray:
    """Return a frame of numbers as floats, NaN where a cell is missing."""
    if not all(dtype.is_float() for dtype in frame.dtypes):
        frame = frame.cast(pl.Float64, strict=False)
    return np.asarray(frame.to_numpy(), dtype=np.float64, order="F")


def _kind_of(dtype: Any) -> Kind:
    """Return what a column of a polars type holds."""
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        return Kind.NUMBER
    if dtype.is_temporal():
        return Kind.TIME
    if dtype == pl.Binary:
        return Kind.BINARY
    return Kind.OTHER if dtype.is_nested() else Kind.TEXT


def _footer(path: Path) -> bytes | None:
    """Return the footer of a Parquet file, None if it is short, or there is none."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            return None
        file.seek(size - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or not _LONG_FOOTER <= length <= size - 12:
            return None
        file.seek(size - 8 - length)
        return file.read(length)
