"""The records of a dictionary: public facts about columns, the target, persons and groups."""

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
    """Public facts about a column, or about all columns that match a glob."""

    kind: ColumnKind | None = None
    range: Interval | None = None
    categories: tuple[str, ...] | None = None
    unit: str | None = None
    note: str | None = None

    @property
    def interval(self) -> Interval | None:
        """Return the stated range, or that of two categories that are numbers.

        Two codes such as 0 and 1 can be treated as numbers, since no order of them is wrong.
        """
        if self.range is not None or len(self.categories or ()) != 2:
            return self.range
        try:
            return Interval(*sorted(float(normal_label(c) or "nan") for c in self.categories or ()))
        except (ValueError, UsageError):
            return None

    def to_dict(self) -> dict[str, Any]:
        """Return the stated facts, in the shape of a TOML file."""
        facts = {
            "kind": None if self.kind is None else str(self.kind),
            "range": _ends(self.range),
            "categories": None if self.categories is None else list(self.categories),
            "unit": self.unit,
            "note": self.note,
        }
        return {name: value for name, value in facts.items() if value is not None}


FACTS = tuple(one.name for one in fields(ColumnFacts))
"""The facts that a file can state about a column, in the order in which they are written."""


@frozen
class TargetColumn:
    """Public facts about the target."""

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
        """Return the stated facts, in the shape of a TOML file."""
        facts = {
            "column": self.column,
            "classes": None if self.classes is None else list(self.classes),
            "positive": self.positive,
            "share": self.share,
            "range": _ends(self.range),
            "center": self.center,
        }
        return {name: value for name, value in facts.items() if value is not None}


TARGET_FACTS = tuple(one.name for one in fields(TargetColumn))
"""The facts that a file can state about the target."""


@frozen
class Dictionary:
    """Public facts about a table. Keys of `columns` and members of groups are names or globs."""

    label: str
    """Its name in messages."""
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)
    target: TargetColumn | None = None
    person: str | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def has_ranges(self) -> bool:
        """Return whether any column or the target has a range."""
        stated = any(facts.range is not None for facts in self.columns.values())
        return stated or (self.target is not None and self.target.range is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return all facts, in the shape of a TOML file."""
        content: dict[str, Any] = {}
        if self.person is not None:
            content["person"] = self.person
        if self.target is not None:
            content["target"] = self.target.to_dict()
        if self.groups:
            content["groups"] = {
                name: {"columns": list(members)} for name, members in self.groups.items()
            }
        content["columns"] = {name: facts.to_dict() for name, facts in self.columns.items()}
        return content


def _ends(interval: Interval | None) -> list[float] | None:
    """Return the two ends of a range; whole numbers as integers."""
    return None if interval is None else [_plain(interval.lower), _plain(interval.upper)]


def _plain(number: float) -> float:
    """Return a number as people write it: 120, not 120.0."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
