"""What an audit draws from: a mechanism by its name, as any caller would use it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpsel.audit.laws import PRINTED, Law, exact_law
from dpsel.core.arrays import IntArray
from dpsel.core.guarantee import Neighbors, Unit, check_at_least, check_epsilon, check_k
from dpsel.core.mechanisms.lipschitz import check_gamma
from dpsel.core.mechanisms.registry import MECHANISMS, find_mechanism
from dpsel.core.release import draws_by_law, top_k
from dpsel.core.scores.registry import find_score
from dpsel.errors import UsageError
from dpsel.system.workers import plan_threads


@dataclass(frozen=True)
class MechanismTarget:
    """A mechanism with its parameters; scores have the sensitivity 1."""

    name: str
    parameters: Mapping[str, Any]
    k: int
    epsilon: float

    def law(self, x: Sequence[float]) -> Law | None:
        """Return the exact chances of all subsets, if they are known."""
        return exact_law(self.name, x, self.k, self.epsilon, self.parameters)

    def draw(self, x: Sequence[float], draws: int, seed: int | None) -> IntArray:
        """Return rows of k indices, as `top_k` returns them."""
        if self.name == PRINTED:
            return self._drawn_by_law(x, draws, seed)
        return top_k(
            x, self.k, self.epsilon, mechanism=self.name, seed=seed, draws=draws, **self.parameters
        )

    @cached_property
    def delta(self) -> float:
        """Return the delta of the guarantee."""
        return float(self.parameters.get("delta", 0.0))

    def _drawn_by_law(self, x: Sequence[float], draws: int, seed: int | None) -> IntArray:
        """Return draws of the printed algorithm, which no code here follows."""
        law = self.law(x)
        if law is None:
            raise UsageError(
                f"the law of {PRINTED} is not known here; take fewer features, or scores that are "
                "nearer to each other"
            )
        places = draws_by_law(list(law.values()), draws, seed)
        return np.array(list(law), dtype=np.int64)[places]


def mechanism_target(
    name: str, given: Mapping[str, Any], k: int, epsilon: float
) -> MechanismTarget:
    """Return the mechanism of that name with the parameters given, those that are not None."""
    if name == PRINTED:
        asked = {key: value for key, value in given.items() if value is not None}
        if set(asked) - {"gamma"}:
            raise UsageError(f"the mechanism {name} has no other parameter than --gamma")
        return MechanismTarget(name, {"gamma": 0.5, **asked}, k, epsilon)
    if name not in MECHANISMS:
        known = ", ".join([*MECHANISMS, PRINTED])
        raise UsageError(f"mechanism must be one of {known}, got {name}")
    return MechanismTarget(name, find_mechanism(name).parameters(name, given), k, epsilon)


CONFIDENCE = 0.999999
"""A right mechanism fails one audit in a million."""
_FEWEST_SAMPLES = 10


@dataclass(frozen=True)
class Sampling:
    """How much to draw, and how sure to be."""

    samples: int
    confidence: float
    seed: int | None
    threads: int

    @property
    def alpha(self) -> float:
        """Return the error that an audit may make."""
        return 1.0 - self.confidence


@dataclass(frozen=True)
class MechanismRequest:
    """The audit of a mechanism: on a default pair, a given one, or the worst that is found."""

    target: MechanismTarget
    d: int
    sampling: Sampling
    scores: tuple[float, ...] | None
    change: tuple[float, ...] | None
    worst_case: bool


@dataclass(frozen=True)
class ScoreRequest:
    """The audit of a score."""

    score: str
    neighbors: tuple[Neighbors, ...]
    unit: Unit
    tables: int
    seed: int


@dataclass(frozen=True)
class CommandRequest:
    """The audit of `dpsel select`, end to end."""

    score: str
    target: MechanismTarget
    d: int
    neighbors: Neighbors
    unit: Unit
    sampling: Sampling


AuditPlan = MechanismRequest | ScoreRequest | CommandRequest

# The options of each kind, beside those of all.
_SAMPLED = {"epsilon", "delta", "gamma", "sampler", "d", "k", "samples", "confidence", "threads"}
_OPTIONS = {
    "--mechanism": {"mechanism", "scores", "change", "worst-case", *_SAMPLED},
    "--score": {"score", "neighbors", "rows-per-person", "tables"},
    "--command": {"score", "mechanism", "neighbors", "rows-per-person", *_SAMPLED},
}


def make_audit_request(
    *, command: bool, worst_case: bool, seed: int | None, given: Mapping[str, Any]
) -> AuditPlan:
    """Return a checked plan from options; those not given are None."""
    asked = {name: value for name, value in given.items() if value is not None}
    if worst_case:
        asked["worst-case"] = True
    if seed is not None:
        check_at_least(0, seed, "seed")
    kind = _kind(command, asked)
    for name in asked:
        if name not in _OPTIONS[kind]:
            raise UsageError(f"--{name} does not go with an audit by {kind}")
    if kind == "--score":
        return _score_plan(asked, seed)
    if kind == "--mechanism":
        return _mechanism_plan(asked, seed)
    return _command_plan(asked, seed)


def whole_number(text: str, name: str) -> int:
    """Return a number such as 1e6 or 20000."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number == int(number)):
        raise UsageError(f"{name} must be a whole number such as 1e6, got {text}")
    return int(number)


def numbers(text: str, name: str) -> tuple[float, ...]:
    """Return numbers that are separated by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{name} must be numbers with commas, got {text}") from None


def _kind(command: bool, asked: Mapping[str, Any]) -> str:
    """Return what is to be audited."""
    if command:
        return "--command"
    if ("mechanism" in asked) == ("score" in asked):
        raise UsageError(
            "say what to audit: --mechanism NAME, --score NAME, or --command for both together"
        )
    return "--mechanism" if "mechanism" in asked else "--score"


def _mechanism_plan(asked: Mapping[str, Any], seed: int | None) -> MechanismRequest:
    """Return the plan for a mechanism."""
    scores, change = (
        None if asked.get(name) is None else numbers(asked[name], f"--{name}")
        for name in ("scores", "change")
    )
    if (scores is None) != (change is None):
        raise UsageError("--scores and --change go together")
    if scores is not None and ("worst-case" in asked or "d" in asked):
        raise UsageError("--scores says what is audited; leave out --worst-case and --d")
    d = len(scores) if scores is not None else asked.get("d", 6)
    return MechanismRequest(
        target=_target(asked, d, asked.get("k", 3)),
        d=d,
        sampling=_sampling(asked, seed, 100_000),
        scores=scores,
        change=change,
        worst_case="worst-case" in asked,
    )


def _command_plan(asked: Mapping[str, Any], seed: int | None) -> CommandRequest:
    """Return the plan for the command."""
    score, d = asked.get("score", "dot"), asked.get("d", 4)
    find_score(score)
    if asked.get("mechanism") == PRINTED:
        raise UsageError(f"`dpsel select` has no mechanism {PRINTED}")
    return CommandRequest(
        score=score,
        target=_target({"mechanism": "canonical-lipschitz", **asked}, d, asked.get("k", 2)),
        d=d,
        neighbors=_relation(asked["neighbors"]) if "neighbors" in asked else Neighbors.ADD_REMOVE,
        unit=_unit(asked),
        sampling=_sampling(asked, seed, 1_000),
    )


def _score_plan(asked: Mapping[str, Any], seed: int | None) -> ScoreRequest:
    """Return the plan for a score."""
    find_score(asked["score"])
    neighbors: Sequence[Neighbors] = (
        [_relation(asked["neighbors"])] if "neighbors" in asked else list(Neighbors)
    )
    tables = whole_number(asked.get("tables", "1000"), "--tables")
    return ScoreRequest(
        asked["score"],
        tuple(neighbors),
        _unit(asked),
        check_at_least(0, tables, "tables"),
        0 if seed is None else seed,
    )


def _target(asked: Mapping[str, Any], d: int, k: int) -> MechanismTarget:
    """Return the mechanism that is asked for."""
    check_at_least(1, d, "d")
    check_k(k, d)
    epsilon = asked.get("epsilon", 1.0)
    check_epsilon(epsilon)
    if "gamma" in asked:
        check_gamma(asked["gamma"])
    given = {name: asked.get(name) for name in ("gamma", "sampler", "delta")}
    target = mechanism_target(asked["mechanism"], given, k, epsilon)
    # Refuses what does not fit, such as a delta, before any work is done.
    target.draw([0.0] * d, 1, None)
    return target


def _relation(name: str) -> Neighbors:
    """Return a relation by its name."""
    if name not in tuple(Neighbors):
        raise UsageError(f"neighbors must be one of {', '.join(Neighbors)}, got {name}")
    return Neighbors(name)


def _unit(asked: Mapping[str, Any]) -> Unit:
    """Return whose rows differ."""
    rows = asked.get("rows-per-person")
    return Unit() if rows is None else Unit("person", rows)


def _sampling(asked: Mapping[str, Any], seed: int | None, usual: int) -> Sampling:
    """Return how much to draw."""
    samples = whole_number(asked.get("samples", str(usual)), "--samples")
    confidence = asked.get("confidence", CONFIDENCE)
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must be between 0 and 1, got {confidence:g}")
    return Sampling(
        check_at_least(_FEWEST_SAMPLES, samples, "samples"),
        confidence,
        seed,
        plan_threads(asked.get("threads")),
    )
