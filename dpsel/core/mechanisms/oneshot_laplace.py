"""One-shot Laplace: noise on every score once, and the k largest."""

import math

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.checks import check_delta, check_epsilon, check_k
from dpsel.core.errors import UsageError
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

# What the theorem for a delta asks for.
_LARGEST_EPSILON, _LARGEST_DELTA = 0.2, 0.05


def oneshot_laplace(
    scores: Scores,
    k: int,
    epsilon: float,
    rng: Randomness,
    *,
    draws: int = 1,
    delta: float = 0.0,
) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    Pure: Laplace noise of scale 2 min(k, d-k) Delta / epsilon ([QSZ21], theorem 2.1, has 2 k). Fix
    the noise of all but the selected: they win if each one's noise passes a bound that moves by at
    most 2 Delta between neighbors, which changes the chance of each by at most exp(epsilon / k). Or
    fix the noise of the selected: the d-k others lose if each one's noise stays below such a bound,
    which changes the chance of each by at most exp(epsilon / (d-k)). With delta:
    a scale of 8 Delta sqrt(k log(d / delta)) / epsilon does, for epsilon <= 0.2 and delta <= 0.05
    ([QSZ21], theorem 2.2); the smaller scale is taken.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: (epsilon, delta)-DP for the indices, for each draw.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `rounding_cost`.
        Tested by: tests/privacy/test_noisy_mechanisms.py

    References:
        [QSZ21] Qiao, Su & Zhang (2021), "Oneshot differentially private top-k selection".
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    check_delta(delta)
    check_oneshot(epsilon, delta)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    limit = single_limit(d)
    cost = rounding_cost(k, limit)
    effective, spent = effective_epsilon(epsilon, cost), effective_delta(delta, cost)
    values = weighted_scores(scores, k, effective / noise_scale(k, d, spent), limit)
    return noisy_top_k(values, k, draws, rng, _laplace)


def check_oneshot(epsilon: float, delta: float) -> None:
    """Refuse what the theorem does not cover."""
    if delta > 0 and (epsilon > _LARGEST_EPSILON or delta > _LARGEST_DELTA):
        raise UsageError(
            f"with --delta, oneshot-laplace needs an epsilon of at most {_LARGEST_EPSILON} and a "
            f"delta of at most {_LARGEST_DELTA}"
        )


def noise_scale(k: int, d: int, delta: float) -> float:
    """Return the scale of the noise, times epsilon / Delta."""
    pure = 2.0 * min(k, d - k)
    return pure if delta == 0.0 else min(pure, 8.0 * math.sqrt(k * math.log(d / delta)))


def _laplace(rng: Randomness, count: int) -> FloatArray:
    """Return draws of the Laplace law of scale 1, with full precision in the tails."""
    signs = (rng.words(count) >> np.uint64(63)).astype(bool)
    noise = exponentials(rng, count)
    return np.where(signs, noise, -noise)
