"""Carrying out a request: read the table once, score it, select once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dpsel import __version__
from dpsel.budget.account import charge_nothing
from dpsel.cluster.place import Scheduler
from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import check_k
from dpsel.core.persons import PersonLimit
from dpsel.core.randomness import make_randomness
from dpsel.core.release import Selection, release
from dpsel.core.scores.base import KeepsRows, Score, WorksAtTheEnd
from dpsel.core.scores.registry import find_score
from dpsel.reporter import Reporter
from dpsel.selection.request import Request
from dpsel.system.workers import one_blas_thread
from dpsel.tables.cell_counts import CellCounts, cell_notes
from dpsel.tables.columns import Layout, choose_columns, visible_columns
from dpsel.tables.opening import file_bytes, open_table, provenance_of_all, unchanged_table
from dpsel.tables.provenance import Provenance
from dpsel.tables.table import RowReader, Table, read_batches

if TYPE_CHECKING:
    from dpsel.cluster.dask import Crew
    from dpsel.cluster.shards import Cluster, Partial, Shard, ShardWork, TableFiles


# What a score that keeps rows takes, in units of the rows themselves.
_COPIES_OF_ROWS = 2


def run_select(
    table: Any,
    plan: Request,
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
        from dpsel.cluster.shards import table_files

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
    return release(
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


def refuse_partial_scope(table: Table, plan: Request) -> None:
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
    plan: Request,
    reporter: Reporter,
    charge: Callable[[], None] = charge_nothing,
    elsewhere: "tuple[TableFiles, Cluster] | None" = None,
) -> Scored:
    """Read all of a table into a score, here or on a cluster; `charge` comes before the first row.

    Privacy:
        Guarantee: none; the score is private input for a mechanism.
        Tested by: tests/cluster/test_shards.py
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
            from dpsel.tables.spill import ScratchKeeper

            score.keep_in(ScratchKeeper(_COPIES_OF_ROWS))
        clipping = bounds if find_score(plan.score).needs_bounds else None
        cells = CellCounts(len(layout.names))
        provenance, label_seen = _score_here(
            table, layout, plan, score, cells, clipping, reporter, charge
        )
    else:
        files, cluster = elsewhere
        from dpsel.cluster.shards import ShardWork, cluster_total

        work = ShardWork(
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
    plan: Request,
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
        read_batches(
            table.pending_batches(layout, rows),
            lambda block: (score.part(block), CellCounts.of(block, clipping)),
            add,
            threads=plan.threads,
            progress=reporter.progress,
        )
    # Only now is it known whether a CSV is the one that its record is about.
    return table.provenance, rows.label_seen


def run_select_on(
    cluster: Scheduler | None,
    table: Any,
    plan: Request,
    reporter: Reporter,
    charge: Callable[[], None],
) -> Selection:
    """Read a table on a cluster, or here if there is none, and select from it as `run_select` does.

    The cluster is connected after all that only public things can spoil, and before the charge: a
    cluster that is not there costs nothing, and one that is lost later does.

    Privacy:
        Guarantee: that of `run_select`: noise is drawn here, once, from this process's own
            randomness. Rows and partial sums are in the cluster's memory, unprotected.
        Assumes: operators of the cluster who may see the rows; see docs/cluster.md.
        Tested by: tests/cluster/test_select.py
    """
    if cluster is None:
        return run_select(table, plan, reporter, charge)
    from dpsel.cluster import shards as splits
    from dpsel.cluster.connection import connected
    from dpsel.cluster.shards import Cluster

    with ExitStack() as stack:
        crews: list[Crew] = []

        def connect_and_charge() -> None:
            crews.append(stack.enter_context(connected(cluster, reporter.warn)))
            charge()

        def spread(
            work: "ShardWork", shares: "Sequence[Shard]", progress: Callable[[float], None]
        ) -> "Iterator[Partial]":
            return crews[0].totals(work, shares, progress)

        return run_select(
            table, plan, reporter, connect_and_charge, Cluster(spread, splits.TARGET_BYTES)
        )
