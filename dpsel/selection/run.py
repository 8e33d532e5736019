"""The straight line of every run that releases: charge, read, draw, store."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from typing import Any, Protocol

from dpsel.budget.account import NoAccount
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds
from dpsel.core.groups import Features
from dpsel.core.guarantee import Guarantee, check_k
from dpsel.core.release import DrawnBy, Question, Selection, release
from dpsel.core.row_ranks import ranked
from dpsel.core.scores.base import KeepsRows, Score, Scores, WorksAtTheEnd
from dpsel.core.scores.registry import find_score
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.selection.record import selection_text
from dpsel.selection.request import Request
from dpsel.system.threads import Threads, one_blas_thread
from dpsel.tables.cell_counts import CellCounts, cell_notes
from dpsel.tables.columns import Layout, choose_columns, nameless_notes, visible_columns
from dpsel.tables.opening import (
    claimed_record,
    file_bytes,
    open_table,
    provenance_of_all,
    unchanged,
)
from dpsel.tables.provenance import Provenance
from dpsel.tables.spill import Spill, memory_asked
from dpsel.tables.table import RowReader, Table, read_batches

# What a score that keeps rows takes, in units of the rows themselves.
_COPIES_OF_ROWS = 2


@frozen
class Release:
    """What may be published, and the record of it: of one run id always the same bytes."""

    selection: Selection
    record: str


class Job(Protocol):
    """What `select` and each baseline do in their own way, in the same order."""

    def question(self) -> Question:
        """Return what is asked: all of it is public."""
        ...

    def opened(self) -> AbstractContextManager[Table]:
        """Open the table: its names and types are public."""
        ...

    def checked(self, table: Table, account: NoAccount) -> AbstractContextManager[None]:
        """Check all that only public things can spoil; be ready to read."""
        ...

    def read(self, table: Table) -> Any:
        """Read all rows into what a mechanism needs. Private."""
        ...

    def release(self, private: Any) -> Selection:
        """Spend the guarantee: one mechanism, once."""
        ...


def carry_out(job: Job, account: NoAccount, date: str | None = None) -> Release:
    """Charge first, then read, then draw, then store, then release.

    So a slip of the pen costs nothing, and whether a run is charged does not depend on any row;
    what fails after the charge, whatever the reason, stays charged.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows, with public column names and types.
        Guarantee: what the job's `release` promises, for the returned record; and nothing is
            returned whose cost is not on the disk: see `Account`.
        Assumes: no observer of the running time.
        Tested by: tests/privacy/test_ledger_crashes.py
    """
    if (done := account.released()) is not None:  # this run id has its release: nothing is opened
        return _stored(done, account)
    with job.opened() as table, job.checked(table, account), account.charged():
        if (done := account.charge()) is not None:  # on the disk before a row is read
            return _stored(done, account)
        private = job.read(table)  # --- private from here
        drawn = job.release(private)  # --- to here: one mechanism, once
        question = replace(job.question(), run_id=account.run_id, date=date)
        selection = replace(drawn, question=question)
        record = selection_text(selection)
        kept = account.store(record, selection.guarantee)  # public: the same bytes for ever
        return Release(selection, record) if kept == record else _stored(kept, account)


def _stored(record: str, account: NoAccount) -> Release:
    """Return a release from the record that a ledger keeps, if it is as it was demanded."""
    try:
        selection = Selection.from_dict(json.loads(record))
    except (ValueError, KeyError, TypeError, AttributeError, UsageError):
        raise account.damaged() from None
    stated = selection.guarantee
    account.refuse_partial(None if stated is None else stated.scope)
    return Release(selection, record)


class TableJob:
    """What the jobs of `select` have in common: a table, and a request that fits it."""

    def __init__(self, table: Any, request: Request, reporter: Reporter) -> None:
        """Know what is asked for; open nothing."""
        self._place = table
        self._request = request
        self._reporter = reporter

    def question(self) -> Question:
        """Return what is asked."""
        return self._request.question()

    @contextmanager
    def opened(self) -> Iterator[Table]:
        """Open the table."""
        with closing(open_table(self._place, self._request.reading)) as table:
            yield table

    @contextmanager
    def checked(self, table: Table, account: NoAccount) -> Iterator[None]:
        """Check columns, bounds and k."""
        self._layout, self._features = chosen_columns(table, self._request, self._reporter)
        refuse_unbounded(table, self._request)
        refuse_partial_scope(table, self._request, account)
        self._bounds = bounds_of(table, self._layout, self._request)
        if find_score(self._request.score).all_rows:
            # A size in the environment that is none is refused while it costs nothing.
            memory_asked()
        yield


class SelectJob(TableJob):
    """`select`: one score of all rows, and one mechanism."""

    def read(self, table: Table) -> "Scored":
        """Read all rows into scores, and tell the holder about cells of no use.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism.
            Tested by: tests/cluster/test_shards.py
        """
        request, guarantee = self._request, self._request.guarantee
        self._reporter.size(file_bytes(table))
        score = find_score(request.score).make(self._bounds, guarantee.neighbors, guarantee.unit)
        with unchanged(table.sources):
            found = self._add_rows(table, score)
        names = [*self._layout.names, request.wanted.target]
        assumed = found.provenance is None and not guarantee.scope.end_to_end
        for note in (*found.notes, *cell_notes(found.cells, names, assumed=assumed)):
            self._reporter.note(note)
        if request.coding.positive is not None and not found.label_seen:
            label, target = request.coding.positive, request.wanted.target
            self._reporter.note(f"no row has the label '{label}' in '{target}'")
        return Scored(score.scores(), found.provenance)

    def release(self, private: "Scored") -> Selection:
        """Draw once."""
        request, features = self._request, self._features
        selection = release(
            features.scores(private.scores),
            features.names,
            request.k,
            covered(request.guarantee, private.provenance),
            DrawnBy(request.score, request.mechanism, request.parameters),
            request.seed,
        )
        return features.stated(selection)

    def _add_rows(self, table: Table, score: Score) -> "Found":
        """Add all rows to a score, on all cores."""
        request, features = self._request, len(self._layout.names)
        if isinstance(score, WorksAtTheEnd):
            score.work_with(Threads(request.threads))
        if isinstance(score, KeepsRows):
            score.keep_in(Spill(features, copies=_COPIES_OF_ROWS))
        clipping = self._bounds if find_score(request.score).needs_bounds else None
        cells = CellCounts(features)
        limit = request.person_limit()
        rows = RowReader(request.coding, limit)
        layout = replace(self._layout, whole_rows=request.row_ranks)

        def reduced(batch: Batch) -> tuple[Any, CellCounts]:
            counts = CellCounts.of(batch, clipping)
            return score.part(ranked(batch) if request.row_ranks else batch), counts

        def add(part: tuple[Any, CellCounts]) -> None:
            score.add(part[0])
            cells.add(part[1])

        with one_blas_thread():
            read_batches(
                table.pending_batches(layout, rows),
                reduced,
                add,
                threads=request.threads,
                progress=self._reporter.progress,
            )
        # Only now is it known whether a CSV is the one that its record is about.
        return Found(table.provenance, rows.label_seen, cells, tuple(rows.notes))


@frozen
class Scored:
    """The scores of all rows, which are private, and how the table was made."""

    scores: Scores
    provenance: Provenance | None


@frozen
class Found:
    """What was learnt about a table while it was read. Private."""

    provenance: Provenance | None
    label_seen: bool
    cells: CellCounts
    notes: tuple[str, ...] = ()


def chosen_columns(table: Table, request: Request, reporter: Reporter) -> tuple[Layout, Features]:
    """Return which columns play which part, and what is selected from; refuse a k beyond that."""
    columns, wanted = table.columns, request.wanted
    if request.dictionary is not None:
        # Imported where it is needed, here and below: most runs have no dictionary.
        from dpsel.selection.described import told_columns

        columns, wanted = told_columns(request.dictionary, columns, wanted)
    layout = choose_columns(columns, wanted, table.label)
    features = _features_of(table, layout, request)
    check_k(request.k, len(features.names))
    for note in nameless_notes(table.columns, table.label):
        reporter.note(note)
    return layout, features


def _features_of(table: Table, layout: Layout, request: Request) -> Features:
    """Return what is selected from: the chosen columns, and groups of them."""
    if request.dictionary is None:
        return Features.of(layout.names, {})
    from dpsel.selection.described import told_groups

    groups = told_groups(request.dictionary, table.columns, layout.names)
    return Features.of(layout.names, groups)


def bounds_of(table: Table, layout: Layout, request: Request) -> Bounds:
    """Return the public bounds of the chosen columns."""
    names = [column.name for column in visible_columns(table.columns)]
    public, target, coded = request.bounds, request.wanted.target, request.coding.of_text
    if request.by_ranges and request.dictionary is not None:
        from dpsel.selection.described import told_bounds

        told = request.dictionary
        public = told_bounds(told, table.columns, layout.names, target, coded=coded)
    bounds = public.resolve(layout.names, target, names, coded=coded)
    return replace(bounds, two_classes=request.coding.two_classes)


def refuse_unbounded(table: Table, request: Request) -> None:
    """Refuse a score that needs bounds for a table that has none, and was not scaled."""
    if request.wanted.bounded or not find_score(request.score).needs_bounds:
        return
    made = claimed_record(table)
    if made is None or not made.bounded:
        scaled = "" if made is None else " without --as-is"
        raise UsageError(
            f"the score {request.score} needs public bounds: give --bounds FILE, or --lower and "
            f"--upper, or a table that `dpsel preprocess` wrote{scaled}; "
            "the method stump needs none"
        )


def covered(guarantee: Guarantee, provenance: Provenance | None) -> Guarantee:
    """Return a guarantee that says what it covers of how the table was made."""
    scope = None if provenance is None else provenance.scope
    return guarantee if scope is None else replace(guarantee, scope=scope)


def refuse_partial_scope(table: Table, request: Request, account: NoAccount) -> None:
    """Refuse, if a guarantee from end to end is demanded, a table that would not have one.

    Only what is known before a row is read counts: metadata, and the record beside a CSV as far as
    it takes a guarantee away. That such a record is about the CSV's content is known once all of it
    was read; so it never meets the demand, whatever the rows are, and bounds do.
    """
    made = provenance_of_all(table)
    # Of several files only what takes a guarantee away is believed.
    believed = made is not None and (made.data_dependent or table.provenance is not None)
    scope = made.scope if made is not None and believed else None
    account.refuse_partial(request.guarantee.scope if scope is None else scope)
