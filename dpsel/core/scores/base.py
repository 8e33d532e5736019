"""Scores with their sensitivity, the methods that a score must have, and those that it may have."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from dpsel.core.arrays import FloatArray, NumberArray
from dpsel.core.batch import Batch
from dpsel.core.matrix import TiledMatrix
from dpsel.errors import UsageError
from dpsel.records import frozen

Item = TypeVar("Item")
Result = TypeVar("Result")


@frozen
class Scores:
    """One score for every feature, and how far one unit can move any of them.

    Values and sensitivity are in the same unit, whatever it is. Integer values are exact, and so
    are their differences. The values are private, so they are not in `repr`.
    """

    values: NumberArray = field(repr=False)
    sensitivity: float

    def __post_init__(self) -> None:
        """Refuse values and sensitivities that no mechanism can use."""
        if self.values.ndim != 1 or self.values.dtype not in (np.int64, np.float64):
            raise UsageError("scores must be a one-dimensional array of numbers")
        if not (math.isfinite(self.sensitivity) and self.sensitivity > 0):
            raise UsageError(
                f"sensitivity must be a positive, finite number, got {self.sensitivity:g}"
            )
        if not np.isfinite(self.values).all():
            raise UsageError("scores must be finite numbers")

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.values)


class Score(Protocol):
    """A score of a table in batches: each batch is reduced to a partial, and partials add up."""

    def part(self, batch: Batch) -> Any:
        """Return the partial of one batch. Threads may call this."""
        ...

    def add(self, part: Any) -> None:
        """Add a partial to the total; partials come in the order of their batches."""
        ...

    def scores(self) -> Scores:
        """Return the scores of everything that was added."""
        ...


@runtime_checkable
class TotalingScore(Score, Protocol):
    """A score whose total can be sent to another process, and is a partial of a score there.

    Totals add up to bitwise equal scores, in any order and over any tree of sums.
    """

    def total(self, first_feature: int = 0) -> Any:
        """Return everything that was added as one partial, which can be pickled. Private.

        `first_feature` is the index in the whole table of the score's own first feature.
        """
        ...


class Mapper(Protocol):
    """A `map` that may work on several items at a time, such as `dpsel.system.threads.Threads`.

    The core says what to do with each item, and its caller provides the threads.
    """

    at_once: int
    """The number of items it works on at a time, if `most` allows."""

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], most: int
    ) -> Iterator[Result]:
        """Yield `work(item)` in the order of the items, with at most `most` in progress."""
        ...


class InTurn:
    """A mapper that works on one item after the other."""

    at_once = 1

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], most: int
    ) -> Iterator[Result]:
        """Yield `work(item)` for every item."""
        return map(work, items)


IN_TURN = InTurn()


@runtime_checkable
class WorksAtTheEnd(Protocol):
    """A score that does its work once everything is added, on threads that the caller provides.

    Only the caller knows how many other processes and threads are at work.
    """

    def work_with(self, mapper: Mapper) -> None:
        """Use `mapper` from now on; without this call, work on one item after the other."""
        ...


@runtime_checkable
class KeepsRows(Protocol):
    """A score that needs all rows at once, and can work with rows on disk."""

    def keep_in(self, matrix: TiledMatrix) -> None:
        """Add all rows to `matrix`, which has none yet."""
        ...

    def take(self, matrix: TiledMatrix, y: FloatArray) -> None:
        """Score a matrix that already has all rows, instead of batches."""
        ...
