"""The Lipschitz mechanisms, canonical and margin: one noisy comparison of all k-subsets."""

from collections.abc import Callable
from functools import partial

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.guarantee import check_epsilon, check_k
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.noisy import effective_epsilon
from dpsel.core.mechanisms.ranking import Ranking
from dpsel.core.mechanisms.samplers import direct_classes, lazy_classes
from dpsel.core.mechanisms.subset_classes import LipschitzLosses, log_subsets, uniform_members
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import Scores
from dpsel.errors import UsageError


def check_gamma(gamma: float) -> float:
    """Return gamma, or refuse it if it is not between 0 and 1."""
    if not 0.0 <= gamma <= 1.0:
        raise UsageError(f"gamma must be between 0 and 1, got {gamma:g}")
    return gamma


CLASSES: dict[Sampler, Callable[[LipschitzLosses, int, Randomness], tuple[IntArray, IntArray]]] = {
    Sampler.LAZY: lazy_classes,
    Sampler.DIRECT: direct_classes,
}

# With so many draws, or so few features, sorting all indices is faster than looking up winners.
_MANY_DRAWS = 4
_SMALL = 1 << 14


def canonical_lipschitz(
    scores: Scores,
    k: int,
    epsilon: float,
    rng: Randomness,
    *,
    draws: int = 1,
    gamma: float = 0.5,
    sampler: Sampler = Sampler.LAZY,
    margin: bool = False,
) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    A subset S has the utility gamma min_S x - (1-gamma) max(max_{not S} x, min_S x), for scores
    x in units of their sensitivity. The utility moves by at most 1 between neighbors. Every subset
    gets epsilon / 2 times its utility plus an Exp(1) draw, and the largest value wins. If utilities
    move by less than 1, they get a larger weight: see `largest_move`.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: epsilon-DP for the set of indices, for each draw; n draws cost n epsilon.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `float_slack`.
        Tested by: tests/privacy/test_canonical_lipschitz.py,
            tests/privacy/test_margin_lipschitz.py

    Args:
        scores: One score for every feature, with its sensitivity.
        k: How many features to select.
        epsilon: The privacy loss of one draw.
        rng: The source of all randomness.
        draws: How many independent selections to make.
        gamma: The weight of the worst included score against the best missing one.
        sampler: How to draw; the law is the same.
        margin: Whether the set of the k best also gains its lead, times 1 - gamma.

    Raises:
        UsageError: If k, epsilon or gamma does not fit; never because of a score.
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    check_gamma(gamma)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    ranking = Ranking(scores.values)
    moved = largest_move(d, k, gamma, margin=margin)
    effective = effective_epsilon(epsilon, float_slack(d, k)) / moved
    losses = LipschitzLosses(ranking, k, gamma, effective / scores.sensitivity, margin)
    h, t = CLASSES[sampler](losses, draws, rng)
    ranks = uniform_members(h, t, k, rng)
    if draws >= _MANY_DRAWS or d <= _SMALL:
        indices = ranking.indices(ranks)
    else:
        indices = np.stack([ranking.few_indices(row) for row in ranks])
    return np.sort(indices, axis=1)


margin_lipschitz = partial(canonical_lipschitz, margin=True)
"""The same with a margin: only the subset of the k best scores has a different utility."""


def largest_move(d: int, k: int, gamma: float, *, margin: bool) -> float:
    """Return how far utilities move between neighbors, apart from a term common to all subsets.

    A term that is the same for all subsets changes no comparison. Usually there is none, and
    utilities move by 1. For k = 1 and gamma = 1/2, without a margin, the utility of {i} is
    (x_i - x[1]) / 2 for every i: without the common x[1] it moves by 1/2. For k = d-1 the utility
    of all features but i is (x[d] - x_i) / 2. Both cases are permute-and-flip, which selects or
    leaves out one feature, and can use twice the epsilon.
    """
    return 0.5 if not margin and gamma == 0.5 and k in (1, d - 1) else 1.0


def float_slack(d: int, k: int) -> float:
    """Return how much of epsilon pays for rounding: 4 eta, where no value is off by more than eta.

    A winner with rounding would also win in exact arithmetic if its noise were 2 eta larger. That
    changes its chance by a factor of at most exp(2 eta), on each of two neighbors. Every number
    behind a value is below log C(d, k) + 1024 in size, and no value has as many as 256 roundings.
    If this uses up all of epsilon, the scores have no weight, and nothing is lost.
    The full argument is in docs/explanation/privacy.md.
    """
    eta = 256 * 2.0**-52 * (log_subsets(d, k) + 1024.0)
    return 4.0 * eta
