"""What a run of `evaluate` will do, checked before any table is opened."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpsel import __version__
from dpsel.core.guarantee import Neighbors, check_at_least, check_delta, check_epsilon
from dpsel.errors import UsageError
from dpsel.evaluation.data import LASSO, TableRequest, Truth, parse_truth
from dpsel.evaluation.methods import EvaluatedMethod, parse_methods
from dpsel.preprocessing.options import DEFAULT_CLIP, Scale
from dpsel.preprocessing.scaling import check_clip
from dpsel.selection.lasso import check_penalty
from dpsel.selection.options import Baseline, Bounding
from dpsel.selection.request import public_bounds
from dpsel.system.workers import plan_threads
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import InputFormat, Reading

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

    @property
    def fits_lassos(self) -> bool:
        """Return whether any LASSO is needed."""
        ranked = {method.ranking for method in self.methods}
        return self.truth.kind == LASSO or bool(ranked & {Baseline.TWO_STAGE, Baseline.LASSO})

    def described(self) -> dict[str, Any]:
        """Return the plan as plain values: two plans that say the same give the same results."""
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
        return cells + len(self.vote_scales()) * self.trials


DEFAULT_METHODS = ("dp-sis", "two-stage")
_MOST_TRIALS = 100_000


@dataclass(frozen=True)
class EvaluateRequest:
    """How tables are read, and what is then tried on them."""

    tables: TableRequest
    sweep: Sweep


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
) -> EvaluateRequest:
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
    public, given = public_bounds(Bounding(bounds=bounds, lower=lower, upper=upper))
    if given and scale is not Scale.NONE:
        raise UsageError("give either bounds or --scale, not both")
    sweep = Sweep(
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
    tables = TableRequest(
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
        separator=Reading(separator=separator).separator,
        threads=plan_threads(threads),
    )
    return EvaluateRequest(tables, sweep)
