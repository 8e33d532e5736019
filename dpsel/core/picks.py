"""How many features an epsilon can pay for, and how many rows that takes: from public numbers."""

import math
from fractions import Fraction

from dpsel.core.discrete import discrete_laplace
from dpsel.core.guarantee import Neighbors, Unit, check_at_least, check_epsilon
from dpsel.core.randomness import Randomness
from dpsel.errors import UsageError

# Of n rows, a good feature's score in units of its sensitivity.
_STRENGTH = 0.4


def affordable_picks(k: int, d: int, epsilon: float, rows: int) -> int:
    """Return how many of at most k features of d to select, so that each is better than chance.

    A round at epsilon / r finds a feature of strength 0.4 n among d where 0.4 n epsilon / (2 r)
    is above log d; 2 more make it likely. More rounds than that would share out epsilon in
    parts that find nothing.

    Privacy:
        Guarantee: that of `rows`, a public number or a noisy count that was paid for.
        Tested by: tests/core/test_picks.py
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
        Neighbors: add-remove, of one row or of a person of at most `unit.rows` rows. Under
            replace-one the number of rows is public, and nothing need be paid for it.
        Sensitivity: `unit.rows`.
        Guarantee: epsilon-DP for the number, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/core/test_picks.py
    """
    if neighbors is Neighbors.REPLACE_ONE and unit == Unit():
        raise UsageError("the number of rows is public under replace-one")
    rate = Fraction(repr(epsilon)) / (unit.rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1))
    return max(0, count + discrete_laplace(rng, rate))


def rows_needed(k: int, d: int, epsilon: float) -> int:
    """Return from how many rows on k of d features can be selected better than by chance."""
    check_at_least(1, k, "k")
    check_at_least(1, d, "features")
    check_epsilon(epsilon)
    # A fraction, since floats would overflow.
    return math.ceil(Fraction(2 * k * (math.log(d) + 2) / _STRENGTH) / Fraction(epsilon))
