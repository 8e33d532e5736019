"""What private selection by scores is compared with: other methods, and methods without privacy."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from dpsel import __version__
from dpsel.budget.account import NOT_PRIVATE, Order
from dpsel.budget.account import SEEDED as SEEDED_RUN
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import ONE, UNIT_INTERVAL, Bounds, bounded_integers
from dpsel.core.guarantee import Neighbors, check_k
from dpsel.core.matrix import KeptTable, Matrix, target_products
from dpsel.core.randomness import derived_seed, make_randomness
from dpsel.core.release import SEEDED, Selection, release, selection_of
from dpsel.core.rounds import MOST_ROUNDS, kendall_rounds
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.votes import block_votes, contiguous_blocks, random_partition, two_stage_scores
from dpsel.errors import UsageError
from dpsel.reporter import Reporter
from dpsel.selection.lasso import exact_top_k, lasso_coefficients, quiet_solver, tied_share
from dpsel.selection.request import Request, public_parameters
from dpsel.selection.run import refuse_partial_scope
from dpsel.tables.cell_counts import cell_notes
from dpsel.tables.columns import Layout, choose_columns, visible_columns
from dpsel.tables.opening import open_table, unchanged_table
from dpsel.tables.spill import all_rows, as_it_is, memory_for_tables


class Method(StrEnum):
    """What private selection is compared with."""

    TWO_STAGE = "two-stage"
    SIS = "sis"
    LASSO = "lasso"
    DPKENDALL = "dpkendall"


_MOST_BLOCKS = 100_000
# What a method takes, in units of the table: it is put together, and a LASSO centres a copy.
_COPIES = 3


@dataclass(frozen=True)
class BaselineRequest:
    """A plan of `select`, and what the method needs besides."""

    common: Request
    method: Method
    private: bool
    blocks: int | None
    contiguous: bool
    penalty: float

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.blocks is not None and not 1 <= self.blocks <= _MOST_BLOCKS:
            raise UsageError(f"blocks must be between 1 and {_MOST_BLOCKS}, got {self.blocks}")
        add_remove = self.common.guarantee.neighbors is Neighbors.ADD_REMOVE
        if self.method is not Method.TWO_STAGE:
            if self.blocks is not None or self.contiguous:
                raise UsageError("--blocks and --contiguous go with --method two-stage")
        elif self.private and add_remove and self.contiguous:
            raise UsageError("contiguous blocks need replace-one neighbors and rows as the unit")
        elif self.private and add_remove and self.blocks is None:
            raise UsageError(
                "under add-remove the number of rows is private, so --blocks B is needed; or use "
                "--neighbors replace-one"
            )


def baseline_order(table: Any, plan: BaselineRequest) -> Order:
    """Return what a run asks for; the table is named, and not looked at."""
    rounds = plan.method is Method.DPKENDALL
    parameters = public_parameters(
        table,
        plan.common,
        score="kendall" if rounds else str(plan.method),
        mechanism=str(plan.method) if rounds else plan.common.mechanism,
        blocks=plan.blocks,
        contiguous=plan.contiguous,
        penalty=plan.penalty,
    )
    seeded = None if plan.common.seed is None else SEEDED_RUN
    not_private = seeded if plan.private else NOT_PRIVATE
    return Order(
        "baseline", plan.common.guarantee, None, parameters, not_private, plan.common.demands
    )


def run_baseline(
    table: Any, plan: BaselineRequest, reporter: Reporter, charge: Callable[[], None]
) -> Selection:
    """Select by a method other than private scores; `charge` is called as in `run_select`.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows.
        Neighbors: those of `plan.common.guarantee`.
        Guarantee: that guarantee for the record, if `plan.private` and without a seed; else none.
        Assumes: see `two_stage_scores` and `kendall_rounds`.
        Tested by: tests/cli/test_baseline.py
    """
    common = plan.common
    _check_method(plan)
    with unchanged_table(open_table(table, common.input_format, common.separator)) as opened:
        layout = choose_columns(opened.columns, common.wanted, opened.label)
        check_k(common.k, len(layout.names))
        names = [column.name for column in visible_columns(opened.columns)]
        bounds = common.bounds.resolve(
            layout.names, common.wanted.target, names, coded=common.coding.of_text
        )
        refuse_partial_scope(opened, common)
        charge()
        raw = plan.method is Method.DPKENDALL
        X, y, cells = all_rows(
            opened,
            layout,
            common.coding,
            reporter,
            common.threads,
            copies=_COPIES,
            clipping=None if raw else bounds,
            change=as_it_is if raw else partial(_bounded, bounds),
        )
        assumed = opened.provenance is None and not common.guarantee.scope.end_to_end
        for note in cell_notes(cells, [*layout.names, common.wanted.target], assumed=assumed):
            reporter.note(note)
        if opened.provenance is not None:
            scoped = replace(common.guarantee, scope=opened.provenance.scope)
            common = replace(common, guarantee=scoped)
    plan = replace(plan, common=common)
    if plan.method is Method.DPKENDALL:
        return _by_kendall_rounds(X, y, plan, layout)
    if not plan.private:
        return _exact(_values(X, y, plan, reporter), plan, layout, reporter)
    scores = two_stage_scores(
        X,
        y,
        common.k,
        blocks=_block_count(plan, len(y)),
        neighbors=common.guarantee.neighbors,
        unit=common.guarantee.unit,
        rng=make_randomness(common.seed),
        contiguous=plan.contiguous,
        penalty=plan.penalty,
        threads=common.threads,
        progress=reporter.progress,
    )
    # The seed of a test must not draw bits again: not those of its blocks, nor of another seed's.
    noise_seed = None if common.seed is None else derived_seed(common.seed, "noise")
    return release(
        scores,
        layout.names,
        k=common.k,
        guarantee=common.guarantee,
        rng=make_randomness(noise_seed),
        score=str(plan.method),
        mechanism=common.mechanism,
        parameters=common.parameters,
        version=__version__,
    )


def _check_method(plan: BaselineRequest) -> None:
    """Refuse, before anything is charged, what the method cannot do."""
    memory_for_tables()
    if plan.method is Method.DPKENDALL and plan.common.k > MOST_ROUNDS:
        raise UsageError(f"k must be at most {MOST_ROUNDS} for dpkendall, got {plan.common.k}")
    if plan.method in (Method.TWO_STAGE, Method.LASSO):
        with quiet_solver(plan.penalty):
            pass


def _bounded(bounds: Bounds, block: Batch) -> Batch:
    """Return features and target within [-1, 1], on the grid of all scores."""
    target = bounds.target
    whole_y = bounded_integers(block.y, np.array(target.lower), np.array(target.upper))
    features = slice(block.first_feature, block.first_feature + block.X.shape[1])
    whole_X = bounded_integers(np.asarray(block.X), bounds.lower[features], bounds.upper[features])
    whole_X /= ONE
    return Batch(block.first_feature, whole_X, whole_y / ONE)


def _block_count(plan: BaselineRequest, rows: int) -> int:
    """Return the number of blocks: public, or by the number of rows where that is public."""
    return plan.blocks if plan.blocks is not None else max(1, math.isqrt(rows))


def _values(X: Matrix, y: FloatArray, plan: BaselineRequest, reporter: Reporter) -> FloatArray:
    """Return what a method without privacy ranks features by."""
    if plan.method is Method.SIS:
        return np.abs(target_products(X, y))
    if plan.method is Method.LASSO:
        return np.abs(lasso_coefficients(X, y, plan.penalty))
    blocks = _block_count(plan, len(y))
    block_of_row = (
        contiguous_blocks(len(y), blocks)
        if plan.contiguous
        else random_partition(len(y), blocks, make_randomness(plan.common.seed))
    )
    votes = block_votes(
        X,
        y,
        block_of_row,
        blocks,
        plan.common.k,
        penalty=plan.penalty,
        threads=plan.common.threads,
        progress=reporter.progress,
    )
    return votes.astype(np.float64)


def _exact(values: FloatArray, plan: BaselineRequest, layout: Layout, reporter: Reporter) -> Selection:
    """Return the record of a selection without privacy, and say so if nothing decided it."""
    if tied_share(values, plan.common.k):
        last = float(np.sort(values)[-plan.common.k])
        reporter.note(
            f"{np.count_nonzero(values == last)} features tie for the last of the {plan.common.k} "
            f"places by {plan.method}: nothing tells them apart, and the first columns were taken"
        )
    return selection_of(
        exact_top_k(values, plan.common.k),
        layout.names,
        score=str(plan.method),
        mechanism="exact",
        parameters={},
        guarantee=None,
        because="the method was run without privacy",
        version=__version__,
    )


def _by_kendall_rounds(X: Matrix, y: FloatArray, plan: BaselineRequest, layout: Layout) -> Selection:
    """Select in k rounds, by Kendall's correlation with the target and the features so far."""
    guarantee = plan.common.guarantee
    rng = make_randomness(plan.common.seed)

    def kendall(x: FloatArray, others: Matrix) -> IntArray:
        bounds = Bounds.of([UNIT_INTERVAL] * others.shape[1], UNIT_INTERVAL)
        score = KendallScore(bounds, guarantee.neighbors, guarantee.unit)
        score.use_threads(plan.common.threads)
        if isinstance(others, KeptTable):
            score.take(others, x)
        else:
            score.add(Batch(0, others, x))
        found: IntArray = score.scores().values
        return found

    chosen = kendall_rounds(
        X,
        y,
        plan.common.k,
        guarantee.epsilon,
        rng,
        neighbors=guarantee.neighbors,
        unit=guarantee.unit,
        kendall=kendall,
    )
    return selection_of(
        chosen,
        layout.names,
        score="kendall",
        mechanism=str(plan.method),
        parameters={},
        guarantee=guarantee if rng.private else None,
        because=None if rng.private else SEEDED,
        version=__version__,
    )
