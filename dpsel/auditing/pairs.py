"""Neighboring score vectors that show much of a mechanism's loss: handmade or searched for."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dpsel.auditing.laws import Law
from dpsel.auditing.loss import expected_bound, loss
from dpsel.auditing.request import MechanismTarget
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.errors import UsageError
from dpsel.records import frozen

LawOf = Callable[[Sequence[float]], Law | None]
"""From scores to the probabilities of all subsets; None if they are not known."""

MOST_SUBSETS = 500
"""With no more subsets than this, hundreds of laws can be computed in a search."""


@frozen
class ScorePair:
    """Scores, and by how much each of them differs for the neighbor."""

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
"""For d = 6 and k = 3. At this pair the printed algorithm has a loss of 1.715 at epsilon 1."""


def given_pair(scores: Sequence[float], change: Sequence[float]) -> ScorePair:
    """Return the pair that a user gave, checked."""
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
    """Yield all pairs of two levels; some of them are near the worst case of every mechanism."""
    heights = sorted({0.0, 1.0, 2.0, 4.0, 2.0 / epsilon, 8.0 / epsilon})
    for high, low, height in itertools.product(range(k + 1), range(d - k + 1), heights):
        yield two_levels(d, k, (high, low), height)


def default_pair(target: MechanismTarget, d: int, draws: int, alpha: float) -> ScorePair:
    """Return the built-in pair, or the two-level pair whose loss shows most in this many draws.

    If laws are not known, or there are too many subsets, it is the worst pair for
    canonical-lipschitz: all but one of the high scores rise, and of the low ones only one does.
    """
    k = target.k
    if (d, k) == (len(BUILT_IN.scores), 3):
        return BUILT_IN
    fallback = two_levels(d, k, (k - 1, min(1, d - k)), 2.0)
    if math.comb(d, k) > MOST_SUBSETS or fallback.laws(target.law) is None:
        return fallback
    return max(
        all_two_levels(d, k, target.epsilon),
        key=lambda pair: _shown(target, pair, draws, alpha),
    )


def _shown(target: MechanismTarget, pair: ScorePair, draws: int, alpha: float) -> float:
    """Return how much of the loss at a pair this many draws would show."""
    laws = pair.laws(target.law)
    return 0.0 if laws is None else expected_bound(laws, draws, target.delta, alpha)


STEPS = 600
_RANDOM_STARTS = 60
_CLIMBS = 3
# In units of the noise, whose scale is 1 / epsilon; wide steps come first.
_STEP_SIZES = (4.0, 1.0, 0.3, 0.1, 0.03)

Objective = Callable[[ScorePair], float]


def worst_pairs(
    target: MechanismTarget, d: int, draws: int, alpha: float, *, seed: int, steps: int = STEPS
) -> tuple[ScorePair, ScorePair]:
    """Return the pair with the largest exact loss found, and the one that draws show most of.

    They differ because the largest losses often come from outcomes that are hardly ever drawn. The
    same seed finds the same pairs.

    Args:
        target: The mechanism, whose epsilon sets the scale of the scores to try.
        d: The number of scores.
        draws: How many draws there will be from each input.
        alpha: The error probability of the audit.
        seed: The seed of the search.
        steps: How many pairs are tried after those of the grid.

    Raises:
        UsageError: If the law is not known for this many scores.
    """
    if math.comb(d, target.k) > MOST_SUBSETS or target.law([0.0] * d) is None:
        raise UsageError(
            f"--worst-case tries out exact laws, which takes too long for d = {d} and "
            f"k = {target.k}"
        )

    def exact(pair: ScorePair) -> float:
        laws = pair.laws(target.law)
        return 0.0 if laws is None else loss(*laws, target.delta)

    def shown(pair: ScorePair) -> float:
        return _shown(target, pair, draws, alpha)

    return (
        _searched(exact, "worst-exact", target, d, seed, steps),
        _searched(shown, "worst-shown", target, d, seed, steps),
    )


def _searched(
    objective: Objective, name: str, target: MechanismTarget, d: int, seed: int, steps: int
) -> ScorePair:
    """Return the best of a grid and some random pairs, improved by climbs from the best of them."""
    k, epsilon = target.k, target.epsilon
    rng = seeded_generator(derived_seed(seed, name, d, k))
    starts = list(all_two_levels(d, k, epsilon))
    for _ in range(_RANDOM_STARTS):
        scores = rng.choice([0.0, 1.0, 2.0, 4.0, 8.0, 16.0], d) / rng.choice([1.0, epsilon])
        starts.append(_pair(name, scores, rng.choice([-1.0, 1.0], d)))
    ranked = sorted(((objective(pair), place) for place, pair in enumerate(starts)), reverse=True)
    found = [
        _climbed(objective, value, starts[place], name, epsilon, rng, steps // _CLIMBS)
        for value, place in ranked[:_CLIMBS]
    ]
    return max(found, key=lambda best: best[0])[1]


def _climbed(
    objective: Objective,
    value: float,
    pair: ScorePair,
    name: str,
    epsilon: float,
    rng: np.random.Generator,
    steps: int,
) -> tuple[float, ScorePair]:
    """Improve a pair step by step: change some scores and signs, and keep what is better."""
    scores, change = np.array(pair.scores), np.array(pair.change)
    for step in range(steps):
        size = _STEP_SIZES[step * len(_STEP_SIZES) // steps] / epsilon
        moved = scores + size * rng.normal(size=len(scores)) * (rng.random(len(scores)) < 0.5)
        turned = np.where(rng.random(len(scores)) < 0.1, -change, change)
        reached = objective(_pair(name, moved, turned))
        if reached > value:
            value, scores, change = reached, moved, turned
    return value, _pair(name, scores - scores.min(), change)


def _pair(name: str, scores: np.ndarray, change: np.ndarray) -> ScorePair:
    """Return arrays as a pair."""
    return ScorePair(name, tuple(scores.tolist()), tuple(change.tolist()))
