"""Scoring a table in shares, each of which another process can do.

A share returns integer sums, and sums of sums are the same whatever their order: the scores are
those of a run on one machine, bit by bit. What is sent to the other processes is `Work` and a
`Share`: neither holds an epsilon, a seed or a mechanism, and nothing there draws noise.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from dpsel.core.bounds import Bounds
from dpsel.core.errors import UsageError
from dpsel.core.persons import KeptRows, PersonLimit, RowMask
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.scores.base import TotalingScore, WorksAtTheEnd
from dpsel.core.scores.registry import find_score
from dpsel.core.statistics import CellCounts
from dpsel.io.columns import Column, Layout, same_layout
from dpsel.io.formats import InputFormat
from dpsel.io.pieces import Piece, RowReader, Table, reduce_pieces
from dpsel.io.provenance import Provenance
from dpsel.io.sources import Source
from dpsel.io.splits import (
    TARGET_BYTES,
    FileFound,
    Split,
    TableFiles,
    check_same_files,
    file_found,
    open_part,
    split_files,
)
from dpsel.io.tables import unchanged
from dpsel.io.targets import TargetCoding


@dataclass(frozen=True)
class Work:
    """What all shares have in common, and all that another process learns about a run."""

    columns: tuple[Column, ...]
    label: str
    """The name of the table's first file, whose columns these are."""
    files: int
    input_format: InputFormat
    separator: str | None
    layout: Layout
    score: str
    bounds: Bounds
    coding: TargetCoding
    neighbors: Neighbors
    unit: Unit

    def make_score(self, first: int, last: int) -> TotalingScore:
        """Return the score of the features from `first` to before `last`, with nothing added."""
        score = find_score(self.score).make(self._bounds(first, last), self.neighbors, self.unit)
        if not (isinstance(score, TotalingScore) and callable(score.total)):
            raise UsageError(f"the score {self.score} cannot be computed on a cluster")
        return score

    def clipping(self, first: int, last: int) -> Bounds | None:
        """Return the bounds of those features, if the score clips cells to them."""
        return self._bounds(first, last) if find_score(self.score).needs_bounds else None

    def _bounds(self, first: int, last: int) -> Bounds:
        """Return the bounds of the features from `first` to before `last`."""
        some = slice(first, last)
        return replace(self.bounds, lower=self.bounds.lower[some], upper=self.bounds.upper[some])


@dataclass(frozen=True)
class Share:
    """Some rows of some features: from `first_feature` to before `last_feature`."""

    number: int
    split: Split
    first_feature: int
    last_feature: int
    mask: RowMask | None = field(default=None, repr=False)
    """Which of its rows count, if there is a limit for persons."""


@dataclass(frozen=True)
class Total:
    """What some shares found. Private, and off `repr`: for nobody but the data's holder."""

    shares: frozenset[int]
    sums: Any = field(repr=False)
    cells: CellCounts = field(repr=False)
    label_seen: bool = field(repr=False)
    provenance: tuple[int, Provenance] | None = field(repr=False)
    """That of the last file that has one to be believed, with the file's number."""
    files: frozenset[FileFound] = field(repr=False)
    """What was found under the names of the files that were read."""

    @property
    def made(self) -> Provenance | None:
        """Return how the table was made, if all shares are in the total."""
        return None if self.provenance is None else self.provenance[1]


Spread = Callable[[Work, Sequence[Share], Callable[[float], None]], Iterable[Total]]
"""What has shares done elsewhere: it returns totals that together hold each share once.

It calls `score_share` for every share, may call `merge_totals` on what comes back, and tells how
far things are.
"""


@dataclass(frozen=True)
class Cluster:
    """Other processes that do shares, and how many bytes each share should have at least."""

    spread: Spread
    target_bytes: int = TARGET_BYTES


def make_shares(work: Work, files: TableFiles, target_bytes: int = TARGET_BYTES) -> list[Share]:
    """Return all shares of a table: rows and features, each cell in one of them.

    Most scores are shared out by rows. One that needs all rows at once is shared out by features.
    With a limit for persons their column is read here, all of it and in order.

    Privacy:
        Guarantee: none; masks of rows are private, as is the number of shares.
        Tested by: tests/test_shares.py
    """
    target_bytes = files.split_bytes(target_bytes)
    splits = split_files(files, target_bytes)
    count = len(work.layout.features)
    ranges = [(0, count)]
    if find_score(work.score).all_rows:
        size = sum(split.size for split in splits)
        width = max(1, target_bytes * len(work.columns) // max(1, size))
        ranges = [(first, min(first + width, count)) for first in range(0, count, width)]
        splits = [Split(tuple(part for split in splits for part in split.parts))]
    masks = _masks(work, splits)
    shares = [
        (split, mask, own) for split, mask in zip(splits, masks, strict=True) for own in ranges
    ]
    return [
        Share(number, split, first, last, mask)
        for number, (split, mask, (first, last)) in enumerate(shares)
    ]


def score_share(work: Work, share: Share, threads: int = 1) -> Total:
    """Read the rows of one share, and return their sums.

    Privacy:
        Domain: any rows; a value fails no run.
        Guarantee: none; the sums are private input for a mechanism.
        Tested by: tests/test_shares.py
    """
    score = work.make_score(share.first_feature, share.last_feature)
    if isinstance(score, WorksAtTheEnd):
        score.use_threads(threads)
    kept = None if share.mask is None else KeptRows(share.mask)
    rows = RowReader(work.coding, kept)
    layout = work.layout.some(share.first_feature, share.last_feature)
    bounds = work.clipping(share.first_feature, share.last_feature)
    cells = CellCounts(len(layout.features), share.first_feature)

    def add(part: tuple[Any, CellCounts]) -> None:
        score.add(part[0])
        cells.add(part[1])

    learned: list[tuple[int, Provenance]] = []
    opened: dict[int, Source] = {}
    with unchanged(opened.values()):
        reduce_pieces(
            _pieces(work, share.split, layout, rows, learned, opened),
            lambda block: (score.part(block), CellCounts.of(block, bounds)),
            add,
            threads=threads,
            progress=lambda _: None,
        )
        found = frozenset(file_found(*file) for file in opened.items())
    if kept is not None:
        kept.check_all_given()
    return Total(
        frozenset([share.number]),
        score.total(share.first_feature),
        cells,
        rows.label_seen,
        learned[-1] if learned else None,
        found,
    )


def merge_totals(work: Work, totals: Iterable[Total]) -> Total:
    """Return the total of several totals, in any order, which must have no share in common."""
    score = work.make_score(0, len(work.layout.features))
    cells = CellCounts(len(work.layout.features))
    shares: set[int] = set()
    label_seen = False
    provenance: tuple[int, Provenance] | None = None
    files: set[FileFound] = set()
    for total in totals:
        if shares & total.shares:
            raise ValueError("a share was counted twice")
        shares |= total.shares
        files |= total.files
        score.add(total.sums)
        cells.add(total.cells)
        label_seen = label_seen or total.label_seen
        if total.provenance is not None and (
            provenance is None or total.provenance[0] > provenance[0]
        ):
            provenance = total.provenance
    return Total(frozenset(shares), score.total(), cells, label_seen, provenance, frozenset(files))


def cluster_total(
    work: Work,
    files: TableFiles,
    cluster: Cluster,
    progress: Callable[[float], None],
    charge: Callable[[], None],
) -> Total:
    """Return the total of all shares of a table; one that is missing is never passed over.

    `charge` is called once, before any row is read.
    """
    work.make_score(0, len(work.layout.features))
    charge()
    shares = make_shares(work, files, cluster.target_bytes)
    total = merge_totals(work, cluster.spread(work, shares, progress))
    if total.shares != {share.number for share in shares}:
        raise ValueError("some shares are missing")
    check_same_files(files, total.files)
    return total


def _pieces(
    work: Work,
    split: Split,
    layout: Layout,
    rows: RowReader,
    learned: list[tuple[int, Provenance]],
    opened: dict[int, Source],
) -> Iterator[Piece]:
    """Yield the pieces of a split, and learn what its files are and how they were made."""
    for number, table in _tables(work, split):
        # The first of several parts of a file: a change between them is one too.
        opened.setdefault(number, table.sources[0])
        here = same_layout(layout, work.columns, work.label, table.columns, table.label)
        yield from table.pieces(here, rows)
        # Of several files only what takes a guarantee away is believed, as on one machine.
        if table.provenance is not None and (work.files == 1 or table.provenance.data_dependent):
            learned.append((number, table.provenance))


def _tables(work: Work, split: Split) -> Iterator[tuple[int, Table]]:
    """Yield the parts of a split, opened, with the numbers of their files."""
    for part in split.parts:
        with closing(open_part(part, work.input_format, work.separator)) as table:
            yield part.number, table


def _masks(work: Work, splits: Sequence[Split]) -> list[RowMask | None]:
    """Return for each split which rows count: the first ones of each person in the whole table."""
    if work.layout.person is None:
        return [None] * len(splits)
    limit = RowReader(work.coding, PersonLimit(work.unit.rows))
    found: list[RowMask | None] = []
    for split in splits:
        masks = []
        for _, table in _tables(work, split):
            here = same_layout(work.layout, work.columns, work.label, table.columns, table.label)
            assert here.person is not None
            masks += [limit.mask(persons) for persons in table.persons(here.person)]
        found.append(RowMask.of([mask for mask in masks if mask is not None]))
    return found
