"""What a guarantee promises: epsilon and delta, for which neighbors, which unit and which steps."""

import math
from enum import StrEnum
from typing import TypeVar

from dpsel.errors import UsageError
from dpsel.records import frozen

Choice = TypeVar("Choice", bound=StrEnum)


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a positive, finite number."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise UsageError(f"epsilon must be a positive, finite number, got {epsilon:g}")


def check_delta(delta: float) -> None:
    """Refuse a delta that is not between 0 and 1."""
    if not 0.0 <= delta < 1.0:
        raise UsageError(f"delta must be 0 or more and below 1, got {delta:g}")


def check_choice(kind: type[Choice], value: str, name: str) -> Choice:
    """Return the member of an enum with this value, or refuse it."""
    if value not in tuple(kind):
        raise UsageError(f"{name} must be one of {', '.join(kind)}, got {value}")
    return kind(value)


def check_at_least(least: int, number: int, name: str) -> int:
    """Return the number, or refuse it if it is below `least`."""
    if number < least:
        raise UsageError(f"{name} must be {least} or more, got {number}")
    return number


def check_k(k: int, d: int) -> None:
    """Refuse a k that does not fit the number of features."""
    if not 1 <= k <= d:
        raise UsageError(f"k must be between 1 and {d}, the number of features, got {k}")


MOST_ROWS = (1 << 31) - 1
"""The most rows a table may have: sums of bounded products then fit in 64 bits."""


class Neighbors(StrEnum):
    """Which tables count as neighbors: they differ by one unit, a row or a person."""

    ADD_REMOVE = "add-remove"
    """One unit is present or absent; the number of rows is private."""

    REPLACE_ONE = "replace-one"
    """One unit has other values; the number of rows is public."""


@frozen
class Unit:
    """Whom the guarantee protects: a row, or a person with at most `rows` rows."""

    name: str = "row"
    rows: int = 1

    def __post_init__(self) -> None:
        """Refuse a number of rows per person that is out of range."""
        check_at_least(1, self.rows, "rows-per-person")
        if self.rows > MOST_ROWS:
            raise UsageError(f"rows-per-person must be at most {MOST_ROWS}, got {self.rows}")


def rows_changed(neighbors: Neighbors, unit: Unit) -> int:
    """Return how many rows are added or removed between neighbors; a replacement is both."""
    return unit.rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1)


def rows_are_public(neighbors: Neighbors, unit: Unit) -> bool:
    """Return whether all neighbors have the same number of rows, which is then public.

    Not if persons are replaced: the other person may have fewer or more rows.
    """
    return neighbors is Neighbors.REPLACE_ONE and unit == Unit()


@frozen
class Scope:
    """Which steps the guarantee covers, and why."""

    end_to_end: bool
    why: str


@frozen
class Guarantee:
    """Differential privacy of one release.

    For neighboring tables D and D' and every set O of outcomes,
    P(release(D) in O) <= exp(epsilon) P(release(D') in O) + delta.
    """

    epsilon: float
    neighbors: Neighbors
    scope: Scope
    unit: Unit = Unit()
    delta: float = 0.0

    def __post_init__(self) -> None:
        """Refuse an epsilon or a delta that is out of range."""
        check_epsilon(self.epsilon)
        check_delta(self.delta)
