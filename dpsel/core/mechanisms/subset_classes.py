"""Classes of k-subsets of ranked features: their losses against the true top set, and members."""

from functools import cached_property
from itertools import islice

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.mechanisms.binomials import log_binomial
from dpsel.core.mechanisms.ranking import Ranking
from dpsel.core.randomness import Randomness, integers_below
from dpsel.records import frozen

# A loss beyond log C(d, k) + 128 is as good as infinite: the class wins with a chance below
# exp(-128). Capping losses there keeps every compared number small, whatever the scores are, so the
# rounding error of a comparison has a bound that does not depend on the data.
_CAP_MARGIN = 128.0


@frozen
class LipschitzLosses:
    """Losses of the classes (h, t), in units of the noise; the top set loses 0.

    A class (h, t), 0 <= h < k < t <= d, holds the k-subsets whose best missing rank is h + 1 and
    whose worst included rank is t. With scores x in units of their sensitivity, its loss is

        (epsilon / 2) (gamma (x[k] - x[t]) + (1 - gamma) (x[h+1] - x[k])).

    With the cap the utility is still Lipschitz: it is the maximum of two Lipschitz functions, the
    uncapped utility and the top set's utility minus a constant.
    """

    ranking: Ranking
    k: int
    gamma: float
    epsilon_per_unit: float
    margin: bool = False
    """Whether the top set also gains its lead over the best score that it leaves out."""

    @property
    def d(self) -> int:
        """Return the number of features."""
        return len(self.ranking)

    def __call__(self, h: IntArray, t: IntArray) -> FloatArray:
        """Return the losses of classes (h, t), elementwise; they grow with t and fall with h."""
        with np.errstate(over="ignore"):
            head = _finite(self.ranking.values(h + 1) - self._middle)
            tail = _finite(self._middle - self.ranking.values(t))
            loss = (self.gamma * tail + (1.0 - self.gamma) * head) * self._scale
        return np.minimum(loss, self.cap)

    @cached_property
    def top_gain(self) -> float:
        """Return the gain of the top set with a margin, at most the cap; 0 without a margin."""
        if not self.margin:
            return 0.0
        with np.errstate(over="ignore"):
            gap = _finite(self._middle - self.ranking.values(np.array([self.k + 1])))
            return float(min((1.0 - self.gamma) * gap[0] * self._scale, self.cap))

    @property
    def _scale(self) -> float:
        """Return the weight of a score, kept finite so that 0 times it is 0."""
        return min(0.5 * self.epsilon_per_unit, float(np.finfo(np.float64).max))

    @cached_property
    def _middle(self) -> NumberArray:
        """Return the score at rank k."""
        return self.ranking.values(np.array([self.k]))

    @cached_property
    def cap(self) -> float:
        """Return the cap on losses; any larger loss is as good as infinite."""
        return log_subsets(self.d, self.k) + _CAP_MARGIN


def log_subsets(d: int, k: int) -> float:
    """Return log C(d, k)."""
    return float(log_binomial(np.array([d]), np.array([k]))[0])


def largest_noise(log_y: FloatArray) -> FloatArray:
    """Return -log(1 - exp(-y)): the largest of m draws of Exp(1), where y = E / m and E ~ Exp(1).

    With log y as the input it is accurate for any m, without a Taylor series.
    """
    y = np.exp(np.maximum(log_y, -40.0))
    moderate = -np.log(-np.expm1(-np.minimum(y, 1.0)))
    tiny = -np.log1p(-np.exp(-np.maximum(y, 1.0)))
    return np.where(log_y < -40.0, -log_y, np.where(y < 1.0, moderate, tiny))


def _finite(gaps: FloatArray) -> FloatArray:
    """Replace a gap that overflowed by the largest float, so that 0 times it is 0."""
    return np.minimum(gaps.astype(np.float64), np.finfo(np.float64).max)


def uniform_members(h: IntArray, t: IntArray, k: int, rng: Randomness) -> IntArray:
    """Return a uniform member of every class (h, t) as k ranks: 1..h, a random body, and t.

    The body is a uniform (k-h-1)-subset of the ranks h+2..t-1, by Floyd's algorithm
    (Bentley & Floyd 1987, "A sample of brilliance").

    Privacy:
        Guarantee: none of its own; post-processing of the class, with fresh randomness.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_canonical_lipschitz.py
    """
    room = t - h - 2
    wanted = k - h - 1
    # The steps of Floyd's algorithm for each class: the last `wanted` of its places 0..room - 1.
    ends = np.cumsum(wanted)
    steps = np.arange(wanted.sum()) + np.repeat(room - ends, wanted)
    drawn = zip(steps.tolist(), integers_below(rng, steps + 1).tolist(), strict=True)
    members = []
    for head, tail in zip(h.tolist(), t.tolist(), strict=True):
        body: set[int] = set()
        for last, pick in islice(drawn, k - head - 1):
            body.add(last if pick in body else pick)
        members.append([*range(1, head + 1), *[head + 2 + place for place in body], tail])
    return np.array(members, dtype=np.int64)
