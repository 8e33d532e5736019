"""Centring, scaling and clipping."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import Bounds, Interval
from dpsel.preprocessing.options import Center, Missing, Scale
from dpsel.preprocessing.scaling import Scaling, data_scaling, public_scaling
from dpsel.preprocessing.statistics import exact_statistics

TABLES = arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 3)), elements=st.floats())


def scaled(X: FloatArray, center: Center, scale: Scale, missing: Missing = Missing.ZERO) -> Scaling:
    statistics = exact_statistics(X)
    return data_scaling(statistics, center, scale, 1.0).filled(statistics, missing)


@given(TABLES, st.sampled_from(Center), st.sampled_from(Scale), st.sampled_from(Missing))
@pytest.mark.filterwarnings("ignore:overflow")
def test_every_cell_ends_up_within_1(
    X: FloatArray,
    center: Center,
    scale: Scale,
    missing: Missing,
) -> None:
    found = scaled(X, center, scale, missing).apply(X)
    assert np.all(np.abs(found) <= 1.0)


def test_max_abs_is_the_paper_s() -> None:
    X = np.random.default_rng(0).normal(3, 2, (50, 4))
    centred = X - X.mean(axis=0)
    expected = centred / np.abs(centred).max(axis=0)
    found = scaled(X, Center.MEAN, Scale.MAX_ABS).apply(X)
    assert np.allclose(found, expected, rtol=0, atol=1e-14)
    assert np.array_equal(np.abs(found).max(axis=0), np.ones(4))


def test_robust_scaling_clips_outliers_only() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [1000.0]])
    found = scaled(X, Center.MEDIAN, Scale.ROBUST).apply(X)
    spread = 1.4826
    assert found.ravel().tolist() == pytest.approx([-1.0, -1 / spread, 0.0, 1 / spread, 1.0])


def test_missing_cells_become_the_centre_the_mean_or_the_median() -> None:
    X = np.array([[0.0], [0.0], [9.0], [np.nan]])
    for missing, raw in ((Missing.ZERO, 0.0), (Missing.MEAN, 3.0), (Missing.MEDIAN, 0.0)):
        found = scaled(X, Center.NONE, Scale.MAX_ABS, missing).apply(X)
        assert found.ravel().tolist() == [0.0, 0.0, 1.0, raw / 9.0]


def test_infinities_clip_and_constants_are_0() -> None:
    X = np.array([[np.inf, 5.0], [-np.inf, 5.0], [1.0, 5.0], [-1.0, 5.0]])
    found = scaled(X, Center.MEAN, Scale.MAX_ABS).apply(X)
    assert found.tolist() == [[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]


def test_public_bounds_put_the_middle_at_0() -> None:
    scaling = public_scaling(Bounds.of([Interval(0, 10)], Interval(-2, 2)))
    X = np.array([[0.0, 2.0], [5.0, np.nan], [20.0, -1.0], [np.nan, 0.0]])
    assert scaling.apply(X).tolist() == [[-1, 1], [0, 0], [1, -0.5], [0, 0]]
    assert scaling.clipped(X) == 1


def test_one_row_moves_the_scaling_of_all_others() -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (100, 1))
    far = X.copy()
    far[0] = 1e6
    before = scaled(X, Center.MEAN, Scale.MAX_ABS).apply(X)
    after = scaled(far, Center.MEAN, Scale.MAX_ABS).apply(far)
    assert np.abs(before[1:] - after[1:]).max() > 0.5


def test_numbers_near_the_largest_there_are_do_not_overflow() -> None:
    X = np.array([[1.7e308], [-1.7e308], [-1.7e308], [np.inf], [np.nan]])
    for center in Center:
        for scale in Scale:
            found = scaled(X, center, scale).apply(X)
            assert np.all(np.abs(found) <= 1.0)
            assert np.isfinite(found).all()
    wide = data_scaling(exact_statistics(X), Center.MEDIAN, Scale.ROBUST, 1.79e308)
    assert np.isfinite(wide.apply(X)).all()


def test_a_column_without_values_becomes_its_centre() -> None:
    X = np.array([[np.nan], [np.nan]])
    scaling = public_scaling(Bounds.of([], Interval(10, 20)))
    for missing in Missing:
        assert scaling.filled(exact_statistics(X), missing).apply(X).tolist() == [[0.0], [0.0]]
