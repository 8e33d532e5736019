"""A search for the neighboring scores at which a law leaks most: a grid, then hill climbing."""

import math
from collections.abc import Callable

import numpy as np

from dpsel.core.audit.intervals import expected_bound
from dpsel.core.audit.loss import loss
from dpsel.core.audit.pairs import MOST_SUBSETS, LawOf, ScorePair, all_two_levels
from dpsel.core.errors import UsageError
from dpsel.core.randomness import derived_seed, seeded_generator

STEPS = 600
_RANDOM_STARTS = 60
_CLIMBS = 3
# Relative to the noise, whose scale is 1 / epsilon: wide steps first.
_STEP_SIZES = (4.0, 1.0, 0.3, 0.1, 0.03)

Objective = Callable[[ScorePair], float]


def worst_pairs(
    law_of: LawOf,
    d: int,
    k: int,
    epsilon: float,
    *,
    draws: int,
    delta: float,
    alpha: float,
    seed: int,
    steps: int = STEPS,
) -> tuple[ScorePair, ScorePair]:
    """Return the pair with the largest exact loss found, and the one that draws show most of.

    They differ because the largest losses are often those of outcomes that are hardly ever drawn.
    The same seed finds the same pairs.

    Args:
        law_of: The exact law, at `k` and `epsilon`.
        d: How many scores.
        k: How many are selected.
        epsilon: Sets the scale of the scores that are tried.
        draws: How many draws there will be of each.
        delta: The delta of the guarantee.
        alpha: The error that the audit may make.
        seed: Where the search begins.
        steps: How many pairs are tried after those of the grid.

    Raises:
        UsageError: If the law is not known for so many scores.
    """
    if math.comb(d, k) > MOST_SUBSETS or law_of([0.0] * d) is None:
        raise UsageError(
            f"--worst-case tries out exact laws, which takes too long for d = {d} and k = {k}"
        )

    def exact(pair: ScorePair) -> float:
        laws = pair.laws(law_of)
        return 0.0 if laws is None else loss(*laws, delta)

    def shown(pair: ScorePair) -> float:
        laws = pair.laws(law_of)
        return 0.0 if laws is None else expected_bound(laws, draws, delta, alpha)

    return (
        _searched(exact, "worst-exact", d, k, epsilon, seed, steps),
        _searched(shown, "worst-shown", d, k, epsilon, seed, steps),
    )


def _searched(
    objective: Objective, name: str, d: int, k: int, epsilon: float, seed: int, steps: int
) -> ScorePair:
    """Return the best pair of a grid, of some random ones, and of climbs from the best of them."""
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
    """Change some scores and signs at a time, and keep what is better."""
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
