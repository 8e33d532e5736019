"""Splits of a table: some rows of its files, named so that another process can read just those."""

import itertools
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpsel.core.errors import InputError, UsageError
from dpsel.io.formats import InputFormat
from dpsel.io.hive import Keys
from dpsel.io.identity import Identity, refuse_changed
from dpsel.io.pieces import Groups, Table
from dpsel.io.places import Store
from dpsel.io.remote import RemoteSource
from dpsel.io.sources import Source, common_format, find_sources
from dpsel.io.tables import open_sources, plain_opener

TARGET_BYTES = 1 << 28
"""A split has about so many bytes, uncompressed, unless there are very many."""

MOST_SPLITS = 1 << 14
"""A table of more bytes than so many splits have is cut into larger ones: each costs a scheduler
milliseconds, however large it is."""

_FILES_AT_ONCE = 8


@dataclass(frozen=True)
class FilePart:
    """Some row groups of a Parquet file, or record batches of an Arrow file; None for all."""

    number: int
    """The place of the file in its table."""
    path: str
    store: Store | None
    """The store that has the path; None for a file that all machines share."""
    keys: Keys = field(repr=False)
    """The columns that its folders name."""
    groups: Groups | None
    size: int
    """Bytes, about."""


@dataclass(frozen=True)
class Split:
    """Neighboring rows of a table, in one file or in several small ones."""

    parts: tuple[FilePart, ...]

    @property
    def size(self) -> int:
        """Return how many bytes it has, about."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True)
class TableFiles:
    """The files that make up a table, in order."""

    sources: tuple[Source, ...]
    input_format: InputFormat
    separator: str | None

    def split_bytes(self, least: int) -> int:
        """Return how many bytes a split should have, at least so many."""
        return max(least, sum(source.size() for source in self.sources) // MOST_SPLITS)

    def found(self) -> list["FileFound"]:
        """Return what is found here under the name of every file."""
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            return list(pool.map(file_found, itertools.count(), self.sources))

    def open(self) -> Any:
        """Return the whole table."""
        return open_sources(list(self.sources), self.input_format, self.separator)


@dataclass(frozen=True)
class FileFound:
    """Which file a process finds under a name. Private, and off `repr`."""

    number: int
    """The place of the file in its table."""
    process: str
    """Whose name it is: machines may have copies; nothing for a store, which is one for all."""
    identity: Identity | None = field(repr=False)
    digest: bytes = field(repr=False)
    """That of its first and last bytes."""

    @property
    def content(self) -> tuple[int | None, bytes]:
        """Return what is the same for a copy on another machine."""
        return None if self.identity is None else self.identity.size, self.digest


def file_found(number: int, source: Source) -> FileFound:
    """Return what this process finds under the name of a file.

    Privacy:
        Guarantee: none; for nobody but the data's holder.
        Tested by: tests/cluster/test_same_files.py
    """
    digest = source.digest_of_ends()
    process = "" if source.remote else f"{platform.node()} {os.getpid()}"
    return FileFound(number, process, source.identity, digest)


def check_same_files(files: TableFiles, elsewhere: Iterable[FileFound]) -> None:
    """Refuse what was read elsewhere if a file there is another than here, or changed meanwhile."""
    here = files.found()
    versions = {(one.number, one.process): one.identity for one in here}
    for there in elsewhere:
        label = files.sources[there.number].label
        if there.content != here[there.number].content:
            raise InputError(
                f"{label}: a worker of the cluster has another file under this name; "
                "all of them need the same files at the same place"
            )
        if versions.setdefault((there.number, there.process), there.identity) != there.identity:
            refuse_changed(label)


def table_files(
    table: Any, input_format: InputFormat | None = None, separator: str | None = None
) -> TableFiles:
    """Return the files of a table, which must be files: others can be read by one process only."""
    if not isinstance(table, str | Path):
        raise UsageError("a cluster reads files: write the frame to a Parquet file first")
    sources = find_sources(table)
    pipe = next((source for source in sources if not source.is_file), None)
    if pipe is not None:
        raise UsageError(
            f"a cluster reads files: {pipe.label} is a stream; write it to a Parquet file first"
        )
    return TableFiles(tuple(sources), common_format(sources, input_format), separator)


def split_files(files: TableFiles, target_bytes: int = TARGET_BYTES) -> list[Split]:
    """Return splits of about `target_bytes` that hold every row of every file once, in order.

    A file without any row is in a split as well: its columns are still checked.
    """
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        numbered = range(len(files.sources))
        found = pool.map(lambda number: _file_parts(files, number, target_bytes), numbered)
        return list(_gathered((part for parts in found for part in parts), target_bytes))


def open_part(part: FilePart, input_format: InputFormat, separator: str | None) -> Table:
    """Open just the rows of a part, in a process that may be on another machine."""
    source: Source = Source(Path(part.path))
    if part.store is not None:
        source = RemoteSource(part.store, part.path, part.size)
    if not source.is_file:
        raise InputError(
            f"{source.label}: a worker of the cluster does not find it; "
            "all of them need the same files at the same place"
        )
    table = _opened(source, part.groups, input_format, separator)
    if part.keys:
        from dpsel.io.keyed_table import KeyedTable

        table = KeyedTable(table, part.keys)
    table.sources = (source,)
    return table


def _opened(
    source: Source, groups: Groups | None, input_format: InputFormat, separator: str | None
) -> Table:
    """Open a file, or some groups of it."""
    if groups is None:
        return plain_opener(input_format, separator)(source)
    if input_format is InputFormat.PARQUET:
        from dpsel.io.parquet_table import ParquetTable

        return ParquetTable(source, groups)
    from dpsel.io.arrow_table import ArrowFileTable

    return ArrowFileTable(source, groups)


def _gathered(parts: Iterator[FilePart], target_bytes: int) -> Iterator[Split]:
    """Yield splits of neighboring parts, together not above the target if there are several."""
    some: list[FilePart] = []
    size = 0
    for part in parts:
        if some and size + part.size > target_bytes:
            yield Split(tuple(some))
            some, size = [], 0
        some.append(part)
        size += part.size
    if some:
        yield Split(tuple(some))


def _file_parts(files: TableFiles, number: int, target_bytes: int) -> list[FilePart]:
    """Return the parts of one file."""
    source = files.sources[number]
    store = source.store if isinstance(source, RemoteSource) else None
    place = (
        source.address if isinstance(source, RemoteSource) else os.path.abspath(str(source.path))
    )

    def part(groups: Groups | None, size: int) -> FilePart:
        return FilePart(number, place, store, source.keys, groups, size)

    sizes = _group_sizes(source, files)
    if sizes is None:
        return [part(None, source.size())]
    if not sizes:
        return [part((0, 0), 0)]
    return [part(groups, sum(sizes[slice(*groups)])) for groups in _runs(sizes, target_bytes)]


def _group_sizes(source: Source, files: TableFiles) -> list[int] | None:
    """Return the sizes of a file's row groups or batches, None if it is read as a whole."""
    if files.input_format not in (InputFormat.PARQUET, InputFormat.ARROW):
        return None
    from dpsel.io.arrow_table import ArrowFileTable
    from dpsel.io.parquet_table import ParquetTable

    table = plain_opener(files.input_format, files.separator)(source)
    try:
        if isinstance(table, ParquetTable):
            return table.sizes()
        if isinstance(table, ArrowFileTable):
            count = table.batches()
            return [source.size() // max(1, count)] * count
    finally:
        table.close()
    return None


def _runs(sizes: Sequence[int], target_bytes: int) -> Iterator[Groups]:
    """Yield runs of groups, together not above the target if there are several."""
    first, size = 0, 0
    for group, own in enumerate(sizes):
        if group > first and size + own > target_bytes:
            yield first, group
            first, size = group, 0
        size += own
    yield first, len(sizes)
