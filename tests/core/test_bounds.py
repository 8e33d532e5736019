"""The way from raw values to bounded integers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.bounds import ONE, Interval, bounded_integers
from dpsel.errors import UsageError

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)


def bounded(values: list[float], lower: float, upper: float) -> list[float]:
    found: list[float] = bounded_integers(
        np.array(values), np.array(lower), np.array(upper)
    ).tolist()
    return found


def test_bounds_map_to_plus_and_minus_one_and_the_middle_to_zero() -> None:
    assert bounded([10.0, 20.0, 15.0, 12.5], 10.0, 20.0) == [-ONE, ONE, 0, -ONE / 2]


def test_missing_counts_zero_and_infinities_clip() -> None:
    assert bounded([np.nan, np.inf, -np.inf, 99.0], 0.0, 2.0) == [0, ONE, -ONE, ONE]


@given(st.lists(ANY_FLOAT, min_size=1), ANY_FLOAT, ANY_FLOAT)
def test_any_value_with_any_bounds_becomes_a_whole_number_within_one(
    values: list[float], a: float, b: float
) -> None:
    try:
        interval = Interval(a, b)
    except UsageError:
        return
    found = bounded_integers(np.array(values), np.array(interval.lower), np.array(interval.upper))
    assert np.all(np.abs(found) <= ONE)
    assert np.array_equal(found, np.rint(found))


@given(st.lists(st.floats(-3, 3), min_size=1))
def test_unit_bounds_round_exactly(values: list[float]) -> None:
    exact = [round(Fraction(min(1.0, max(-1.0, value))) * ONE) for value in values]
    assert bounded(values, -1.0, 1.0) == exact


@given(st.lists(ANY_FLOAT, min_size=2, max_size=9), st.floats(-9, 9), st.floats(0.1, 9))
def test_a_value_s_integer_does_not_depend_on_the_others(
    values: list[float], lower: float, width: float
) -> None:
    together = bounded(values, lower, lower + width)
    assert together == [bounded([value], lower, lower + width)[0] for value in values]


def test_columns_have_bounds_of_their_own() -> None:
    X = np.array([[1.0, 1.0], [0.0, 0.0]])
    found = bounded_integers(X, np.array([0.0, -1.0]), np.array([1.0, 3.0]))
    assert found.tolist() == [[ONE, 0], [-ONE, -ONE / 2]]


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (0.0, math.inf), (-math.inf, 0.0), (0.0, 5e-324)],
)
def test_bounds_that_hold_nothing_or_everything_are_refused(lower: float, upper: float) -> None:
    with pytest.raises(UsageError, match="bound"):
        Interval(lower, upper)
