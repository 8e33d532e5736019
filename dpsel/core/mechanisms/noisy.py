"""What the mechanisms share that add noise to every score."""

import math
from collections.abc import Callable

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import Scores

# Noisy values that are held at once: 16 MB.
_VALUES_AT_ONCE = 1 << 21


def weighted_scores(scores: Scores, k: int, epsilon_per_unit: float, limit: float) -> FloatArray:
    """Return epsilon_per_unit times the scores' distance from the k-th, cut off at `limit`.

    The k-th largest score moves by no more than any score, and the larger or smaller of two numbers
    that move by at most 1 does so too: cutting off keeps the sensitivity, and the numbers small,
    whatever the scores. The limit is so large that what is cut off hardly ever matters.
    """
    values = scores.values
    kth = np.partition(values, len(values) - k)[len(values) - k]
    largest = float(np.finfo(np.float64).max)
    with np.errstate(over="ignore"):
        moved: FloatArray = np.clip((values - kth).astype(np.float64), -largest, largest)
        moved *= min(epsilon_per_unit / scores.sensitivity, largest)
    return np.clip(moved, -limit, limit, out=moved)


def single_limit(d: int) -> float:
    """Return the limit for a comparison of d values: beyond it a chance is below exp(-128)."""
    return math.log(d) + 128.0


def rounding_cost(comparisons: int, limit: float) -> float:
    """Return how much of epsilon pays for rounding in so many noisy comparisons.

    A value has fewer than 16 roundings of numbers below limit + 1024. By the argument of
    docs/privacy.md, section 7, each comparison costs 4 times their sum.
    """
    return 4.0 * comparisons * 16 * 2.0**-52 * (limit + 1024.0)


def effective_epsilon(epsilon: float, cost: float) -> float:
    """Return the epsilon that a mechanism runs with, so that `cost` is paid and epsilon is kept.

    A ledger charges the shortest decimal that stands for epsilon, which may be smaller by one part
    in 2^53, and the weight of a score is computed from epsilon with a few roundings: 2^-48 of it
    pays for both, however large it is.
    """
    return max(0.0, epsilon * (1.0 - 2.0**-48) - cost)


def effective_delta(delta: float, cost: float) -> float:
    """Return the delta that a mechanism runs with, so that delta is kept where rounding costs so.

    Rounding changes the chance of an outcome by a factor of at most exp(cost / 2), on either of two
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
    """Return rows of the ascending indices of the k largest values, each with noise of its own.

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
