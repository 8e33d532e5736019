"""Pearson's test of drawn outcomes against an exact law."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
from scipy import stats

from dpsel.core.arrays import IntArray

ALPHA = 1e-7
"""A correct sampler fails for one seed in ten million."""

Outcome = TypeVar("Outcome", bound=Hashable)


def counted(rows: IntArray) -> Counter[tuple[int, ...]]:
    """Return how often each row of small whole numbers was drawn."""
    codes = rows @ (int(rows.max()) + 1) ** np.arange(rows.shape[1])
    _, places, counts = np.unique(codes, return_index=True, return_counts=True)
    drawn = map(tuple, rows[places].tolist())
    return Counter(dict(zip(drawn, counts.tolist(), strict=True)))


def p_value(observed: Counter[Outcome], law: Mapping[Outcome, float]) -> float:
    """Return the chance of a worse fit; cells expecting fewer than 10 are thrown together."""
    draws = sum(observed.values())
    large = [key for key, chance in law.items() if draws * chance >= 10]
    counts = [float(observed[key]) for key in large]
    expected = [draws * law[key] for key in large]
    rest_expected = draws - sum(expected)
    rest = draws - sum(counts)
    if rest_expected >= 10:
        counts.append(rest)
        expected.append(rest_expected)
    elif stats.poisson.sf(rest - 1, max(rest_expected, 1e-12)) < ALPHA:
        return 0.0
    total = sum(expected)
    scaled = [cell * sum(counts) / total for cell in expected]
    return float(stats.chisquare(counts, scaled).pvalue)
