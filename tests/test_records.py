"""Records are frozen dataclasses: whatever these do, they do, each compared with the real one."""

import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from dpsel.records import frozen

PACKAGE = Path(__file__).parents[1] / "dpsel"


@frozen
class Point:
    """A record with a field of every kind."""

    x: int
    y: float = field(default=0.5, repr=False)
    notes: list[str] = field(default_factory=list, compare=False)

    @cached_property
    def total(self) -> float:
        """What is found once."""
        return self.x + self.y


@frozen(kw_only=True)
class Named(Point):
    """A record with the fields of another."""

    name: str = "p"


@dataclass(frozen=True)
class PlainPoint:
    """The same as Point, by dataclass."""

    x: int
    y: float = field(default=0.5, repr=False)
    notes: list[str] = field(default_factory=list, compare=False)


@dataclass(frozen=True, kw_only=True)
class PlainNamed(PlainPoint):
    """The same as Named, by dataclass."""

    name: str = "p"


@pytest.mark.parametrize(("ours", "plain"), [(Point, PlainPoint), (Named, PlainNamed)])
def test_records_are_made_shown_and_changed_like_frozen_dataclasses(ours: Any, plain: Any) -> None:
    assert str(signature(ours)) == str(signature(plain))
    assert repr(ours(1, 2.5)) == repr(plain(1, 2.5)).replace("Plain", "")
    assert [about.name for about in fields(ours)] == [about.name for about in fields(plain)]
    changed = replace(ours(1), y=3.0)
    assert asdict(changed) == asdict(replace(plain(1), y=3.0))
    assert pickle.loads(pickle.dumps(changed)) == changed


@pytest.mark.parametrize(("ours", "plain"), [(Point, PlainPoint), (Named, PlainNamed)])
def test_records_are_equal_when_frozen_dataclasses_are(ours: Any, plain: Any) -> None:
    nan = float("nan")
    values = [(1,), (1, 0.5), (1, 0.5, ["note"]), (2,), (1, nan), (1, float("nan"))]
    for first in values:
        for second in values:
            assert (ours(*first) == ours(*second)) is (plain(*first) == plain(*second))
        assert hash(ours(*first)) == hash(plain(*first))
    assert Point(1) != Named(1)


@pytest.mark.parametrize("kind", [Point, Named, PlainPoint, PlainNamed])
def test_nothing_of_a_record_changes(kind: Any) -> None:
    point = kind(1)
    for name in ("x", "y", "notes", "total", "unheard_of"):
        with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
            setattr(point, name, 2)
        with pytest.raises(FrozenInstanceError, match=f"cannot delete field '{name}'"):
            delattr(point, name)
    assert point == kind(1)
    assert kind(1).notes is not kind(1).notes


def test_what_a_record_finds_once_is_not_found_again() -> None:
    point = Point(1)
    assert point.total == 1.5
    assert vars(point)["total"] == 1.5


def test_a_record_keeps_methods_of_its_own() -> None:
    @frozen
    class Loud:
        x: int

        def __repr__(self) -> str:
            return "loud"

    assert repr(Loud(1)) == "loud"


def test_all_records_of_the_package_are_made_so() -> None:
    sources = {path.name for path in PACKAGE.rglob("*.py") if "(frozen=True" in path.read_text()}
    assert sources == {"records.py"}
