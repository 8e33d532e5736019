"""How one epsilon is split among the steps of a selection, and how many features it pays for."""

import math
from decimal import ROUND_DOWN, Context, Decimal
from fractions import Fraction

from dpsel.core.guarantee import (
    Neighbors,
    Unit,
    check_at_least,
    check_epsilon,
    rows_are_public,
    rows_changed,
)
from dpsel.core.randomness import Randomness, discrete_laplace
from dpsel.core.selection import Part
from dpsel.errors import UsageError
from dpsel.records import frozen

COUNTS = "counts of the two classes"
MEDIAN = "median of the target"
ROWS = "number of rows"
SELECTION = "selection"
"""The names of the parts: what each is spent on."""

ROWS_SHARE = Fraction(1, 20)
"""The share of epsilon for a noisy number of rows."""

# Parts have few digits, for people to read; the remainder goes to the selection.
_ROUGH = Context(prec=4, rounding=ROUND_DOWN)
# A good feature's score per row, in units of its sensitivity.
_STRENGTH = 0.4


@frozen
class BudgetParts:
    """The parts of one epsilon. As decimals, as a record prints them, they add up to it exactly.

    A step that draws whole numbers spends the decimal. A mechanism spends the float, and holds
    back more than the two can differ by: see `effective_epsilon`.
    """

    parts: tuple[Part, ...]

    @property
    def epsilon(self) -> float:
        """The sum of the parts."""
        return float(sum(part.exact for part in self.parts))

    @staticmethod
    def of(epsilon: float, rest: str) -> "BudgetParts":
        """Return an epsilon as a single part called `rest`, from which others can be taken."""
        check_epsilon(epsilon)
        return BudgetParts((Part(rest, float(epsilon)),))

    def take(self, share: Fraction, name: str) -> "BudgetParts":
        """Take a share of the whole epsilon, rounded down to a few digits, from the last part."""
        *before, last = self.parts
        wanted = _ROUGH.plus(Decimal(repr(self.epsilon)) * share.numerator / share.denominator)
        left = float(last.exact - wanted)
        # With an epsilon of many digits no float may print as the part taken; then take a bit less.
        while left < last.epsilon and not _printed(last.exact - Decimal(repr(left))):
            left = math.nextafter(left, math.inf)
        taken = last.exact - Decimal(repr(left))
        if not 0 < taken < last.exact:
            raise UsageError(
                f"epsilon must be large enough for all its parts, got {self.epsilon:g}"
            )
        return BudgetParts((*before, Part(name, float(taken)), Part(last.name, left)))

    def part(self, name: str) -> float:
        """Return the part with this name."""
        return next(part.epsilon for part in self.parts if part.name == name)

    def rounds(self, count: int) -> tuple[float, ...]:
        """Return the last part split among `count` rounds; together they do not exceed it."""
        last = Fraction(self.parts[-1].epsilon)
        unit = Fraction(math.ulp(self.parts[-1].epsilon))
        each = float(last / count // unit * unit)
        if each <= 0:
            raise UsageError(
                f"epsilon must be large enough for all its parts, got {self.epsilon:g}"
            )
        return (*[each] * (count - 1), float(last - Fraction(each) * (count - 1)))


def _printed(amount: Decimal) -> bool:
    """Return whether some float prints exactly as this decimal."""
    return Decimal(repr(float(amount))) == amount


def affordable_picks(k: int, d: int, epsilon: float, rows: int) -> int:
    """Return how many features of d to select, at most k, so that each is better than chance.

    One of r rounds, at epsilon / r, finds a feature of score 0.4 n among d features if
    0.4 n epsilon / (2 r) is above log d; 2 more make it likely. With more rounds, each would have
    too little of epsilon to find anything.

    Privacy:
        Guarantee: that of `rows`, a public number or a noisy count that was paid for.
        Tested by: tests/core/test_epsilon_parts.py
    """
    check_at_least(1, k, "k")
    check_at_least(1, d, "features")
    check_epsilon(epsilon)
    if rows <= 0:
        return 1
    carried = _STRENGTH * rows * epsilon / (2 * (math.log(d) + 2))
    return k if carried >= k else max(1, math.floor(carried))


def noisy_rows(
    count: int, epsilon: float, neighbors: Neighbors, unit: Unit, rng: Randomness
) -> int:
    """Return a noisy number of rows.

    Privacy:
        Neighbors: add-remove of one row, or either relation for a person of at most `unit.rows`
            rows. Under replace-one of rows the number of rows is public: this is refused.
        Sensitivity: at most `unit.rows`; for replace-one twice that is paid for.
        Guarantee: epsilon-DP for the number, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/core/test_epsilon_parts.py
    """
    if rows_are_public(neighbors, unit):
        raise UsageError("the number of rows is public under replace-one")
    rate = Fraction(repr(epsilon)) / rows_changed(neighbors, unit)
    return max(0, count + discrete_laplace(rng, rate))


def rows_needed(k: int, d: int, epsilon: float) -> int:
    """Return how many rows it takes to select k of d features better than by chance."""
    check_at_least(1, k, "k")
    check_at_least(1, d, "features")
    check_epsilon(epsilon)
    # As a fraction, since a float could overflow.
    return math.ceil(Fraction(2 * k * (math.log(d) + 2) / _STRENGTH) / Fraction(epsilon))
