"""How often each outcome was drawn from two neighboring inputs."""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from dpsel.core.arrays import IntArray

Outcome = Hashable
Place = tuple[int, int]
"""Which of the two inputs, and which part of the draws."""

PARTS = 4
"""The first part of the draws ranks outcomes, the second says how many make a set, and the others
test it."""


@dataclass(frozen=True)
class Tally:
    """Counts of outcomes by input (axis 0), part (axis 1) and outcome (axis 2)."""

    outcomes: tuple[Outcome, ...]
    counts: IntArray

    @staticmethod
    def of(counters: Mapping[Place, Counter[Outcome]]) -> "Tally":
        """Return the counts of outcomes, in an order that depends on nothing but them."""
        seen = sorted({outcome for counter in counters.values() for outcome in counter}, key=repr)
        counts = np.zeros((2, PARTS, len(seen)), dtype=np.int64)
        for (which, part), counter in counters.items():
            counts[which, part] += np.array([counter[outcome] for outcome in seen])
        return Tally(tuple(seen), counts)

    @property
    def whole(self) -> IntArray:
        """Return the counts of all draws, by input and outcome."""
        return np.asarray(self.counts.sum(axis=1))
