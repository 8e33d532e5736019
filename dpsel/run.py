"""Carrying out a plan: read the table once, score it, select once."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any, Protocol

from dpsel import __version__
from dpsel.core.checks import check_k
from dpsel.core.persons import PersonLimit
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import KeepsRows, Score
from dpsel.core.scores.registry import find_score
from dpsel.core.selection import Selection, select_from_scores
from dpsel.io.columns import Layout, choose_columns
from dpsel.io.pieces import RowReader, Table, reduce_pieces
from dpsel.io.scratch import ScratchKeeper
from dpsel.io.tables import open_table
from dpsel.plan import SelectPlan

_MANY_OUTSIDE = 0.01
# What a score that keeps rows takes, in units of the rows themselves.
_COPIES_OF_ROWS = 2


class Reporter(Protocol):
    """Where the data's holder hears how things go; nothing of it is for release."""

    def note(self, message: str) -> None:
        """Say something the holder should know."""
        ...

    def progress(self, done: float) -> None:
        """Say which share of the table has been read."""
        ...


def charge_nothing() -> None:
    """Run without a ledger."""


def run_select(
    table: Any, plan: SelectPlan, reporter: Reporter, charge: Callable[[], None]
) -> Selection:
    """Read a table and select from it, as planned.

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
    with closing(open_table(table, plan.input_format, plan.separator)) as opened:
        layout = choose_columns(opened.columns, plan.wanted, opened.label)
        check_k(plan.k, len(layout.names))
        score = score_table(opened, layout, plan, reporter, charge)
        guarantee = plan.guarantee
        # Only now is it known whether a CSV is the one that its record is about.
        if opened.provenance is not None:
            guarantee = replace(guarantee, scope=opened.provenance.scope)
    return select_from_scores(
        score.scores(),
        layout.names,
        k=plan.k,
        guarantee=guarantee,
        rng=make_randomness(plan.seed),
        score=plan.score,
        mechanism=plan.mechanism,
        parameters=plan.parameters,
        version=__version__,
    )


def score_table(
    table: Table,
    layout: Layout,
    plan: SelectPlan,
    reporter: Reporter,
    charge: Callable[[], None] = charge_nothing,
) -> Score:
    """Read all of a table into a score, which is private; `charge` comes before the first row."""
    wanted, guarantee = plan.wanted, plan.guarantee
    bounds = plan.bounds.resolve(
        layout.names,
        wanted.target,
        [column.name for column in table.columns],
        coded=plan.coding.of_text,
    )
    score = find_score(plan.score).make(bounds, guarantee.neighbors, guarantee.unit)
    if isinstance(score, KeepsRows):
        score.keep_in(ScratchKeeper(_COPIES_OF_ROWS))
    limit = None if wanted.person is None else PersonLimit(guarantee.unit.rows)
    rows = RowReader(plan.coding, limit)
    charge()
    reduce_pieces(
        table.pieces(layout, rows),
        score.part,
        score.add,
        threads=plan.threads,
        progress=reporter.progress,
    )
    assumed = table.provenance is None and not guarantee.scope.end_to_end
    if assumed and score.outside.share > _MANY_OUTSIDE:
        reporter.note(
            f"{score.outside.share:.0%} of the cells are outside [-1, 1] and were clipped; "
            "give public bounds with --bounds, or run `dpsel preprocess` first"
        )
    if plan.coding.positive is not None and not rows.label_seen:
        reporter.note(f"no row has the label '{plan.coding.positive}' in '{wanted.target}'")
    return score
