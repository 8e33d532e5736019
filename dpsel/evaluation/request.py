"""What a run of `evaluate` will do, checked before any table is opened."""

import json
import math
import re
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpsel import __version__
from dpsel.core.guarantee import Neighbors, check_at_least, check_delta, check_epsilon
from dpsel.errors import UsageError
from dpsel.evaluation.data import LASSO, TableRequest, Truth, parse_truth
from dpsel.evaluation.methods import EvaluatedMethod, parse_methods
from dpsel.evaluation.options import Comparison, Conditions, EvaluatedColumns, Grid, Sweeping
from dpsel.preprocessing.options import Scale
from dpsel.preprocessing.scaling import check_clip
from dpsel.selection.lasso import check_penalty
from dpsel.selection.options import Baseline, Bounding
from dpsel.selection.request import public_bounds
from dpsel.system.workers import plan_threads
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import FileFormat

LOGD = "logd"
_MOST_POINTS = 1000
_MOST_DIGITS = 18
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|nan|[+-]?inf", re.I)


@dataclass(frozen=True)
class AskedK:
    """A k as it was asked for: a number, or `logd`."""

    text: str

    def of(self, d: int) -> int:
        """Return k for d features: `logd` is the floor of the natural log, at least 1."""
        return max(1, int(math.log(d))) if self.text == LOGD else int(self.text)


def parse_ks(text: str) -> tuple[AskedK, ...]:
    """Return the k in a list such as `5,logd`, each once."""
    found = []
    for part in text.split(","):
        part = part.strip()
        if part != LOGD:
            if not _is_whole(part):
                raise UsageError(
                    f"k must be a list of whole numbers or {LOGD}, got '{part or text}'"
                )
            check_at_least(1, int(part), "k")
            part = str(int(part))
        found.append(AskedK(part))
    return tuple(dict.fromkeys(found))


def parse_epsilons(text: str) -> tuple[float, ...]:
    """Return the epsilons in a list such as `0.5,1,2`, `0.1:20:log12` or `1:10:lin10`, ascending.

    A range of n points has its ends in it; the points between are rounded to 4 digits.
    """
    found: set[float] = set()
    for part in text.split(","):
        found.update(_range(part) if ":" in part else [_number(part)])
    return tuple(sorted(found))


def _range(text: str) -> list[float]:
    """Return the points of one range."""
    pieces = text.split(":")
    steps = pieces[2].strip() if len(pieces) == 3 else ""
    kind, count = steps[:3], steps[3:]
    if kind not in ("log", "lin") or not _is_whole(count):
        raise UsageError(f"a range of epsilons is FROM:TO:logN or FROM:TO:linN, got {text}")
    low, high = _number(pieces[0]), _number(pieces[1])
    points = int(count)
    if not 2 <= points <= _MOST_POINTS or low >= high:
        raise UsageError(
            f"a range of epsilons rises, with 2 to {_MOST_POINTS} points between, got {text}"
        )
    with np.errstate(over="ignore"):
        spaced = (
            np.exp(np.linspace(math.log(low), math.log(high), points))
            if kind == "log"
            else np.linspace(low, high, points)
        )
    between = [float(f"{point:.4g}") for point in spaced[1:-1]]
    return [low, *(min(max(point, low), high) for point in between), high]


def _number(text: str) -> float:
    """Return an epsilon."""
    if not _NUMBER.fullmatch(text.strip()):
        raise UsageError(f"epsilon must be a number or a range, got '{text.strip()}'")
    epsilon = float(text)
    check_epsilon(epsilon)
    return epsilon


def _is_whole(text: str) -> bool:
    """Return whether a text is a whole number of a reasonable length."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


@dataclass(frozen=True)
class Sweep:
    """All choices of a sweep; nothing in it depends on the number of workers."""

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
    """Whether blocks have equal sizes, as where the number of rows is public."""
    unseen: int = 0
    """How many folds a model is tested in; 0 for no such test."""

    @property
    def fits_lassos(self) -> bool:
        """Return whether any LASSO is needed."""
        ranked = {method.ranking for method in self.methods}
        return self.truth.kind == LASSO or bool(ranked & {Baseline.TWO_STAGE, Baseline.LASSO})

    def described(self) -> dict[str, Any]:
        """Return it as plain values: two sweeps that say the same give the same results."""
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
        """Return how many pieces of work a data set makes."""
        cells = len(self.methods) * len(self.ks) * len(self.epsilons)
        once = cells + len(self.vote_scales()) * self.trials
        # Folds have what they are compared with, too.
        return once + self.unseen * (once + 1)


DEFAULT_METHODS = ("stump", "dp-sis", "two-stage")
_MOST_TRIALS = 100_000
_MOST_FOLDS = 100


@dataclass(frozen=True)
class EvaluateRequest:
    """How tables are read, and what is then tried on them."""

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
    """Check everything that can be checked without the tables."""
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
        # As `baseline` deals out rows: in blocks of equal size where their number is public.
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
    """Return which columns are wanted; bounds that were given say which of them are numbers."""
    return Wanted(
        columns.target,
        columns.features,
        columns.exclude,
        labels=columns.encode_target or columns.positive is not None,
        declared=public.declared(columns.target) if given else frozenset(),
        bounded=given,
    )


def _check_numbers(
    columns: EvaluatedColumns, comparison: Comparison, conditions: Conditions, sweeping: Sweeping
) -> None:
    """Refuse numbers that make no sense, and two ways to read one target."""
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
