"""The privacy loss of two laws: how much likelier one makes some set of outcomes."""

import math

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray
from dpsel.core.audit.exact_law import Law


def one_way_loss(p: FloatArray, q: FloatArray, delta: float = 0.0) -> tuple[float, BoolArray]:
    """Return the largest log((p(S) - delta) / q(S)) over sets S of outcomes, and such a set.

    The set is {p > c q} for some c, so it is one of the first few when outcomes are in the order
    of p / q. With delta = 0 it is a single outcome. The loss is -inf if no p(S) exceeds delta.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(p > 0, p / q, -1.0)
        order = np.argsort(-ratios, kind="stable")
        above = np.cumsum(p[order]) - delta
        losses = np.where(above > 0, np.log(above) - np.log(np.cumsum(q[order])), -np.inf)
    best = int(np.argmax(losses))
    chosen = np.zeros(len(p), dtype=np.bool_)
    chosen[order[: best + 1]] = True
    return float(losses[best]), chosen


def loss(law: Law, other: Law, delta: float = 0.0) -> float:
    """Return the smallest epsilon, 0 or more, for which two laws are (epsilon, delta)-close."""
    keys = sorted({*law, *other})
    p, q = (np.array([one.get(key, 0.0) for key in keys]) for one in (law, other))
    return max(0.0, one_way_loss(p, q, delta)[0], one_way_loss(q, p, delta)[0])


def is_law(law: Law) -> bool:
    """Return whether chances are positive and add up to 1, as far as a quadrature can tell."""
    return min(law.values()) > 0 and math.isclose(sum(law.values()), 1.0, abs_tol=1e-9)
