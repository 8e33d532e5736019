"""What all importers share: they turn values of other formats into checked facts."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpsel.core.bounds import Interval
from dpsel.dictionary.facts import ColumnFacts, ColumnKind, Dictionary
from dpsel.errors import InputError, UsageError
from dpsel.records import frozen

TRUTH = ("false", "true")
"""The categories of a boolean column."""


@frozen
class Imported:
    """A dictionary from another format, with notes for the user."""

    dictionary: Dictionary
    notes: tuple[str, ...] = ()


def dictionary_from(
    label: str, columns: Iterable[tuple[str, ColumnFacts]], person: str | None = None
) -> Dictionary:
    """Make a dictionary from columns; refuse repeated names, and an empty list."""
    by_name: dict[str, ColumnFacts] = {}
    for name, facts in columns:
        if name in by_name:
            raise InputError(f"{label}: column '{name}' is there twice")
        by_name[name] = facts
    if not by_name:
        raise InputError(f"{label}: describes no column")
    return Dictionary(label, by_name, None, person)


def range_of(lower: Any, upper: Any) -> Interval | None:
    """Return a range if both ends are numbers, the smaller one first; else None."""
    ends = (number(lower), number(upper))
    if ends[0] is None or ends[1] is None:
        return None
    try:
        return Interval(ends[0], ends[1])
    except UsageError:
        return None


def number(value: Any) -> float | None:
    """Return a number, or the number in a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def categories_of(values: Any) -> tuple[str, ...] | None:
    """Return labels as texts without repetitions; None if there are none."""
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
    """Make facts that fit together: a range only for numbers, categories only for labels."""
    if categories is not None and kind in (None, ColumnKind.NUMBER, ColumnKind.TEXT):
        kind = ColumnKind.CATEGORY
    return ColumnFacts(
        kind,
        interval if kind is ColumnKind.NUMBER else None,
        categories if kind is ColumnKind.CATEGORY else None,
        note=" ".join(note.split()) if isinstance(note, str) and note.strip() else None,
    )


def table_in(value: Any, label: str, what: str) -> Mapping[str, Any]:
    """Return a mapping; refuse any other value."""
    if not isinstance(value, Mapping):
        raise InputError(f"{label}: {what} must hold names and values")
    return value


def rows_note(rows: Any) -> tuple[str, ...]:
    """Return a note on the rows per person, which a dictionary cannot state."""
    most = number(rows)
    if most is None or most < 1:
        return ()
    return (f"at most {most:g} rows a person: give --rows-per-person {most:g}",)
