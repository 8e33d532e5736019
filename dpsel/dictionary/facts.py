"""What a dictionary says: public facts about columns, the target, persons and groups of columns."""

from collections.abc import Mapping
from dataclasses import field, fields
from enum import StrEnum
from typing import Any

from dpsel.core.bounds import Interval
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.tables.labels import normal_label


class ColumnKind(StrEnum):
    """What a column holds."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    ID = "id"
    TEXT = "text"
    IGNORE = "ignore"

    @property
    def is_feature(self) -> bool:
        """Return whether such a column may be a feature."""
        return self not in (ColumnKind.ID, ColumnKind.IGNORE)


@frozen
class ColumnFacts:
    """What is publicly known of a column, or of all columns that a glob stands for."""

    kind: ColumnKind | None = None
    range: Interval | None = None
    categories: tuple[str, ...] | None = None
    unit: str | None = None
    note: str | None = None

    @property
    def interval(self) -> Interval | None:
        """Return the range of numbers, stated, or that of two categories that are numbers.

        Two codes such as 0 and 1 have no order that could be wrong.
        """
        if self.range is not None or len(self.categories or ()) != 2:
            return self.range
        try:
            return Interval(*sorted(float(normal_label(c) or "nan") for c in self.categories or ()))
        except (ValueError, UsageError):
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that are stated, in the shape of a file."""
        found = {
            "kind": None if self.kind is None else str(self.kind),
            "range": _ends(self.range),
            "categories": None if self.categories is None else list(self.categories),
            "unit": self.unit,
            "note": self.note,
        }
        return {name: value for name, value in found.items() if value is not None}


FACTS = tuple(one.name for one in fields(ColumnFacts))
"""What a file may say of a column, in the order it is written."""


@frozen
class TargetColumn:
    """What is publicly known of a column as the target."""

    column: str
    classes: tuple[str, ...] | None = None
    positive: str | None = None
    share: float | None = None
    range: Interval | None = None
    center: float | None = None

    @property
    def label(self) -> str | None:
        """Return the label that counts 1: the named one, or the last of two classes."""
        if self.positive is not None or self.classes is None or len(self.classes) != 2:
            return self.positive
        return self.classes[-1]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts that are stated, in the shape of a file."""
        found = {
            "column": self.column,
            "classes": None if self.classes is None else list(self.classes),
            "positive": self.positive,
            "share": self.share,
            "range": _ends(self.range),
            "center": self.center,
        }
        return {name: value for name, value in found.items() if value is not None}


TARGET_FACTS = tuple(one.name for one in fields(TargetColumn))
"""The same of the target."""


@frozen
class Dictionary:
    """Public facts about a table. Keys of `columns` and members of groups are names or globs."""

    label: str
    """What messages call it."""
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)
    target: TargetColumn | None = None
    person: str | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_ranges(self) -> bool:
        """Return whether any column has a range."""
        stated = any(facts.range is not None for facts in self.columns.values())
        return stated or (self.target is not None and self.target.range is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return all facts in the shape of a file."""
        found: dict[str, Any] = {}
        if self.person is not None:
            found["person"] = self.person
        if self.target is not None:
            found["target"] = self.target.to_dict()
        if self.groups:
            found["groups"] = {
                name: {"columns": list(members)} for name, members in self.groups.items()
            }
        found["columns"] = {name: facts.to_dict() for name, facts in self.columns.items()}
        return found


def _ends(interval: Interval | None) -> list[float] | None:
    """Return the two ends of a range, whole numbers as such."""
    return None if interval is None else [_plain(interval.lower), _plain(interval.upper)]


def _plain(number: float) -> float:
    """Return a number that is written as people do: 120, not 120.0."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
