"""The request of `evaluate`: every choice of a run, checked before any table is opened."""

import json
from dataclasses import asdict
from typing import Any

from dpsel import __version__
from dpsel.core.guarantee import Neighbors, check_at_least, check_delta
from dpsel.errors import UsageError
from dpsel.evaluation.data import TableRequest
from dpsel.evaluation.grid import AskedK, parse_epsilons, parse_ks
from dpsel.evaluation.methods import EvaluatedMethod, parse_methods
from dpsel.evaluation.options import Comparison, Conditions, EvaluatedColumns, Grid, Sweeping
from dpsel.evaluation.truth import BY_TABLE, LASSO, Truth, parse_truth
from dpsel.preprocessing.options import Scale
from dpsel.preprocessing.scaling import check_clip
from dpsel.records import frozen
from dpsel.selection.lasso import check_penalty
from dpsel.selection.options import Baseline, Bounding
from dpsel.selection.request import public_bounds
from dpsel.system.threads import plan_threads
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import FileFormat


@frozen
class Sweep:
    """All choices that decide the results of a sweep; the number of workers is not among them."""

    methods: tuple[EvaluatedMethod, ...]
    ks: tuple[AskedK, ...]
    epsilons: tuple[float, ...]
    trials: int
    seed: int
    truth: Truth
    scale: Scale
    clip: float
    neighbors: Neighbors
    delta: float | None
    blocks: int | None
    """None for the square root of the number of rows."""
    equal_blocks: bool
    """Whether blocks have equal sizes, as if the number of rows is public."""
    unseen: int = 0
    """The number of folds in which a model is tested on unseen rows; 0 for no such test."""

    @property
    def fits_lassos(self) -> bool:
        """Return whether any LASSO is needed."""
        ranked = {method.ranking for method in self.methods}
        return self.truth.kind in (LASSO, BY_TABLE) or bool(
            ranked & {Baseline.TWO_STAGE, Baseline.LASSO}
        )

    def described(self) -> dict[str, Any]:
        """Return the sweep as plain values: equal descriptions mean equal results."""
        found = asdict(self)
        found["methods"] = [method.name for method in self.methods]
        found["ks"] = [asked.text for asked in self.ks]
        return {**json.loads(json.dumps(found)), "version": __version__}

    def scale_of(self, method: EvaluatedMethod) -> Scale:
        """Return the scaling that a method works on."""
        return self.scale if method.scale is None else method.scale

    def vote_scales(self) -> list[Scale]:
        """Return the scalings that two-stage works on."""
        voted = [m for m in self.methods if m.ranking == Baseline.TWO_STAGE]
        return list(dict.fromkeys(self.scale_of(method) for method in voted))

    def tasks_per_set(self) -> int:
        """Return how many tasks one data set takes."""
        cells = len(self.methods) * len(self.ks) * len(self.epsilons)
        once = cells + len(self.vote_scales()) * self.trials
        # Every fold has one more task: the references that its picks are compared with.
        return once + self.unseen * (once + 1)


DEFAULT_METHODS = ("stump", "dp-sis", "two-stage")
_MOST_TRIALS = 100_000
_MOST_FOLDS = 100


@frozen
class EvaluateRequest:
    """How tables are read, and the sweep that is run on them."""

    tables: TableRequest
    sweep: Sweep


def make_evaluate_request(
    columns: EvaluatedColumns,
    grid: Grid,
    comparison: Comparison,
    conditions: Conditions,
    bounding: Bounding,
    file_format: FileFormat,
    sweeping: Sweeping,
) -> EvaluateRequest:
    """Return the request for these options, after all checks that need no table."""
    _check_numbers(columns, comparison, conditions, sweeping)
    public, given = public_bounds(bounding)
    if given and conditions.scale is not Scale.NONE:
        raise UsageError("give either bounds or --scale, not both")
    sweep = Sweep(
        methods=parse_methods(list(comparison.method) or list(DEFAULT_METHODS)),
        ks=parse_ks(grid.k),
        epsilons=parse_epsilons(grid.epsilon),
        trials=comparison.trials,
        seed=sweeping.seed,
        truth=parse_truth(comparison.truth, comparison.penalty),
        scale=conditions.scale,
        clip=conditions.clip,
        neighbors=conditions.neighbors,
        delta=conditions.delta,
        blocks=conditions.blocks,
        # Like `baseline`, which makes blocks of equal size if the number of rows is public.
        equal_blocks=conditions.neighbors is Neighbors.REPLACE_ONE,
        unseen=comparison.unseen or 0,
    )
    wanted = _wanted(columns, public, given=given)
    tables = TableRequest(
        wanted=wanted,
        positive=columns.positive,
        encode=columns.encode_target,
        bounds=public,
        file_format=file_format,
        threads=plan_threads(sweeping.threads),
    )
    return EvaluateRequest(tables, sweep)


def _wanted(columns: EvaluatedColumns, public: PublicBounds, *, given: bool) -> Wanted:
    """Return which columns to read, of any type; bounds, if given, say which are numbers."""
    return Wanted(
        columns.target,
        columns.features,
        columns.exclude,
        labels=columns.encode_target or columns.positive is not None,
        declared=public.declared(columns.target) if given else frozenset(),
        bounded=given,
        words=True,
    )


def _check_numbers(
    columns: EvaluatedColumns, comparison: Comparison, conditions: Conditions, sweeping: Sweeping
) -> None:
    """Refuse numbers out of range, and two ways to code one target."""
    if columns.encode_target and columns.positive is not None:
        raise UsageError("give either --positive or --encode-target, not both")
    if not 1 <= comparison.trials <= _MOST_TRIALS:
        raise UsageError(f"trials must be between 1 and {_MOST_TRIALS}, got {comparison.trials}")
    if comparison.unseen is not None and not 2 <= comparison.unseen <= _MOST_FOLDS:
        raise UsageError(f"unseen must be between 2 and {_MOST_FOLDS}, got {comparison.unseen}")
    if conditions.blocks is not None:
        check_at_least(1, conditions.blocks, "blocks")
    if conditions.delta is not None:
        check_delta(conditions.delta)
    check_at_least(0, sweeping.seed, "seed")
    check_clip(conditions.clip)
    check_penalty(comparison.penalty)
