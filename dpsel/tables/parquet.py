"""Parquet files, read row group by row group, a few columns at a time, on all cores."""

import itertools
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpsel.core.arrays import BoolArray
from dpsel.core.batch import Batch
from dpsel.tables.arrow import column_ranges, columns_of, usable_columns
from dpsel.tables.arrow_cells import sound
from dpsel.tables.columns import Kind, Layout
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import FORMATS, InputFormat
from dpsel.tables.provenance import from_metadata
from dpsel.tables.sources import Source
from dpsel.tables.spill import rows_of_columns
from dpsel.tables.table import Groups, PendingBatch, RowGroup, RowReader, RowsRead, groups_within

_KIND = FORMATS[InputFormat.PARQUET].kind
_CELLS_AT_ONCE = 1 << 22
# A row group with more rows than this is split into batches; the target is read again for each set
# of columns.
_ROWS_AT_ONCE = 1 << 21
_MANY_COLUMNS = 1 << 8
# How many bytes of a column are read at once; fewer for many columns of a row group in batches.
_BUFFER, _LEAST_BUFFER, _BUFFERS_IN_ALL = 1 << 18, 1 << 12, 1 << 26


class ParquetTable:
    """One file, read by pyarrow: each batch is a few columns of one row group."""

    sources: tuple[Source, ...] = ()

    def __init__(self, source: Source, groups: Groups | None = None) -> None:
        """Open a file, or a copy of stdin; with `groups`, only those row groups of it."""
        self.label = source.label
        self._place = source.open_random()
        self._is_small = source.size() <= _BUFFERS_IN_ALL
        self._own = threading.local()
        self._coded: list[str] = []
        with plain_errors(self.label, _KIND):
            file = pq.ParquetFile(self._open())
            self._metadata = file.metadata
            schema, metadata = file.schema_arrow, file.metadata.metadata
            self.provenance = from_metadata(metadata, schema.names)
            self.columns = usable_columns(columns_of(schema), schema, metadata)
            file.close()
        self._groups = groups_within(groups, self._metadata.num_row_groups, self.label)

    def group_sizes(self) -> list[int]:
        """Return the uncompressed bytes of every row group."""
        return [self._metadata.row_group(group).total_byte_size for group in self._groups]

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        self._coded = self._names([position] if self.columns[position].kind is Kind.TEXT else [])
        with plain_errors(self.label, _KIND):
            for group in self._groups:
                for columns in self._batches(group, [position], _ROWS_AT_ONCE):
                    yield columns[0]

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        # There are few distinct labels and persons; one text per row might not fit in memory. Of
        # categories that are not UTF-8, pyarrow reads nothing else.
        read = layout.read if rows.words else layout.target_and_person
        texts = [place for place in read if self.columns[place].kind is Kind.TEXT]
        self._coded = self._names(texts)
        with plain_errors(self.label, _KIND):
            for group in self._groups:
                if layout.whole_rows:
                    yield from self._row_batches(group, layout, rows)
                elif self._metadata.row_group(group).num_rows > _ROWS_AT_ONCE:
                    yield from self._cut_batches(group, layout, rows)
                else:
                    yield from self._whole_batches(group, layout, rows)

    def row_groups(self, layout: Layout) -> list[RowGroup]:
        """Return all rows, in order."""
        # Most texts are repeated; with a dictionary each is looked at once.
        texts = [place for place in layout.read if self.columns[place].kind is Kind.TEXT]
        self._coded = self._names(texts)

        def read(positions: Sequence[int], group: int) -> list[Any]:
            with plain_errors(self.label, _KIND):
                return self._row_group(group, list(positions), use_threads=False)

        return [RowGroup(partial(read, group=group)) for group in self._groups]

    def cells(self) -> Iterator[tuple[int, list[Any]]]:
        """Yield all cells by row group, as some columns and the position of the first."""
        count = len(self.columns)
        with plain_errors(self.label, _KIND):
            for group in self._groups:
                rows = self._metadata.row_group(group).num_rows
                if rows > _ROWS_AT_ONCE:
                    at_once = max(1, _CELLS_AT_ONCE // count)
                    for columns in self._batches(group, list(range(count)), at_once):
                        yield 0, list(map(sound, columns))
                    continue
                for places in column_ranges(rows, count):
                    yield places.start, list(map(sound, self._row_group(group, list(places))))

    def close(self) -> None:
        """Do nothing: every reader closes itself."""

    def _whole_batches(self, group: int, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield the batches of a row group whose whole target fits in memory."""
        rows_read = rows.rows(*self._row_group(group, layout.target_and_person))
        for first, places, done in self._column_groups(group, len(rows_read.y), layout):

            def read(first: int = first, places: list[int] = places) -> Batch:
                with plain_errors(self.label, _KIND):
                    columns = self._row_group(group, places, use_threads=False)
                    return rows_read.batch(first, rows.features(columns))

            yield PendingBatch(read, done)

    def _cut_batches(self, group: int, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield the batches of a very long row group: some rows of a few columns at a time.

        The target is read again each time. The mask of the rows to keep stays in memory, with one
        byte per row.
        """
        masks: Iterable[BoolArray | None] = itertools.repeat(None)
        if layout.person is not None:
            masks = [
                rows.mask(columns[0])
                for columns in self._batches(group, [layout.person], _ROWS_AT_ONCE)
            ]
        for first, places, done in self._column_groups(group, _ROWS_AT_ONCE, layout):
            batches = self._batches(group, [layout.target, *places], _ROWS_AT_ONCE)
            for mask, columns in zip(masks, batches, strict=False):

                def read(
                    first: int = first, mask: BoolArray | None = mask, columns: list[Any] = columns
                ) -> Batch:
                    with plain_errors(self.label, _KIND):
                        rows_read = RowsRead(rows.target(columns[0]), mask)
                        return rows_read.batch(first, rows.features(columns[1:]))

                yield PendingBatch(read, done)

    def _row_batches(self, group: int, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield batches with all features of some rows."""
        count = len(layout.features)
        long = self._metadata.row_group(group).num_rows > _ROWS_AT_ONCE
        if count > _MANY_COLUMNS and not long:
            # pyarrow's batches would hold a page of every column: perhaps the whole row group.
            done = (group + 1) / self._metadata.num_row_groups
            yield from rows_of_columns(self._whole_batches(group, layout, rows), count, done)
            return
        at_once = max(1, _CELLS_AT_ONCE // max(1, count))
        others = layout.target_and_person
        for columns in self._batches(group, [*others, *layout.features], at_once):
            rows_read = rows.rows(*columns[: len(others)])
            batch = rows_read.batch(0, rows.features(columns[len(others) :]))
            done = self._done(group, 1.0)
            yield PendingBatch.of(batch, done)

    def _column_groups(
        self, group: int, rows: int, layout: Layout
    ) -> Iterator[tuple[int, list[int], float]]:
        """Yield the first feature, the columns and the share done of each batch of a row group."""
        count = len(layout.features)
        width = max(1, _CELLS_AT_ONCE // max(1, rows))
        for first in range(0, max(1, count), width):
            places = list(layout.features[first : first + width])
            yield first, places, self._done(group, min(1.0, (first + width) / max(1, count)))

    def _done(self, group: int, share: float) -> float:
        """Return the share of the table that is read with this share of a row group."""
        return (group - self._groups.start + share) / len(self._groups)

    def _batches(self, group: int, positions: list[int], rows: int) -> Iterator[list[Any]]:
        """Yield columns of a row group in batches, which have the same rows for any columns."""
        # With buffers: without, all bytes of the row group are read before the first batch.
        buffer = min(_BUFFER, max(_LEAST_BUFFER, _BUFFERS_IN_ALL // max(1, len(positions))))
        file = self._new_file(pre_buffer=False, buffer_size=buffer)
        names = self._names(self._decoded(positions) or positions)
        for batch in file.iter_batches(rows, row_groups=[group], columns=names, use_threads=True):
            yield self._select(pa.Table.from_batches([batch]), positions, batch.num_rows)

    def _row_group(
        self, group: int, positions: list[int], *, use_threads: bool = True
    ) -> list[Any]:
        """Return columns of a row group."""
        names = self._names(self._decoded(positions))
        table = self._file().read_row_group(group, names, use_threads=use_threads)
        return self._select(table, positions, self._metadata.row_group(group).num_rows)

    def _decoded(self, positions: list[int]) -> list[int]:
        """Return the columns to decode: all but nested ones, whose cells are missing anyway.

        One text in a nested value that is not UTF-8 could make pyarrow fail.
        """
        return [place for place in positions if self.columns[place].kind is not Kind.OTHER]

    def _names(self, positions: list[int]) -> list[str]:
        """Return the names of columns."""
        return [self.columns[position].name for position in positions]

    def _select(self, table: pa.Table, positions: list[int], rows: int) -> list[Any]:
        """Return columns by their exact names: pyarrow reads more for a name with a dot in it."""
        decoded = set(self._decoded(positions))
        return [
            table.column(self.columns[place].name) if place in decoded else pa.nulls(rows)
            for place in positions
        ]

    def _file(self) -> pq.ParquetFile:
        """Return this thread's own reader."""
        if not hasattr(self._own, "file"):
            # A store answers slowly, so the columns of a batch are fetched in few requests. The
            # bytes of a local file go through a small buffer, which stays in the processor's cache
            # until they are decoded.
            remote = callable(self._place)
            self._own.file = self._new_file(pre_buffer=remote, buffer_size=0 if remote else _BUFFER)
        file: pq.ParquetFile = self._own.file
        return file

    def _new_file(self, *, pre_buffer: bool, buffer_size: int) -> pq.ParquetFile:
        """Return a new reader."""
        # With a buffer, pyarrow allocates and fills as many bytes as a page header claims, up to
        # 2 GiB; without one, it holds no more than the columns' bytes in the file.
        return pq.ParquetFile(
            self._open(),
            metadata=self._metadata,
            read_dictionary=self._coded,
            pre_buffer=pre_buffer,
            buffer_size=0 if self._is_small else buffer_size,
        )

    def _open(self) -> Any:
        """Return what a new reader can read from: a path, or an open file."""
        if callable(self._place):
            return self._place()
        return self._place if isinstance(self._place, str) else pa.BufferReader(self._place)
