"""Arrow IPC files and streams, and frames in memory that export Arrow."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from dpsel.core.arrays import BoolArray
from dpsel.core.batch import Batch
from dpsel.tables.arrow_cells import kind_of, sound
from dpsel.tables.columns import Column, Layout, marked_index, pandas_index
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import FORMATS, InputFormat
from dpsel.tables.provenance import from_metadata, record_in, recorded_columns
from dpsel.tables.sources import ByteStream, Source
from dpsel.tables.table import Groups, PendingBatch, RowGroup, RowReader, RowsRead, groups_within

_KIND = FORMATS[InputFormat.ARROW].kind
_CELLS_AT_ONCE = 1 << 22
# A record batch with more rows than this is split: a small file may hold very many rows, since a
# column without any value takes no room.
_ROWS_AT_ONCE = 1 << 21


def columns_of(schema: pa.Schema) -> tuple[Column, ...]:
    """Return the columns of an Arrow schema."""
    columns = [Column(field.name, kind_of(field.type)) for field in schema]
    return marked_index(columns, pandas_index(schema.metadata))


def usable_columns(
    columns: tuple[Column, ...], schema: pa.Schema, metadata: Mapping[bytes, bytes] | None
) -> tuple[Column, ...]:
    """Return columns with the use that the record in metadata allows, if there is one."""

    def fractions() -> list[str]:
        return [field.name for field in schema if _holds_fractions(field.type)]

    return recorded_columns(columns, record_in(metadata), fractions)


def _holds_fractions(kind: pa.DataType) -> bool:
    """Return whether a column of this type may hold numbers that are not whole."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


class ArrowStreamTable:
    """Record batches that come one after the other, from a stream or from memory."""

    sources: tuple[Source, ...] = ()

    def __init__(
        self, batches: pa.RecordBatchReader, label: str, stream: ByteStream | None = None
    ) -> None:
        """Read `batches`, called `label` in messages; they may come from `stream`."""
        self._batches = batches
        self._stream = stream
        self.label = label
        schema = batches.schema
        self.provenance = from_metadata(schema.metadata, schema.names)
        self.columns = usable_columns(columns_of(schema), schema, schema.metadata)

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        with plain_errors(self.label, _KIND):
            for batch in self._batches:
                done = 0.0 if self._stream is None else self._stream.share_read
                for pending in pending_batches(batch, layout, rows, self.label):
                    yield replace(pending, done=done)

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        with plain_errors(self.label, _KIND):
            for batch in self._batches:
                yield sound(batch.column(position))

    def cells(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield all cells, batch by batch, as some columns and the position of the first."""
        with plain_errors(self.label, _KIND):
            for batch in self._batches:
                for places in column_ranges(batch.num_rows, batch.num_columns):
                    yield places.start, [sound(batch.column(place)) for place in places]

    def close(self) -> None:
        """Close the stream, if there is one."""
        if self._stream is not None:
            self._stream.close()


class ArrowFileTable:
    """An Arrow file, read batch by batch, a few columns at a time."""

    sources: tuple[Source, ...] = ()

    def __init__(self, source: Source, groups: Groups | None = None) -> None:
        """Open a file, or a copy of stdin; with `groups`, only those record batches of it."""
        self.label = source.label
        self._size = source.size()
        self._place = source.open_random()
        with plain_errors(self.label, _KIND):
            reader = self._reader(None)
            schema = reader.schema
            self.provenance = from_metadata(schema.metadata, schema.names)
            self.columns = usable_columns(columns_of(schema), schema, schema.metadata)
            count = reader.num_record_batches
        self._groups = groups_within(groups, count, self.label)

    def group_sizes(self) -> list[int]:
        """Return the average size of a record batch for each: the exact sizes are not known."""
        count = len(self._groups)
        return [self._size // max(1, count)] * count

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        with plain_errors(self.label, _KIND):
            for number in self._groups:
                yield self._read(number, [position])[0]

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        with plain_errors(self.label, _KIND):
            for number in self._groups:
                if layout.whole_rows:
                    batch = self._reader(None, mapped=True).get_batch(number)
                    yield from pending_batches(batch, layout, rows, self.label)
                    continue
                target, *person = self._read(number, layout.target_and_person)
                if len(target) > _ROWS_AT_ONCE:
                    yield from self._cut_batches(number, target, person, layout, rows)
                    continue
                rows_read = rows.rows(target, *person)
                yield from self._feature_batches(number, rows_read, layout, rows)

    def cells(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield all cells, batch by batch, as some columns and the position of the first."""
        with plain_errors(self.label, _KIND):
            for number in self._groups:
                rows = len(self._read(number, [0])[0])
                for places in column_ranges(rows, len(self.columns)):
                    yield places.start, self._read(number, list(places))

    def row_groups(self, layout: Layout) -> list[RowGroup]:
        """Return all rows, in order."""

        def read(positions: Sequence[int], number: int) -> list[Any]:
            with plain_errors(self.label, _KIND):
                return self._read(number, list(positions))

        return [RowGroup(partial(read, number=number)) for number in self._groups]

    def close(self) -> None:
        """Do nothing: every reader closes itself."""

    def _feature_batches(
        self, number: int, rows_read: RowsRead, layout: Layout, rows: RowReader
    ) -> Iterator[PendingBatch]:
        """Yield the batches of one record batch whose target and persons were read."""
        width = max(1, _CELLS_AT_ONCE // max(1, len(rows_read.y)))
        for first in range(0, len(layout.features), width):
            positions = list(layout.features[first : first + width])
            done = self._done(number, min(1.0, (first + width) / len(layout.features)))

            def read(first: int = first, positions: list[int] = positions) -> Batch:
                with plain_errors(self.label, _KIND):
                    return rows_read.batch(first, rows.features(self._read(number, positions)))

            yield PendingBatch(read, done)

    def _cut_batches(
        self, number: int, target: Any, person: list[Any], layout: Layout, rows: RowReader
    ) -> Iterator[PendingBatch]:
        """Yield the batches of a very long record batch: some rows of one column at a time."""
        starts = range(0, len(target), _ROWS_AT_ONCE)
        masks = [
            rows.mask(person[0].slice(start, _ROWS_AT_ONCE) if person else None) for start in starts
        ]
        for place, position in enumerate(layout.features):
            column = self._read(number, [position])[0]
            done = self._done(number, (place + 1) / len(layout.features))
            for start, mask in zip(starts, masks, strict=True):

                def read(
                    place: int = place,
                    cut: slice = slice(start, start + _ROWS_AT_ONCE),
                    mask: BoolArray | None = mask,
                    column: Any = column,
                ) -> Batch:
                    with plain_errors(self.label, _KIND):
                        rows_read = RowsRead(rows.target(target[cut]), mask)
                        return rows_read.batch(place, rows.features([column[cut]]))

                yield PendingBatch(read, done)

    def _done(self, number: int, share: float) -> float:
        """Return the share of the table that is read with this share of a record batch."""
        return (number - self._groups.start + share) / len(self._groups)

    def _read(self, number: int, positions: list[int]) -> list[Any]:
        """Return some columns of one record batch."""
        batch = self._reader(sorted(positions)).get_batch(number)
        places = {position: place for place, position in enumerate(sorted(positions))}
        return [sound(batch.column(places[position])) for position in positions]

    def _reader(
        self, positions: list[int] | None, *, mapped: bool = False
    ) -> pa.ipc.RecordBatchFileReader:
        """Return a new reader, for one thread, that decodes only the columns at `positions`.

        A few columns are read, not mapped: that takes no longer, and a failing device causes an
        error instead of a signal. All columns of a batch may not fit in memory: these are `mapped`.
        """
        place = self._place() if callable(self._place) else self._place
        if isinstance(place, str):
            place = pa.memory_map(place) if mapped else pa.OSFile(place)
        options = pa.ipc.IpcReadOptions(included_fields=positions, use_threads=False)
        return pa.ipc.open_file(place, options=options)


def column_ranges(rows: int, columns: int) -> Iterator[range]:
    """Yield ranges of columns; the cells of one range, of so many rows, fit in memory at once."""
    width = max(1, _CELLS_AT_ONCE // max(1, rows))
    for first in range(0, columns, width):
        yield range(first, min(first + width, columns))


def pending_batches(
    batch: pa.RecordBatch, layout: Layout, rows: RowReader, label: str
) -> Iterator[PendingBatch]:
    """Yield the batches of one record batch in memory, of the table called `label`."""
    count = len(layout.features)
    at_once = max(1, _CELLS_AT_ONCE // count) if layout.whole_rows else _ROWS_AT_ONCE
    for start in range(0, batch.num_rows, at_once):
        part = batch.slice(start, at_once)
        width = count if layout.whole_rows else max(1, _CELLS_AT_ONCE // part.num_rows)
        yield from _column_batches(part, width, layout, rows, label)


def _column_batches(
    batch: pa.RecordBatch, width: int, layout: Layout, rows: RowReader, label: str
) -> Iterator[PendingBatch]:
    """Yield the batches of one record batch, each with `width` features."""
    person = None if layout.person is None else sound(batch.column(layout.person))
    rows_read = rows.rows(sound(batch.column(layout.target)), person)
    for first in range(0, len(layout.features), width):
        columns = [
            sound(batch.column(position)) for position in layout.features[first : first + width]
        ]

        def read(first: int = first, columns: list[Any] = columns) -> Batch:
            with plain_errors(label, _KIND):
                return rows_read.batch(first, rows.features(columns))

        yield PendingBatch(read, 0.0)


def open_arrow(source: Source, groups: Groups | None = None) -> ArrowFileTable | ArrowStreamTable:
    """Open an Arrow file, some record batches of it, or an Arrow stream."""
    if groups is not None or source.first_bytes().startswith(b"ARROW1"):
        return ArrowFileTable(source, groups)
    stream = source.open_stream()
    with plain_errors(source.label, _KIND), ExitStack() as opened:
        opened.callback(stream.close)
        batches = pa.ipc.open_stream(pa.PythonFile(stream, mode="r"))
        opened.pop_all()
        return ArrowStreamTable(batches, source.label, stream)
