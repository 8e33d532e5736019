"""Permute-and-flip, peeled: k rounds of report-noisy-max with exponential noise.

A round does not draw noise for every feature. Features are ranked by score. For an interval of
ranks, one draw gives the largest noise, and another its place, which is uniform. That place splits
the interval in two, whose largest noises are smaller. They are fresh draws, because the exponential
law has no memory, as in the lazy sampler of the Lipschitz mechanisms. Intervals are opened in the
order of the best value that they can hold.
"""

import heapq
import itertools
import math
from collections.abc import Iterator

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.guarantee import check_epsilon, check_k
from dpsel.core.mechanisms.noisy import (
    effective_epsilon,
    rounding_cost,
    single_limit,
    weighted_scores,
)
from dpsel.core.randomness import Randomness, exponentials
from dpsel.core.scores.base import Scores

_AT_ONCE = 1024


def permute_and_flip(
    scores: Scores, k: int, epsilon: float, rng: Randomness, *, draws: int = 1
) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    Each round, at epsilon / k, selects the feature with the largest score times
    epsilon / (2 k Delta) plus an Exp(1) draw, which is permute-and-flip [MS20, DKSSXZ21]. The
    feature is left out of later rounds.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: epsilon-DP for the indices, for each draw.
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `rounding_cost`.
        Tested by: tests/privacy/test_noisy_mechanisms.py

    References:
        [MS20] McKenna & Sheldon (2020), "Permute-and-flip".
        [DKSSXZ21] Ding et al. (2021), "The permute-and-flip mechanism is identical to report-noisy-
            max with exponential noise".
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    limit = single_limit(d)
    effective = effective_epsilon(epsilon, rounding_cost(k, limit))
    values = weighted_scores(scores, k, effective / (2 * k), limit)
    order = np.argsort(-values, kind="stable")
    ranked = values[order].tolist()
    source = _Draws(rng)
    rows = [order[_rounds(ranked, k, source)] for _ in range(draws)]
    return np.sort(np.stack(rows), axis=1)


def _rounds(ranked: list[float], k: int, source: "_Draws") -> list[int]:
    """Return the ranks, from 0, that k rounds select."""
    taken: list[int] = []
    for _ in range(k):
        borders = [-1, *sorted(taken), len(ranked)]
        segments = [
            (first + 1, last) for first, last in itertools.pairwise(borders) if last - first > 1
        ]
        taken.append(_one_round(ranked, segments, source))
    return taken


def _one_round(ranked: list[float], segments: list[tuple[int, int]], source: "_Draws") -> int:
    """Return the rank with the largest noisy value, among intervals of ranks."""
    best, winner = -math.inf, -1
    heap: list[tuple[float, int, int, float]] = []

    def push(first: int, last: int, y: float) -> None:
        if first < last:
            bound = ranked[first] + _noise(y)
            if bound > best:
                heapq.heappush(heap, (-bound, first, last, y))

    for first, last in segments:
        push(first, last, source.exponential() / (last - first))
    while heap and -heap[0][0] > best:
        _, first, last, y = heapq.heappop(heap)
        place = first + source.below(last - first)
        value = ranked[place] + _noise(y)
        if value > best:
            best, winner = value, place
        for a, b in ((first, place), (place + 1, last)):
            if a < b:
                push(a, b, y + source.exponential() / (b - a))
    return winner


def _noise(y: float) -> float:
    """Return the largest noise of an interval from its y: see `largest_noise`."""
    return -math.log(-math.expm1(-y)) if y < 1.0 else -math.log1p(-math.exp(-y))


class _Draws:
    """Single draws, made many at a time."""

    def __init__(self, rng: Randomness) -> None:
        self._rng = rng
        self._exponentials: Iterator[float] = iter(())
        self._words: Iterator[int] = iter(())

    def exponential(self) -> float:
        """Return one draw of Exp(1)."""
        for drawn in self._exponentials:
            return drawn
        self._exponentials = iter(exponentials(self._rng, _AT_ONCE).tolist())
        return next(self._exponentials)

    def below(self, bound: int) -> int:
        """Return one unbiased integer in 0..bound-1."""
        refused_below = (1 << 64) % bound
        while True:
            word = next(self._words, None)
            if word is None:
                self._words = iter(self._rng.words(_AT_ONCE).tolist())
            elif word >= refused_below:
                return word % bound
