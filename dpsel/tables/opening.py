"""Opening tables: files, folders, globs, stdin and frames in memory."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpsel.errors import InputError, UsageError
from dpsel.tables.columns import Column, Kind, Layout, same_layout
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import AS_NAMED, FORMATS, FileFormat, InputFormat
from dpsel.tables.provenance import Provenance, combined
from dpsel.tables.sources import Source
from dpsel.tables.table import PendingBatch, ReadsColumns, RowGroup, RowReader, Table
from dpsel.tables.table_files import common_format, find_sources

_FILES_AT_ONCE = 8
# Each thread opens all of them.
_MOST_OPEN_FILES = 64


def open_table(table: Any, written: FileFormat = AS_NAMED) -> Table:
    """Return the table at a path, a folder, a glob or `-`, or in a frame in memory."""
    if not isinstance(table, str | Path):
        return frame_table(table)
    sources = find_sources(table)
    return open_sources(sources, common_format(sources, written.input_format), written)


def open_sources(sources: list[Source], found: InputFormat, written: FileFormat) -> Table:
    """Return the table that files of one format make up."""
    opener = partial(_open_file, found, written)
    if len(sources) > 1 and not FORMATS[found].typed:
        _refuse_other_names(sources, found, written)
    table: Table = opener(sources[0]) if len(sources) == 1 else _ManyTables(sources, opener)
    table.sources = tuple(sources)
    return table


def _open_file(found: InputFormat, written: FileFormat, source: Source) -> Table:
    """Return the table of one file, with the columns that its folders name."""
    table = FORMATS[found].open(source, written)
    if not source.keys:
        return table
    from dpsel.tables.hive import KeyedTable

    return KeyedTable(table, source.keys)


def _refuse_other_names(sources: list[Source], found: InputFormat, written: FileFormat) -> None:
    """Refuse texts whose first lines have different names, before anything is charged for.

    No name is quoted: in a file without a header it is a cell.
    """
    from dpsel.tables.delimited_rows import names_of_text

    kind, own = FORMATS[found].kind, written.separated_by(FORMATS[found].separator)
    first: set[str] | None = None
    for source in sources:
        if not source.is_file:
            continue
        with plain_errors(source.label, kind), closing(source.open_stream()) as stream:
            names = set(names_of_text(stream, own, source.label))
        names = {name for name in names if not Column(name, Kind.UNKNOWN).hidden}
        first = names if first is None else first
        if names != first:
            raise InputError(
                f"{source.label}: its columns differ from those of {sources[0].label}; every file "
                "needs the same names in its first line"
            )


def file_bytes(table: Table) -> int:
    """Return the total size of a table's files, as far as it is known."""
    return sum(source.size() for source in table.sources)


@contextmanager
def unchanged(sources: Collection[Source]) -> Iterator[None]:
    """Refuse what was read of files that changed meanwhile: some of it may be old, some new.

    If reading fails, for instance because a file seems damaged, and the file has changed, the error
    is about the change.
    """
    try:
        yield
    except Exception:
        _check_unchanged(sources)
        raise
    _check_unchanged(sources)


def _check_unchanged(sources: Collection[Source]) -> None:
    """Refuse files that have changed, naming the first of them."""
    if len(sources) == 1:
        next(iter(sources)).check_unchanged()
        return
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        for _ in pool.map(Source.check_unchanged, sources):
            pass


@contextmanager
def unchanged_table(table: Table) -> Iterator[Table]:
    """Enter a table to read it; at the end close it, and refuse it if its files have changed."""
    with closing(table), unchanged(table.sources):
        yield table


def frame_table(frame: Any) -> Table:
    """Return a table over a frame of polars, pandas, pyarrow or any exporter of Arrow streams."""
    import pyarrow as pa

    from dpsel.tables.arrow import ArrowStreamTable
    from dpsel.tables.objects import Frame, FrameTable, is_pandas, pandas_frame

    if is_pandas(frame):
        with plain_errors("table", FORMATS[InputFormat.ARROW].kind):
            frame = pandas_frame(frame)
    if isinstance(frame, Frame):
        return FrameTable(frame)
    if _is_lazy(frame):
        with plain_errors("table", FORMATS[InputFormat.ARROW].kind):
            return ArrowStreamTable(_lazy_batches(frame), "table")
    frame = kept_frame(frame) if hasattr(frame, "collect") else frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            "table must be a path, or a frame of polars, pandas or pyarrow, "
            f"got {type(frame).__name__}"
        )
    refuse_objects(frame, "table")
    with plain_errors("table", FORMATS[InputFormat.ARROW].kind):
        return ArrowStreamTable(pa.RecordBatchReader.from_stream(frame), "table")


def _is_lazy(frame: Any) -> bool:
    """Return whether this is a lazy frame of polars, without importing polars."""
    polars = sys.modules.get("polars")
    return polars is not None and isinstance(frame, polars.LazyFrame)


def _lazy_batches(frame: Any) -> Any:
    """Return the batches of a lazy frame of polars, which computes its rows with the first one.

    A row may make that fail, so it must come after the charge, as reading a file does. The names
    and types are known before.
    """
    import pyarrow as pa

    from dpsel.system.frames import pl

    without_rows = pl.DataFrame(schema=frame.collect_schema())
    refuse_objects(without_rows, "table")

    def batches() -> Iterator[Any]:
        yield from pa.RecordBatchReader.from_stream(_collected(frame))

    schema = pa.RecordBatchReader.from_stream(without_rows).schema
    return pa.RecordBatchReader.from_batches(schema, batches())


def _collected(frame: Any) -> Any:
    """Return the rows of a lazy frame; whatever it raises may quote a cell."""
    try:
        return frame.collect()
    except MemoryError:
        raise
    except Exception:
        raise InputError(
            "table: this lazy frame fails at collect(); call that yourself to see why"
        ) from None


OBJECTS = "Object"
"""The name of polars' type for columns of Python objects."""


def refuse_objects(frame: Any, label: str) -> None:
    """Refuse a polars frame with columns of Python objects.

    Polars would export the objects' addresses in memory, or end the process.
    """
    # The schema of an Arrow table is not a mapping, and has no such type.
    schema = getattr(frame, "schema", {})
    kinds = schema.items() if hasattr(schema, "items") else ()
    for name, kind in kinds:
        if str(kind) == OBJECTS:
            raise InputError(f"{label}: column '{name}' holds objects of Python; cast it first")


def kept_frame(frame: Any) -> Any:
    """Return a frame that can be read again: a lazy frame or a stream is read now."""
    with plain_errors("table", FORMATS[InputFormat.ARROW].kind):
        if hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
            return _collected(frame)
        return frame.read_all() if hasattr(frame, "read_all") else frame


def provenance_of_all(table: Table) -> Provenance | None:
    """Return how a table was made, before a row is read: every file is opened for its record."""
    return table.provenance_of_all() if isinstance(table, _ManyTables) else table.provenance


def claimed_record(table: Table) -> Provenance | None:
    """Return how a table claims to have been made, before a row is read.

    Whether the record beside a CSV matches its content is known only once all of it was read, and
    must not decide whether a run is refused.
    """
    return getattr(table, "claimed_record", None) or provenance_of_all(table)


def own_names(table: Any, names: Sequence[str]) -> list[Any]:
    """Return column names as the table has them: in a pandas frame they may be numbers."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(table, pandas.DataFrame):
        return list(names)
    own = {str(name): name for name in (*table.columns, *table.index.names)}
    return [own.get(name, name) for name in names]


def _moved_group(group: RowGroup, places: Mapping[int, int]) -> RowGroup:
    """Return a row group that maps positions in the table to those in its file."""
    return RowGroup(lambda positions: group.read([places[position] for position in positions]))


class _ManyTables:
    """Files with the same columns, one after the other."""

    sources: tuple[Source, ...] = ()

    def __init__(self, sources: list[Source], opener: Callable[[Source], Table]) -> None:
        self._sources = sources
        self._opener = opener
        self._first = opener(sources[0])
        self.label = self._first.label
        self.columns = self._first.columns
        # It is enough to know that one file was made by looking at its data. That all were made
        # with public inputs is not known before they are read, and not believed afterwards.
        self.provenance: Provenance | None = None
        self._learn(self._first)

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield the batches of all files, in order."""
        # Progress is by size, as far as that is known: a small file takes less time.
        sizes = [max(1, source.size()) for source in self._sources]
        whole, before = sum(sizes), 0
        for number, (source, size) in enumerate(zip(self._sources, sizes, strict=True)):
            with closing(self._first if number == 0 else self._opener(source)) as table:
                here = same_layout(layout, self.columns, self.label, table.columns, table.label)
                for batch in table.pending_batches(here, rows):
                    yield replace(batch, done=(before + batch.done * size) / whole)
                self._learn(table)
            before += size

    def row_groups(self, layout: Layout) -> list[RowGroup] | None:
        """Return all rows of all files, in order; None if there are too many files to keep open."""
        if len(self._sources) > _MOST_OPEN_FILES:
            return None
        found: list[RowGroup] = []
        for number, source in enumerate(self._sources):
            table = self._first if number == 0 else self._opener(source)
            here = same_layout(layout, self.columns, self.label, table.columns, table.label)
            places = dict(zip(layout.read, here.read, strict=True))
            groups = table.row_groups(here) if isinstance(table, ReadsColumns) else None
            if groups is None:
                if table is not self._first:
                    table.close()
                return None
            self._learn(table)
            found += [_moved_group(group, places) for group in groups]
        return found

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows of all files, in order."""
        layout = Layout((), (), position, labels=True, person=position)
        for source in self._sources:
            with closing(self._opener(source)) as table:
                here = same_layout(layout, self.columns, self.label, table.columns, table.label)
                yield from table.persons(here.target)

    def provenance_of_all(self) -> Provenance | None:
        """Return the record that all files have together."""
        records = []
        for source in self._sources:
            with closing(self._opener(source)) as table:
                records.append(table.provenance)
        return combined(records)

    def _learn(self, table: Table) -> None:
        """Remember that a file was made by looking at its data."""
        if table.provenance is not None and table.provenance.data_dependent:
            self.provenance = table.provenance

    def close(self) -> None:
        """Close the first file; the others are closed after they are read."""
        self._first.close()
