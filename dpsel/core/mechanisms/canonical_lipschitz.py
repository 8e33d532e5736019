"""The canonical Lipschitz mechanism: a k-subset of the features in one noisy comparison.

Shekelyan & Loukides (2022), "Differentially private top-k selection via canonical Lipschitz
mechanism", with the class sizes of the authors' code; those printed in "Feature Selection from
Differentially Private Correlations" overlap, and do not give epsilon-DP.
"""

from dpsel.core.arrays import IntArray
from dpsel.core.mechanisms.lipschitz import lipschitz_top_k
from dpsel.core.mechanisms.sampler import Sampler
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import Scores


def canonical_lipschitz(
    scores: Scores,
    k: int,
    epsilon: float,
    rng: Randomness,
    *,
    draws: int = 1,
    gamma: float = 0.5,
    sampler: Sampler = Sampler.LAZY,
) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    A subset S has the utility gamma min_S x - (1-gamma) max(max_{not S} x, min_S x), for scores
    x in units of their sensitivity. It moves by at most 1 between neighbors. Every subset
    gets epsilon / 2 times its utility plus an Exp(1) draw, and the largest wins. Where utilities
    move by less, epsilon counts for more: see `largest_move`.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: epsilon-DP for the set of indices, for each draw; n draws cost n epsilon.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `float_slack`.
        Tested by: tests/privacy/test_canonical_lipschitz.py

    Args:
        scores: One score for every feature, with its sensitivity.
        k: How many features to select.
        epsilon: The privacy loss of one draw.
        rng: The source of all randomness.
        draws: How many independent selections to make.
        gamma: The weight of the worst included score against the best missing one.
        sampler: How to draw; the law is the same.

    Raises:
        UsageError: If k, epsilon or gamma does not fit; never because of a score.
    """
    return lipschitz_top_k(
        scores, k, epsilon, rng, draws=draws, gamma=gamma, sampler=sampler, margin=False
    )
