"""What readers of other formats have in common: facts, checked as those of a TOML file are."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpsel.core.bounds import Interval
from dpsel.dictionary.facts import ColumnFacts, ColumnKind, Dictionary
from dpsel.errors import InputError, UsageError
from dpsel.records import frozen

TRUTH = ("false", "true")
"""The categories of a column of truth values."""


@frozen
class Imported:
    """A dictionary from another format, and what should be known about it."""

    dictionary: Dictionary
    notes: tuple[str, ...] = ()


def dictionary_from(
    label: str, columns: Iterable[tuple[str, ColumnFacts]], person: str | None = None
) -> Dictionary:
    """Return a dictionary of columns, whose names must differ."""
    found: dict[str, ColumnFacts] = {}
    for name, facts in columns:
        if name in found:
            raise InputError(f"{label}: column '{name}' is there twice")
        found[name] = facts
    if not found:
        raise InputError(f"{label}: describes no column")
    return Dictionary(label, found, None, person)


def range_of(lower: Any, upper: Any) -> Interval | None:
    """Return a range from two ends, if both are numbers, the smaller one first."""
    ends = (number(lower), number(upper))
    if ends[0] is None or ends[1] is None:
        return None
    try:
        return Interval(ends[0], ends[1])
    except UsageError:
        return None


def number(value: Any) -> float | None:
    """Return a number, also from its text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def categories_of(values: Any) -> tuple[str, ...] | None:
    """Return labels as texts, each once; None if there are none."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        return None
    texts = [json.dumps(v) if isinstance(v, bool) else str(v).strip() for v in values]
    return tuple(dict.fromkeys(filter(None, texts))) or None


def facts_of(
    kind: ColumnKind | None,
    interval: Interval | None = None,
    categories: tuple[str, ...] | None = None,
    note: Any = None,
) -> ColumnFacts:
    """Return facts that go together: a range with numbers, categories with labels."""
    if categories is not None and kind in (None, ColumnKind.NUMBER, ColumnKind.TEXT):
        kind = ColumnKind.CATEGORY
    return ColumnFacts(
        kind,
        interval if kind is ColumnKind.NUMBER else None,
        categories if kind is ColumnKind.CATEGORY else None,
        note=" ".join(note.split()) if isinstance(note, str) and note.strip() else None,
    )


def table_in(value: Any, label: str, what: str) -> Mapping[str, Any]:
    """Return a mapping, or refuse what is none."""
    if not isinstance(value, Mapping):
        raise InputError(f"{label}: {what} must hold names and values")
    return value


def rows_note(rows: Any) -> tuple[str, ...]:
    """Return how to say at most how many rows a person has, which no dictionary says."""
    most = number(rows)
    if most is None or most < 1:
        return ()
    return (f"at most {most:g} rows a person: give --rows-per-person {most:g}",)
