"""An epsilon is split exactly, and pays for as many picks as the formula says."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.epsilon_parts import BudgetParts, affordable_picks, noisy_rows, rows_needed
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import SeededRandomness
from dpsel.errors import UsageError
from tests.chi_square import ALPHA, p_value

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE


@given(
    st.floats(1e-6, 1e6),
    st.lists(st.fractions(Fraction(1, 100), Fraction(1, 4)), max_size=3),
    st.integers(1, 200),
)
def test_the_parts_of_epsilon_add_up_exactly(
    epsilon: float, shares: list[Fraction], rounds: int
) -> None:
    budget = BudgetParts.of(epsilon, "selection")
    for share in shares:
        budget = budget.take(share, "a step")
    parts = [part.epsilon for part in budget.parts]
    # As they are printed.
    assert sum(Decimal(repr(part)) for part in parts) == Decimal(repr(epsilon))
    assert budget.epsilon == epsilon
    for part, share in zip(parts, shares, strict=False):
        assert 0 < Fraction(repr(part)) <= Fraction(repr(epsilon)) * share
        assert part == pytest.approx(epsilon * float(share), rel=1e-3)
    each = budget.rounds(rounds)
    assert len(each) == rounds
    assert min(each) > 0
    assert sum(map(Fraction, each)) == Fraction(parts[-1])
    assert max(each) == pytest.approx(min(each), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_no_budget_has_no_parts(epsilon: float) -> None:
    with pytest.raises(UsageError):
        BudgetParts.of(epsilon, "selection")


def test_an_epsilon_too_small_for_its_parts_is_refused() -> None:
    with pytest.raises(UsageError):
        BudgetParts.of(5e-324, "selection").take(Fraction(1, 10), "share")
    with pytest.raises(UsageError):
        BudgetParts.of(5e-324, "selection").rounds(2)
    with pytest.raises(UsageError):
        BudgetParts.of(1.0, "selection").take(Fraction(1), "share")


def test_picks_are_what_the_formula_says() -> None:
    # 0.4 * 569 * 0.5 / (2 * (log 30 + 2)) = 10.5
    assert affordable_picks(20, 30, 0.5, 569) == 10
    assert affordable_picks(5, 30, 0.5, 569) == 5
    # 0.4 * 62 * 1 / (2 * (log 2000 + 2)) = 1.29
    assert affordable_picks(5, 2000, 1.0, 62) == 1
    assert affordable_picks(5, 2000, 0.01, 62) == 1
    assert affordable_picks(5, 2000, 1.0, -40) == 1


def test_rows_needed_are_what_the_formula_says() -> None:
    assert rows_needed(5, 22_283, 2.0) == math.ceil(5 * 5 * (math.log(22_283) + 2) / 2)
    assert rows_needed(1, 1, 5e-324) > 10**299


@given(st.integers(1, 100), st.integers(1, 10**6), st.floats(1e-3, 100))
def test_that_many_rows_carry_all_picks_and_a_few_less_do_not(
    k: int, d: int, epsilon: float
) -> None:
    rows = rows_needed(k, d, epsilon)
    assert affordable_picks(k, d, epsilon, rows + 1) == k
    fewer = math.floor(0.99 * rows) - 1
    assert k == 1 or affordable_picks(k, d, epsilon, fewer) < k


@pytest.mark.parametrize(("k", "d", "epsilon"), [(0, 1, 1.0), (1, 0, 1.0), (1, 1, 0.0)])
def test_numbers_that_mean_nothing_are_refused(k: int, d: int, epsilon: float) -> None:
    with pytest.raises(UsageError):
        affordable_picks(k, d, epsilon, 10)
    with pytest.raises(UsageError):
        rows_needed(k, d, epsilon)


def rows_fit(neighbors: Neighbors, unit: Unit, moved: int, epsilon: float = 1.5) -> float:
    """Return the fit of noisy numbers of rows to the law for a sensitivity of `moved`."""
    rng = SeededRandomness(5)
    drawn = Counter(noisy_rows(1000, epsilon, neighbors, unit, rng) for _ in range(8_000))
    ratio = math.exp(-epsilon / moved)
    law = {x: (1 - ratio) / (1 + ratio) * ratio ** abs(x - 1000) for x in range(2001)}
    return p_value(drawn, law)


PERSON = Unit("person", 3)


@pytest.mark.parametrize(
    ("neighbors", "unit", "moved"), [(ADD, Unit(), 1), (ADD, PERSON, 3), (REPLACE, PERSON, 6)]
)
def test_the_noise_of_a_number_of_rows_fits_its_sensitivity(
    neighbors: Neighbors, unit: Unit, moved: int
) -> None:
    assert rows_fit(neighbors, unit, moved) > ALPHA
    # The check notices noise that is too small or too large.
    assert rows_fit(neighbors, unit, 2 * moved) < ALPHA
    assert moved == 1 or rows_fit(neighbors, unit, moved - 1) < ALPHA


def test_a_noisy_number_of_rows_is_never_negative_and_refused_where_it_is_public() -> None:
    rng = SeededRandomness(6)
    assert min(noisy_rows(0, 0.1, ADD, Unit(), rng) for _ in range(100)) == 0
    with pytest.raises(UsageError, match="the number of rows is public under replace-one"):
        noisy_rows(10, 1.0, REPLACE, Unit(), rng)
