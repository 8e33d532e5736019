"""The exact law of the Lipschitz mechanisms, written from the definition, for small d and k.

Exponential noise makes the mechanism permute-and-flip over subsets, so with p = exp(u - max u)

    P(S) = p_S * integral_0^1 prod_{S' != S} (1 - p_S' (1 - s)) ds.

The integrand is a polynomial, which Gauss-Legendre quadrature integrates exactly. Nothing here is
shared with the samplers: these laws are what they are compared with.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from dpsel.core.arrays import FloatArray

Subset = tuple[int, ...]
Class = tuple[int, int]
Law = dict[Subset, float]
Size = Callable[[int, int, int], int]

# Utilities are cut off so far from that of the top set, as docs/privacy.md says.
_CAP_MARGIN = 128.0
_MOST_NODES = 1000


def right_size(h: int, t: int, k: int) -> int:
    """C(t-h-2, k-h-1), and 1 for the top set."""
    return 1 if t == k else math.comb(t - h - 2, k - h - 1)


def printed_size(h: int, t: int, k: int) -> int:
    """The size printed in the paper, whose classes overlap."""
    return 1 if t == k else math.comb(t - h - 1, k - h - 1)


def subset_law(x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5) -> Law:
    """Return the law of canonical-lipschitz; `x` is in units of the sensitivity."""
    return _lipschitz_law(x, k, epsilon, gamma, margin=False)


def margin_law(x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5) -> Law:
    """Return the law of margin-lipschitz, in which the top set gains by how far it is ahead."""
    return _lipschitz_law(x, k, epsilon, gamma, margin=True)


def _lipschitz_law(
    x: Sequence[float], k: int, epsilon: float, gamma: float, *, margin: bool
) -> Law:
    """Return the probability of every k-subset, by brute force over all of them."""
    subsets = list(itertools.combinations(range(len(x)), k))
    if len(subsets) == 1:
        return {subsets[0]: 1.0}
    utilities = []
    for subset in subsets:
        worst_in = min(x[i] for i in subset)
        best_out = max(x[i] for i in range(len(x)) if i not in subset)
        least = best_out if margin else max(best_out, worst_in)
        utilities.append(gamma * worst_in - (1 - gamma) * least)
    # The top set's utility without a margin, from which all others are cut off.
    middle = (2 * gamma - 1) * sorted(x)[-k]
    cap = math.log(len(subsets)) + _CAP_MARGIN
    # For one feature, or all but one, and equal weights, utilities are half of a single score each,
    # less what all have in common.
    halved = not margin and gamma == 0.5 and k in (1, len(x) - 1)
    weight = epsilon if halved else 0.5 * epsilon
    values = np.clip(weight * (np.array(utilities) - middle), -cap, cap)
    chances = flip_law(values, np.ones(len(subsets)))
    return dict(zip(subsets, chances.tolist(), strict=True))


def class_law(
    x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5, size: Size = right_size
) -> dict[Class, float]:
    """Return the probability of every class (h, t)."""
    ordered = sorted(x, reverse=True)
    classes = [(k - 1, k)] + [(h, t) for h in range(k) for t in range(k + 1, len(x) + 1)]
    utilities = [gamma * ordered[t - 1] - (1 - gamma) * ordered[h] for h, t in classes]
    sizes = [size(h, t, k) for h, t in classes]
    chances = flip_law(0.5 * epsilon * np.array(utilities), np.array(sizes, dtype=float))
    return dict(zip(classes, chances.tolist(), strict=True))


def printed_subset_law(x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5) -> Law:
    """Return the law of the paper's printed algorithm: its sizes, and its overlapping bodies.

    It is not private, and is kept as the example of a mechanism that an audit has to refuse.
    """
    order = sorted(range(len(x)), key=lambda i: -x[i])
    law: Law = {}
    for (h, t), chance in class_law(x, k, epsilon, gamma, size=printed_size).items():
        room = range(h, t - 1) if t > k else range(h, h)
        bodies = list(itertools.combinations(room, k - h - 1))
        for body in bodies:
            subset = tuple(sorted(order[i] for i in (*range(h), *body, t - 1)))
            law[subset] = law.get(subset, 0.0) + chance / len(bodies)
    return dict(sorted(law.items()))


def flip_law(utilities: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the chance of every class of equal subsets under permute-and-flip."""
    nodes, weights = _quadrature(min(_MOST_NODES, int(sizes.sum()) // 2 + 2))
    s = 0.5 * (nodes + 1)
    p = np.exp(utilities - utilities.max())
    # One factor of the winner's class is the winner itself.
    log_factors = sizes[:, None] * np.log1p(-p[:, None] * (1 - s))
    log_rest = log_factors.sum(axis=0) - np.log1p(-p[:, None] * (1 - s))
    chances: FloatArray = sizes * p * (0.5 * np.exp(log_rest) @ weights)
    return chances


@lru_cache(maxsize=64)
def _quadrature(count: int) -> tuple[FloatArray, FloatArray]:
    """Return the places and weights of Gauss and Legendre on [-1, 1]."""
    return np.polynomial.legendre.leggauss(count)
