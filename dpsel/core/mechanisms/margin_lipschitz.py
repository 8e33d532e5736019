"""The Lipschitz mechanism with a margin: the true top set gains by how far it is ahead.

The canonical mechanism gives the top set a loss of 0. Nothing asks for that: the utility
gamma min_S x - (1-gamma) max_{not S} x moves by at most 1 between neighbors for every S, and so for
the top set. All other sets keep their utility, and the top set gains (1-gamma) (x[k] - x[k+1]): the
same privacy, never a smaller chance of the top set.
"""

from dpsel.core.arrays import IntArray
from dpsel.core.mechanisms.lipschitz import lipschitz_top_k
from dpsel.core.mechanisms.sampler import Sampler
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import Scores


def margin_lipschitz(
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

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: epsilon-DP for the set of indices, for each draw; n draws cost n epsilon.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `float_slack`.
        Tested by: tests/privacy/test_margin_lipschitz.py

    The arguments are those of `canonical_lipschitz`.
    """
    return lipschitz_top_k(
        scores, k, epsilon, rng, draws=draws, gamma=gamma, sampler=sampler, margin=True
    )
