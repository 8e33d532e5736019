"""What a table is, how it is read in batches, and the threads that read them."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, RealArray
from dpsel.core.batch import Batch, Columns, Unreadable, rows_of
from dpsel.core.persons import KeptRows, PersonLimit
from dpsel.errors import InputError
from dpsel.records import frozen
from dpsel.system.threads import keep_freed_memory
from dpsel.tables.columns import Column, Layout
from dpsel.tables.labels import TargetCoding
from dpsel.tables.provenance import Provenance
from dpsel.tables.sources import Source

Part = TypeVar("Part")


@frozen
class PendingBatch:
    """A batch that is still to be read."""

    read: Callable[[], Batch]
    done: float
    """The share of the table that has been read once this batch has been."""

    @classmethod
    def of(cls, batch: Batch, done: float) -> "PendingBatch":
        """Return a batch that is already in memory as a pending one."""
        return cls(lambda: batch, done)


@frozen
class RowGroup:
    """Some rows of a table; any thread can read single columns of them, any number of times."""

    read: Callable[[Sequence[int]], list[Any]]
    """Return Arrow columns, given their positions in the table."""


@runtime_checkable
class ReadsColumns(Protocol):
    """A table whose columns can be read one at a time."""

    def row_groups(self, layout: Layout) -> list[RowGroup] | None:
        """Return all rows, in order, or None if reading all columns at once is better."""
        ...


@runtime_checkable
class SplitsInGroups(Protocol):
    """A table whose row groups can be read separately, by several processes."""

    def group_sizes(self) -> list[int]:
        """Return the approximate size in bytes of each row group or record batch."""
        ...


@runtime_checkable
class HasWholeColumns(Protocol):
    """A table whose batches each hold all rows."""

    whole_columns: bool


Groups = tuple[int, int]
"""A range of row groups or record batches of a file: the first, and the one after the last."""


def groups_within(groups: Groups | None, count: int, label: str) -> range:
    """Return the groups to read of a file that has `count` groups; None means all of them."""
    first, last = (0, count) if groups is None else groups
    if last > count:
        raise InputError(f"{label}: has changed since it was first looked at")
    return range(first, last)


class Table(Protocol):
    """A table that is read once, from start to end."""

    label: str
    columns: tuple[Column, ...]
    sources: tuple[Source, ...]
    """The files it is read from; empty for a table in memory."""

    @property
    def provenance(self) -> Provenance | None:
        """Return what is known about how the table was made."""
        ...

    def pending_batches(self, layout: Layout, rows: "RowReader") -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        ...

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order, as Arrow columns."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


@frozen
class RowsRead:
    """The target of some rows, and which of these rows to keep."""

    y: FloatArray
    keep: BoolArray | None
    """A mask; None keeps all rows."""

    def batch(
        self, first_feature: int, X: RealArray | Columns, unreadable: Unreadable | None = None
    ) -> Batch:
        """Return a batch with the features `X` of these rows; `X` may have no column."""
        if not X.shape[1]:
            X = np.empty((len(self.y), 0))
        if self.keep is None:
            return Batch(first_feature, X, self.y, unreadable)
        return Batch(first_feature, rows_of(X, self.keep), self.y[self.keep], unreadable)


@frozen
class Constants:
    """A target or person that is the same in all rows of a file.

    Each is a function from a number of rows to an Arrow column with as many.
    """

    target: Callable[[int], Any] | None = None
    person: Callable[[int], Any] | None = None


class RowReader:
    """Codes targets and limits the rows of each person; batches must come in order."""

    def __init__(
        self,
        coding: TargetCoding,
        limit: PersonLimit | KeptRows | None = None,
        *,
        words: bool = False,
        only_numbers: bool = False,
    ) -> None:
        """Set how to code the target, and which rows to keep.

        With `words`, features may be of any type, and their cells become numbers or words.
        `only_numbers` says that all columns are of numeric types, so that no cell is a word.
        """
        # Arrow and polars take 40 and 150 ms to import, and most runs need one of them. They are
        # imported here, and not first in a thread, which could not give Ctrl-C back.
        if coding.of_text or limit is not None:
            import dpsel.tables.distinct
        if words and not only_numbers:
            import dpsel.tables.words  # noqa: F401
        self.coding = coding
        self.words = words
        self._limit = limit
        self._constants = Constants()
        self._label_seen = threading.Event()
        self.notes: list[str] = []
        """Notes about the rows, for the data holder only; not for release."""

    def with_constants(self, constants: Constants) -> "RowReader":
        """Return this reader for a file in which target or person are not columns of their own.

        It is passed other columns in their place, which have as many rows. What it learns is
        shared with this reader.
        """
        reader = copy(self)
        reader._constants = constants
        return reader

    @property
    def label_seen(self) -> bool:
        """Return whether any row so far had the label that counts as 1."""
        return self._label_seen.is_set()

    @property
    def ordered(self) -> bool:
        """Return whether a batch depends on the ones before it."""
        return self._limit is not None

    def features(self, columns: Sequence[Any]) -> RealArray | Columns:
        """Return the cells of feature columns, which are Arrow columns."""
        from dpsel.tables.arrow_cells import cell_columns, number_columns

        return cell_columns(columns) if self.words else number_columns(columns)

    def rows(self, target: Any, person: Any | None = None) -> RowsRead:
        """Return the rows of the next batch, from Arrow columns; the target may be an array."""
        return RowsRead(self.target(target), self.mask(person))

    def target(self, column: Any) -> FloatArray:
        """Return the coded target of any batch; the order of batches does not matter here."""
        if self._constants.target is not None:
            column = self._constants.target(len(column))
        y = self.coding.values(column)
        if np.any(y == 1.0):
            self._label_seen.set()
        return y

    def mask(self, person: Any | None) -> BoolArray | None:
        """Return a mask of the rows of the next batch to keep, None for all."""
        if self._limit is None or person is None:
            return None
        if isinstance(self._limit, KeptRows):
            return self._limit.next(len(person))
        from dpsel.tables.distinct import distinct_persons

        if self._constants.person is not None:
            person = self._constants.person(len(person))
        return self._limit.keep(*distinct_persons(person))


def read_batches(
    batches: Iterator[PendingBatch],
    work: Callable[[Batch], Part],
    add: Callable[[Part], None],
    *,
    threads: int,
    progress: Callable[[float], None],
) -> None:
    """Read every batch, work on it, and add up the parts; only a few are in memory at a time."""
    for part in worked_on(batches, work, threads=threads, progress=progress):
        add(part)


def worked_on(
    batches: Iterator[PendingBatch],
    work: Callable[[Batch], Part],
    *,
    threads: int,
    progress: Callable[[float], None],
) -> Iterator[Part]:
    """Read every batch and yield `work(batch)`, in order; only a few are in memory at a time."""
    keep_freed_memory()
    if threads == 1:
        for batch in batches:
            yield work(batch.read())
            progress(batch.done)
        return
    pending: deque[tuple[Future[Part], float]] = deque()
    stop = threading.Event()

    def run(batch: PendingBatch) -> Part:
        if stop.is_set():
            raise InterruptedError
        return work(batch.read())

    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch in batches:
                pending.append((pool.submit(run, batch), batch.done))
                if len(pending) > threads:
                    future, done = pending.popleft()
                    yield future.result()
                    progress(done)
            while pending:
                future, done = pending.popleft()
                yield future.result()
                progress(done)
        except BaseException:
            stop.set()
            for future, _ in pending:
                future.cancel()
            raise
