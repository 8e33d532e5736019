"""What a run of `evaluate` will do, checked before any table is opened."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpsel.core.checks import check_at_least, check_clip, check_delta
from dpsel.core.choices import DEFAULT_CLIP, Scale
from dpsel.core.errors import UsageError
from dpsel.core.evaluation.grids import parse_epsilons, parse_ks
from dpsel.core.evaluation.methods import parse_methods
from dpsel.core.evaluation.truth import parse_truth
from dpsel.core.lasso import check_penalty
from dpsel.core.privacy import Neighbors
from dpsel.evaluating import TablePlan
from dpsel.io.columns import Wanted
from dpsel.io.formats import InputFormat
from dpsel.plan import plan_bounds, plan_separator, plan_threads
from dpsel.sweep_plan import SweepPlan

DEFAULT_METHODS = ("dp-sis", "two-stage")
_MOST_TRIALS = 100_000


@dataclass(frozen=True)
class EvaluatePlan:
    """How tables are read, and what is then tried on them."""

    tables: TablePlan
    sweep: SweepPlan


def make_evaluate_plan(
    *,
    target: str,
    k: str,
    epsilon: str,
    trials: int,
    methods: Sequence[str],
    truth: str,
    penalty: float,
    scale: Scale,
    clip: float = DEFAULT_CLIP,
    blocks: int | None,
    delta: float | None,
    neighbors: Neighbors,
    features: Sequence[str],
    exclude: Sequence[str],
    positive: str | None,
    encode_target: bool,
    bounds: str | Path | None,
    lower: float | None,
    upper: float | None,
    input_format: InputFormat | None,
    separator: str | None,
    seed: int,
    threads: int | None,
) -> EvaluatePlan:
    """Check everything that can be checked without the tables."""
    if encode_target and positive is not None:
        raise UsageError("give either --positive or --encode-target, not both")
    if not 1 <= trials <= _MOST_TRIALS:
        raise UsageError(f"trials must be between 1 and {_MOST_TRIALS}, got {trials}")
    if blocks is not None:
        check_at_least(1, blocks, "blocks")
    if delta is not None:
        check_delta(delta)
    check_at_least(0, seed, "seed")
    check_clip(clip)
    check_penalty(penalty)
    public, given = plan_bounds(bounds, lower, upper)
    if given and scale is not Scale.NONE:
        raise UsageError("give either bounds or --scale, not both")
    sweep = SweepPlan(
        methods=parse_methods(list(methods) or list(DEFAULT_METHODS)),
        ks=parse_ks(k),
        epsilons=parse_epsilons(epsilon),
        trials=trials,
        seed=seed,
        truth=parse_truth(truth, penalty),
        scale=scale,
        clip=clip,
        neighbors=neighbors,
        delta=delta,
        blocks=blocks,
        # As `baseline` deals out rows: in blocks of equal size where their number is public.
        equal_blocks=neighbors is Neighbors.REPLACE_ONE,
    )
    tables = TablePlan(
        wanted=Wanted(
            target,
            tuple(features),
            tuple(exclude),
            labels=encode_target or positive is not None,
            declared=public.declared(target) if given else frozenset(),
            bounded=given,
        ),
        positive=positive,
        encode=encode_target,
        bounds=public,
        input_format=input_format,
        separator=plan_separator(separator),
        threads=plan_threads(threads),
    )
    return EvaluatePlan(tables, sweep)
