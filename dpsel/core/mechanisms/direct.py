"""The direct sampler: one draw for every class, and the largest value wins. The reference."""

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.mechanisms.binomials import log_binomial
from dpsel.core.mechanisms.losses import LipschitzLosses, largest_noise
from dpsel.core.randomness import Randomness, exponentials

_CLASSES_AT_ONCE = 1 << 18


def direct_classes(
    losses: LipschitzLosses, draws: int, rng: Randomness
) -> tuple[IntArray, IntArray]:
    """Return the winning (h, t) of every draw; the top set is (k - 1, k).

    Privacy:
        Neighbors: whatever the scores behind `losses` were made for.
        Guarantee: that of canonical-lipschitz, whose law this draws from.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_canonical_lipschitz.py
    """
    best_h = np.full(draws, losses.k - 1)
    best_t = np.full(draws, losses.k)
    best = largest_noise(np.log(exponentials(rng, draws))) + losses.top_gain
    heads = np.arange(losses.k)[:, None]
    width = max(1, _CLASSES_AT_ONCE // losses.k)
    for first in range(losses.k + 1, losses.d + 1, width):
        tails = np.arange(first, min(first + width, losses.d + 1))[None, :]
        log_sizes = log_class_size(heads, tails, losses.k).ravel()
        loss = losses(heads, tails).ravel()
        at_once = max(1, _CLASSES_AT_ONCE // loss.size)
        for start in range(0, draws, at_once):
            rows = np.arange(start, min(start + at_once, draws))
            noise = np.log(exponentials(rng, rows.size * loss.size)).reshape(rows.size, loss.size)
            value = largest_noise(noise - log_sizes) - loss
            winner = np.argmax(value, axis=1)
            won = value[np.arange(rows.size), winner]
            better = won > best[rows]
            rows, winner = rows[better], winner[better]
            best[rows] = won[better]
            best_h[rows] = winner // tails.size
            best_t[rows] = first + winner % tails.size
    return best_h, best_t


def log_class_size(h: IntArray, t: IntArray, k: int) -> FloatArray:
    """Return the log of C(t-h-2, k-h-1), the number of subsets in the class (h, t), t > k.

    The paper prints C(t-h-1, k-h-1), whose classes overlap: that mechanism is not private.
    """
    return log_binomial(t - h - 2, k - h - 1)
