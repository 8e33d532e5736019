"""Pearson's test of drawn outcomes against an exact law."""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import TypeVar

from scipy import stats

ALPHA = 1e-7
"""A correct sampler fails for one seed in ten million."""

Outcome = TypeVar("Outcome", bound=Hashable)


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
