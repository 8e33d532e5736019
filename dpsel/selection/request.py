"""Every public choice of one run of `select`, checked before anything is opened."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from dpsel.budget.account import SEEDED, Run
from dpsel.core.bounds import UNIT_INTERVAL, Interval
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit, check_at_least, check_epsilon
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.lipschitz import check_gamma
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.scores.registry import find_score
from dpsel.errors import UsageError
from dpsel.selection.options import Bounding, Columns, Drawing, Privacy, Scoring
from dpsel.system.workers import plan_threads
from dpsel.tables.bounds_file import PublicBounds, parse_bounds, read_bounds, uniform_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import Reading
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
    """Every public choice of one run, checked before anything is opened."""

    wanted: Wanted
    coding: TargetCoding
    bounds: PublicBounds
    k: int
    guarantee: Guarantee
    score: str
    mechanism: str
    parameters: Mapping[str, Any]
    seed: int | None
    reading: Reading
    threads: int


def make_request(
    columns: Columns,
    bounding: Bounding,
    privacy: Privacy,
    scoring: Scoring,
    drawing: Drawing,
    reading: Reading,
) -> Request:
    """Check everything that can be checked without the table."""
    check_at_least(1, privacy.k, "k")
    kind = find_score(scoring.score)
    if privacy.seed is not None:
        check_at_least(0, privacy.seed, "seed")
    parameters = _parameters(drawing, privacy.epsilon)
    public, given = public_bounds(bounding)
    if given and not kind.needs_bounds:
        raise UsageError(f"the score {scoring.score} needs no bounds; leave them out")
    scope = _NO_BOUNDS_NEEDED if not kind.needs_bounds else _scope_of_bounds(given)
    return Request(
        wanted=Wanted(
            columns.target,
            columns.features,
            columns.exclude,
            labels=columns.positive is not None,
            person=privacy.person,
            declared=public.declared(columns.target) if given else frozenset(),
            bounded=given,
        ),
        coding=TargetCoding(columns.positive),
        bounds=public,
        k=privacy.k,
        guarantee=Guarantee(
            privacy.epsilon,
            _choice(Neighbors, privacy.neighbors, "neighbors"),
            scope,
            _unit(privacy),
            delta=float(parameters.get("delta", 0.0)),
        ),
        score=scoring.score,
        mechanism=drawing.mechanism,
        parameters=parameters,
        seed=privacy.seed,
        reading=reading,
        threads=plan_threads(reading.threads),
    )


def public_bounds(bounding: Bounding) -> tuple[PublicBounds, bool]:
    """Return the bounds that were given, or [-1, 1], and whether any were given."""
    bounds, lower, upper = bounding.bounds, bounding.lower, bounding.upper
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


def _scope_of_bounds(given: bool) -> Scope:
    """Return what a guarantee covers for a score that needs bounds."""
    return _BOUNDS_GIVEN if given else _BOUNDS_ASSUMED


def _parameters(drawing: Drawing, epsilon: float) -> dict[str, Any]:
    """Return the parameters of a mechanism, which can keep this epsilon."""
    found = find_mechanism(drawing.mechanism)
    sampler = drawing.sampler
    given = {
        "gamma": None if drawing.gamma is None else check_gamma(drawing.gamma),
        "sampler": None if sampler is None else _choice(Sampler, sampler, "sampler"),
        "delta": drawing.delta,
    }
    parameters = found.parameters(drawing.mechanism, given)
    check_epsilon(epsilon)
    found.check(epsilon, float(parameters.get("delta", 0.0)))
    return parameters


def _unit(privacy: Privacy) -> Unit:
    """Return whom the guarantee protects."""
    if privacy.person is not None:
        return Unit("person", 1 if privacy.rows_per_person is None else privacy.rows_per_person)
    if privacy.rows_per_person is not None:
        raise UsageError("--rows-per-person needs --person COLUMN, to know whose row it is")
    return Unit()


def _choice(kind: type[Choice], value: str, name: str) -> Choice:
    """Return one of the choices of an enum."""
    if value not in tuple(kind):
        raise UsageError(f"{name} must be one of {', '.join(kind)}, got {value}")
    return kind(value)


_LONG = 300


def select_run(table: Any, request: Request) -> Run:
    """Return what a run of `select` asks of a ledger; the table is named, and not looked at."""
    return Run(
        "select",
        request.guarantee,
        request.wanted.person,
        public_parameters(table, request),
        not_private=None if request.seed is None else SEEDED,
    )


def public_parameters(table: Any, request: Request, **more: Any) -> dict[str, Any]:
    """Return what decides which release a request leads to; so not the number of threads."""
    guarantee, wanted = request.guarantee, request.wanted
    found = {
        "table": _table_name(table),
        "target": wanted.target,
        "k": int(request.k),
        "score": request.score,
        "mechanism": request.mechanism,
        **request.parameters,
        "features": wanted.features,
        "exclude": wanted.exclude,
        "positive": request.coding.positive,
        "bounds": request.bounds.to_dict(),
        "scope": guarantee.scope.why,
        "input-format": request.reading.input_format,
        "separator": request.reading.separator,
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
