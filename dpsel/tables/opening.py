"""Opening tables of every kind: files, folders, globs, stdin and frames in memory."""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsel.errors import InputError, UsageError
from dpsel.tables.columns import Column, Kind, Layout, same_layout
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import AS_NAMED, FORMATS, FileFormat, InputFormat
from dpsel.tables.provenance import Provenance, combined
from dpsel.tables.sources import Source, common_format, find_sources
from dpsel.tables.table import PendingBatch, ReadsColumns, RowGroup, RowReader, Table

_FILES_AT_ONCE = 8
# By every thread.
_MOST_OPEN_FILES = 64


def open_table(table: Any, written: FileFormat = AS_NAMED) -> Table:
    """Return the table at a path, a folder, a glob or `-`, or that of a frame in memory."""
    if not isinstance(table, str | Path):
        return frame_table(table)
    sources = find_sources(table)
    return open_sources(sources, common_format(sources, written.input_format), written)


def open_sources(sources: list[Source], found: InputFormat, written: FileFormat) -> Table:
    """Return the table that files of one format make up."""
    opener = file_opener(found, written)
    if len(sources) > 1 and not FORMATS[found].typed:
        _refuse_other_names(sources, found, written)
    table: Table = opener(sources[0]) if len(sources) == 1 else _ManyTables(sources, opener)
    table.sources = tuple(sources)
    return table


def _refuse_other_names(sources: list[Source], found: InputFormat, written: FileFormat) -> None:
    """Refuse texts with other names in their first lines, before anything is charged for.

    A name is not quoted: in a file without such a line it is a cell.
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
    """Return the size of all files of a table, as far as it is known."""
    return sum(source.size() for source in table.sources)


@contextmanager
def unchanged(sources: Collection[Source]) -> Iterator[None]:
    """Refuse whatever was read of files that changed meanwhile: some of it may be old, some new.

    What goes wrong in a file that changes, for instance that it seems to be damaged, is its change.
    """
    try:
        yield
    except Exception:
        _check_unchanged(sources)
        raise
    _check_unchanged(sources)


def _check_unchanged(sources: Collection[Source]) -> None:
    """Refuse files that have changed, the first of them by its name."""
    if len(sources) == 1:
        next(iter(sources)).check_unchanged()
        return
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        for _ in pool.map(Source.check_unchanged, sources):
            pass


@contextmanager
def unchanged_table(table: Table) -> Iterator[Table]:
    """Enter what reads a table; at the end it is closed, and refused if its files have changed."""
    with closing(table), unchanged(table.sources):
        yield table


def file_opener(found: InputFormat, written: FileFormat) -> Callable[[Source], Table]:
    """Return what opens one source of a format, with the columns of its folders."""
    opener = FORMATS[found].open

    def opened(source: Source) -> Table:
        table = opener(source, written)
        if not source.keys:
            return table
        from dpsel.tables.hive import KeyedTable

        return KeyedTable(table, source.keys)

    return opened


def frame_table(frame: Any) -> Table:
    """Return a table over a frame of polars, pandas, pyarrow or whatever exports Arrow streams."""
    import pyarrow as pa

    from dpsel.tables.arrow import ArrowStreamTable

    if _is_pandas(frame):
        return _pandas_table(frame)
    frame = kept_frame(frame) if hasattr(frame, "collect") else frame
    if not hasattr(frame, "__arrow_c_stream__"):
        raise UsageError(
            "table must be a path, or a frame of polars, pandas or pyarrow, "
            f"got {type(frame).__name__}"
        )
    refuse_objects(frame, "table")
    with plain_errors("table", FORMATS[InputFormat.ARROW].kind):
        return ArrowStreamTable(pa.RecordBatchReader.from_stream(frame), "table")


OBJECTS = "Object"
"""What polars calls the type of a column of Python's objects."""


def refuse_objects(frame: Any, label: str) -> None:
    """Refuse columns of Python's objects in polars, by their type.

    Polars exports where these are in memory, if it does not end the process.
    """
    # A table of Arrow has a schema of another kind, and no such type.
    schema = getattr(frame, "schema", {})
    kinds = schema.items() if hasattr(schema, "items") else ()
    for name, kind in kinds:
        if str(kind) == OBJECTS:
            raise InputError(f"{label}: column '{name}' holds objects of Python; cast it first")


def kept_frame(frame: Any) -> Any:
    """Return a frame that can be read again: a lazy one, or a stream, is read now."""
    if hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
        return frame.collect()
    return frame.read_all() if hasattr(frame, "read_all") else frame


def provenance_of_all(table: Table) -> Provenance | None:
    """Return how a table was made before a row is read: every file is opened for its record."""
    return table.provenance_of_all() if isinstance(table, _ManyTables) else table.provenance


def claimed_record(table: Table) -> Provenance | None:
    """Return how a table says that it was made, before a row is read.

    Whether what stands beside a CSV is about its content is known once all of it was read, and
    must not decide whether a run is refused.
    """
    return getattr(table, "claimed_record", None) or provenance_of_all(table)


def own_names(table: Any, names: Sequence[str]) -> list[Any]:
    """Return names of columns as a table has them: in a frame of pandas these may be numbers."""
    if not _is_pandas(table):
        return list(names)
    own = {str(name): name for name in (*table.columns, *table.index.names)}
    return [own.get(name, name) for name in names]


def _is_pandas(frame: Any) -> bool:
    """Return whether this is a frame of pandas, which is not imported for that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def _pandas_table(frame: Any) -> Table:
    """Return a table over a frame of pandas, with its index: one that counts rows is left out else.

    Objects of several types, which Arrow refuses, are read cell by cell, like those of a CSV: a
    cell in whatever column stops no run.
    """
    import pyarrow as pa

    from dpsel.tables.arrow import ArrowStreamTable

    mixed: set[str] = set()
    with plain_errors("table", FORMATS[InputFormat.ARROW].kind):
        try:
            table = pa.Table.from_pandas(frame, preserve_index=True)
        except (pa.ArrowException, UnicodeError, OverflowError):
            frame = frame.copy(deep=False)
            for name in [name for name in frame.columns if _is_mixed(frame[name])]:
                frame[name] = _cell_texts(frame[name])
                mixed.add(str(name))
            if frame.index.nlevels == 1 and _is_mixed(frame.index):
                name, frame.index = frame.index.name, _cell_texts(frame.index)
                frame.index.name = name
            table = pa.Table.from_pandas(frame, preserve_index=True)
        found = ArrowStreamTable(table.to_reader(), "table")
    found.columns = tuple(
        column._replace(kind=Kind.UNKNOWN) if column.name in mixed else column
        for column in found.columns
    )
    return found


def _is_mixed(cells: Any) -> bool:
    """Return whether Arrow has no type for all cells of a column or an index of pandas."""
    import pyarrow as pa

    try:
        pa.array(cells, from_pandas=True)
    except (pa.ArrowException, UnicodeError, OverflowError):
        return True
    return False


def _cell_texts(cells: Any) -> list[str | None]:
    """Return every cell of a column or an index as a text, None for a missing one."""
    return [
        None if missing else str(cell).encode("utf-8", "backslashreplace").decode()
        for cell, missing in zip(cells, cells.isna().tolist(), strict=True)
    ]


def _elsewhere(group: RowGroup, places: Mapping[int, int]) -> RowGroup:
    """Return rows whose columns have other positions in their file."""
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
        # That all files were made with public inputs is not known before they are read, and then
        # not believed; that one was not is enough to know.
        self.provenance: Provenance | None = None
        self._learn(self._first)

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield the batches of all files, in order."""
        # By size, as far as that is known: a small file is read sooner than a large one.
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
        """Return all rows of all files, in order; None if there are too many to be open at once."""
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
            found += [_elsewhere(group, places) for group in groups]
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
        """Close the first file; the others are closed once they are read."""
        self._first.close()
