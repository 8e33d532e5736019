"""No row moves a `kendall` score by more than the stated sensitivity, and one row attains it."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.blocks import Block
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import UNIT, KendallScore

WIDTH = 3
CELL = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, 1e-323, -0.0, 0.0, 1.0, 1e308]),
)
ROW = st.lists(CELL, min_size=WIDTH + 1, max_size=WIDTH + 1)
TABLE = st.lists(ROW, max_size=8)


def scored(cells: FloatArray, neighbors: Neighbors, rows: int = 1) -> Scores:
    """Score a table whose last column is the target."""
    bounds = Bounds.of([UNIT_INTERVAL] * (cells.shape[1] - 1), UNIT_INTERVAL)
    score = KendallScore(bounds, neighbors, Unit("person" if rows > 1 else "row", rows))
    score.add(score.part(Block(0, cells[:, :-1], cells[:, -1])))
    return score.scores()


def listed(table: list[list[float]], neighbors: Neighbors, rows: int = 1) -> Scores:
    return scored(np.array(table, dtype=np.float64).reshape(len(table), WIDTH + 1), neighbors, rows)


def moved(a: Scores, b: Scores) -> int:
    assert a.sensitivity == b.sensitivity
    return int(np.abs(a.values - b.values).max())


@given(TABLE, ROW)
def test_adding_a_row_moves_scores_by_at_most_the_sensitivity(
    table: list[list[float]], row: list[float]
) -> None:
    before, after = (listed(rows, Neighbors.ADD_REMOVE) for rows in (table, [*table, row]))
    assert moved(before, after) <= before.sensitivity == 1.5 * UNIT


@given(TABLE, ROW, ROW)
def test_replacing_a_row_moves_scores_by_at_most_the_sensitivity(
    table: list[list[float]], old: list[float], new: list[float]
) -> None:
    before, after = (listed([*table, row], Neighbors.REPLACE_ONE) for row in (old, new))
    assert moved(before, after) <= before.sensitivity == 2 * UNIT


@given(TABLE, st.lists(ROW, max_size=3), st.lists(ROW, max_size=3))
def test_a_person_s_rows_move_scores_by_at_most_the_sensitivity(
    table: list[list[float]], old: list[list[float]], new: list[list[float]]
) -> None:
    for neighbors, changed in ((Neighbors.ADD_REMOVE, []), (Neighbors.REPLACE_ONE, new)):
        before, after = (listed([*table, *rows], neighbors, 3) for rows in (old, changed))
        assert moved(before, after) <= before.sensitivity


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([0.0, 0.3, 1.0]))
def test_rows_of_nearly_sorted_tables_move_scores_by_at_most_the_sensitivity(
    seed: int, n: int, noise: float
) -> None:
    # Strong scores, where a row moves most: random tables are seldom near.
    rng = np.random.default_rng(seed)
    y = np.arange(n + 2.0)
    X = y[:, np.newaxis] + noise * rng.standard_normal((n + 2, 20)) * n
    X[-2:] = rng.choice([-np.inf, np.inf, np.nan, n / 2], (2, 20))
    cells = np.column_stack([X, y])
    for neighbors, pair in (
        (Neighbors.ADD_REMOVE, (cells[:-1], cells[:-2])),
        (Neighbors.REPLACE_ONE, (cells[:-1], np.vstack([cells[:-2], cells[-1:]]))),
    ):
        before, after = (scored(rows, neighbors) for rows in pair)
        assert moved(before, after) <= before.sensitivity


def all_orders(n: int) -> FloatArray:
    """Every table of n rows without ties, up to monotone maps: one feature for each."""
    return np.column_stack([np.array(list(permutations(range(n)))).T, np.arange(n)]).astype(float)


def moves(before: Scores, after: Scores) -> IntArray:
    return np.asarray(np.abs(before.values - after.values))


@pytest.mark.parametrize("n", [4, 5, 6])
def test_among_all_tables_without_ties_removing_a_row_moves_most_by_the_sensitivity(
    n: int,
) -> None:
    cells = all_orders(n)
    whole = scored(cells, Neighbors.ADD_REMOVE)
    found = [
        moves(whole, scored(np.delete(cells, row, axis=0), Neighbors.ADD_REMOVE)).max()
        for row in range(n)
    ]
    assert max(found) == whole.sensitivity


@pytest.mark.parametrize("n", [3, 4, 1000])
def test_adding_a_row_can_move_a_score_by_all_of_the_sensitivity(n: int) -> None:
    # All pairs agree, and the new row is at odds with all others.
    rows = np.column_stack([np.arange(n), np.arange(n)]).astype(float)
    more = np.vstack([rows, [np.inf, -np.inf]])
    before, after = (scored(cells, Neighbors.ADD_REMOVE) for cells in (rows, more))
    assert moved(before, after) == before.sensitivity


@pytest.mark.parametrize("n", [4, 5, 1000])
def test_replacing_a_row_can_move_a_score_by_all_of_the_sensitivity(n: int) -> None:
    rows = np.column_stack([np.arange(n), np.arange(n)]).astype(float)
    other = np.vstack([rows[:-1], [np.inf, -np.inf]])
    before, after = (scored(cells, Neighbors.REPLACE_ONE) for cells in (rows, other))
    assert moved(before, after) == before.sensitivity
    # The sensitivity for add-remove would not do here.
    assert moved(before, after) > scored(rows, Neighbors.ADD_REMOVE).sensitivity


def test_a_person_can_move_a_score_by_nearly_all_of_the_sensitivity() -> None:
    # The person's rows are at odds with all before them. The supremum is 1, attained in the limit.
    n = 2000
    rows = np.column_stack([np.arange(n), np.arange(n)]).astype(float)
    person = np.array([[n + i, -1 - i] for i in range(3)], dtype=float)
    more = np.vstack([rows, person])
    before, after = (scored(cells, Neighbors.ADD_REMOVE, 3) for cells in (rows, more))
    assert before.sensitivity >= moved(before, after) > 0.99 * before.sensitivity
    agreeing = np.vstack([rows, [[n + i, n + i] for i in range(3)]])
    before, after = (scored(cells, Neighbors.REPLACE_ONE, 3) for cells in (agreeing, more))
    assert before.sensitivity >= moved(before, after) > 0.99 * before.sensitivity


def test_a_missing_row_still_counts_as_a_row() -> None:
    # 3 agreeing pairs: 3 / 2 of 3 rows, and 3 / 3 of 4.
    rows = np.array([[0, 0], [1, 1], [2, 2]], dtype=float)
    for missing in ([np.nan, 1.0], [1.0, np.nan], [np.nan, np.nan]):
        more = np.vstack([rows, missing])
        before, after = (scored(cells, Neighbors.ADD_REMOVE) for cells in (rows, more))
        assert before.values.tolist() == [3 * UNIT // 2]
        assert after.values.tolist() == [UNIT]


def test_scores_do_not_show_when_printed() -> None:
    assert "values" not in repr(scored(np.ones((2, 2)), Neighbors.ADD_REMOVE))
