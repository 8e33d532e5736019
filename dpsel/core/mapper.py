"""Work on many items: the core says what is done, its caller how many at a time."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Mapper(Protocol):
    """A `map` that may work on items side by side: see `dpsel.system.threads.Threads`."""

    at_once: int
    """On how many items it works at a time, if it may."""

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], most: int
    ) -> Iterator[Result]:
        """Yield `work(item)` in the order of the items; at most so many are begun at a time."""
        ...


class InTurn:
    """One item after the other."""

    at_once = 1

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], most: int
    ) -> Iterator[Result]:
        """Yield `work(item)` for every item."""
        return map(work, items)


IN_TURN = InTurn()
