"""Read and check a record in JSON. It may come from anyone, so nothing in it is trusted."""

import hashlib
import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from dpsel.core.selection import Selection
from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.system.process import reason, stdin_bytes

SCHEMAS = ("dpsel.selection/1", "dpsel.selection/2")
STDIN = "-"
_MOST_BYTES = 1 << 28
Kind = TypeVar("Kind")


@frozen
class Published:
    """A record of `select` or `baseline`, as it was read."""

    selection: Selection
    fields: Mapping[str, Any]
    """The whole record."""
    digest: str
    """The SHA-256 of the record's bytes."""


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
    if (fields["guarantee"] is None) is (fields["no_guarantee_because"] is None):
        raise ValueError("a record promises something, or says why not")
    features = _texts(fields["selected_features"])
    if not features or _is(fields["k"], int) != len(features):
        raise ValueError("k")
    return Published(Selection.from_dict(_checked(fields)), fields, digest)


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that `Selection` reads, each of its type."""
    stated, mechanism = fields["guarantee"], _is(fields["mechanism"], dict)
    groups = _is(fields.get("groups", {}), dict)
    return {
        "selected_indices": _is(fields["selected_indices"], list),
        "selected_features": _texts(fields["selected_features"]),
        "groups": {name: _texts(columns) for name, columns in groups.items()},
        "k": _is(fields["k"], int),
        "n_features": _is(fields["n_features"], int),
        "score": _is(fields["score"], str),
        "mechanism": {**mechanism, "name": _is(mechanism["name"], str)},
        "guarantee": None if stated is None else _guarantee(_is(stated, dict)),
        "budget": [_part(part) for part in _is(fields.get("budget", []), list)],
        "no_guarantee_because": _text_or_none(fields["no_guarantee_because"]),
        "version": _is(fields["version"], str),
        **({} if fields.get("target") is None else _question(fields)),
    }


def _question(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question that a record of the second version answers."""
    lists = {name: _texts(fields.get(name, [])) for name in ("classes", "features", "exclude")}
    texts = ("target", "positive", "method", "run_id")
    return {
        **{name: _text_or_none(fields.get(name)) for name in texts},
        **lists,
        "row_ranks": _is(fields.get("row_ranks", False), bool),
        "date": _day(fields.get("date")),
    }


def _day(value: Any) -> str | None:
    """Return a valid date, or None."""
    return None if value is None else date.fromisoformat(_is(value, str)).isoformat()


def _guarantee(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Return the guarantee that the record states."""
    return {
        "epsilon": _number(stated["epsilon"]),
        "delta": _number(stated["delta"]),
        "neighbors": stated["neighbors"],
        "unit": _unit(stated["unit"]),
        "rows_per_unit": _is(stated["rows_per_unit"], int),
        "end_to_end": _is(stated["end_to_end"], bool),
        "why": _is(stated["why"], str),
    }


def _unit(name: Any) -> str:
    """Return the unit that a guarantee protects."""
    if name not in ("row", "person"):
        raise ValueError("unit")
    return str(name)


def _part(part: Any) -> dict[str, Any]:
    """Return the name of a step and its part of epsilon."""
    step = _is(part, dict)
    return {"name": _is(step["name"], str), "epsilon": _number(step["epsilon"])}


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
