"""One-shot Laplace: noise on every score once, and the k largest."""

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.checks import check_epsilon, check_k
from dpsel.core.mechanisms.noisy import largest_k, rounding_cost, single_limit, weighted_scores
from dpsel.core.randomness import Randomness, exponentials
from dpsel.core.scores.base import Scores


def oneshot_laplace(
    scores: Scores, k: int, epsilon: float, rng: Randomness, *, draws: int = 1
) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    Laplace noise of scale 2 k Delta / epsilon. Fix the noise of all but the selected: they win if
    each one's noise passes a bound that moves by at most 2 Delta between neighbors, which changes
    the chance of each by a factor of at most exp(epsilon / k) [QSZ21].

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: epsilon-DP for the indices, for each draw.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `rounding_cost`.
        Tested by: tests/privacy/test_noisy_mechanisms.py

    References:
        [QSZ21] Qiao, Su & Zhang (2021), "Oneshot differentially private top-k selection".
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    limit = single_limit(d)
    effective = max(0.0, epsilon - rounding_cost(k, limit))
    values = weighted_scores(scores, k, effective / (2 * k), limit)
    return np.stack([largest_k(values + _laplace(rng, d), k) for _ in range(draws)])


def _laplace(rng: Randomness, count: int) -> FloatArray:
    """Return draws of the Laplace law of scale 1, with full precision in the tails."""
    signs = (rng.words(count) >> np.uint64(63)).astype(bool)
    noise = exponentials(rng, count)
    return np.where(signs, noise, -noise)
