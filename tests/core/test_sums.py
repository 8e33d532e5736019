"""Sums of products, against integers of any size."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray, RealArray
from dpsel.core.bounds import ONE, Interval, bounded_integers, is_unit, unit_integers
from dpsel.core.scores import sums as products
from dpsel.core.scores.sums import BoundedTarget, exact_products

ANY_SINGLE = st.floats(width=32, allow_nan=True, allow_infinity=True, allow_subnormal=True)


def table(rows: int, columns: int, seed: int, kind: type) -> RealArray:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.5, 1.5, (rows, columns))
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    X[rng.uniform(size=X.shape) < 0.05] = np.inf
    # Halves of the grid, where rounding has to choose.
    X[rng.uniform(size=X.shape) < 0.2] = 12345.5 / ONE
    return np.asfortranarray(X.astype(kind))


def by_hand(weights: FloatArray, X: RealArray) -> list[list[int]]:
    cells = [
        [
            0 if np.isnan(cell) else round(Fraction(min(1.0, max(-1.0, cell))) * ONE)
            for cell in column
        ]
        for column in X.T.tolist()
    ]
    return [
        [sum(int(w) * c for w, c in zip(row, column, strict=True)) for column in cells]
        for row in weights.tolist()
    ]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("cells_at_once", [7, 64, 1 << 16])
def test_sums_are_those_of_whole_numbers(
    kind: type, order: str, cells_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "_CELLS_AT_ONCE", cells_at_once)
    monkeypatch.setattr(products, "_ROWS_PER_FLOAT_SUM", 50)
    X = np.asarray(table(120, 9, 1, kind), order=order)  # type: ignore[call-overload]
    weights = np.stack([np.ones(120), np.rint(np.linspace(-ONE, ONE, 120))])
    one = np.ones(9)
    assert exact_products(weights, X, -one, one).tolist() == by_hand(weights, X)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_quick_way_for_unit_bounds_is_the_same_as_the_way_for_all(kind: type) -> None:
    X = table(1000, 30, 2, kind)
    one = np.ones(30)
    slow = bounded_integers(X, -one, one)
    quick = np.empty_like(X)
    unit_integers(X, quick)
    assert np.array_equal(np.isnan(quick), np.isnan(X))
    assert np.array_equal(np.nan_to_num(quick), slow)


@given(st.lists(ANY_SINGLE, min_size=1, max_size=20))
def test_single_precision_gives_the_integers_of_double(values: list[float]) -> None:
    single = np.array(values, dtype=np.float32)
    double = single.astype(np.float64)
    unit_integers(single, single)
    unit_integers(double, double)
    assert np.array_equal(single, double, equal_nan=True)


def test_bounds_are_unit_ones_only_if_all_are() -> None:
    one = np.ones(3)
    assert is_unit(-one, one)
    assert not is_unit(-one, np.array([1.0, 1.0, 2.0]))
    assert not is_unit(np.array([-1.0, 0.0, -1.0]), one)


def test_a_table_without_rows_or_features_has_sums_too() -> None:
    one = np.ones(2)
    assert exact_products(np.ones((1, 0)), np.ones((0, 2)), -one, one).tolist() == [[0, 0]]
    none = np.ones(0)
    assert exact_products(np.ones((1, 3)), np.ones((3, 0)), -none, none).shape == (1, 0)


def test_blocks_of_the_same_rows_share_the_target_s_integers() -> None:
    target = BoundedTarget(Interval(0.0, 2.0))
    first, second = np.array([0.0, 1.0, np.nan, 9.0]), np.array([2.0, 1.5, 1.0, 0.5])
    for y in (first, second, first.copy(), second):
        expected = bounded_integers(y, np.array(0.0), np.array(2.0))
        assert target(y).tolist() == expected.tolist()
        assert target(y) is target(y)
