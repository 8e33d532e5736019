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
    rho-zCDP with rho = k epsilon_0^2 / 8: (rho + 2 sqrt(rho log(1/delta)), delta)-DP [BS16].

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
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    check_delta(delta)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    limit = single_limit(d)
    cost = rounding_cost(k, limit)
    effective, spent = effective_epsilon(epsilon, cost), effective_delta(delta, cost)
    values = weighted_scores(scores, k, 0.5 * round_epsilon(effective, k, spent), limit)
    return noisy_top_k(values, k, draws, rng, _gumbel)


def round_epsilon(epsilon: float, k: int, delta: float) -> float:
    """Return the largest epsilon of each of k rounds of the exponential mechanism."""
    pure = epsilon / k
    if delta == 0.0:
        return pure
    log_inverse = -math.log(delta)
    root = math.sqrt(log_inverse + epsilon) - math.sqrt(log_inverse)
    return max(pure, math.sqrt(8.0 / k) * root)


def _gumbel(rng: Randomness, count: int) -> FloatArray:
    """Return draws of the standard Gumbel law."""
    return np.asarray(-np.log(exponentials(rng, count)))
