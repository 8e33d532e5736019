"""Statistics of columns: exact, and the same in any order."""

import math
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch, Columns, Unreadable
from dpsel.core.bounds import Bounds, Interval
from dpsel.preprocessing import statistics
from dpsel.preprocessing.statistics import (
    NORMAL_MAD,
    ColumnStatistics,
    Moments,
    exact_statistics,
    exact_sums,
    joined_statistics,
    threaded_statistics,
)
from dpsel.system.threads import Threads
from dpsel.tables.cell_counts import CellCounts

FINITE = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)
ANY = st.one_of(FINITE, st.just(math.nan), st.just(math.inf), st.just(-math.inf))


@given(st.lists(FINITE, max_size=30))
def test_sums_are_exact_for_any_numbers(values: list[float]) -> None:
    total = exact_sums(np.array(values).reshape(-1, 1))[0]
    assert Fraction(int(total), 1 << 1088) == sum(map(Fraction, values), Fraction(0))


@given(st.lists(ANY, max_size=30), st.integers(0, 30), st.randoms(use_true_random=False))
def test_moments_do_not_depend_on_order_or_cut(
    values: list[float], cut: int, random: object
) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    whole = Moments(1)
    whole.add(Moments.of(np.array(values).reshape(-1, 1)))
    parts = Moments(1)
    for part in (shuffled[cut:], shuffled[:cut]):
        parts.add(Moments.of(np.array(part).reshape(-1, 1)))
    finite = [value for value in values if math.isfinite(value)]
    for found in (whole.statistics(), parts.statistics()):
        expected = float(sum(map(Fraction, finite), Fraction(0)) / len(finite)) if finite else 0.0
        assert found.mean[0] == expected
        assert found.low[0] == min(finite, default=0.0)
        assert found.high[0] == max(finite, default=0.0)


def test_exact_statistics_leave_missing_values_out() -> None:
    X = np.array([[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0], [np.inf, 5.0], [8.0, 6.0]])
    found = exact_statistics(X)
    assert found.mean.tolist() == [4.0, 5.2]
    assert found.median is not None
    assert found.median.tolist() == [3.0, 5.0]
    assert found.robust_deviation is not None
    # Column 0: distances 2, 0, 5. Column 1: most distances are 0, so the standard deviation.
    assert found.robust_deviation[0] == NORMAL_MAD * 2.0
    assert found.robust_deviation[1] == pytest.approx(np.std([5.0, 5.0, 5.0, 5.0, 6.0]))


def test_a_column_without_any_value_has_statistics_of_0() -> None:
    found = exact_statistics(np.full((3, 1), np.nan))
    assert (found.mean[0], found.low[0], found.high[0]) == (0.0, 0.0, 0.0)


PROFILES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "far from 0": lambda rng, n: 1e6 + rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "very heavy tails": lambda rng, n: np.exp(4 * rng.normal(size=n) ** 2),
    "skewed": lambda rng, n: rng.lognormal(3, 2, n),
    "far outliers": lambda rng, n: np.where(np.arange(n) % 1000 == 0, 1e9, rng.normal(size=n)),
    "farther outliers": lambda rng, n: np.where(np.arange(n) % 50 == 0, 1e15, rng.normal(size=n)),
    "whole numbers": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "constant": lambda rng, n: np.full(n, 7.25),
    "mostly one value": lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),
    "two values": lambda rng, n: np.where(np.arange(n) < n // 2, -1.0, 1.0),
    "two values and one": lambda rng, n: np.r_[np.full(n // 2 + 1, -1.0), np.ones(n // 2 - 1), 1e3],
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("rows", [20_001, 20_000, 2])
def test_medians_of_columns_looked_at_in_parts_are_exact(profile: str, rows: int) -> None:
    rng = np.random.default_rng(1)
    x = PROFILES[profile](rng, rows)
    if rows > 2:
        x[::97] = np.nan
    X = np.column_stack([x, rng.standard_normal(len(x))])
    found = joined_statistics([exact_statistics(X[:, :1]), exact_statistics(X[:, 1:])])
    known = x[np.isfinite(x)]
    assert found.median is not None
    assert found.robust_deviation is not None
    assert found.median[0] == np.median(known)
    distance = np.median(np.abs(known - np.median(known)))
    if distance > 0:
        assert found.robust_deviation[0] == NORMAL_MAD * distance
    whole = exact_statistics(X)
    assert np.array_equal(found.median, whole.median)  # type: ignore[arg-type]
    assert np.array_equal(found.robust_deviation, whole.robust_deviation)  # type: ignore[arg-type]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("cells", [1, 1000, 1 << 22])
def test_statistics_are_the_same_for_any_number_of_threads_and_columns_at_a_time(
    cells: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((501, 7)) * 10.0 ** rng.integers(-300, 300, 7)
    X[::7, 1], X[:, 2], X[3, 4] = np.nan, np.nan, np.inf
    monkeypatch.setattr(statistics, "_CELLS_AT_ONCE", cells)
    found, known = threaded_statistics(X, Threads(threads)), exact_statistics(X)
    for field in fields(ColumnStatistics):
        assert np.array_equal(getattr(found, field.name), getattr(known, field.name))


@settings(max_examples=40)
@given(
    st.lists(st.integers(-10_000, 10_000).map(lambda n: n / 8), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_medians_do_not_depend_on_the_order_of_rows(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = exact_statistics(np.array(values)[:, None])
    other = exact_statistics(np.array(shuffled)[:, None])
    assert np.array_equal(one.median, other.median)  # type: ignore[arg-type]
    assert np.array_equal(one.robust_deviation, other.robust_deviation)  # type: ignore[arg-type]


def test_huge_numbers_have_finite_statistics() -> None:
    X = np.array([[1.7e308, 0.0], [-1.7e308, 0.0], [1.5e308, 0.0], [1.7e308, 1.5e154]])
    found = exact_statistics(X)
    assert found.median is not None
    assert found.robust_deviation is not None
    assert np.isfinite(found.median).all()
    assert found.median[0] == 1.6e308
    assert found.robust_deviation[1] == pytest.approx(1.5e154 * math.sqrt(3) / 4)


def cells_of_no_use(X: FloatArray, y: FloatArray, bounds: Bounds | None) -> FloatArray:
    """Return shares cell by cell: clipped, missing, unreadable."""
    columns = [*X.T.tolist(), y.tolist()]
    limits = [(-math.inf, math.inf)] * len(columns)
    if bounds is not None:
        limits = list(zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True))
        limits.append((bounds.target.lower, bounds.target.upper))
    found = [
        (sum(x < a or x > b for x in column), sum(math.isnan(x) for x in column), 0)
        for column, (a, b) in zip(columns, limits, strict=True)
    ]
    return np.array(found).T / max(1, len(y))


@pytest.mark.parametrize("rows", [0, 1, 60, 1000])
@pytest.mark.parametrize("bounded", [True, False])
def test_cells_of_no_use_are_counted_in_any_cut(rows: int, bounded: bool) -> None:
    rng = np.random.default_rng(rows)
    X, y = rng.normal(0, 1, (rows, 5)), rng.normal(0, 1, rows)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[rng.random(X.shape) < 0.1] = np.inf
    y[rng.random(rows) < 0.2] = np.nan
    bounds = Bounds.of([Interval(-0.5, 0.1 * i) for i in range(5)], Interval(0, 1))
    clipping = bounds if bounded else None
    counts = CellCounts(5)
    for start in range(0, rows, 17):
        for first, last in ((3, 5), (0, 2), (2, 3)):
            some = X[start : start + 17, first:last]
            cells = Columns(list(some.T)) if start % 2 else some
            counts.add(CellCounts.of(Batch(first, cells, y[start : start + 17]), clipping))
    assert counts.shares() == pytest.approx(cells_of_no_use(X, y, clipping), abs=1e-12)


def test_of_very_many_rows_some_are_looked_at_all_over_the_block() -> None:
    X = np.zeros((1_000_000, 2))
    X[500_000:, 0] = 9.0
    X[-1, 1] = np.nan
    bounds = Bounds.of([Interval(0, 1)] * 2, Interval(0, 1))
    shares = CellCounts.of(Batch(0, X, np.zeros(len(X))), bounds).shares()
    assert shares[0].tolist() == [0.5, 0.0, 0.0]
    assert shares[1].tolist() == [0.0, 1 / 1024, 0.0]


def test_unreadable_cells_are_those_of_the_texts_that_were_looked_at() -> None:
    X = np.array([[math.nan, 1.0, 7.0], [math.nan, math.nan, 7.0]])
    # The third feature is a folder's: it has no texts, and no missing cells.
    words = Unreadable(np.array([2, 2, 2]), np.array([1, 0, 2]))
    counts = CellCounts(3)
    counts.add(CellCounts.of(Batch(0, X, np.array([math.nan, math.nan]), words), None))
    assert counts.shares().tolist() == [[0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0, 0, 1]]
    assert "0.5" not in repr(counts)


def test_columns_whose_texts_were_not_looked_at_are_taken_to_be_like_the_others() -> None:
    X = np.full((4, 3), math.nan)
    words = Unreadable(np.array([4, 4, 0, 4]), np.array([1, 2, 0, 0]))
    shares = CellCounts.of(Batch(0, X, np.zeros(4), words), None).shares()
    assert shares[2].tolist() == [0.25, 0.5, 0.375, 0.0]
    assert shares[1].tolist() == [0.75, 0.5, 0.625, 0.0]
