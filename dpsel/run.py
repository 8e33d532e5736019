"""Carrying out a plan: read the table once, score it, select once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dpsel import __version__
from dpsel.core.arrays import FloatArray
from dpsel.core.blas import one_blas_thread
from dpsel.core.bounds import Bounds
from dpsel.core.checks import check_k
from dpsel.core.persons import PersonLimit
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import KeepsRows, Score, WorksAtTheEnd
from dpsel.core.scores.registry import find_score
from dpsel.core.selection import Selection, select_from_scores
from dpsel.core.statistics import CellCounts
from dpsel.io.columns import Layout, choose_columns, visible_columns
from dpsel.io.pieces import RowReader, Table, reduce_pieces
from dpsel.io.provenance import Provenance
from dpsel.io.tables import file_bytes, open_table, provenance_of_all, unchanged_table
from dpsel.plan import SelectPlan

if TYPE_CHECKING:  # Most runs have no cluster.
    from dpsel.io.splits import TableFiles
    from dpsel.shares import Cluster

# Shares of cells that the holder should know about, and how many columns are named at the most.
_MANY, _MOST, _NAMED = 0.01, 0.5, 5
# What a score that keeps rows takes, in units of the rows themselves.
_COPIES_OF_ROWS = 2


class Reporter(Protocol):
    """Where the data's holder hears how things go; nothing of it is for release."""

    def note(self, message: str) -> None:
        """Say something the holder should know."""
        ...

    def warn(self, message: str) -> None:
        """Say something that the holder must know, and cannot ask to be spared."""
        ...

    def size(self, file_bytes: int) -> None:
        """Say that files of so many bytes are read now, from their start; 0 if that is unknown."""
        ...

    def progress(self, done: float) -> None:
        """Say which share of the table has been read."""
        ...


def cell_notes(cells: CellCounts, names: Sequence[str], *, assumed: bool) -> list[str]:
    """Return what the data's holder should know about cells that were of no use, in shares.

    `names` are those of the features, and then the target's. `assumed` says that nobody gave the
    bounds: then many clipped cells are a mistake. Where they were given, it takes most of a column.
    """
    shares = cells.shares()
    features = shares[:, :-1].mean(axis=1) if len(names) > 1 else shares[:, -1]
    notes = []
    if assumed and features[0] > _MANY:
        notes.append(
            f"{features[0]:.0%} of the cells are outside [-1, 1] and were clipped; "
            "give public bounds with --bounds, or run `dpsel preprocess` first"
        )
    of_no_use = shares.sum(axis=0)
    if (of_no_use > _MOST).any():
        worst = [place for place in np.argsort(-of_no_use, kind="stable") if of_no_use[place]]
        notes.append(
            f"of the features' cells {features[0]:.1%} were clipped to their bounds, "
            f"{features[1]:.1%} are missing and {features[2]:.1%} are no numbers; worst: "
            + ", ".join(_of_no_use(names[place], shares[:, place]) for place in worst[:_NAMED])
        )
    return notes


def _of_no_use(name: str, shares: FloatArray) -> str:
    """Return which cells of a column are of no use."""
    kinds = zip(shares.tolist(), ("clipped", "missing", "no numbers"), strict=True)
    found = [f"{share:.1%} {kind}" for share, kind in kinds if share > 0]
    return f"'{name}' ({', '.join(found)})"


def charge_nothing() -> None:
    """Run without a ledger."""


def run_select(
    table: Any,
    plan: SelectPlan,
    reporter: Reporter,
    charge: Callable[[], None],
    cluster: "Cluster | None" = None,
) -> Selection:
    """Read a table and select from it, as planned; a cluster may do the reading.

    `charge` is called once: after all that only public things can spoil, such as names of columns,
    and before the first row is read. So a slip of the pen costs nothing, and whether a run is
    charged does not depend on any row; what fails later, whatever the reason, stays charged.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows, with public column names and types.
        Neighbors: those of `plan.guarantee`.
        Sensitivity: that of the score on bounded rows, times the rows of a unit.
        Guarantee: `plan.guarantee` for the returned record; none with a seed.
        Assumes: bounds that were not read off the data; no observer of the running time.
        Tested by: tests/privacy/test_dot_sensitivity.py
    """
    files = None
    if cluster is not None:
        from dpsel.io.splits import table_files

        files = table_files(table, plan.input_format, plan.separator)
    opened = open_table(table, plan.input_format, plan.separator) if files is None else files.open()
    with unchanged_table(opened):
        layout = choose_columns(opened.columns, plan.wanted, opened.label)
        check_k(plan.k, len(layout.names))
        refuse_partial_scope(opened, plan)
        elsewhere = None if files is None or cluster is None else (files, cluster)
        scored = score_table(opened, layout, plan, reporter, charge, elsewhere)
    guarantee = plan.guarantee
    if scored.provenance is not None:
        guarantee = replace(guarantee, scope=scored.provenance.scope)
    return select_from_scores(
        scored.score.scores(),
        layout.names,
        k=plan.k,
        guarantee=guarantee,
        rng=make_randomness(plan.seed),
        score=plan.score,
        mechanism=plan.mechanism,
        parameters=plan.parameters,
        version=__version__,
    )


def refuse_partial_scope(table: Table, plan: SelectPlan) -> None:
    """Refuse, if a guarantee from end to end is demanded, a table that would not have one.

    Only what is known before a row is read counts: metadata, and the record beside a CSV as far as
    it takes a guarantee away. That such a record is about the CSV's content is known once all of it
    was read; so it never meets the demand, whatever the rows are, and bounds do.
    """
    if plan.demands.end_to_end:
        made = provenance_of_all(table)
        # Of several files only what takes a guarantee away is believed.
        believed = made is not None and (made.data_dependent or table.provenance is not None)
        plan.demands.refuse_partial(
            made.scope if made is not None and believed else plan.guarantee.scope
        )


@dataclass(frozen=True)
class Scored:
    """A score of all rows, which is private, and how the table was made."""

    score: Score
    provenance: Provenance | None


def score_table(
    table: Table,
    layout: Layout,
    plan: SelectPlan,
    reporter: Reporter,
    charge: Callable[[], None] = charge_nothing,
    elsewhere: "tuple[TableFiles, Cluster] | None" = None,
) -> Scored:
    """Read all of a table into a score, here or on a cluster; `charge` comes before the first row.

    Privacy:
        Guarantee: none; the score is private input for a mechanism.
        Tested by: tests/test_shares.py
    """
    wanted, guarantee = plan.wanted, plan.guarantee
    bounds = plan.bounds.resolve(
        layout.names,
        wanted.target,
        [column.name for column in visible_columns(table.columns)],
        coded=plan.coding.of_text,
    )
    bounds = replace(bounds, two_classes=plan.coding.two_classes)
    score = find_score(plan.score).make(bounds, guarantee.neighbors, guarantee.unit)
    if elsewhere is None:
        if isinstance(score, WorksAtTheEnd):
            score.use_threads(plan.threads)
        if isinstance(score, KeepsRows):
            from dpsel.io.scratch import ScratchKeeper

            score.keep_in(ScratchKeeper(_COPIES_OF_ROWS))
        clipping = bounds if find_score(plan.score).needs_bounds else None
        cells = CellCounts(len(layout.names))
        provenance, label_seen = _score_here(
            table, layout, plan, score, cells, clipping, reporter, charge
        )
    else:
        files, cluster = elsewhere
        from dpsel.shares import Work, cluster_total

        work = Work(
            columns=table.columns,
            label=table.label,
            files=len(files.sources),
            input_format=files.input_format,
            separator=files.separator,
            layout=layout,
            score=plan.score,
            bounds=bounds,
            coding=plan.coding,
            neighbors=guarantee.neighbors,
            unit=guarantee.unit,
        )

        def begin() -> None:
            charge()
            reporter.size(file_bytes(table))

        total = cluster_total(work, files, cluster, reporter.progress, begin)
        score.add(total.sums)
        provenance, label_seen, cells = total.made, total.label_seen, total.cells
    assumed = provenance is None and not guarantee.scope.end_to_end
    for note in cell_notes(cells, [*layout.names, wanted.target], assumed=assumed):
        reporter.note(note)
    if plan.coding.positive is not None and not label_seen:
        reporter.note(f"no row has the label '{plan.coding.positive}' in '{wanted.target}'")
    return Scored(score, provenance)


def _score_here(
    table: Table,
    layout: Layout,
    plan: SelectPlan,
    score: Score,
    cells: CellCounts,
    clipping: Bounds | None,
    reporter: Reporter,
    charge: Callable[[], None],
) -> tuple[Provenance | None, bool]:
    """Add all rows to a score; return how the table was made, and whether the label was seen."""
    limit = None if plan.wanted.person is None else PersonLimit(plan.guarantee.unit.rows)
    rows = RowReader(plan.coding, limit)

    def add(part: tuple[Any, CellCounts]) -> None:
        score.add(part[0])
        cells.add(part[1])

    charge()
    reporter.size(file_bytes(table))
    with one_blas_thread():
        reduce_pieces(
            table.pieces(layout, rows),
            lambda block: (score.part(block), CellCounts.of(block, clipping)),
            add,
            threads=plan.threads,
            progress=reporter.progress,
        )
    # Only now is it known whether a CSV is the one that its record is about.
    return table.provenance, rows.label_seen
