"""Neighboring score vectors that show much of a mechanism's loss.

All scores are in units of their sensitivity, so between neighbors none changes by more than 1.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dpsel.core.audit.exact_law import Law
from dpsel.core.audit.intervals import expected_bound
from dpsel.core.errors import UsageError

LawOf = Callable[[Sequence[float]], Law | None]
"""From scores to the chances of all subsets; None where they are not known."""

MOST_SUBSETS = 500
"""Up to here laws can be tried out by the hundreds."""


@dataclass(frozen=True)
class ScorePair:
    """Scores, and by how much each of them is different for the neighbor."""

    name: str
    scores: tuple[float, ...]
    change: tuple[float, ...]

    @property
    def neighbor(self) -> tuple[float, ...]:
        """Return the scores of the neighbor."""
        return tuple(x + change for x, change in zip(self.scores, self.change, strict=True))

    def laws(self, law_of: LawOf) -> tuple[Law, Law] | None:
        """Return the laws of both, if they are known."""
        law, other = law_of(self.scores), law_of(self.neighbor)
        return None if law is None or other is None else (law, other)


BUILT_IN = ScorePair(
    "built-in", (2.2585, 4.0, 4.0, 0.1692, 0.0, 4.0), (-1.0, -1.0, -1.0, 1.0, 1.0, 1.0)
)
"""For d = 6 and k = 3. Here the printed algorithm's loss is 1.715 at epsilon 1."""


def given_pair(scores: Sequence[float], change: Sequence[float]) -> ScorePair:
    """Return a pair that a user made up."""
    if len(scores) != len(change):
        raise UsageError(
            f"--scores and --change must have as many numbers, got {len(scores)} and {len(change)}"
        )
    if not all(map(math.isfinite, (*scores, *change))):
        raise UsageError("--scores and --change must be finite numbers")
    if any(abs(number) > 1.0 for number in change):
        raise UsageError("--change must be between -1 and 1: scores are in units of sensitivity")
    return ScorePair("given", tuple(scores), tuple(change))


def two_levels(d: int, k: int, rising: tuple[int, int], height: float) -> ScorePair:
    """Return k equal scores above d - k equal ones, of which some rise and the others fall."""
    high, low = rising
    scores = (height,) * k + (0.0,) * (d - k)
    change = (1.0,) * high + (-1.0,) * (k - high) + (1.0,) * low + (-1.0,) * (d - k - low)
    return ScorePair("two-levels", scores, change)


def all_two_levels(d: int, k: int, epsilon: float) -> Iterator[ScorePair]:
    """Yield the pairs of two levels: between them they come near the worst of every mechanism."""
    heights = sorted({0.0, 1.0, 2.0, 4.0, 2.0 / epsilon, 8.0 / epsilon})
    for high, low, height in itertools.product(range(k + 1), range(d - k + 1), heights):
        yield two_levels(d, k, (high, low), height)


def default_pair(
    law_of: LawOf, d: int, k: int, epsilon: float, *, draws: int, delta: float, alpha: float
) -> ScorePair:
    """Return the built-in pair, or the two levels that so many draws would show most of.

    Where laws are not known, or are too many, it is the one that is worst for canonical-lipschitz:
    all but one of the high scores rise, and of the low ones only one does.
    """
    if (d, k) == (len(BUILT_IN.scores), 3):
        return BUILT_IN
    fallback = two_levels(d, k, (k - 1, min(1, d - k)), 2.0)
    if math.comb(d, k) > MOST_SUBSETS or fallback.laws(law_of) is None:
        return fallback

    def shown(pair: ScorePair) -> float:
        laws = pair.laws(law_of)
        return 0.0 if laws is None else expected_bound(laws, draws, delta, alpha)

    return max(all_two_levels(d, k, epsilon), key=shown)
