"""Carrying out a plan: read the table once, score it, select once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from dpsel import __version__
from dpsel.core.blas import one_blas_thread
from dpsel.core.checks import check_k
from dpsel.core.persons import PersonLimit
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import KeepsRows, Score, WorksAtTheEnd
from dpsel.core.scores.registry import find_score
from dpsel.core.selection import Selection, select_from_scores
from dpsel.io.columns import Layout, choose_columns, visible_columns
from dpsel.io.pieces import RowReader, Table, reduce_pieces
from dpsel.io.provenance import Provenance
from dpsel.io.tables import file_bytes, open_table, unchanged_table
from dpsel.plan import SelectPlan

if TYPE_CHECKING:  # Most runs have no cluster.
    from dpsel.io.splits import TableFiles
    from dpsel.shares import Cluster

_MANY_OUTSIDE = 0.01
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
    score = find_score(plan.score).make(bounds, guarantee.neighbors, guarantee.unit)
    if elsewhere is None:
        if isinstance(score, WorksAtTheEnd):
            score.use_threads(plan.threads)
        if isinstance(score, KeepsRows):
            from dpsel.io.scratch import ScratchKeeper

            score.keep_in(ScratchKeeper(_COPIES_OF_ROWS))
        provenance, label_seen = _score_here(table, layout, plan, score, reporter, charge)
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
        provenance, label_seen = total.made, total.label_seen
    assumed = provenance is None and not guarantee.scope.end_to_end
    if assumed and score.outside.share > _MANY_OUTSIDE:
        reporter.note(
            f"{score.outside.share:.0%} of the cells are outside [-1, 1] and were clipped; "
            "give public bounds with --bounds, or run `dpsel preprocess` first"
        )
    if plan.coding.positive is not None and not label_seen:
        reporter.note(f"no row has the label '{plan.coding.positive}' in '{wanted.target}'")
    return Scored(score, provenance)


def _score_here(
    table: Table,
    layout: Layout,
    plan: SelectPlan,
    score: Score,
    reporter: Reporter,
    charge: Callable[[], None],
) -> tuple[Provenance | None, bool]:
    """Add all rows to a score; return how the table was made, and whether the label was seen."""
    limit = None if plan.wanted.person is None else PersonLimit(plan.guarantee.unit.rows)
    rows = RowReader(plan.coding, limit)
    charge()
    reporter.size(file_bytes(table))
    with one_blas_thread():
        reduce_pieces(
            table.pieces(layout, rows),
            score.part,
            score.add,
            threads=plan.threads,
            progress=reporter.progress,
        )
    # Only now is it known whether a CSV is the one that its record is about.
    return table.provenance, rows.label_seen
