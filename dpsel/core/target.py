"""What a row's target weighs for the score `stump`, and what finding that out costs.

Weights are in [-1, 1], by a rule of the row's own target that is public, or was paid for. Where
they add up to about 0, "always no" scores nothing and a feature has to tell the target.
"""

import math
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.discrete import discrete_laplace
from dpsel.core.guarantee import Guarantee, Neighbors, Unit, check_epsilon
from dpsel.core.median import TAUS, Median, private_median
from dpsel.core.randomness import Randomness
from dpsel.core.scores.stump import UNIT, WeightRule
from dpsel.errors import UsageError
from dpsel.records import frozen

COUNTS_SHARE = Fraction(1, 10)
"""Of epsilon, what noisy counts of the classes get.

With 10 to 50 rows of the rarer class, at epsilon 2, a twentieth reaches 0.86 to 0.92 of what the
true share does on planted tables, and a tenth 0.90 to 0.95, give or take 0.03.
"""

COUNTS = "counts of the two classes"
MEDIAN = "median of the target"
ROWS = "number of rows"
SELECTION = "selection"
"""What the parts of an epsilon are for."""

MOST_CLASSES = 256
"""So many classes a target may have."""

_MOST_SPLITS = 1 << 10
# Digits of a part that people read; the rest goes to the selection.
_ROUGH = Context(prec=4, rounding=ROUND_DOWN)
_MOST_TIMES = 20


@frozen
class Part:
    """What one step takes of epsilon: a decimal, as it is printed."""

    name: str
    epsilon: float

    @property
    def exact(self) -> Decimal:
        """The decimal itself, which the float is nearest to."""
        return Decimal(repr(self.epsilon))


@frozen
class BudgetParts:
    """The parts of an epsilon. As the decimals that a record prints they add up to it exactly.

    A step that draws in whole numbers takes that decimal; a mechanism takes the float, and keeps
    back more than the two can differ by: see `effective_epsilon`.
    """

    parts: tuple[Part, ...]

    @property
    def epsilon(self) -> float:
        """What the parts add up to."""
        return float(sum(part.exact for part in self.parts))

    @staticmethod
    def of(epsilon: float, rest: str) -> "BudgetParts":
        """Return all of an epsilon as one part, from which others can be taken."""
        check_epsilon(epsilon)
        return BudgetParts((Part(rest, float(epsilon)),))

    def take(self, share: Fraction, name: str) -> "BudgetParts":
        """Take a share of the whole epsilon, rounded down to some digits, out of the last part."""
        *before, last = self.parts
        wanted = _ROUGH.plus(Decimal(repr(self.epsilon)) * share.numerator / share.denominator)
        left = float(last.exact - wanted)
        # An epsilon of many digits may leave one that no float prints: then a little more is left.
        while left < last.epsilon and not _printed(last.exact - Decimal(repr(left))):
            left = math.nextafter(left, math.inf)
        taken = last.exact - Decimal(repr(left))
        if not 0 < taken < last.exact:
            raise UsageError(
                f"epsilon must be large enough for all its parts, got {self.epsilon:g}"
            )
        return BudgetParts((*before, Part(name, float(taken)), Part(last.name, left)))

    def part(self, name: str) -> float:
        """Return what a step gets."""
        return next(part.epsilon for part in self.parts if part.name == name)

    def rounds(self, count: int) -> tuple[float, ...]:
        """Return what each of so many rounds gets of the last part; together not more than it."""
        last = Fraction(self.parts[-1].epsilon)
        unit = Fraction(math.ulp(self.parts[-1].epsilon))
        each = float(last / count // unit * unit)
        if each <= 0:
            raise UsageError(
                f"epsilon must be large enough for all its parts, got {self.epsilon:g}"
            )
        return (*[each] * (count - 1), float(last - Fraction(each) * (count - 1)))


def _printed(amount: Decimal) -> bool:
    """Return whether a float prints just as this decimal."""
    return Decimal(repr(float(amount))) == amount


def median_share(k: int, d: int) -> Fraction:
    """Return what the median gets of epsilon, for k of d features: min(1/3, 5 / (k log(d + 2)))."""
    return Fraction(min(1 / 3, 5 / (k * math.log(d + 2))))


def balanced_by_share(share: Fraction) -> IntArray:
    """Return the weights of two classes whose second has this public share of the rows.

    The rarer class weighs 1, the other as much less as it is more frequent, with another sign.
    """
    if not 0 < share < 1:
        raise UsageError(f"share must be between 0 and 1, got {float(share):g}")
    return _balanced(1 - share, share)


def balanced_by_counts(
    classes: IntArray, epsilon: float, neighbors: Neighbors, unit: Unit, rng: Randomness
) -> IntArray:
    """Return the weights of two classes, from noisy counts of their rows.

    `classes` are 1 and 2, and 0 for rows that do not count. Both counts get the mean size of the
    noise on top: where the noise is larger than the counts, the weights come near 1 and -1.

    Privacy:
        Domain: any classes.
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Sensitivity: of both counts together, 1 a row under add-remove, 2 under replace-one.
        Guarantee: epsilon-DP for the weights, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    rate = Fraction(repr(epsilon)) / changes(neighbors, unit)
    counts = np.bincount(classes, minlength=3)[1:3].tolist()
    noisy = [max(0, count + discrete_laplace(rng, rate)) for count in counts]
    return _balanced(*(count + 1 / rate for count in noisy))


def changes(neighbors: Neighbors, unit: Unit) -> int:
    """Return how many rows come or go between neighbors: a replaced one does both."""
    return unit.rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1)


def _balanced(first: Fraction, second: Fraction) -> IntArray:
    """Return weights of groups 0, 1 and 2, so that rows in this proportion add up to about 0."""
    larger = max(first, second)
    weights = [0, -math.floor(UNIT * second / larger), math.floor(UNIT * first / larger)]
    return np.array([weights], dtype=np.int64)


def half_splits(classes: int, rounds: int) -> IntArray:
    """Return for every round a split of the classes into two halves, as weights of their groups.

    Public: it depends on the numbers alone. Each round takes the first of `_halves` that separates
    most, where a pair counts half as much for every time that it was separated before. Groups
    from 1 on are the classes, group 0 does not count. One half weighs 1 and the other -1: with an
    odd number of classes, weights that add up to 0 were no better on real tables.
    """
    if not 3 <= classes <= MOST_CLASSES:
        raise UsageError(f"classes must be between 3 and {MOST_CLASSES}, got {classes}")
    sides = np.array(_halves(classes))
    times = np.zeros((classes, classes), dtype=np.int64)
    np.fill_diagonal(times, _MOST_TIMES)
    chosen = np.zeros((rounds, classes + 1), dtype=np.int64)
    for index in range(rounds):
        pairs = 1 << (_MOST_TIMES - np.minimum(times - times.min(), _MOST_TIMES))
        # The pairs on one side count for it and those apart against it.
        best = int(np.argmin((sides @ pairs * sides).sum(axis=1)))
        times += sides[best] != sides[best][:, np.newaxis]
        chosen[index, 1:] = UNIT * sides[best]
    return chosen


def _halves(classes: int) -> list[list[int]]:
    """Return splits into halves, 1 and -1: all of few classes, of more those by steps of a size."""
    half = classes // 2
    if math.comb(classes, half) <= _MOST_SPLITS:
        members = [set(chosen) for chosen in combinations(range(classes), half)]
    else:
        strides = [step for step in range(1, classes) if math.gcd(step, classes) == 1]
        every = [(step, start) for step in strides for start in range(classes)]
        # Evenly among all, so that the sizes of the steps differ as much as they can.
        some = every[:: -(-len(every) // _MOST_SPLITS)]
        members = [{(step * i + start) % classes for i in range(half)} for step, start in some]
    return [[1 if i in chosen else -1 for i in range(classes)] for chosen in members]


def public_center(value: float) -> Median:
    """Return a centre that the user knows: rows at it weigh 0."""
    if not math.isfinite(value):
        raise UsageError(f"target-center must be a finite number, got {value:g}")
    return Median(value, TAUS // 2)


def private_center(
    y: FloatArray, epsilon: float, neighbors: Neighbors, unit: Unit, rng: Randomness
) -> Median:
    """Return a centre at a private median of the target.

    Privacy:
        Domain: any floats; NaN does not count.
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Guarantee: epsilon-DP for the centre, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    return private_median(y, Fraction(repr(epsilon)), changes(neighbors, unit), rng)


@frozen
class Target:
    """What is publicly known of a target, and so how its weights are found.

    With two classes the target is above 0 in one of them; with more it is a code from 0 on. With
    none it is any number.
    """

    classes: int = 0
    share: Fraction | None = None
    """The public share of the rows that are in the class above 0, of two."""
    center: float | None = None
    """A public number that about half of the rows are above."""

    @property
    def in_rounds(self) -> bool:
        """Return whether every pick has weights of its own."""
        return self.classes > 2

    def paid_from(self, parts: BudgetParts, k: int, d: int) -> BudgetParts:
        """Take what the weights cost out of an epsilon."""
        if self.classes == 2 and self.share is None:
            return parts.take(COUNTS_SHARE, COUNTS)
        if self.classes == 0 and self.center is None:
            return parts.take(median_share(k, d), MEDIAN)
        return parts

    def rule(
        self, y: FloatArray, parts: BudgetParts, k: int, guarantee: Guarantee, rng: Randomness
    ) -> "WeightRule":
        """Return what rows weigh in each round, by their own target.

        Privacy:
            Domain: any floats; NaN does not count.
            Neighbors: those of `guarantee`.
            Guarantee: the part of `parts` that `paid_from` took for it; nothing is spent where the
                share, the centre or the classes are public.
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
    """Return 1 above the centre, -1 below, and 1 - 2 tau at it."""
    at = UNIT * (TAUS - 2 * center.below) // TAUS
    return WeightRule(np.array([[0, -UNIT, at, UNIT]]), 0, center.value)
