"""Peeling: k rounds of the exponential mechanism, in one shot by Gumbel noise."""

import math

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.checks import check_delta, check_epsilon, check_k
from dpsel.core.mechanisms.noisy import (
    effective_delta,
    effective_epsilon,
    noisy_top_k,
    rounding_cost,
    single_limit,
    weighted_scores,
)
from dpsel.core.randomness import Randomness, exponentials
from dpsel.core.scores.base import Scores

# The search of `concentrated_rho`: how far below the simple a, and how many steps; each keeps two
# thirds of the logarithms that are left.
_REACH, _THIRDS = 32.0, 100
_LARGEST_LOG = 700.0


def peeling(
    scores: Scores,
    k: int,
    epsilon: float,
    rng: Randomness,
    *,
    draws: int = 1,
    delta: float = 0.0,
) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    The k largest of score + Gumbel noise have the law of k rounds of the exponential mechanism
    without replacement [DR19]. Pure: each round has epsilon / k. With delta: a round with epsilon_0
    is epsilon_0^2 / 8-zCDP, because its loss has a range of epsilon_0 [CR21], so k rounds are
    rho-zCDP with rho = k epsilon_0^2 / 8 [BS16], and `concentrated_rho` is the largest rho that
    gives (epsilon, delta)-DP by [CKS20].

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: (epsilon, delta)-DP for the indices, for each draw.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `rounding_cost`.
        Tested by: tests/privacy/test_noisy_mechanisms.py

    References:
        [DR19] Durfee & Rogers (2019), arXiv:1905.04273.
        [CR21] Cesar & Rogers (2021), "Bounding, concentrating, and truncating".
        [BS16] Bun & Steinke (2016), "Concentrated differential privacy".
        [CKS20] Canonne, Kamath & Steinke (2020), "The discrete Gaussian for differential privacy".
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    check_delta(delta)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    limit = single_limit(d)
    # With a delta, one more for the roundings of rho.
    cost = rounding_cost(k + (delta > 0.0), limit)
    effective, spent = effective_epsilon(epsilon, cost), effective_delta(delta, cost)
    values = weighted_scores(scores, k, 0.5 * round_epsilon(effective, k, spent), limit)
    return noisy_top_k(values, k, draws, rng, _gumbel)


def round_epsilon(epsilon: float, k: int, delta: float) -> float:
    """Return the largest epsilon of each of k rounds of the exponential mechanism."""
    pure = epsilon / k
    if delta == 0.0 or epsilon == 0.0:
        return pure
    return max(pure, math.sqrt(8.0 * concentrated_rho(epsilon, delta) / k))


def concentrated_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho that is found for which rho-zCDP implies (epsilon, delta)-DP.

    It does if, for some alpha = 1 + a > 1 [CKS20; docs/privacy.md, section 9, has the proof],

        exp((alpha - 1) (alpha rho - epsilon)) (1 - 1 / alpha)^alpha / (alpha - 1) <= delta,
        rho <= (epsilon - log(1/delta) / a + log(1 + a) / a + log(1 + 1/a)) / (1 + a).

    Every a proves its own rho, so the search decides how good rho is, not whether it is right. The
    log of the left side is convex in a, so the bound of rho has a single top: below the best a
    without the last two terms, sqrt(log(1/delta) / rho). There no term is above epsilon + 745.
    """
    log_inverse = -math.log(delta)

    def proven(log_a: float) -> float:
        a = math.exp(min(log_a, _LARGEST_LOG))
        gained = (math.log1p(a) - log_inverse) / a + math.log1p(1.0 / a)
        return (epsilon + gained) / (1.0 + a)

    roots = math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse)
    middle = 0.5 * math.log(log_inverse) - math.log(epsilon) + math.log(roots)
    low, high = middle - _REACH, middle + 1.0
    for _ in range(_THIRDS):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (first, high) if proven(first) < proven(second) else (low, second)
    return max(proven(middle), proven(low))


def _gumbel(rng: Randomness, count: int) -> FloatArray:
    """Return draws of the standard Gumbel law."""
    return np.asarray(-np.log(exponentials(rng, count)))
