"""A score vector with its sensitivity, and what every score has to offer."""

import math
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from dpsel.core.arrays import FloatArray, NumberArray
from dpsel.core.batch import Batch
from dpsel.core.mapper import Mapper
from dpsel.core.matrix import TiledMatrix
from dpsel.errors import UsageError
from dpsel.records import frozen


@frozen
class Scores:
    """One score for every feature, and how far one unit can move any of them.

    Values and sensitivity are in the same unit, whatever it is. Integer values are
    exact, and so are their differences. The values are private: they stay off `repr`.
    """

    values: NumberArray = field(repr=False)
    sensitivity: float

    def __post_init__(self) -> None:
        """Refuse what no mechanism could use."""
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
    """A score of a table that comes in batches: each is reduced to a part, and parts add up."""

    def part(self, batch: Batch) -> Any:
        """Return what one batch contributes. Threads may call it."""
        ...

    def add(self, part: Any) -> None:
        """Add a part to the total; parts come in the order of their batches."""
        ...

    def scores(self) -> Scores:
        """Return the scores of all that was added."""
        ...


@runtime_checkable
class TotalingScore(Score, Protocol):
    """A score whose total so far can be sent away, and added to another score like a part.

    Totals add up to the same scores bit by bit, in any order and over any tree of sums.
    """

    def total(self, first_feature: int = 0) -> Any:
        """Return all that was added as one part, which can be pickled and is private.

        `first_feature` is the place that the score's own first feature has in the whole table.
        """
        ...


@runtime_checkable
class WorksAtTheEnd(Protocol):
    """A score that does its work once all is added: whoever asks for it says with how many threads.

    Nobody else knows how many other processes, and threads of this one, are at work.
    """

    def work_with(self, mapper: Mapper) -> None:
        """Work on items by `mapper` from now on; in turn, if nothing is said."""
        ...


@runtime_checkable
class KeepsRows(Protocol):
    """A score that needs all rows at once, and can do with rows on a disk."""

    def keep_in(self, matrix: TiledMatrix) -> None:
        """Add the rows to `matrix`, which has none yet."""
        ...

    def take(self, matrix: TiledMatrix, y: FloatArray) -> None:
        """Score a matrix that has all its rows, instead of batches."""
        ...
