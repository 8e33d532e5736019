"""Splitting a table's files into shards, and checking that all machines read the same files."""

import itertools
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import field
from pathlib import Path
from typing import Any

from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.tables.formats import AS_NAMED, FORMATS, FileFormat, InputFormat
from dpsel.tables.hive import KeyedTable
from dpsel.tables.identity import Identity, refuse_changed
from dpsel.tables.opening import open_sources
from dpsel.tables.places import Store
from dpsel.tables.sources import Keys, Source
from dpsel.tables.stores import RemoteSource
from dpsel.tables.table import Groups, SplitsInGroups, Table
from dpsel.tables.table_files import common_format, find_sources

TARGET_BYTES = 1 << 28
"""The approximate size of a shard, uncompressed, unless there would be too many shards."""

MOST_SHARDS = 1 << 14
"""A larger table is split into larger shards, not into more: each shard costs the scheduler
milliseconds, whatever its size."""

_FILES_AT_ONCE = 8


@frozen
class ShardFile:
    """A file, or some row groups of a Parquet file, or some record batches of an Arrow file."""

    number: int
    """The place of the file in its table."""
    path: str
    store: Store | None
    """The store that has the path; None for a file that all machines share."""
    keys: Keys = field(repr=False)
    """The columns from the names of its folders."""
    groups: Groups | None
    """None for the whole file."""
    size: int
    """The approximate size in bytes."""


@frozen
class ShardRows:
    """Neighboring rows of a table, from one file or several small ones."""

    files: tuple[ShardFile, ...]

    @property
    def size(self) -> int:
        """Return the approximate size in bytes."""
        return sum(file.size for file in self.files)


@frozen
class TableFiles:
    """The files that make up a table, in order."""

    sources: tuple[Source, ...]
    input_format: InputFormat
    written: FileFormat

    def shard_bytes(self, least: int) -> int:
        """Return how many bytes a shard should have, at least `least`."""
        return max(least, sum(source.size() for source in self.sources) // MOST_SHARDS)

    def found(self) -> list["FileFound"]:
        """Return which content this machine finds at the path of every file."""
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            return list(pool.map(file_found, itertools.count(), self.sources))

    def open(self) -> Table:
        """Return the whole table."""
        return open_sources(list(self.sources), self.input_format, self.written)


@frozen
class FileFound:
    """The content that a process finds at the path of a file. Private, and not in `repr`."""

    number: int
    """The place of the file in its table."""
    process: str
    """The machine and process, since machines may have copies; empty for a file in a store."""
    identity: Identity | None = field(repr=False)
    digest: bytes = field(repr=False)
    """The digest of its first and last bytes."""

    @property
    def content(self) -> tuple[int | None, bytes]:
        """Return the size and digest, which a copy on another machine shares."""
        return None if self.identity is None else self.identity.size, self.digest


def file_found(number: int, source: Source) -> FileFound:
    """Return which content this process finds at the path of a file.

    Privacy:
        Guarantee: none; for nobody but the data holder.
        Tested by: tests/cluster/test_same_files.py
    """
    digest = source.digest_of_ends()
    process = "" if source.remote else f"{platform.node()} {os.getpid()}"
    return FileFound(number, process, source.identity, digest)


def check_same_files(files: TableFiles, elsewhere: Iterable[FileFound]) -> None:
    """Refuse files that differ between this machine and others, or that changed meanwhile."""
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


def table_files(table: Any, written: FileFormat = AS_NAMED) -> TableFiles:
    """Return the files of a table; refuse frames and streams, which only one process can read."""
    if not isinstance(table, str | Path):
        raise UsageError("a cluster reads files: write the frame to a Parquet file first")
    sources = find_sources(table)
    pipe = next((source for source in sources if not source.is_file), None)
    if pipe is not None:
        raise UsageError(
            f"a cluster reads files: {pipe.label} is a stream; write it to a Parquet file first"
        )
    return TableFiles(tuple(sources), common_format(sources, written.input_format), written)


def split_files(files: TableFiles, target_bytes: int = TARGET_BYTES) -> list[ShardRows]:
    """Return parts of about `target_bytes` that contain every row of every file once, in order.

    A file without any row is in one of them too, so that its columns are still checked.
    """
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        numbered = range(len(files.sources))
        found = pool.map(lambda number: _shard_files(files, number, target_bytes), numbered)
        return list(_gathered((file for some in found for file in some), target_bytes))


def open_shard_file(file: ShardFile, input_format: InputFormat, written: FileFormat) -> Table:
    """Open the rows of a shard in one file, in a process that may be on another machine."""
    source: Source = Source(Path(file.path))
    if file.store is not None:
        source = RemoteSource(file.store, file.path, file.size)
    if not source.is_file:
        raise InputError(
            f"{source.label}: a worker of the cluster does not find it; "
            "all of them need the same files at the same place"
        )
    table = _opened(source, file.groups, input_format, written)
    if file.keys:
        table = KeyedTable(table, file.keys)
    table.sources = (source,)
    return table


def _opened(
    source: Source, groups: Groups | None, input_format: InputFormat, written: FileFormat
) -> Table:
    """Open a file, or some groups of it."""
    known = FORMATS[input_format]
    if groups is None:
        return known.open(source, written)
    assert known.open_groups is not None
    table: Table = known.open_groups(source, groups)
    return table


def _gathered(files: Iterator[ShardFile], target_bytes: int) -> Iterator[ShardRows]:
    """Group neighboring files; the files of a group of several do not exceed the target."""
    some: list[ShardFile] = []
    size = 0
    for file in files:
        if some and size + file.size > target_bytes:
            yield ShardRows(tuple(some))
            some, size = [], 0
        some.append(file)
        size += file.size
    if some:
        yield ShardRows(tuple(some))


def _shard_files(files: TableFiles, number: int, target_bytes: int) -> list[ShardFile]:
    """Return the parts into which one file is split."""
    source = files.sources[number]
    store = source.store if isinstance(source, RemoteSource) else None
    place = (
        source.address if isinstance(source, RemoteSource) else os.path.abspath(str(source.path))
    )

    def shard_file(groups: Groups | None, size: int) -> ShardFile:
        return ShardFile(number, place, store, source.keys, groups, size)

    sizes = _group_sizes(source, files)
    if sizes is None:
        return [shard_file(None, source.size())]
    if not sizes:
        return [shard_file((0, 0), 0)]
    return [shard_file(groups, sum(sizes[slice(*groups)])) for groups in _runs(sizes, target_bytes)]


def _group_sizes(source: Source, files: TableFiles) -> list[int] | None:
    """Return the sizes of a file's row groups or batches, None if it cannot be split."""
    known = FORMATS[files.input_format]
    if not known.typed:
        return None
    with closing(known.open(source, files.written)) as table:
        return table.group_sizes() if isinstance(table, SplitsInGroups) else None


def _runs(sizes: Sequence[int], target_bytes: int) -> Iterator[Groups]:
    """Yield ranges of row groups; those of a range of several do not exceed the target."""
    first, size = 0, 0
    for group, own in enumerate(sizes):
        if group > first and size + own > target_bytes:
            yield first, group
            first, size = group, 0
        size += own
    yield first, len(sizes)
