"""The weight that a row's target gives it in the score `stump`, and what finding it costs.

Weights are in [-1, 1]. They follow from the row's own target by a rule that is public, or that was
paid for. If they add up to about 0, a question with the same answer for all rows scores about
nothing, and only a feature that tells the target scores well.
"""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.epsilon_parts import COUNTS, MEDIAN, BudgetParts
from dpsel.core.guarantee import Guarantee, Neighbors, Unit, rows_changed
from dpsel.core.median import TAUS, Median, private_median
from dpsel.core.randomness import Randomness, discrete_laplace
from dpsel.core.scores.stump import UNIT, WeightRule
from dpsel.errors import UsageError
from dpsel.records import frozen

COUNTS_SHARE = Fraction(1, 10)
"""The share of epsilon for noisy counts of the classes.

On planted tables with 10 to 50 rows of the rarer class, at epsilon 2, a share of 1/20 reaches 0.86
to 0.92 of what the true share of the class does, and 1/10 reaches 0.90 to 0.95, give or take 0.03.
"""

MOST_CLASSES = 256
"""The most classes a target may have."""

_MOST_SPLITS = 1 << 10
_MOST_TIMES = 20


def median_share(k: int, d: int) -> Fraction:
    """Return the median's share of epsilon, for k of d features: min(1/3, 5 / (k log(d + 2)))."""
    return Fraction(min(1 / 3, 5 / (k * math.log(d + 2))))


def balanced_by_share(share: Fraction) -> IntArray:
    """Return the weights of two classes, given the public share of rows in the second one.

    The second class has a positive weight, the first a negative one. The rarer class has a weight
    of size 1, and the other one less, in proportion to how much more frequent it is.
    """
    if not 0 < share < 1:
        raise UsageError(f"share must be between 0 and 1, got {float(share):g}")
    return _balanced(1 - share, share)


def balanced_by_counts(
    classes: IntArray, epsilon: float, neighbors: Neighbors, unit: Unit, rng: Randomness
) -> IntArray:
    """Return the weights of two classes, from noisy counts of their rows.

    `classes` has 1 or 2 for each row, or 0 if the row does not count. The mean size of the noise is
    added to both counts, so that the weights come near 1 and -1 if the noise exceeds the counts.

    Privacy:
        Domain: any classes.
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Sensitivity: of both counts together, 1 per row under add-remove, 2 under replace-one.
        Guarantee: epsilon-DP for the weights, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    rate = Fraction(repr(epsilon)) / rows_changed(neighbors, unit)
    counts = np.bincount(classes, minlength=3)[1:3].tolist()
    noisy = [max(0, count + discrete_laplace(rng, rate)) for count in counts]
    return _balanced(*(count + 1 / rate for count in noisy))


def _balanced(first: Fraction, second: Fraction) -> IntArray:
    """Return weights of groups 0, 1 and 2 that add up to about 0 for rows in this proportion."""
    larger = max(first, second)
    weights = [0, -math.floor(UNIT * second / larger), math.floor(UNIT * first / larger)]
    return np.array([weights], dtype=np.int64)


def half_splits(classes: int, rounds: int) -> IntArray:
    """Return a split of the classes into two halves for every round, as weights of their groups.

    The splits are public: they depend only on the two numbers. Each round takes the first split of
    `_halves` that separates most pairs of classes, where a pair counts half as much for every
    earlier round that separated it. Groups from 1 on are the classes; group 0 does not count. One
    half weighs 1 and the other -1: with an odd number of classes, weights that add up to 0 were no
    better on real tables.
    """
    if not 3 <= classes <= MOST_CLASSES:
        raise UsageError(f"classes must be between 3 and {MOST_CLASSES}, got {classes}")
    sides = np.array(_halves(classes))
    times = np.zeros((classes, classes), dtype=np.int64)
    np.fill_diagonal(times, _MOST_TIMES)
    chosen = np.zeros((rounds, classes + 1), dtype=np.int64)
    for index in range(rounds):
        pairs = 1 << (_MOST_TIMES - np.minimum(times - times.min(), _MOST_TIMES))
        # Pairs on the same side add to the sum, and separated pairs subtract from it.
        best = int(np.argmin((sides @ pairs * sides).sum(axis=1)))
        times += sides[best] != sides[best][:, np.newaxis]
        chosen[index, 1:] = UNIT * sides[best]
    return chosen


def _halves(classes: int) -> list[list[int]]:
    """Return splits into halves, as 1 and -1: all splits of few classes, some splits of more."""
    half = classes // 2
    if math.comb(classes, half) <= _MOST_SPLITS:
        members = [set(chosen) for chosen in combinations(range(classes), half)]
    else:
        # A half takes every step-th class from a start on. Pairs of step and start are picked
        # evenly from all, so that steps of every size are among them.
        strides = [step for step in range(1, classes) if math.gcd(step, classes) == 1]
        pairs = [(step, start) for step in strides for start in range(classes)]
        picked = pairs[:: -(-len(pairs) // _MOST_SPLITS)]
        members = [{(step * i + start) % classes for i in range(half)} for step, start in picked]
    return [[1 if i in chosen else -1 for i in range(classes)] for chosen in members]


def public_center(value: float) -> Median:
    """Return a public center; rows at the center weigh 0."""
    if not math.isfinite(value):
        raise UsageError(f"target-center must be a finite number, got {value:g}")
    return Median(value, TAUS // 2)


def private_center(
    y: FloatArray, epsilon: float, neighbors: Neighbors, unit: Unit, rng: Randomness
) -> Median:
    """Return a center at a private median of the target.

    Privacy:
        Domain: any floats; NaN does not count.
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Guarantee: epsilon-DP for the center, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    return private_median(y, Fraction(repr(epsilon)), rows_changed(neighbors, unit), rng)


@frozen
class Target:
    """What is publicly known about a target, which decides how its weights are found.

    With two classes, the target is above 0 in one of them. With more, it is a code from 0 on. With
    0 classes, it is any number.
    """

    classes: int = 0
    share: Fraction | None = None
    """With two classes: the public share of the rows in the class above 0."""
    center: float | None = None
    """With a number: a public value that about half of the targets exceed."""

    @property
    def in_rounds(self) -> bool:
        """Return whether every pick has its own weights."""
        return self.classes > 2

    def paid_from(self, parts: BudgetParts, k: int, d: int) -> BudgetParts:
        """Take what the weights cost from epsilon."""
        if self.classes == 2 and self.share is None:
            return parts.take(COUNTS_SHARE, COUNTS)
        if self.classes == 0 and self.center is None:
            return parts.take(median_share(k, d), MEDIAN)
        return parts

    def rule(
        self, y: FloatArray, parts: BudgetParts, k: int, guarantee: Guarantee, rng: Randomness
    ) -> WeightRule:
        """Return the rule for the weights of rows in each round, by their own target.

        Privacy:
            Domain: any floats; NaN does not count.
            Neighbors: those of `guarantee`.
            Guarantee: the part of `parts` that `paid_from` took for it; nothing is spent where the
                share, the center or the classes are public.
            Assumes: an rng the adversary cannot predict.
            Tested by: tests/privacy/test_target.py
        """
        if self.in_rounds:
            return WeightRule(half_splits(self.classes, k), self.classes)
        if self.classes == 2:
            if self.share is not None:
                return WeightRule(balanced_by_share(self.share), 2)
            groups = WeightRule(np.zeros((1, 3), dtype=np.int64), 2).groups(y)
            paid = parts.part(COUNTS)
            values = balanced_by_counts(groups, paid, guarantee.neighbors, guarantee.unit, rng)
            return WeightRule(values, 2)
        if self.center is not None:
            center = public_center(self.center)
        else:
            paid = parts.part(MEDIAN)
            center = private_center(y, paid, guarantee.neighbors, guarantee.unit, rng)
        return sign_rule(center)


def sign_rule(center: Median) -> WeightRule:
    """Return the rule that a row weighs 1 above the center, -1 below it, and 1 - 2 tau at it."""
    at = UNIT * (TAUS - 2 * center.below) // TAUS
    return WeightRule(np.array([[0, -UNIT, at, UNIT]]), 0, center.value)
