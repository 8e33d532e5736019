"""From raw tables to bounded ones: find the scaling, then apply it to every row."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpsel import __version__
from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds
from dpsel.errors import InputError, UsageError
from dpsel.preprocessing.options import Center, Scale
from dpsel.preprocessing.prepared import Changes, Prepared
from dpsel.preprocessing.request import PreprocessRequest
from dpsel.preprocessing.scaling import Scaling, data_scaling, public_scaling
from dpsel.preprocessing.statistics import (
    ColumnStatistics,
    Moments,
    joined_statistics,
    threaded_statistics,
)
from dpsel.preprocessing.writers import MemoryWriter, Outputs, TableWriter, open_writer
from dpsel.reporter import Reporter
from dpsel.system.threads import Threads
from dpsel.tables.columns import Kind, Layout, choose_columns, nameless_notes, visible_columns
from dpsel.tables.delimited import DelimitedTable
from dpsel.tables.distinct import PersonColumn, person_type
from dpsel.tables.formats import FileFormat
from dpsel.tables.labels import TargetCoding, label_interval
from dpsel.tables.opening import file_bytes, open_table, provenance_of_all, unchanged_table
from dpsel.tables.places import public_place
from dpsel.tables.provenance import AS_IS, Provenance, names_digest, sidecar_text
from dpsel.tables.raw import RawTable, labels_of
from dpsel.tables.spill import Spill, memory_asked, memory_for_tables
from dpsel.tables.table import RowReader, Table, read_batches

# Tables of up to this many cells, 256 MB, are kept in memory, unless $DPSEL_MEMORY is set.
CELLS_IN_MEMORY = 1 << 25
# How many copies of a table medians take.
_COPIES = 3

Opener = Callable[[], Table]


def preprocess_table(
    raw: RawTable, request: PreprocessRequest, outputs: Outputs, reporter: Reporter
) -> Provenance:
    """Read, scale and write a table, and report to the holder; return the record of what was done.

    Privacy:
        Guarantee: none; the written table is as private as the raw one, and what is reported is
            for the data holder only.
        Tested by: tests/cli/test_preprocess.py
    """
    open_again = _opener(raw, request)
    prepared = prepare(open_again, request, reporter)
    try:
        writer = open_writer(outputs, prepared.names, prepared.provenance, prepared.passed_type)
        changes = write_prepared(open_again, prepared, writer, reporter, request.threads)
    except OSError as error:
        raise outputs.table.failure(error) from None
    outputs.table.commit()
    if outputs.record is not None:
        outputs.record.write(sidecar_text(prepared.provenance, writer.digest()).encode())
    _report(raw, request.wanted.target, prepared, changes, reporter)
    return prepared.provenance


def preprocess_in_memory(
    raw: RawTable, request: PreprocessRequest, reporter: Reporter, *, single: bool
) -> tuple[Any, Provenance]:
    """Read and scale a table, and report to the holder; return an Arrow table and its record.

    Privacy:
        Guarantee: none, as for `preprocess_table`.
        Tested by: tests/test_python.py
    """
    open_again = _opener(raw, request)
    prepared = prepare(open_again, request, reporter)
    made = prepared.provenance
    writer = MemoryWriter(prepared.names, made, prepared.passed_type, single=single)
    changes = write_prepared(open_again, prepared, writer, reporter, request.threads)
    _report(raw, request.wanted.target, prepared, changes, reporter)
    return writer.table(), made


def _opener(raw: RawTable, request: PreprocessRequest) -> Opener:
    """Return a function that opens the table; refuse `--as-is` if it would change nothing."""
    open_again = raw.opener(labels_are_numbers=not request.wanted.labels)
    if request.as_is and not raw.transposed:
        raise UsageError(
            "--as-is is for tables that have to be transposed: give --features-in rows, if a row "
            "is a feature; else `dpsel select` reads this table as it is"
        )
    return open_again


def _report(
    raw: RawTable, target: str, prepared: Prepared, changes: Changes, reporter: Reporter
) -> None:
    """Report to the holder what changed."""
    labels = None if raw.labels is None else public_place(raw.labels)
    reporter.table("what changed", changes.described(prepared))
    for note in (
        *changes.cell_notes(prepared, transposed=raw.transposed),
        *changes.label_notes(prepared, target, labels),
    ):
        reporter.note(note)
    if prepared.provenance.data_dependent:
        reporter.note(
            f"{', '.join(prepared.provenance.read_off_the_data)}: read off the data, so "
            "the guarantee of `dpsel select` will cover the selection only"
        )


def recorded_provenance(place: Any, reading: FileFormat) -> Provenance:
    """Return the record of how a table was made; refuse a table without one."""
    with unchanged_table(open_table(place, reading)) as table:
        if isinstance(table, DelimitedTable):
            table.read_through()
        found = provenance_of_all(table)
    if found is None:
        name = public_place(str(place)) if isinstance(place, str | Path) else "table"
        raise InputError(
            f"{name}: was not written by `dpsel preprocess`, or has changed since, or has lost its "
            "record"
        )
    return found


def prepare(open_again: Opener, request: PreprocessRequest, reporter: Reporter) -> Prepared:
    """Read a table as often as needed to know how to scale it."""
    with unchanged_table(open_again()) as table:
        chosen = choose_columns(table.columns, request.wanted, table.label)
        kinds = [column.kind for column in table.columns]
        layout = replace(chosen, whole_rows=True, person=None)
        names = [column.name for column in visible_columns(table.columns)]
        for note in nameless_notes(table.columns, table.label):
            reporter.note(note)
        before = provenance_of_all(table)
    classes = request.classes
    if request.encode and classes is None:
        classes = labels_of(open_again, layout)
    coding = TargetCoding(request.positive, classes)
    bounds = _bounds(request, layout, names, coding)
    statistics, kept = None, None
    if request.needs_statistics:
        statistics, kept = _statistics(open_again, layout, coding, request, reporter)
    scaling = None if request.as_is else _scaling(request, bounds, statistics, coding)
    passed = layout.target if request.as_is and layout.labels else chosen.person
    person = request.wanted.person
    written = (*layout.names, request.wanted.target, *([] if person is None else [person]))
    return Prepared(
        layout=layout,
        coding=coding,
        scaling=scaling,
        provenance=_provenance(request, before, written),
        kept=kept,
        names=written,
        passed=passed,
        passed_type=_passed_type(open_again, passed, kinds),
    )


def _passed_type(open_again: Opener, passed: int | None, kinds: Sequence[Kind]) -> Any | None:
    """Return the Arrow type in which a column is passed on, None if no column is."""
    if passed is None:
        return None
    with unchanged_table(open_again()) as table:
        return person_type(table.persons(passed), kinds[passed])


def _bounds(
    request: PreprocessRequest, layout: Layout, names: list[str], coding: TargetCoding
) -> Bounds | None:
    """Return the public bounds of features and target, None if there are none."""
    if request.bounds is None:
        return None
    bounds = request.bounds.resolve(
        layout.names, request.wanted.target, names, coded=coding.of_text
    )
    return replace(bounds, target=label_interval(coding)) if coding.of_text else bounds


def _provenance(
    request: PreprocessRequest, before: Provenance | None, names: Sequence[str]
) -> Provenance:
    """Return the record of what is done now, and of what was done before."""
    earlier = () if before is None else before.read_off_the_data
    read = tuple(dict.fromkeys((*earlier, *request.read_off_the_data())))
    by = AS_IS if request.as_is else None if request.bounds is None else "bounds"
    return Provenance(
        data_dependent=bool(read),
        read_off_the_data=read,
        center=by or str(request.center),
        scale=by or str(request.scale),
        clip=request.clip if request.bounds is None and request.scale is Scale.ROBUST else None,
        missing=AS_IS if request.as_is else str(request.missing),
        positive=request.positive,
        classes=request.classes,
        bounds=None if request.bounds is None else request.bounds.to_dict(),
        medians="exact" if request.needs_medians else None,
        columns=names_digest(names),
        version=__version__,
        person=request.wanted.person,
    )


def write_prepared(
    open_again: Opener,
    prepared: Prepared,
    writer: TableWriter,
    reporter: Reporter,
    threads: int,
) -> Changes:
    """Write every row of a table, scaled or not, with its person or label unchanged.

    Privacy:
        Guarantee: none; the written table is as private as the one that was read.
        Tested by: tests/cli/test_preprocess.py
    """
    changes = Changes()
    with ExitStack() as opened:
        passed: PersonColumn | None = None
        if prepared.passed is not None:
            table = opened.enter_context(unchanged_table(open_again()))
            passed = PersonColumn(table.persons(prepared.passed), prepared.passed_type)

        def add(rows: FloatArray) -> None:
            changes.count(rows, prepared)
            passed_on = None if passed is None else passed.next(len(rows))
            if prepared.passes_labels:
                changes.count_labels(passed_on)
            scaled = rows if prepared.scaling is None else prepared.scaling.apply(rows)
            writer.write(scaled, passed_on)

        if prepared.kept is not None:
            for rows in prepared.kept:
                add(rows)
        else:
            work = _features if prepared.passes_labels else _rows
            _reduce(open_again, prepared.layout, prepared.coding, work, add, threads, reporter)
    writer.close()
    return changes


class _RowBuffer:
    """All rows of a table: in memory if they are few, else in a spill if medians need them."""

    def __init__(self, columns: int, *, needed: bool) -> None:
        """Begin without a row; `needed` says whether to keep rows that do not fit in memory."""
        self._columns = columns
        self._needed = needed
        self._most = _cells_in_memory()
        self._cells = 0
        self._few: list[FloatArray] = []
        self._spill: Spill | None = None

    def add(self, rows: FloatArray) -> None:
        """Add the next rows."""
        self._cells += rows.size
        if self._cells <= self._most:
            self._few.append(rows)
            return
        if self._needed:
            self._spill = self._spill or Spill(self._columns, copies=_COPIES)
            for some in (*self._few, rows):
                self._spill.add(0, some)
        self._few.clear()

    def statistics(self, threads: Threads) -> ColumnStatistics:
        """Return the statistics of all columns, computed for as many at a time as fit in memory."""
        spill = self._spill
        if spill is None:
            few = np.concatenate([np.empty((0, self._columns)), *self._few])
            return threaded_statistics(few, threads)
        groups = (spill.columns(first, last) for first, last in spill.column_groups())
        return joined_statistics([threaded_statistics(columns, threads) for columns in groups])

    def kept(self) -> Iterable[FloatArray] | None:
        """Return all rows again, None if they were not kept."""
        if self._spill is not None:
            return (rows for _, rows in self._spill.row_chunks())
        return self._few if self._cells <= self._most else None


def _statistics(
    open_again: Opener,
    layout: Layout,
    coding: TargetCoding,
    request: PreprocessRequest,
    reporter: Reporter,
) -> tuple[ColumnStatistics, Iterable[FloatArray] | None]:
    """Return the statistics of features and target, and all rows if they were kept."""
    columns, medians = len(layout.features) + 1, request.needs_medians
    moments, read = Moments(columns), _RowBuffer(columns, needed=medians)

    def look(batch: Batch) -> tuple[FloatArray, Moments | None]:
        rows = _rows(batch)
        return rows, None if medians else Moments.of(rows)

    def add(found: tuple[FloatArray, Moments | None]) -> None:
        rows, part = found
        read.add(rows)
        if part is not None:
            moments.add(part)

    _reduce(open_again, layout, coding, look, add, request.threads, reporter)
    found = read.statistics(Threads(request.threads)) if medians else moments.statistics()
    return found, read.kept()


def _cells_in_memory() -> int:
    """Return how many cells to keep in memory: as many as fit, up to a limit of our own.

    The limit is the same on every machine. It does not apply if the user sets $DPSEL_MEMORY.
    """
    most = memory_for_tables() // (_COPIES * np.dtype(np.float64).itemsize)
    return min(most, CELLS_IN_MEMORY) if memory_asked() is None else most


def _scaling(
    request: PreprocessRequest,
    bounds: Bounds | None,
    statistics: ColumnStatistics | None,
    coding: TargetCoding,
) -> Scaling:
    """Return the scaling by public bounds, or by the data."""
    if bounds is not None:
        scaling = public_scaling(bounds)
    else:
        assert statistics is not None
        scaling = data_scaling(statistics, request.center, request.scale, request.clip)
        if request.scales_labels:
            # Labels have no outliers, so they are always scaled as in the paper.
            labels = data_scaling(statistics, Center.MEAN, Scale.MAX_ABS, request.clip)
            scaling = scaling.with_last(labels)
        elif coding.of_text:
            coded = Bounds.of([], label_interval(coding))
            scaling = scaling.with_last(public_scaling(coded))
    if statistics is None:
        return scaling
    filled = scaling.filled(statistics, request.missing)
    return filled.with_last(scaling) if coding.of_text else filled


def _reduce(
    open_again: Opener,
    layout: Layout,
    coding: TargetCoding,
    work: Callable[[Batch], Any],
    add: Callable[[Any], None],
    threads: int,
    reporter: Reporter,
) -> None:
    """Read a table once, and add up `work(batch)` over its batches."""
    with unchanged_table(open_again()) as table:
        reporter.size(file_bytes(table))
        rows = RowReader(coding)
        batches: Iterator[Any] = table.pending_batches(layout, rows)
        read_batches(batches, work, add, threads=threads, progress=reporter.progress)
        for note in rows.notes:
            reporter.note(note)


def _rows(batch: Batch) -> FloatArray:
    """Return features and target side by side."""
    return np.asfortranarray(np.column_stack([batch.X, batch.y]))


def _features(batch: Batch) -> FloatArray:
    """Return features alone."""
    return np.asarray(batch.X, dtype=np.float64, order="F")
