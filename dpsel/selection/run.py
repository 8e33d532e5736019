"""The straight line of every run that releases: open, check, charge, read, draw, store.

`carry_out` is that line. Each step is a method of a `Job`; `SelectJob` is the job of `select` for
scores that reduce the rows batch by batch.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from dpsel.budget.account import Account
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds
from dpsel.core.groups import Features
from dpsel.core.guarantee import Guarantee, check_k
from dpsel.core.release import DrawnBy, release, usual_arithmetic
from dpsel.core.row_ranks import ranked
from dpsel.core.scores.base import KeepsRows, Score, Scores, WorksAtTheEnd
from dpsel.core.scores.registry import STUMP, find_score
from dpsel.core.selection import Question, Selection
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.selection.request import Request
from dpsel.system.text import json_text
from dpsel.system.threads import Threads, one_blas_thread
from dpsel.tables.cell_counts import CellCounts, cell_notes
from dpsel.tables.columns import Layout, choose_columns, nameless_notes, visible_columns
from dpsel.tables.labels import TargetCoding
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

# Memory that a score needs if it keeps all rows, as a multiple of the rows themselves.
_COPIES_OF_ROWS = 2
# A larger share of missing or non-numeric targets is most likely a mistake.
_MOST_OF_TARGET = 0.5


@frozen
class Release:
    """A selection that may be published, and its JSON record: the same bytes for a run id."""

    selection: Selection
    record: str


def carry_out(job: "Job", account: Account, date: str | None = None) -> Release:
    """Run a job: check, charge, read, draw and store, in this order, and return the release.

    All checks of public inputs come before the charge, so a typo costs nothing. The charge comes
    before the first row is read, so it does not depend on any row. A run that fails later, for
    whatever reason, stays charged.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows, with public column names and types.
        Guarantee: that of the job's `release`, for the returned record. Nothing is returned
            unless its cost is on the disk: see `LedgerAccount`.
        Assumes: no observer of the running time.
        Tested by: tests/privacy/test_ledger_crashes.py
    """
    if (earlier := account.released()) is not None:  # the run id has a release: open nothing
        return _stored_release(earlier, account)
    with job.opened() as table, job.checked(table, account), account.charged():
        if (earlier := account.charge()) is not None:  # on the disk before a row is read
            return _stored_release(earlier, account)
        with usual_arithmetic():
            private = job.read(table)  # --- private from here
            drawn = job.release(private)  # --- to here: one mechanism, once
        question = replace(job.question(), run_id=account.run_id, date=date)
        selection = replace(drawn, question=question)
        record = selection_text(selection)
        stored = account.store(record, selection.guarantee)  # public, and never changes again
        return Release(selection, record) if stored == record else _stored_release(stored, account)


def selection_text(selection: Selection) -> str:
    """Return the record of a selection as JSON."""
    return json_text(selection.to_dict())


def _stored_release(record: str, account: Account) -> Release:
    """Return the release in a record from the ledger, if it meets the demands of this run."""
    try:
        selection = Selection.from_dict(json.loads(record))
    except (ValueError, KeyError, TypeError, AttributeError, UsageError):
        raise account.damaged() from None
    stated = selection.guarantee
    account.refuse_partial(None if stated is None else stated.scope)
    return Release(selection, record)


class Job(ABC):
    """The steps of a run. All jobs open and check a table alike; each reads and draws its way."""

    def __init__(self, table: Any, request: Request, reporter: Reporter) -> None:
        """Keep the request; open nothing yet."""
        self._place = table
        self._request = request
        self._reporter = reporter

    def question(self) -> Question:
        """Return the question that the record will state. All of it is public."""
        return self._request.question()

    @contextmanager
    def opened(self) -> Iterator[Table]:
        """Open the table. Its column names and types are public."""
        with closing(open_table(self._place, self._request.reading)) as table:
            yield table

    @contextmanager
    def checked(self, table: Table, account: Account) -> Iterator[None]:
        """Check columns, bounds, scope and k, by public facts only, and get ready to read."""
        self._layout, self._features = _chosen_columns(table, self._request, self._reporter)
        if find_score(self._request.score).needs_bounds and not self._request.wanted.bounded:
            self._refuse_unbounded(table)
        _refuse_partial_scope(table, self._request, account)
        self._bounds = _bounds_of(table, self._layout, self._request)
        if find_score(self._request.score).all_rows:
            # An invalid memory size in the environment is refused before anything is charged.
            memory_asked()
        yield

    def _refuse_unbounded(self, table: Table) -> None:
        """Refuse a table that was not preprocessed, for a method that needs bounds."""
        made = claimed_record(table)
        if made is None or not made.bounded:
            scaled = "" if made is None else " without --as-is"
            needs, needs_none = self._with_and_without_bounds()
            raise UsageError(
                f"{needs} needs public bounds: give --bounds FILE, or --lower and --upper, or a "
                f"table that `dpsel preprocess` wrote{scaled}; {needs_none} needs none"
            )

    def _with_and_without_bounds(self) -> tuple[str, str]:
        """Return in words what needs bounds here, and what the user can do without them."""
        return f"the score {self._request.score}", "the method stump"

    @abstractmethod
    def read(self, table: Table) -> Any:
        """Read all rows into the input of a mechanism. Private."""

    @abstractmethod
    def release(self, private: Any) -> Selection:
        """Spend the guarantee by calling one mechanism, once."""

    def _guarantee(self, provenance: Provenance | None) -> Guarantee:
        """Return the guarantee; its scope takes into account how the table was made."""
        guarantee = self._request.guarantee
        scope = None if provenance is None else provenance.scope
        return guarantee if scope is None else replace(guarantee, scope=scope)

    def _note_cells(self, cells: CellCounts, provenance: Provenance | None) -> None:
        """Tell the holder about cells that are missing, not numbers or out of bounds."""
        names = [*self._layout.names, self._request.wanted.target]
        assumed = provenance is None and not self._request.guarantee.scope.end_to_end
        for note in cell_notes(cells, names, assumed=assumed):
            self._reporter.note(note)

    def _warn_of_target(self, *, rows: bool, label_seen: bool, unusable: float) -> None:
        """Tell the holder if there are no rows, no row has the label, or most have no target."""
        label, target = self._request.coding.positive, self._request.wanted.target
        if not rows:
            self._reporter.warn("there are no rows, so the picks are no better than chance")
        elif label is not None and not label_seen:
            self._reporter.warn(
                f"no row has the label '{label}' in '{target}' (upper and lower case differ), so "
                "the picks are no better than chance"
            )
        elif unusable > _MOST_OF_TARGET:
            why = _why_unusable(self._request.coding, stump=self._request.score == STUMP)
            self._reporter.warn(f"{unusable:.0%} of the cells of '{target}' are {why}")


class SelectJob(Job):
    """`select`: a score that reduces all rows batch by batch, and one mechanism."""

    def read(self, table: Table) -> "Scored":
        """Read all rows into scores, and note cells that are missing, not numbers or out of bounds.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism.
            Tested by: tests/cluster/test_shards.py
        """
        request, guarantee = self._request, self._request.guarantee
        self._reporter.size(file_bytes(table))
        score = find_score(request.score).make(self._bounds, guarantee.neighbors, guarantee.unit)
        with unchanged(table.sources):
            result = self._add_rows(table, score)
        for note in result.notes:
            self._reporter.note(note)
        self._note_cells(result.cells, result.provenance)
        unusable = result.cells.unusable_targets
        self._warn_of_target(
            rows=result.cells.any_rows, label_seen=result.label_seen, unusable=unusable
        )
        return Scored(score.scores(), result.provenance)

    def release(self, private: "Scored") -> Selection:
        """Draw the features from the scores, once."""
        request, features = self._request, self._features
        selection = release(
            features.scores(private.scores),
            features.names,
            request.k,
            self._guarantee(private.provenance),
            DrawnBy(request.score, request.mechanism, request.parameters),
            request.seed,
        )
        return features.stated(selection)

    def _add_rows(self, table: Table, score: Score) -> "ReadResult":
        """Add all rows to a score, on several threads, and return what was learned on the way."""
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

        def reduce_batch(batch: Batch) -> tuple[Any, CellCounts]:
            counts = CellCounts.of(batch, clipping)
            return score.part(ranked(batch) if request.row_ranks else batch), counts

        def add(reduced: tuple[Any, CellCounts]) -> None:
            partial, counts = reduced
            score.add(partial)
            cells.add(counts)

        with one_blas_thread():
            read_batches(
                table.pending_batches(layout, rows),
                reduce_batch,
                add,
                threads=request.threads,
                progress=self._reporter.progress,
            )
        # Only now, with all bytes read, is it known whether a CSV belongs to the record beside it.
        return ReadResult(table.provenance, rows.label_seen, cells, tuple(rows.notes))


@frozen
class Scored:
    """The scores of all rows, and how the table was made. Private."""

    scores: Scores
    provenance: Provenance | None


@frozen
class ReadResult:
    """What was learned about a table while reading it. Private."""

    provenance: Provenance | None
    label_seen: bool
    cells: CellCounts
    notes: tuple[str, ...] = ()


def _chosen_columns(table: Table, request: Request, reporter: Reporter) -> tuple[Layout, Features]:
    """Return the layout and the features to select from; refuse a k beyond their number."""
    columns, wanted = table.columns, request.wanted
    if request.dictionary is not None:
        # Imported here, as below, because most runs have no dictionary.
        from dpsel.selection.with_dictionary import dictionary_columns

        columns, wanted = dictionary_columns(request.dictionary, columns, wanted)
    # No cell of a CSV decides what is an error: a word in a column of numbers counts as missing.
    layout = replace(choose_columns(columns, wanted, table.label), typed=True)
    features = _features_of(table, layout, request)
    check_k(request.k, len(features.names))
    for note in nameless_notes(table.columns, table.label):
        reporter.note(note)
    return layout, features


def _features_of(table: Table, layout: Layout, request: Request) -> Features:
    """Return the features to select from: columns, and groups of columns."""
    if request.dictionary is None:
        return Features.of(layout.names, {})
    from dpsel.selection.with_dictionary import dictionary_groups

    groups = dictionary_groups(request.dictionary, table.columns, layout.names)
    return Features.of(layout.names, groups)


def _bounds_of(table: Table, layout: Layout, request: Request) -> Bounds:
    """Return the public bounds of the chosen columns."""
    names = [column.name for column in visible_columns(table.columns)]
    public, target, coded = request.bounds, request.wanted.target, request.coding.of_text
    if request.by_ranges and request.dictionary is not None:
        from dpsel.selection.with_dictionary import dictionary_bounds

        dictionary = request.dictionary
        public = dictionary_bounds(dictionary, table.columns, layout.names, target, coded=coded)
    bounds = public.resolve(layout.names, target, names, coded=coded)
    return replace(bounds, two_classes=request.coding.two_classes)


def _refuse_partial_scope(table: Table, request: Request, account: Account) -> None:
    """Refuse a table without an end-to-end guarantee, if the account demands one.

    Only what is known before a row is read counts: metadata in the table, and the record beside a
    CSV as far as it takes the guarantee away. Whether that record belongs to the CSV is known only
    once the whole file has been read. So such a record never meets the demand, whatever the rows
    are; bounds do.
    """
    made = provenance_of_all(table)
    # The provenance of several files counts only if it takes the guarantee away.
    believed = made is not None and (made.data_dependent or table.provenance is not None)
    scope = made.scope if made is not None and believed else None
    account.refuse_partial(request.guarantee.scope if scope is None else scope)


def _why_unusable(coding: TargetCoding, *, stump: bool) -> str:
    """Return in words why a target cannot be used, and what to do if labels were not named.

    Only `stump` takes a list of classes.
    """
    if coding.classes is not None:
        return "missing or not among the classes"
    if coding.positive is not None:
        return "missing"
    classes = ", or all with --classes" if stump else ""
    return f"missing or not numbers; if they are labels, name one with --positive{classes}"
