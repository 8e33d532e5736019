"""What a run of `select` will do, checked before any file is opened."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from dpsel.core.bounds import UNIT_INTERVAL, Interval
from dpsel.core.checks import check_at_least, check_epsilon, check_gamma
from dpsel.core.errors import UsageError
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.mechanisms.sampler import Sampler
from dpsel.core.privacy import Guarantee, Neighbors, Scope, Unit
from dpsel.core.scores.registry import find_score
from dpsel.io.bounds_file import PublicBounds, parse_bounds, read_bounds, uniform_bounds
from dpsel.io.columns import Wanted
from dpsel.io.formats import InputFormat
from dpsel.io.ledger_place import REQUIRE_END_TO_END
from dpsel.io.targets import TargetCoding

Choice = TypeVar("Choice", bound=StrEnum)

_BOUNDS_GIVEN = Scope(
    end_to_end=True,
    why="bounds were given as public inputs; bounding, scoring and selection are covered",
)
_BOUNDS_ASSUMED = Scope(
    end_to_end=False,
    why="selection only: no bounds were given, so the table was taken as already within [-1, 1], "
    "and whatever brought it there is not covered",
)


_NO_BOUNDS_NEEDED = Scope(
    end_to_end=True,
    why="the score needs neither bounds nor preprocessing; scoring and selection are covered, "
    "of the table as it was given",
)


@dataclass(frozen=True)
class Demands:
    """What must be so, or a run is refused before it reads a row."""

    ledger: bool = False
    """Its cost is charged to a ledger."""
    end_to_end: bool = False
    """Its guarantee covers all that was done to the table, not the selection alone."""

    def refuse_partial(self, scope: Scope | None) -> None:
        """Refuse a guarantee that does not cover what was demanded; `scope` is None for none."""
        if self.end_to_end and not (scope is not None and scope.end_to_end):
            why = "this has no guarantee" if scope is None else f"this would cover the {scope.why}"
            raise UsageError(
                "a guarantee from end to end is required (--require-end-to-end or "
                f"{REQUIRE_END_TO_END}), and {why}"
            )


@dataclass(frozen=True)
class SelectPlan:
    """All public choices of one run."""

    wanted: Wanted
    coding: TargetCoding
    bounds: PublicBounds
    k: int
    guarantee: Guarantee
    score: str
    mechanism: str
    parameters: Mapping[str, Any]
    seed: int | None
    input_format: InputFormat | None
    separator: str | None
    threads: int
    demands: Demands = Demands()


def make_plan(
    *,
    target: str,
    k: int,
    epsilon: float,
    features: Sequence[str],
    exclude: Sequence[str],
    positive: str | None,
    bounds: str | Path | Mapping[str, Any] | None,
    lower: float | None,
    upper: float | None,
    score: str,
    mechanism: str,
    gamma: float | None,
    sampler: str | None,
    delta: float | None,
    neighbors: str,
    person: str | None,
    rows_per_person: int | None,
    input_format: str | None,
    separator: str | None,
    seed: int | None,
    threads: int | None,
    demands: Demands = Demands(),
) -> SelectPlan:
    """Check everything that can be checked without the table; see `dpsel.select` for the names."""
    check_at_least(1, k, "k")
    needs_bounds = find_score(score).needs_bounds
    if seed is not None:
        check_at_least(0, seed, "seed")
    parameters = find_mechanism(mechanism).parameters(
        mechanism,
        {
            "gamma": None if gamma is None else check_gamma(gamma),
            "sampler": None if sampler is None else _choice(Sampler, sampler, "sampler"),
            "delta": delta,
        },
    )
    unit = _unit(person, rows_per_person)
    relation = _choice(Neighbors, neighbors, "neighbors")
    check_epsilon(epsilon)
    find_mechanism(mechanism).check(epsilon, float(parameters.get("delta", 0.0)))
    public, given = plan_bounds(bounds, lower, upper)
    scope = _BOUNDS_GIVEN if given else _BOUNDS_ASSUMED
    if not needs_bounds:
        if given:
            raise UsageError(f"the score {score} needs no bounds; leave them out")
        scope = _NO_BOUNDS_NEEDED
    return SelectPlan(
        wanted=Wanted(
            target,
            tuple(features),
            tuple(exclude),
            labels=positive is not None,
            person=person,
            declared=public.declared(target) if given else frozenset(),
            bounded=given,
        ),
        coding=TargetCoding(positive),
        bounds=public,
        k=k,
        guarantee=Guarantee(
            epsilon, relation, scope, unit, delta=float(parameters.get("delta", 0.0))
        ),
        score=score,
        mechanism=mechanism,
        parameters=parameters,
        seed=seed,
        input_format=(
            None if input_format is None else _choice(InputFormat, input_format, "input-format")
        ),
        separator=plan_separator(separator),
        threads=plan_threads(threads),
        demands=demands,
    )


def plan_bounds(
    bounds: str | Path | Mapping[str, Any] | None, lower: float | None, upper: float | None
) -> tuple[PublicBounds, bool]:
    """Return the bounds that were given, or [-1, 1], and whether any were given."""
    if bounds is not None:
        if lower is not None or upper is not None:
            raise UsageError("give either --bounds or --lower and --upper, not both")
        if isinstance(bounds, str | Path):
            return read_bounds(bounds), True
        return parse_bounds(bounds, "bounds"), True
    if lower is None and upper is None:
        return uniform_bounds(UNIT_INTERVAL), False
    if lower is None or upper is None:
        raise UsageError("--lower and --upper go together")
    return uniform_bounds(Interval(lower, upper)), True


def _unit(person: str | None, rows_per_person: int | None) -> Unit:
    """Return whom the guarantee protects."""
    if person is not None:
        return Unit("person", 1 if rows_per_person is None else rows_per_person)
    if rows_per_person is not None:
        raise UsageError("--rows-per-person needs --person COLUMN, to know whose row it is")
    return Unit()


def plan_separator(separator: str | None) -> str | None:
    """Return a separator that cannot be taken for anything else."""
    if separator is not None and (
        len(separator) != 1 or separator in '"\r\n\0' or not separator.isascii()
    ):
        raise UsageError(
            "separator must be a single ASCII character other than a quote or a line end"
        )
    return separator


def plan_threads(threads: int | None) -> int:
    """Return how many threads to use: as many as there are cores for this process."""
    if threads is not None:
        return check_at_least(1, threads, "threads")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _choice(kind: type[Choice], value: str, name: str) -> Choice:
    """Return one of the choices of an enum."""
    if value not in tuple(kind):
        raise UsageError(f"{name} must be one of {', '.join(kind)}, got {value}")
    return kind(value)
