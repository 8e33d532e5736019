"""Kendall scores are exact, for any values, order and cut of the table."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores import kendall
from dpsel.core.scores.kendall import UNIT, KendallScore, inversions
from dpsel.system.threads import Threads

CELL = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([np.nan, -np.nan, np.inf, -np.inf, 5e-324, 1e-323, -0.0, 0.0, 1.0, 1e308]),
)
WIDTH = 4
ROW = st.lists(CELL, min_size=WIDTH + 1, max_size=WIDTH + 1)
TABLE = st.lists(ROW, max_size=20)


def score_of(width: int, threads: int = 1) -> KendallScore:
    bounds = Bounds.of([UNIT_INTERVAL] * width, UNIT_INTERVAL)
    # Under replace-one the score is |S| / (n - 1) itself.
    score = KendallScore(bounds, Neighbors.REPLACE_ONE, Unit())
    score.work_with(Threads(threads))
    return score


def scored(X: FloatArray, y: FloatArray, threads: int = 1) -> list[int]:
    score = score_of(X.shape[1], threads)
    score.add(score.part(Batch(0, X, y)))
    values = score.scores().values
    assert values.dtype == np.int64
    return list(values.tolist())


def pairwise(X: FloatArray, y: FloatArray) -> list[int]:
    """Look at every pair, as the definition says."""

    def order(a: float, b: float) -> int:
        return (a > b) - (a < b)

    n = len(y)
    found = []
    for x in X.T.tolist():
        pairs = ((i, j) for j in range(n) for i in range(j))
        s = sum(order(x[i], x[j]) * order(float(y[i]), float(y[j])) for i, j in pairs)
        found.append(abs(s) * UNIT // (n - 1) if n > 1 else 0)
    return found


def cells_of(table: list[list[float]]) -> tuple[FloatArray, FloatArray]:
    cells = np.array(table, dtype=np.float64).reshape(len(table), WIDTH + 1)
    return cells[:, :WIDTH], cells[:, WIDTH]


@given(TABLE)
def test_scores_equal_a_look_at_every_pair(table: list[list[float]]) -> None:
    X, y = cells_of(table)
    assert scored(X, y) == pairwise(X, y)


@pytest.mark.parametrize("n", [2, 3, 63, 64, 65, 150])
@pytest.mark.parametrize("values", [2, 5, 40, 10**9])
def test_scores_equal_a_look_at_every_pair_with_few_or_many_ties(n: int, values: int) -> None:
    rng = np.random.default_rng(n + values)
    X = rng.integers(0, values, (n, 6)).astype(np.float64)
    y = rng.integers(0, max(2, values // 2), n).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[rng.random(X.shape) < 0.1] = np.inf
    y[rng.random(n) < 0.1] = np.nan
    assert scored(X, y) == pairwise(X, y)


@pytest.mark.parametrize("n", [2, 3, 10, 257, 1000, 4097])
def test_scores_agree_with_scipy_where_nothing_is_tied(n: int) -> None:
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 5))
    y = X[:, 0] + rng.standard_normal(n)
    for x, value in zip(X.T, scored(X, y), strict=True):
        s = round(abs(kendalltau(x, y).statistic) * n * (n - 1) / 2)
        assert value == s * UNIT // (n - 1)


@settings(max_examples=50)
@given(TABLE, st.data())
def test_the_order_of_rows_does_not_matter(table: list[list[float]], data: st.DataObject) -> None:
    assert scored(*cells_of(table)) == scored(*cells_of(data.draw(st.permutations(table))))


@settings(max_examples=100)
@given(TABLE, st.data())
def test_the_cut_into_blocks_does_not_matter(table: list[list[float]], data: st.DataObject) -> None:
    X, y = cells_of(table)
    score = score_of(WIDTH)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=4)))
    for start, stop in zip([0, *cuts], [*cuts, len(table)], strict=True):
        splits = sorted(data.draw(st.sets(st.integers(1, WIDTH - 1))))
        groups = list(zip([0, *splits], [*splits, WIDTH], strict=True))
        for first, last in data.draw(st.permutations(groups)):
            score.add(score.part(Batch(first, X[start:stop, first:last], y[start:stop])))
    assert score.scores().values.tolist() == scored(X, y)


@pytest.mark.parametrize("cells", [1, 512, 1 << 17])
def test_threads_and_groups_of_features_do_not_matter(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 30, (100, 37)).astype(np.float64), rng.standard_normal(100)
    expected = scored(X, y)
    monkeypatch.setattr(kendall, "_CELLS_AT_ONCE", cells)
    for threads in (1, 2, 7):
        assert scored(X, y, threads) == expected
        assert scored(np.asfortranarray(X), y, threads) == expected


@pytest.mark.parametrize("n", [0, 1])
def test_tables_without_pairs_score_zero(n: int) -> None:
    assert scored(np.ones((n, 3)), np.ones(n)) == [0, 0, 0]


def test_a_score_without_blocks_or_features_is_as_long_as_it_should_be() -> None:
    assert score_of(3).scores().values.tolist() == [0, 0, 0]
    assert scored(np.ones((5, 0)), np.arange(5.0)) == []


@pytest.mark.parametrize("constant", [0.0, np.nan, np.inf, -np.inf])
def test_constants_score_zero(constant: float) -> None:
    rising = np.arange(5.0)
    assert scored(np.full((5, 2), constant), rising) == [0, 0]
    assert scored(np.column_stack([rising, -rising]), np.full(5, constant)) == [0, 0]


def test_infinities_are_the_most_extreme_values_and_missing_ones_are_not() -> None:
    y = np.arange(4.0)
    X = np.array([[-np.inf, -1e308, 1e308, np.inf], [-np.inf, -np.inf, np.nan, np.inf]]).T
    assert scored(X, y) == [2 * UNIT, 2 * UNIT // 3]


def test_the_raw_size_of_values_does_not_matter() -> None:
    y = np.array([5e-324, 1e-323, 1.0, 1e308])
    X = np.array([[0.0, 5e-324, 1e-323, 2e-308], [1.0, 1.0 + 2**-52, 1e10, 1e300]]).T
    assert scored(X, y) == [2 * UNIT, 2 * UNIT]


@pytest.mark.parametrize("length", [1, 2, 3, 8, 9, 100])
def test_inversions_equal_a_look_at_every_pair(length: int) -> None:
    rng = np.random.default_rng(length)
    rows = np.array([rng.permutation(length) for _ in range(7)])
    later = np.triu(np.ones((length, length), dtype=bool), 1)
    expected = [int(((row[:, np.newaxis] > row) & later).sum()) for row in rows]
    assert inversions(rows).tolist() == expected


def test_a_long_table_has_an_exact_score() -> None:
    n = 300_000
    rising = np.arange(float(n))
    turned = np.roll(rising, 1)  # One row at odds with all others.
    assert scored(np.column_stack([rising, -rising, turned]), rising) == [
        n * UNIT // 2,
        n * UNIT // 2,
        (math.comb(n, 2) - 2 * (n - 1)) * UNIT // (n - 1),
    ]


def test_blocks_out_of_order_are_a_bug_and_are_refused() -> None:
    score = score_of(3)
    score.add(score.part(Batch(0, np.zeros((2, 2)), np.zeros(2))))
    with pytest.raises(ValueError, match="order of the rows"):
        score.add(score.part(Batch(1, np.zeros((2, 2)), np.zeros(2))))
    with pytest.raises(ValueError, match="fewer rows"):
        score.scores()
