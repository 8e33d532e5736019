"""The exact laws of all mechanisms, for so few features that all subsets can be enumerated.

A law is the probability of every subset of k features. The laws are written independently of the
mechanisms, which are audited against them.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.mechanisms.composition import round_epsilon
from dpsel.records import frozen

Subset = tuple[int, ...]
Class = tuple[int, int]
Law = dict[Subset, float]
Size = Callable[[int, int, int], int]

# Utilities are capped at this distance from that of the top set: see docs/explanation/privacy.md.
_CAP_MARGIN = 128.0
_MOST_NODES = 1000


def right_size(h: int, t: int, k: int) -> int:
    """Return the size of a class: C(t-h-2, k-h-1), and 1 for the top set."""
    return 1 if t == k else math.comb(t - h - 2, k - h - 1)


def printed_size(h: int, t: int, k: int) -> int:
    """Return the size that the paper prints; its classes overlap."""
    return 1 if t == k else math.comb(t - h - 1, k - h - 1)


def subset_law(x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5) -> Law:
    """Return the law of canonical-lipschitz; `x` is in units of the sensitivity."""
    return _lipschitz_law(x, k, epsilon, gamma, margin=False)


def margin_law(x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5) -> Law:
    """Return the law of margin-lipschitz, in which the top set gains by its lead over the rest."""
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
    # The utility of the top set without a margin, from which the cap is measured.
    middle = (2 * gamma - 1) * sorted(x)[-k]
    cap = math.log(len(subsets)) + _CAP_MARGIN
    # With equal weights and k = 1 or d - 1, each utility is half of a single score, up to a
    # constant that is the same for all subsets.
    halved = not margin and gamma == 0.5 and k in (1, len(x) - 1)
    weight = epsilon if halved else 0.5 * epsilon
    values = np.clip(weight * (np.array(utilities) - middle), -cap, cap)
    chances = flip_law(values, np.ones(len(subsets)))
    return dict(zip(subsets, chances.tolist(), strict=True))


def class_law(
    x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5, size: Size = right_size
) -> dict[Class, float]:
    """Return the probability of every class (h, t) under the Lipschitz mechanism."""
    ordered = sorted(x, reverse=True)
    classes = [(k - 1, k)] + [(h, t) for h in range(k) for t in range(k + 1, len(x) + 1)]
    utilities = [gamma * ordered[t - 1] - (1 - gamma) * ordered[h] for h, t in classes]
    sizes = [size(h, t, k) for h, t in classes]
    chances = flip_law(0.5 * epsilon * np.array(utilities), np.array(sizes, dtype=float))
    return dict(zip(classes, chances.tolist(), strict=True))


def printed_subset_law(x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5) -> Law:
    """Return the law of the paper's printed algorithm: its sizes, and its overlapping bodies.

    It is not private, and is kept as an example of a mechanism that must fail an audit.
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
    """Return the probability of every class of equal subsets under permute-and-flip."""
    nodes, weights = _quadrature(min(_MOST_NODES, int(sizes.sum()) // 2 + 2))
    s = 0.5 * (nodes + 1)
    p = np.exp(utilities - utilities.max())
    # One factor of the winner's class belongs to the winner itself, so it is divided out.
    log_factors = sizes[:, None] * np.log1p(-p[:, None] * (1 - s))
    log_rest = log_factors.sum(axis=0) - np.log1p(-p[:, None] * (1 - s))
    chances: FloatArray = sizes * p * (0.5 * np.exp(log_rest) @ weights)
    return chances


@lru_cache(maxsize=64)
def _quadrature(count: int) -> tuple[FloatArray, FloatArray]:
    """Return the nodes and weights of Gauss-Legendre quadrature on [-1, 1]."""
    return np.polynomial.legendre.leggauss(count)


def is_law(law: Law) -> bool:
    """Return whether all probabilities are positive and sum to 1, up to errors of quadrature."""
    return min(law.values()) > 0 and math.isclose(sum(law.values()), 1.0, abs_tol=1e-9)


PRINTED = "printed-lipschitz"
"""The algorithm as the paper prints it: not private, and known to audits only."""

# A law with more terms than this takes too long.
_MOST_TERMS = 5000


def peeling_law(x: Sequence[float], k: int, epsilon: float, delta: float = 0.0) -> Law:
    """Return the law of k rounds of the exponential mechanism.

    The epsilon of one round comes from the mechanism itself; whether all rounds together keep to
    epsilon and delta is what an audit checks with this law.
    """

    def softmax(values: FloatArray) -> FloatArray:
        weights = np.exp(values - values.max())
        return np.asarray(weights / weights.sum())

    each = 0.5 * round_epsilon(epsilon, k, delta)
    return _rounds_law(_weighted(x, k, each, _limit(len(x))), k, softmax)


def permute_and_flip_law(x: Sequence[float], k: int, epsilon: float) -> Law:
    """Return the law of k rounds of permute-and-flip."""

    def flip(values: FloatArray) -> FloatArray:
        return flip_law(values, np.ones(len(values)))

    return _rounds_law(_weighted(x, k, 0.5 * epsilon / k, _limit(len(x))), k, flip)


def laplace_law(x: Sequence[float], k: int, epsilon: float, delta: float = 0.0) -> Law:
    """Return the law of one-shot Laplace.

    It integrates over the smallest selected value, piecewise between the scores, where the
    integrand is a polynomial of exponentials.
    """
    scale = 2.0 * min(k, max(1, len(x) - k))
    if delta > 0:
        scale = min(scale, 8.0 * math.sqrt(k * (math.log(len(x)) - math.log(delta))))
    v = _weighted(x, k, epsilon / scale, _limit(len(x)))
    nodes, weights = np.polynomial.legendre.leggauss(24)
    tails = np.arange(1, 61)
    borders = np.unique(np.concatenate([v, v.min() - tails, v.max() + tails]))
    borders = np.unique(np.concatenate([borders, *map(_filled, itertools.pairwise(borders))]))
    t = np.concatenate([(a + b) / 2 + (b - a) / 2 * nodes for a, b in itertools.pairwise(borders)])
    w = np.concatenate([(b - a) / 2 * weights for a, b in itertools.pairwise(borders)])
    z = t[None, :] - v[:, None]
    density = 0.5 * np.exp(-np.abs(z))
    below = np.where(z < 0, density, 1 - density)
    above = np.where(z < 0, 1 - density, density)
    law = {}
    for subset in itertools.combinations(range(len(x)), k):
        rest = below[[i for i in range(len(x)) if i not in subset]].prod(axis=0)
        total = np.zeros_like(t)
        for i in subset:
            total += density[i] * above[[j for j in subset if j != i]].prod(axis=0)
        law[subset] = float((total * rest) @ w)
    return law


def joint_law(x: Sequence[float], k: int, epsilon: float) -> Law:
    """Return the law of the joint exponential mechanism, for sets instead of sequences."""
    limit = k * math.log(len(x)) + 128.0
    # With k = 1 it is the exponential mechanism.
    values = _weighted(x, k, epsilon / (2 if k == 1 else 4), limit)
    ordered = np.sort(values)[::-1]
    law: Law = {}
    for sequence in itertools.permutations(range(len(x)), k):
        miss = max(ordered[j] - values[i] for j, i in enumerate(sequence))
        key = tuple(sorted(sequence))
        law[key] = law.get(key, 0.0) + math.exp(-min(miss, limit))
    total = sum(law.values())
    return {subset: weight / total for subset, weight in sorted(law.items())}


@frozen
class KnownLaw:
    """A law, the parameters it depends on, and the number of terms it computes."""

    of: Callable[..., Law]
    parameters: tuple[str, ...] = ()
    terms: Callable[[int, int], int] = math.comb


LAWS: dict[str, KnownLaw] = {
    "canonical-lipschitz": KnownLaw(subset_law, ("gamma",)),
    "margin-lipschitz": KnownLaw(margin_law, ("gamma",)),
    "peeling": KnownLaw(peeling_law, ("delta",)),
    "permute-and-flip": KnownLaw(permute_and_flip_law),
    "oneshot-laplace": KnownLaw(laplace_law, ("delta",)),
    "joint": KnownLaw(joint_law, terms=math.perm),
    PRINTED: KnownLaw(printed_subset_law, ("gamma",)),
}


def exact_law(
    name: str, x: Sequence[float], k: int, epsilon: float, parameters: Mapping[str, Any]
) -> Law | None:
    """Return the probability of every k-subset; None if it is not known or takes too long.

    Args:
        name: The name of a mechanism.
        x: Scores in units of their sensitivity.
        k: How many are selected.
        epsilon: The mechanism's epsilon.
        parameters: The mechanism's parameters; a sampler does not change the law.
    """
    known = LAWS.get(name)
    if known is None or known.terms(len(x), k) > _MOST_TERMS:
        return None
    law = known.of(x, k, epsilon, **{key: parameters[key] for key in known.parameters})
    return law if is_law(law) else None


def _limit(d: int) -> float:
    """Return the cap on distances of scores, in units of the noise."""
    return math.log(d) + 128.0


def _rounds_law(values: FloatArray, k: int, one_round: Callable[[FloatArray], FloatArray]) -> Law:
    """Return the law of k rounds without replacement, from the law of one round."""
    law: Law = {(): 1.0}
    for _ in range(k):
        following: Law = {}
        for chosen, chance in law.items():
            left = [i for i in range(len(values)) if i not in chosen]
            for i, here in zip(left, one_round(values[left]).tolist(), strict=True):
                key: Subset = tuple(sorted((*chosen, i)))
                following[key] = following.get(key, 0.0) + chance * here
        law = following
    return dict(sorted(law.items()))


def _weighted(x: Sequence[float], k: int, epsilon_per_unit: float, limit: float) -> FloatArray:
    """Return weighted distances from the k-th largest score, clipped at the limit."""
    moved = (np.array(x, dtype=np.float64) - sorted(x)[-k]) * epsilon_per_unit
    return np.clip(moved, -limit, limit)


def _filled(ends: tuple[float, float]) -> FloatArray:
    """Return points from one end to the other, no farther apart than 1."""
    return np.linspace(*ends, math.ceil(ends[1] - ends[0]) + 1)
