"""Mechanisms that add noise to every score: peeling and one-shot Laplace."""

import math
from collections.abc import Callable

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import check_delta, check_epsilon, check_k
from dpsel.core.mechanisms.composition import round_epsilon
from dpsel.core.randomness import Randomness, exponentials
from dpsel.core.scores.base import Scores
from dpsel.errors import UsageError

# Noisy values that are held at once: 16 MB.
_VALUES_AT_ONCE = 1 << 21


def weighted_scores(scores: Scores, k: int, epsilon_per_unit: float, limit: float) -> FloatArray:
    """Return epsilon_per_unit times each score's distance from the k-th, clipped to `limit`.

    The k-th largest score moves no farther than any score, and the larger or smaller of two numbers
    that move by at most 1 moves by at most 1 too. So clipping keeps the sensitivity, and keeps the
    numbers small whatever the scores are. The limit is so large that clipping hardly ever matters.
    """
    values = scores.values
    kth = np.partition(values, len(values) - k)[len(values) - k]
    largest = float(np.finfo(np.float64).max)
    with np.errstate(over="ignore"):
        moved: FloatArray = np.clip((values - kth).astype(np.float64), -largest, largest)
        moved *= min(epsilon_per_unit / scores.sensitivity, largest)
    return np.clip(moved, -limit, limit, out=moved)


def single_limit(d: int) -> float:
    """Return the limit for a comparison of d values: beyond it chances are below exp(-128)."""
    return math.log(d) + 128.0


def rounding_cost(comparisons: int, limit: float) -> float:
    """Return how much of epsilon pays for the rounding in this many noisy comparisons.

    A value has fewer than 16 roundings of numbers below limit + 1024. By the argument of
    docs/explanation/privacy.md, section 7, each comparison costs 4 times their sum.
    """
    return 4.0 * comparisons * 16 * 2.0**-52 * (limit + 1024.0)


def effective_epsilon(epsilon: float, cost: float) -> float:
    """Return the epsilon to run a mechanism with, so that with `cost` it stays within epsilon.

    A ledger charges the shortest decimal that reads as epsilon, which may be smaller by one part in
    2^53, and the weight of a score is computed from epsilon with a few roundings. 2^-48 of epsilon
    pays for both, however large epsilon is.
    """
    return max(0.0, epsilon * (1.0 - 2.0**-48) - cost)


def effective_delta(delta: float, cost: float) -> float:
    """Return the delta to run a mechanism with, so that with the cost of rounding delta is kept.

    Rounding changes the chance of an outcome by a factor of at most exp(cost / 2), on each of two
    neighbors: (epsilon', delta') becomes (epsilon' + cost, delta' exp(cost / 2)).
    """
    return delta * math.exp(-0.5 * cost) * (1.0 - 2.0**-48)


def noisy_top_k(
    values: FloatArray,
    k: int,
    draws: int,
    rng: Randomness,
    noise: Callable[[Randomness, int], FloatArray],
) -> IntArray:
    """Return the indices of the k largest noisy values, ascending, one row per draw.

    Privacy:
        Guarantee: that of the mechanism, which sets the weight of the values against the noise.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_noisy_mechanisms.py
    """
    d = len(values)
    at_once = max(1, _VALUES_AT_ONCE // d)
    rows = np.empty((draws, k), dtype=np.int64)
    for first in range(0, draws, at_once):
        count = min(at_once, draws - first)
        noisy = values + noise(rng, count * d).reshape(count, d)
        rows[first : first + count] = np.argpartition(noisy, d - k, axis=1)[:, d - k :]
    return np.sort(rows, axis=1)


# The limits of the theorem for a delta: [QSZ21], theorem 2.2.
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

    Without delta, the noise is Laplace with scale 2 min(k, d-k) Delta / epsilon ([QSZ21], theorem
    2.1, has 2 k). Proof: fix the noise of all features but the selected ones. These win if the
    noise of each passes a bound that moves by at most 2 Delta between neighbors, which changes the
    chance of each by at most exp(epsilon / k). Or fix the noise of the selected features: the d-k
    others lose if the noise of each stays below such a bound, which changes the chance of each by
    at most exp(epsilon / (d-k)). With delta, a scale of 8 Delta sqrt(k log(d / delta)) / epsilon is
    enough, for epsilon <= 0.2 and delta <= 0.05 ([QSZ21], theorem 2.2); the smaller scale is used.

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
    """Refuse an epsilon and a delta that the theorem for a delta does not cover."""
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
    without replacement [DR19]. Without delta, each round has epsilon / k. With delta, each round
    has what `round_epsilon` proves for k rounds that may depend on the earlier outcomes.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: (epsilon, delta)-DP for the indices, for each draw.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `rounding_cost`.
        Tested by: tests/privacy/test_noisy_mechanisms.py, tests/privacy/test_composition.py

    References:
        [DR19] Durfee & Rogers (2019), arXiv:1905.04273.
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    check_delta(delta)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    limit = single_limit(d)
    # With delta, one more comparison pays for the roundings of a round's epsilon.
    cost = rounding_cost(k + (delta > 0.0), limit)
    effective, spent = effective_epsilon(epsilon, cost), effective_delta(delta, cost)
    values = weighted_scores(scores, k, 0.5 * round_epsilon(effective, k, spent), limit)
    return noisy_top_k(values, k, draws, rng, _gumbel)


def _gumbel(rng: Randomness, count: int) -> FloatArray:
    """Return draws of the standard Gumbel law."""
    return np.asarray(-np.log(exponentials(rng, count)))
