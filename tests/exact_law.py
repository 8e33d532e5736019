"""The exact law of the Lipschitz mechanisms, written from the definition, for small d and k.

Exponential noise makes the mechanism permute-and-flip over subsets, so with p = exp(u - max u)

    P(S) = p_S * integral_0^1 prod_{S' != S} (1 - p_S' (1 - s)) ds.

The integrand is a polynomial, which Gauss-Legendre quadrature integrates exactly.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from dpsel.core.arrays import FloatArray

Subset = tuple[int, ...]
Class = tuple[int, int]
Size = Callable[[int, int, int], int]


def right_size(h: int, t: int, k: int) -> int:
    """C(t-h-2, k-h-1), and 1 for the top set."""
    return 1 if t == k else math.comb(t - h - 2, k - h - 1)


def printed_size(h: int, t: int, k: int) -> int:
    """The size printed in the paper, whose classes overlap."""
    return 1 if t == k else math.comb(t - h - 1, k - h - 1)


def subset_law(
    x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5
) -> dict[Subset, float]:
    """Return the probability of every k-subset, by brute force over all of them."""
    subsets = list(itertools.combinations(range(len(x)), k))
    utilities = []
    for subset in subsets:
        worst_in = min(x[i] for i in subset)
        best_out = max((x[i] for i in range(len(x)) if i not in subset), default=worst_in)
        utilities.append(gamma * worst_in - (1 - gamma) * max(best_out, worst_in))
    chances = flip_law(0.5 * epsilon * np.array(utilities), np.ones(len(subsets)))
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


def printed_subset_law(x: Sequence[float], k: int, epsilon: float) -> dict[Subset, float]:
    """Return the law of the paper's printed algorithm: its sizes, and its overlapping bodies."""
    order = sorted(range(len(x)), key=lambda i: -x[i])
    law: dict[Subset, float] = {}
    for (h, t), chance in class_law(x, k, epsilon, size=printed_size).items():
        room = range(h, t - 1) if t > k else range(h, h)
        bodies = list(itertools.combinations(room, k - h - 1))
        for body in bodies:
            subset = tuple(sorted(order[i] for i in (*range(h), *body, t - 1)))
            law[subset] = law.get(subset, 0.0) + chance / len(bodies)
    return law


def loss(law: dict[Subset, float], other: dict[Subset, float]) -> float:
    """Return the largest absolute log-ratio of two laws: their privacy loss."""
    return max(abs(math.log(law[key] / other[key])) for key in law)


def flip_law(utilities: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return the chance of every class of equal subsets under permute-and-flip."""
    nodes, weights = np.polynomial.legendre.leggauss(min(1000, int(sizes.sum()) // 2 + 2))
    s = 0.5 * (nodes + 1)
    p = np.exp(utilities - utilities.max())
    # One factor of the winner's class is the winner itself.
    log_factors = sizes[:, None] * np.log1p(-p[:, None] * (1 - s))
    log_rest = log_factors.sum(axis=0) - np.log1p(-p[:, None] * (1 - s))
    chances: FloatArray = sizes * p * (0.5 * np.exp(log_rest) @ weights)
    return chances
