"""Synthetic data with a known answer: the paper's designs."""

import math
from dataclasses import dataclass, field

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.evaluation.data import Rows
from dpsel.core.randomness import seeded_generator

SIGNALS = 8


@dataclass(frozen=True)
class Design:
    """Rows, and the weights that made their target."""

    rows: Rows
    weights: FloatArray = field(repr=False)


def screening_design(n: int, d: int, seed: int) -> Design:
    """Return y = X w + noise with 8 signals at random places, as in section 3.3.1 of [FL08].

    X is standard normal; the noise has a standard deviation of 1.5; a weight is (-1)^u (a + |z|)
    with u 1 four times in ten, z standard normal and a = 4 log(n) / sqrt(n).

    References:
        [FL08] Fan & Lv (2008), arXiv:math/0612857.
    """
    rng = seeded_generator(seed)
    X = rng.standard_normal((n, d))
    weights = np.zeros(d)
    places = rng.choice(d, size=min(SIGNALS, d), replace=False)
    signs = np.where(rng.random(len(places)) < 0.4, -1.0, 1.0)
    strength = 4 * math.log(n) / math.sqrt(n) + np.abs(rng.standard_normal(len(places)))
    weights[places] = signs * strength
    y = X @ weights + 1.5 * rng.standard_normal(n)
    return Design(Rows(np.asfortranarray(X), y), weights)


def stability_design(seed: int, *, outliers: bool) -> Design:
    """Return 100 rows of 100 features, as in section 3 of the paper.

    The first five features have weight 1; the noise has a standard deviation of 0.1. With
    `outliers`, every tenth row follows the last five features instead, so each of ten contiguous
    blocks has one. The weights returned are those of the other rows.
    """
    rng = seeded_generator(seed)
    X = rng.standard_normal((100, 100))
    weights, others = np.zeros(100), np.zeros(100)
    weights[:5], others[-5:] = 1.0, 1.0
    y = X @ weights
    if outliers:
        y[9::10] = X[9::10] @ others
    return Design(Rows(np.asfortranarray(X), y + 0.1 * rng.standard_normal(100)), weights)
