"""What a run of `select` will do, checked before any file is opened."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from dpsel.budget.account import SEEDED, Order
from dpsel.budget.place import Demands
from dpsel.core.bounds import UNIT_INTERVAL, Interval
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit, check_at_least, check_epsilon
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.lipschitz import check_gamma
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.scores.registry import find_score
from dpsel.errors import UsageError
from dpsel.system.workers import plan_threads
from dpsel.tables.bounds_file import PublicBounds, parse_bounds, read_bounds, uniform_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import InputFormat
from dpsel.tables.labels import TargetCoding
from dpsel.tables.sources import STDIN, has_scheme, public_place

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
class Request:
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


def make_request(
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
) -> Request:
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
    return Request(
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


def _choice(kind: type[Choice], value: str, name: str) -> Choice:
    """Return one of the choices of an enum."""
    if value not in tuple(kind):
        raise UsageError(f"{name} must be one of {', '.join(kind)}, got {value}")
    return kind(value)


_LONG = 300


def select_order(table: Any, plan: Request) -> Order:
    """Return what a run of `select` asks for; the table is named, and not looked at."""
    return Order(
        "select",
        plan.guarantee,
        plan.wanted.person,
        public_parameters(table, plan),
        not_private=None if plan.seed is None else SEEDED,
        demands=plan.demands,
    )


def public_parameters(table: Any, plan: Request, **more: Any) -> dict[str, Any]:
    """Return what decides which release a plan leads to, and no more: not the number of threads."""
    guarantee, wanted = plan.guarantee, plan.wanted
    found = {
        "table": _table_name(table),
        "target": wanted.target,
        "k": int(plan.k),
        "score": plan.score,
        "mechanism": plan.mechanism,
        **plan.parameters,
        "features": wanted.features,
        "exclude": wanted.exclude,
        "positive": plan.coding.positive,
        "bounds": plan.bounds.to_dict(),
        "scope": guarantee.scope.why,
        "input-format": plan.input_format,
        "separator": plan.separator,
        **more,
    }
    return {name: _short(value) for name, value in found.items()}


def _table_name(table: Any) -> str:
    """Return a table's full path, or what it is if it has none."""
    if not isinstance(table, str | Path):
        return "a frame"
    if has_scheme(str(table)):
        return public_place(str(table))
    return "stdin" if str(table) == STDIN else os.path.abspath(table)


def _short(value: Any) -> Any:
    """Return a value as JSON would return it, or the digest of a long one."""
    text = json.dumps(value, default=str)
    if len(text) > _LONG:
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return json.loads(text)
