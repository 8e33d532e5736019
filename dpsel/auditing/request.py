"""The request of `audit`, checked before it begins, and the mechanism that it draws from."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from dpsel.auditing.laws import PRINTED, Law, exact_law
from dpsel.auditing.options import Audited, Claim, Effort, Inputs
from dpsel.core.arrays import IntArray
from dpsel.core.guarantee import (
    Neighbors,
    Unit,
    check_at_least,
    check_choice,
    check_epsilon,
    check_k,
)
from dpsel.core.mechanisms.registry import MECHANISMS, find_mechanism
from dpsel.core.release import draws_by_law, top_k
from dpsel.core.scores.registry import STUMP, find_score
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.selection.options import METHODS, Method
from dpsel.system.threads import plan_threads


@frozen
class MechanismTarget:
    """A mechanism with its parameters, for scores of sensitivity 1."""

    name: str
    parameters: Mapping[str, Any]
    k: int
    epsilon: float

    def law(self, x: Sequence[float]) -> Law | None:
        """Return the exact probabilities of all subsets, if they are known."""
        return exact_law(self.name, x, self.k, self.epsilon, self.parameters)

    def draw(self, x: Sequence[float], draws: int, seed: int | None) -> IntArray:
        """Return rows of k indices, as `top_k` returns them."""
        if self.name == PRINTED:
            return self._drawn_by_law(x, draws, seed)
        return top_k(
            x, self.k, self.epsilon, mechanism=self.name, seed=seed, draws=draws, **self.parameters
        )

    @property
    def delta(self) -> float:
        """Return the delta of the guarantee."""
        return float(self.parameters.get("delta", 0.0))

    def to_dict(self, d: int) -> dict[str, Any]:
        """Return the mechanism for d features as plain values."""
        return {
            "mechanism": {"name": self.name, **self.parameters},
            "d": d,
            "k": self.k,
            "epsilon": self.epsilon,
            "delta": self.delta,
        }

    def _drawn_by_law(self, x: Sequence[float], draws: int, seed: int | None) -> IntArray:
        """Return draws of the printed algorithm by its exact law: it is not implemented."""
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
    """Return the mechanism of that name, with the parameters that are not None."""
    if name == PRINTED:
        chosen = {key: value for key, value in given.items() if value is not None}
        if set(chosen) - {"gamma"}:
            raise UsageError(f"the mechanism {name} has no other parameter than --gamma")
        return MechanismTarget(name, {"gamma": 0.5, **chosen}, k, epsilon)
    if name not in MECHANISMS:
        known = ", ".join([*MECHANISMS, PRINTED])
        raise UsageError(f"mechanism must be one of {known}, got {name}")
    return MechanismTarget(name, find_mechanism(name).parameters(name, given), k, epsilon)


CONFIDENCE = 0.999999
"""A correct mechanism fails one audit in a million."""
_FEWEST_SAMPLES = 10
DEFAULT_MECHANISM = "canonical-lipschitz"
"""The mechanism of the paper."""

Value = TypeVar("Value")


@frozen
class Sampling:
    """How many draws to make, and with which confidence."""

    samples: int
    confidence: float
    seed: int | None
    threads: int

    @property
    def alpha(self) -> float:
        """Return the error probability of an audit."""
        return 1.0 - self.confidence


@frozen
class MechanismRequest:
    """The audit of a mechanism: at a default pair, a given one, or the worst pairs found."""

    target: MechanismTarget
    d: int
    sampling: Sampling
    scores: tuple[float, ...] | None
    change: tuple[float, ...] | None
    worst_case: bool


@frozen
class ScoreRequest:
    """The audit of a score."""

    score: str
    neighbors: tuple[Neighbors, ...]
    unit: Unit
    tables: int
    seed: int


@frozen
class CommandRequest:
    """The audit of `dpsel select`, end to end."""

    score: str
    target: MechanismTarget
    d: int
    neighbors: Neighbors
    unit: Unit
    sampling: Sampling


AuditRequest = MechanismRequest | ScoreRequest | CommandRequest

# The options of each kind of audit, besides the seed, which all have.
_SAMPLED = {"epsilon", "delta", "gamma", "sampler", "d", "k", "samples", "confidence", "threads"}
_OPTIONS = {
    "--mechanism": {"mechanism", "scores", "change", "worst_case", *_SAMPLED},
    "--score": {"score", "neighbors", "rows_per_person", "tables"},
    "--command": {"command", "score", "mechanism", "neighbors", "rows_per_person", *_SAMPLED},
}


def make_audit_request(
    audited: Audited, claim: Claim, inputs: Inputs, effort: Effort
) -> AuditRequest:
    """Return the request for these options, checked; options not given are None."""
    if effort.seed is not None:
        check_at_least(0, effort.seed, "seed")
    kind = _kind(audited)
    for record in (audited, claim, inputs, replace(effort, seed=None)):
        for name, value in vars(record).items():
            if value not in (None, False) and name not in _OPTIONS[kind]:
                flag = name.replace("_", "-")
                raise UsageError(f"--{flag} does not go with an audit by {kind}")
    if kind == "--score":
        return _score_request(audited, claim, inputs, effort)
    if kind == "--mechanism":
        return _mechanism_request(audited, claim, inputs, effort)
    return _command_request(audited, claim, inputs, effort)


def whole_number(text: str, name: str) -> int:
    """Return a number such as 1e6 or 20000."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number == int(number)):
        raise UsageError(f"{name} must be a whole number such as 1e6, got {text}")
    return int(number)


def number_list(text: str, name: str) -> tuple[float, ...]:
    """Return a list of numbers, separated by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{name} must be numbers with commas, got {text}") from None


def _kind(audited: Audited) -> str:
    """Return the flag that says what to audit."""
    if audited.command:
        return "--command"
    if (audited.mechanism is None) == (audited.score is None):
        raise UsageError(
            "say what to audit: --mechanism NAME, --score NAME, or --command for both together"
        )
    return "--score" if audited.mechanism is None else "--mechanism"


def _mechanism_request(
    audited: Audited, claim: Claim, inputs: Inputs, effort: Effort
) -> MechanismRequest:
    """Return the request for a mechanism."""
    scores = None if inputs.scores is None else number_list(inputs.scores, "--scores")
    change = None if inputs.change is None else number_list(inputs.change, "--change")
    if (scores is None) != (change is None):
        raise UsageError("--scores and --change go together")
    if scores is not None and (inputs.worst_case or inputs.d is not None):
        raise UsageError("--scores says what is audited; leave out --worst-case and --d")
    d = len(scores) if scores is not None else _or(inputs.d, 6)
    return MechanismRequest(
        target=_target(audited, claim, d, _or(inputs.k, 3)),
        d=d,
        sampling=_sampling(effort, 100_000),
        scores=scores,
        change=change,
        worst_case=inputs.worst_case,
    )


def _command_request(
    audited: Audited, claim: Claim, inputs: Inputs, effort: Effort
) -> CommandRequest:
    """Return the request for the command."""
    score, d = _or(audited.score, "dot"), _or(inputs.d, 4)
    find_score(score)
    if audited.mechanism == PRINTED:
        raise UsageError(f"`dpsel select` has no mechanism {PRINTED}")
    if score == STUMP:
        usual = METHODS[Method.STUMP][1]
        audited = replace(audited, mechanism=_or(audited.mechanism, usual))
    return CommandRequest(
        score=score,
        target=_target(audited, claim, d, _or(inputs.k, 2)),
        d=d,
        neighbors=check_choice(Neighbors, _or(claim.neighbors, Neighbors.ADD_REMOVE), "neighbors"),
        unit=_unit(claim),
        sampling=_sampling(effort, 1_000),
    )


def _score_request(audited: Audited, claim: Claim, inputs: Inputs, effort: Effort) -> ScoreRequest:
    """Return the request for a score."""
    assert audited.score is not None
    find_score(audited.score)
    neighbors = (
        tuple(Neighbors)
        if claim.neighbors is None
        else (check_choice(Neighbors, claim.neighbors, "neighbors"),)
    )
    tables = whole_number(_or(inputs.tables, "1000"), "--tables")
    return ScoreRequest(
        audited.score,
        neighbors,
        _unit(claim),
        check_at_least(0, tables, "tables"),
        _or(effort.seed, 0),
    )


def _or(given: Value | None, default: Value) -> Value:
    """Return the given value, or the default if it is None."""
    return default if given is None else given


def _target(audited: Audited, claim: Claim, d: int, k: int) -> MechanismTarget:
    """Return the requested mechanism, checked."""
    check_at_least(1, d, "d")
    check_k(k, d)
    epsilon = _or(claim.epsilon, 1.0)
    check_epsilon(epsilon)
    given = {"gamma": audited.gamma, "sampler": audited.sampler, "delta": claim.delta}
    target = mechanism_target(_or(audited.mechanism, DEFAULT_MECHANISM), given, k, epsilon)
    # One draw refuses parameters that do not fit, such as a delta, before any work is done.
    target.draw([0.0] * d, 1, None)
    return target


def _unit(claim: Claim) -> Unit:
    """Return the unit of privacy: a row, or a person with some rows."""
    rows = claim.rows_per_person
    return Unit() if rows is None else Unit("person", rows)


def _sampling(effort: Effort, default_samples: int) -> Sampling:
    """Return how many draws to make, checked."""
    samples = whole_number(_or(effort.samples, str(default_samples)), "--samples")
    confidence = _or(effort.confidence, CONFIDENCE)
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must be between 0 and 1, got {confidence:g}")
    return Sampling(
        check_at_least(_FEWEST_SAMPLES, samples, "samples"),
        confidence,
        effort.seed,
        plan_threads(effort.threads),
    )
