"""Read and check a record in JSON. It may come from anyone, so nothing in it is trusted."""

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit
from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.system.process import reason, stdin_bytes

SCHEMAS = ("dpsel.selection/1", "dpsel.selection/2")
STDIN = "-"
_MOST_BYTES = 1 << 28
Kind = TypeVar("Kind")


@frozen
class Published:
    """A record of `select` or `baseline`; fields that version 1 lacks are None or empty."""

    fields: Mapping[str, Any]
    """The whole record, as read."""
    digest: str
    """The SHA-256 of the record's bytes."""
    features: tuple[str, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    """The features that are groups, each with its columns."""
    n_features: int
    score: str
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee | None
    no_guarantee_because: str | None
    version: str
    budget: tuple[tuple[str, float], ...]
    target: str | None
    positive: str | None
    classes: tuple[str, ...]
    among: tuple[str, ...]
    exclude: tuple[str, ...]
    row_ranks: bool
    method: str | None
    run_id: str | None
    day: str | None


def read_record(place: str) -> Published:
    """Read the record in a file, or on stdin.

    Raises:
        InputError: If it cannot be read, or is not a record.
    """
    name = "stdin" if place == STDIN else Path(place).name
    try:
        if place == STDIN:
            content = stdin_bytes().read(_MOST_BYTES + 1)
        else:
            with open(place, "rb") as file:
                content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"{name}: cannot be opened: {reason(error)}") from None
    except ValueError:
        raise InputError("this cannot be the name of a file") from None
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError("too large")
        return published(json.loads(content), hashlib.sha256(content).hexdigest())
    except (ValueError, KeyError, RecursionError, UsageError):
        raise InputError(
            f"{name}: is not a record of `dpsel select` or `dpsel baseline`, in JSON"
        ) from None


def published(fields: Any, digest: str) -> Published:
    """Check the fields of a record, and return it; unknown fields are ignored.

    Raises:
        ValueError, KeyError, UsageError: If the fields are not those of a record.
    """
    if not isinstance(fields, dict) or fields["schema"] not in SCHEMAS:
        raise ValueError("schema")
    mechanism = dict(_is(fields["mechanism"], dict))
    stated, because = fields["guarantee"], fields["no_guarantee_because"]
    if (stated is None) is (because is None):
        raise ValueError("a record promises something, or says why not")
    features = _texts(fields["selected_features"])
    if not features or _is(fields["k"], int) != len(features):
        raise ValueError("k")
    return Published(
        fields=fields,
        digest=digest,
        features=features,
        groups=tuple(
            (name, _texts(columns)) for name, columns in _is(fields.get("groups", {}), dict).items()
        ),
        n_features=_is(fields["n_features"], int),
        score=_is(fields["score"], str),
        mechanism=_is(mechanism.pop("name"), str),
        parameters=mechanism,
        guarantee=None if stated is None else _guarantee(_is(stated, dict)),
        no_guarantee_because=_text_or_none(because),
        version=_is(fields["version"], str),
        budget=tuple(_part(part) for part in _is(fields.get("budget", []), list)),
        target=_text_or_none(fields.get("target")),
        positive=_text_or_none(fields.get("positive")),
        classes=_texts(fields.get("classes", [])),
        among=_texts(fields.get("features", [])),
        exclude=_texts(fields.get("exclude", [])),
        row_ranks=_is(fields.get("row_ranks", False), bool),
        method=_text_or_none(fields.get("method")),
        run_id=_text_or_none(fields.get("run_id")),
        day=_day(fields.get("date")),
    )


def _day(value: Any) -> str | None:
    """Return a valid date, or None."""
    return None if value is None else date.fromisoformat(_is(value, str)).isoformat()


def _guarantee(stated: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that the record states."""
    return Guarantee(
        epsilon=_number(stated["epsilon"]),
        neighbors=Neighbors(stated["neighbors"]),
        scope=Scope(_is(stated["end_to_end"], bool), _is(stated["why"], str)),
        unit=Unit(_unit(stated["unit"]), _is(stated["rows_per_unit"], int)),
        delta=_number(stated["delta"]),
    )


def _unit(name: Any) -> str:
    """Return the unit that a guarantee protects."""
    if name not in ("row", "person"):
        raise ValueError("unit")
    return str(name)


def _part(part: Any) -> tuple[str, float]:
    """Return the name of a step and its part of epsilon."""
    step = _is(part, dict)
    return _is(step["name"], str), _number(step["epsilon"])


def _texts(values: Any) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(_is(value, str) for value in _is(values, list))


def _text_or_none(value: Any) -> str | None:
    """Return a text, or None."""
    return None if value is None else _is(value, str)


def _number(value: Any) -> float:
    """Return a number, as a float."""
    return float(value) if isinstance(value, int) else _is(value, float)


def _is(value: Any, kind: type[Kind]) -> Kind:
    """Return a value if it has this type; a boolean is not a whole number."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(kind.__name__)
    return value
