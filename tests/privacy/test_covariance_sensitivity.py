"""No row moves a `covariance` score by more than the stated sensitivity, its exact supremum."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import ONE, Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.sums import CovarianceScore
from tests.privacy.neighboring import BOUNDS, ROW, WIDTH, cells_of, moved, scores_of

UNIT_BOUNDS = Bounds.of([Interval(-1, 1)] * WIDTH, Interval(-1, 1))
# All at the bounds, where scores move most.
LOW, HIGH = [-np.inf] * (WIDTH + 1), [np.inf] * (WIDTH + 1)


def scored(table: list[list[float]], neighbors: Neighbors, rows: int = 1) -> Scores:
    score = CovarianceScore(BOUNDS, neighbors, Unit("person" if rows > 1 else "row", rows))
    return scores_of(score, cells_of(table))


# Corners and few rows: by the proof a row moves most where it and the others are at the bounds.
CORNER = st.lists(st.sampled_from([-np.inf, np.inf]), min_size=WIDTH + 1, max_size=WIDTH + 1)


@given(st.lists(CORNER, max_size=8), CORNER, CORNER)
def test_rows_at_the_bounds_move_scores_by_at_most_what_the_proof_says(
    table: list[list[float]], old: list[float], new: list[float]
) -> None:
    n = len(table)
    before, with_old, with_new = (
        scored(rows, Neighbors.REPLACE_ONE) for rows in (table, [*table, old], [*table, new])
    )
    most = 4 * ONE * ONE * n // (n + 1)
    assert moved(before, with_old) <= most + 1
    assert moved(with_old, with_new) <= most + 1


@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_adding_a_row_can_move_a_score_by_n_parts_in_n_plus_1_of_the_sensitivity(n: int) -> None:
    before, after = (scored(rows, Neighbors.ADD_REMOVE) for rows in ([LOW] * n, [*[LOW] * n, HIGH]))
    # The supremum over all tables is 1, and no table attains it.
    assert moved(before, after) == 4 * ONE * ONE * n // (n + 1)
    assert n < 1000 or moved(before, after) > 0.99 * before.sensitivity


@pytest.mark.parametrize("n", [2, 3, 1000])
def test_replacing_a_row_can_move_a_score_by_n_minus_1_parts_in_n_of_the_sensitivity(
    n: int,
) -> None:
    before, after = (scored([*[LOW] * (n - 1), row], Neighbors.REPLACE_ONE) for row in (LOW, HIGH))
    assert moved(before, after) == 4 * ONE * ONE * (n - 1) // n
    assert n < 1000 or moved(before, after) > 0.99 * before.sensitivity


def test_a_person_can_move_a_score_by_nearly_all_of_the_sensitivity() -> None:
    others = [LOW] * 1000
    before, after = (
        scored(rows, Neighbors.ADD_REMOVE, 3) for rows in (others, [*others, *[HIGH] * 3])
    )
    assert moved(before, after) == 12 * ONE * ONE * 1000 // 1003 > 0.99 * before.sensitivity


def exact_covariance(X: FloatArray, y: FloatArray) -> list[int]:
    """Straight from the definition, in fractions, for bounds of -1 and 1."""

    def whole(value: float) -> Fraction:
        return Fraction(0 if np.isnan(value) else int(np.rint(np.clip(value, -1, 1) * ONE)))

    def centered(column: FloatArray) -> list[Fraction]:
        values = [whole(value) for value in column]
        mean = sum(values, Fraction(0)) / max(1, len(values))
        return [value - mean for value in values]

    products = (zip(centered(x), centered(y), strict=True) for x in X.T)
    return [int(abs(sum((a * b for a, b in pairs), Fraction(0)))) for pairs in products]


@settings(max_examples=60)
@given(st.lists(ROW, max_size=20), st.integers(1, 3), st.data())
def test_scores_equal_exact_fractions_however_the_table_is_cut(
    table: list[list[float]], threads: int, data: st.DataObject
) -> None:
    cells = cells_of(table)
    X, y = cells[:, :WIDTH], cells[:, WIDTH]
    score = CovarianceScore(UNIT_BOUNDS, Neighbors.ADD_REMOVE, Unit())
    batches = []
    cut = data.draw(st.integers(0, len(table)))
    for rows in (slice(0, cut), slice(cut, None)):
        # Not the same for all rows: rows counted twice everywhere would cancel out.
        splits = sorted(data.draw(st.sets(st.integers(1, WIDTH - 1))))
        for first, last in zip([0, *splits], [*splits, WIDTH], strict=True):
            batches.append(Batch(first, X[rows, first:last], y[rows]))
    with ThreadPoolExecutor(threads) as pool:
        for part in pool.map(score.part, data.draw(st.permutations(batches))):
            score.add(part)
    assert score.scores().values.tolist() == exact_covariance(X, y)


@given(st.lists(ROW, max_size=8), st.data())
def test_the_order_of_rows_does_not_matter(table: list[list[float]], data: st.DataObject) -> None:
    other = data.draw(st.permutations(table))
    before, after = (scored(rows, Neighbors.ADD_REMOVE) for rows in (table, other))
    assert moved(before, after) == 0


def test_sums_stay_exact_where_64_bits_would_not_do() -> None:
    # n Sxy is 4 n^2 2^32 / 4, of 76 bits; and one small row shows in the last ones.
    half = 1 << 21
    column = np.concatenate([np.full(half, -1.0), np.full(half, 1.0), [2.0**-16]])
    score = CovarianceScore(
        Bounds.of([Interval(-1, 1)], Interval(-1, 1)), Neighbors.ADD_REMOVE, Unit()
    )
    score.add(score.part(Batch(0, column[:, np.newaxis], column)))
    n = 2 * half + 1
    assert score.scores().values.tolist() == [(n * (2 * half * ONE * ONE + 1) - 1) // n]


def test_the_largest_table_has_scores_that_fit_64_bits() -> None:
    score = CovarianceScore(
        Bounds.of([Interval(-1, 1)], Interval(-1, 1)), Neighbors.ADD_REMOVE, Unit()
    )
    part = score.part(Batch(0, np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])))
    times = (1 << 30) - 1
    score.add(type(part)(0, 2 * times, 0, part.sums * times))
    assert score.scores().values.tolist() == [2 * times * ONE * ONE]


@pytest.mark.parametrize("table", [[], [HIGH], [HIGH] * 5, [[np.nan] * (WIDTH + 1)] * 5])
def test_a_table_without_variation_scores_zero(table: list[list[float]]) -> None:
    assert scored(table, Neighbors.ADD_REMOVE).values.tolist() == [0] * WIDTH


def test_rows_and_targets_count_once_however_many_blocks_they_are_in() -> None:
    X, y = np.repeat([[1.0], [-1.0], [0.5]], WIDTH, axis=1), np.array([1.0, 0.0, -0.5])
    score = CovarianceScore(UNIT_BOUNDS, Neighbors.ADD_REMOVE, Unit())
    score.add(score.part(Batch(0, X[:1], y[:1])))
    for feature in range(WIDTH):
        score.add(score.part(Batch(feature, X[1:, feature : feature + 1], y[1:])))
    assert score.scores().values.tolist() == exact_covariance(X, y)


def test_parts_do_not_show_when_printed() -> None:
    score = CovarianceScore(UNIT_BOUNDS, Neighbors.ADD_REMOVE, Unit())
    part = score.part(Batch(0, np.ones((3, WIDTH)), np.ones(3)))
    assert str(3 * ONE) not in repr(part)
