"""Work on many pieces: the core says what is done, its caller how many at a time."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class Mapper(Protocol):
    """A `map` that may work on pieces side by side: see `dpsel.system.workers.Threads`."""

    at_once: int
    """On how many pieces it works at a time, if it may."""

    def map(
        self, work: Callable[[Piece], Result], pieces: Iterable[Piece], most: int
    ) -> Iterator[Result]:
        """Yield `work(piece)` in the order of the pieces; at most so many are begun at a time."""
        ...


class InTurn:
    """One piece after the other."""

    at_once = 1

    def map(
        self, work: Callable[[Piece], Result], pieces: Iterable[Piece], most: int
    ) -> Iterator[Result]:
        """Yield `work(piece)` for every piece."""
        return map(work, pieces)


IN_TURN = InTurn()
