"""As many picks as the budget carries, from public numbers."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.picks import affordable_picks, rows_needed
from dpsel.errors import UsageError


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
