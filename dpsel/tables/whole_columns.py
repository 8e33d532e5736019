"""Reading all rows of a few features at a time, for scores that need all rows at once."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray
from dpsel.core.batch import Batch
from dpsel.core.persons import PersonLimit
from dpsel.core.row_ranks import ranked
from dpsel.reporter import Reporter
from dpsel.tables.cell_counts import CellCounts
from dpsel.tables.columns import Kind, Layout
from dpsel.tables.errors import plain_errors
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import file_bytes
from dpsel.tables.provenance import Provenance
from dpsel.tables.spill import Spill, memory_for_tables
from dpsel.tables.table import (
    HasWholeColumns,
    PendingBatch,
    ReadsColumns,
    RowGroup,
    RowReader,
    Table,
    read_batches,
    worked_on,
)

T = TypeVar("T")

_KIND = "a table"

_CELLS_AT_ONCE = 1 << 22
# For Parquet files: as many as fit in the processor's cache, and at least so many per row group.
_CELLS_IN_CACHE = 1 << 20
_CELLS_OF_A_GROUP = 1 << 16
# Copies of a batch of columns, including what is computed from it, in every thread.
_COPIES_OF_COLUMNS = 8
# Copies of a table that is kept: the table, and what is computed from it.
_COPIES_OF_ROWS = 2
_CELL = 8


class WholeColumns:
    """All rows of a table that count, a few features at a time. Cells are numbers and words.

    From files with typed columns, single columns are read. The rows of all other tables are kept in
    memory or in a temporary file, and so are all rows if ranks within rows are needed. Which way is
    used does not change a bit of any column.

    Privacy:
        Neighbors: one row, or the rows of one person that count, as for `Table.pending_batches`.
        Guarantee: none; the columns are private input for a score.
        Tested by: tests/tables/test_whole_columns.py
    """

    def __init__(
        self,
        table: Table,
        layout: Layout,
        coding: TargetCoding,
        limit: PersonLimit | None,
        threads: int,
        reporter: Reporter,
        *,
        row_ranks: bool = False,
    ) -> None:
        """Read nothing yet. With `row_ranks`, numbers become their ranks within the row."""
        self._table, self._layout = table, replace(layout, whole_rows=row_ranks)
        number = Kind.NUMBER
        only_numbers = all(column.kind is number for column in table.columns)
        self._rows = RowReader(coding, limit, words=True, only_numbers=only_numbers)
        self._threads, self._reporter = threads, reporter
        self._y: FloatArray | None = None
        self._batches: Iterator[PendingBatch] = iter(())
        self.count = len(layout.names)
        """The number of features."""
        self.cells = CellCounts(self.count)
        """Counts for the data holder, complete once all columns were read."""

    @property
    def provenance(self) -> Provenance | None:
        """Return what is known about how the table was made; for a CSV, once it was read."""
        return self._table.provenance

    @property
    def label_seen(self) -> bool:
        """Return whether a row has the label that counts as 1, once the target was read."""
        return self._rows.label_seen

    @property
    def notes(self) -> list[str]:
        """Return notes about the rows for the data holder, once they were read."""
        return self._rows.notes

    def target(self) -> FloatArray:
        """Return the target of all rows that count."""
        if self._y is None:
            self._reporter.size(file_bytes(self._table))
            self._y, self._batches = self._start()
        return self._y

    def reduce(self, work: Callable[[Batch], T]) -> Iterator[T]:
        """Yield `work(batch)` for all rows of a few neighboring features at a time, in order, once.

        Each batch's `X` is in double precision, or in single precision if it is a wide table's; it
        is stored column by column, and valid until the work on it is done, in one of several
        threads.
        """
        self.target()

        def reduced(batch: Batch) -> tuple[T, CellCounts]:
            whole = Batch(batch.first_feature, np.asarray(batch.X, order="F"), batch.y)
            return work(whole), CellCounts.of(whole, None)

        progress = self._reporter.progress
        for result, counts in worked_on(
            self._batches, reduced, threads=self._threads, progress=progress
        ):
            self.cells.add(counts)
            yield result

    def _start(self) -> tuple[FloatArray, Iterator[PendingBatch]]:
        """Return the target, and the batches to read."""
        if self._layout.whole_rows:
            return self._keep_rows(ranked)
        if isinstance(self._table, ReadsColumns):
            found = self._table.row_groups(self._layout)
            if found is not None:
                return self._read_columns(found)
        if isinstance(self._table, HasWholeColumns):
            # Its batches are whole columns. The first is read here, for the target.
            batches = self._table.pending_batches(self._layout, self._rows)
            pending = next(batches)
            first = pending.read()
            return first.y, chain([PendingBatch.of(first, pending.done)], batches)
        return self._keep_rows(lambda batch: batch)

    def _read_columns(self, groups: list[RowGroup]) -> tuple[FloatArray, Iterator[PendingBatch]]:
        """Return the target, and batches that each read a few columns of all row groups."""
        # Imported here because a wide table does not need Arrow, which takes long to import.
        from dpsel.tables.arrow_cells import write_cells

        layout = self._layout
        targets: list[FloatArray] = [np.empty(0)]
        kept: list[BoolArray | None] = []
        for group in groups:
            found = group.read(layout.target_and_person)
            with plain_errors(self._table.label, _KIND):
                rows_read = self._rows.rows(*found)
            kept.append(rows_read.keep)
            targets.append(rows_read.y if rows_read.keep is None else rows_read.y[rows_read.keep])
        y = np.concatenate(targets)
        ends = np.cumsum([len(part) for part in targets[1:]]).tolist()
        places = [slice(end - len(p), end) for end, p in zip(ends, targets[1:], strict=True)]

        own = threading.local()

        def read(first: int, last: int) -> Batch:
            # A thread is done with a batch before it reads the next, so it reuses the memory:
            # allocating it anew would take a tenth of the total time.
            if not hasattr(own, "room") or own.room.shape[1] < last - first:
                own.room = np.empty((len(y), last - first), order="F")
            X = own.room[:, : last - first]
            for group, place, keep in zip(groups, places, kept, strict=True):
                columns = group.read(layout.features[first:last])
                for column in range(last - first):
                    with plain_errors(self._table.label, _KIND):
                        write_cells(columns[column], keep, X[place, column])
                    columns[column] = None
            return Batch(first, X, y)

        cells = max(_CELLS_IN_CACHE, len(groups) * _CELLS_OF_A_GROUP)
        return y, self._ranges(len(y), read, min(cells, _CELLS_AT_ONCE))

    def _keep_rows(
        self, change: Callable[[Batch], Batch]
    ) -> tuple[FloatArray, Iterator[PendingBatch]]:
        """Read, change and keep all rows; return the target, and batches of a few columns."""
        table = Spill(self.count, copies=_COPIES_OF_ROWS)
        targets: list[FloatArray] = [np.empty(0)]

        def add(batch: Batch) -> None:
            table.add(batch.first_feature, batch.X)
            if batch.first_feature == 0:
                targets.append(batch.y)

        read_batches(
            self._table.pending_batches(self._layout, self._rows),
            change,
            add,
            threads=self._threads,
            progress=self._reporter.progress,
        )
        y = np.concatenate(targets)

        def read(first: int, last: int) -> Batch:
            return Batch(first, table.columns(first, last), y)

        batches = self._ranges(len(y), read, _CELLS_AT_ONCE)
        return y, (replace(batch, done=1.0) for batch in batches)

    def _ranges(
        self, rows: int, read: Callable[[int, int], Batch], cells: int
    ) -> Iterator[PendingBatch]:
        """Yield batches of features with so many cells each, or fewer if memory is short."""
        share = memory_for_tables() // _CELL // _COPIES_OF_COLUMNS // self._threads
        width = max(1, min(cells, share) // max(1, rows))
        # At least one batch for every thread.
        width = min(width, -(-self.count // self._threads))
        for first in range(0, self.count, width):
            last = min(first + width, self.count)
            yield PendingBatch(partial(read, first, last), last / self.count)
