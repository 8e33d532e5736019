"""Shards of a table: the parts that workers read and score, and how their results add up."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import field, replace
from typing import Any

from dpsel.cluster.shard_files import (
    TARGET_BYTES,
    FileFound,
    ShardRows,
    TableFiles,
    check_same_files,
    file_found,
    open_shard_file,
    split_files,
)
from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import Guarantee, Neighbors, Unit
from dpsel.core.persons import KeptRows, PersonLimit, RowMask
from dpsel.core.scores.base import TotalingScore, WorksAtTheEnd
from dpsel.core.scores.registry import STUMP, find_score
from dpsel.core.scores.stump import WeighedStump, WeightRule
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.system.threads import Threads
from dpsel.tables.cell_counts import CellCounts
from dpsel.tables.columns import Column, Layout, same_layout
from dpsel.tables.formats import FileFormat, InputFormat
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import unchanged
from dpsel.tables.provenance import Provenance
from dpsel.tables.sources import Source
from dpsel.tables.table import PendingBatch, RowReader, Table, read_batches


@frozen
class ShardWork:
    """What all shards have in common, and all that other processes learn about a run."""

    columns: tuple[Column, ...]
    label: str
    """The name of the table's first file, whose columns these are."""
    files: int
    input_format: InputFormat
    written: FileFormat
    layout: Layout
    score: str
    bounds: Bounds
    coding: TargetCoding
    neighbors: Neighbors
    unit: Unit
    rule: WeightRule | None = field(default=None, repr=False)
    """The weights of rows for the score `stump`, once known: private, or paid for."""

    @staticmethod
    def of(
        table: Table,
        files: TableFiles,
        layout: Layout,
        bounds: Bounds,
        coding: TargetCoding,
        guarantee: Guarantee,
        score: str,
    ) -> "ShardWork":
        """Return the work of scoring a table; refuse a score that shards cannot add up to."""
        work = ShardWork(
            columns=table.columns,
            label=table.label,
            files=len(files.sources),
            input_format=files.input_format,
            written=files.written,
            layout=layout,
            score=score,
            bounds=bounds,
            coding=coding,
            neighbors=guarantee.neighbors,
            unit=guarantee.unit,
        )
        if score != STUMP:
            work.make_score(0, len(layout.features))
        return work

    def make_score(self, first: int, last: int) -> TotalingScore:
        """Return an empty score for the features from `first` to before `last`."""
        if self.rule is not None:
            return WeighedStump(last - first, self.rule)
        score = find_score(self.score).make(self._bounds(first, last), self.neighbors, self.unit)
        if not (isinstance(score, TotalingScore) and callable(score.total)):
            raise UsageError(f"the score {self.score} cannot be computed on a cluster")
        return score

    def clipping(self, first: int, last: int) -> Bounds | None:
        """Return the bounds of these features if the score clips cells to them, else None."""
        return self._bounds(first, last) if find_score(self.score).needs_bounds else None

    def _bounds(self, first: int, last: int) -> Bounds:
        """Return the bounds of the features from `first` to before `last`."""
        some = slice(first, last)
        return replace(self.bounds, lower=self.bounds.lower[some], upper=self.bounds.upper[some])


@frozen
class Shard:
    """Some rows of some features: from `first_feature` to before `last_feature`."""

    number: int
    rows: ShardRows
    first_feature: int
    last_feature: int
    mask: RowMask | None = field(default=None, repr=False)
    """Which of its rows count, if the rows of a person are limited."""


@frozen
class Partial:
    """The sums of some shards. Private, not in `repr`, and for the data holder only."""

    shards: frozenset[int]
    sums: Any = field(repr=False)
    cells: CellCounts = field(repr=False)
    label_seen: bool = field(repr=False)
    provenance: tuple[int, Provenance] | None = field(repr=False)
    """The provenance of the last file with one that is believed, and the file's number."""
    files: frozenset[FileFound] = field(repr=False)
    """The content that was found at the paths of the files that were read."""

    @property
    def made(self) -> Provenance | None:
        """Return how the table was made; right once all shards are in the total."""
        return None if self.provenance is None else self.provenance[1]


Spread = Callable[[ShardWork, Sequence[Shard], Callable[[float], None]], Iterable[Partial]]
"""Has shards scored elsewhere, and returns totals that together contain each shard once.

It calls `score_shard` for every shard, may call `merge_totals` on the results, and reports how far
it is.
"""


@frozen
class Cluster:
    """Other processes that score shards, and how many bytes each shard should have at least."""

    spread: Spread
    target_bytes: int = TARGET_BYTES


def make_shards(
    work: ShardWork, files: TableFiles, target_bytes: int = TARGET_BYTES
) -> list[Shard]:
    """Return all shards of a table; each cell is in one of them.

    For most scores the table is split by rows. For one that needs all rows at once it is split by
    features. If the rows of a person are limited, the whole person column is read here, in order.

    Privacy:
        Guarantee: none; masks of rows are private, as is the number of shards.
        Tested by: tests/cluster/test_shards.py
    """
    target_bytes = files.shard_bytes(target_bytes)
    row_shards = split_files(files, target_bytes)
    count = len(work.layout.features)
    ranges = [(0, count)]
    if find_score(work.score).all_rows:
        size = sum(shard_rows.size for shard_rows in row_shards)
        width = max(1, target_bytes * len(work.columns) // max(1, size))
        ranges = [(first, min(first + width, count)) for first in range(0, count, width)]
        row_shards = [ShardRows(tuple(file for some in row_shards for file in some.files))]
    masks = _masks(work, row_shards)
    shards = [
        (rows, mask, own) for rows, mask in zip(row_shards, masks, strict=True) for own in ranges
    ]
    return [
        Shard(number, rows, first, last, mask)
        for number, (rows, mask, (first, last)) in enumerate(shards)
    ]


def score_shard(work: ShardWork, shard: Shard, threads: int = 1) -> Partial:
    """Read the rows of one shard, and return their sums.

    Privacy:
        Domain: any rows; no value fails a run.
        Guarantee: none; the sums are private input for a mechanism.
        Tested by: tests/cluster/test_shards.py
    """
    score = work.make_score(shard.first_feature, shard.last_feature)
    if isinstance(score, WorksAtTheEnd):
        score.work_with(Threads(threads))
    kept = None if shard.mask is None else KeptRows(shard.mask)
    rows = RowReader(work.coding, kept, words=work.rule is not None)
    layout = work.layout.some(shard.first_feature, shard.last_feature)
    bounds = work.clipping(shard.first_feature, shard.last_feature)
    cells = CellCounts(len(layout.features), shard.first_feature)

    def add(part: tuple[Any, CellCounts]) -> None:
        score.add(part[0])
        cells.add(part[1])

    learned: list[tuple[int, Provenance]] = []
    opened: dict[int, Source] = {}
    with unchanged(opened.values()):
        read_batches(
            _pending_batches(work, shard.rows, layout, rows, learned, opened),
            lambda batch: (score.part(batch), CellCounts.of(batch, bounds)),
            add,
            threads=threads,
            progress=lambda _: None,
        )
        found = frozenset(file_found(*file) for file in opened.items())
    if kept is not None:
        kept.check_all_given()
    return Partial(
        frozenset([shard.number]),
        score.total(shard.first_feature),
        cells,
        rows.label_seen,
        learned[-1] if learned else None,
        found,
    )


def merge_totals(work: ShardWork, totals: Iterable[Partial]) -> Partial:
    """Return the sum of several totals, in any order; they must have no shard in common."""
    score = work.make_score(0, len(work.layout.features))
    cells = CellCounts(len(work.layout.features))
    shards: set[int] = set()
    label_seen = False
    provenance: tuple[int, Provenance] | None = None
    files: set[FileFound] = set()
    for total in totals:
        if shards & total.shards:
            raise ValueError("a shard was counted twice")
        shards |= total.shards
        files |= total.files
        score.add(total.sums)
        cells.add(total.cells)
        label_seen = label_seen or total.label_seen
        if total.provenance is not None and (
            provenance is None or total.provenance[0] > provenance[0]
        ):
            provenance = total.provenance
    return Partial(
        frozenset(shards), score.total(), cells, label_seen, provenance, frozenset(files)
    )


def cluster_total(
    work: ShardWork,
    files: TableFiles,
    cluster: Cluster,
    progress: Callable[[float], None],
) -> Partial:
    """Return the total of all shards of a table; a missing shard is always an error."""
    shards = make_shards(work, files, cluster.target_bytes)
    total = merge_totals(work, cluster.spread(work, shards, progress))
    if total.shards != {shard.number for shard in shards}:
        raise ValueError("some shards are missing")
    check_same_files(files, total.files)
    return total


def _pending_batches(
    work: ShardWork,
    shard_rows: ShardRows,
    layout: Layout,
    rows: RowReader,
    learned: list[tuple[int, Provenance]],
    opened: dict[int, Source],
) -> Iterator[PendingBatch]:
    """Yield the batches of a shard; add its files to `opened` and their records to `learned`."""
    for number, table in _tables(work, shard_rows):
        # Of several parts of a file the first is kept, to notice a change between them.
        opened.setdefault(number, table.sources[0])
        here = same_layout(layout, work.columns, work.label, table.columns, table.label)
        yield from table.pending_batches(here, rows)
        # With several files, only a record that takes a guarantee away is believed, as on one
        # machine.
        if table.provenance is not None and (work.files == 1 or table.provenance.data_dependent):
            learned.append((number, table.provenance))


def _tables(work: ShardWork, shard_rows: ShardRows) -> Iterator[tuple[int, Table]]:
    """Yield the number of each file of a shard, and its table, opened."""
    for file in shard_rows.files:
        with closing(open_shard_file(file, work.input_format, work.written)) as table:
            yield file.number, table


def _masks(work: ShardWork, row_shards: Sequence[ShardRows]) -> list[RowMask | None]:
    """Return a mask for each shard that keeps the first rows of each person in the whole table."""
    if work.layout.person is None:
        return [None] * len(row_shards)
    limit = RowReader(work.coding, PersonLimit(work.unit.rows))
    found: list[RowMask | None] = []
    for shard_rows in row_shards:
        masks = []
        for _, table in _tables(work, shard_rows):
            here = same_layout(work.layout, work.columns, work.label, table.columns, table.label)
            assert here.person is not None
            masks += [limit.mask(persons) for persons in table.persons(here.person)]
        found.append(RowMask.of([mask for mask in masks if mask is not None]))
    return found
