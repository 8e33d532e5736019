"""Ranks within rows: a function of each row alone, so no score's sensitivity changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from dpsel.core import row_ranks as module
from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.row_ranks import ranked, row_ranks
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.scores.stump import UNIT, Cells, stump_scores, stump_sensitivity
from dpsel.core.words import boxed_words, words_of
from tests.core.test_stump import weighed
from tests.privacy.neighboring import BOUNDS, CELL, WIDTH, moved, scores_of

NAN = float("nan")
WORDS = boxed_words(np.array([1 << 60, 5 << 60], dtype=np.uint64)).tolist()
CELLS = st.one_of(CELL, st.sampled_from(WORDS))
ROW = st.lists(CELLS, min_size=WIDTH, max_size=WIDTH)
ROWS = st.lists(ROW, max_size=8)


def array(rows: list[list[float]]) -> FloatArray:
    return np.array(rows, dtype=np.float64).reshape(len(rows), WIDTH)


def expected(row: FloatArray) -> FloatArray:
    """The ranks of one row by scipy, words and missing cells as they are."""
    found, numbers = row.copy(), ~np.isnan(row)
    found[numbers] = rankdata(row[numbers], method="average")
    return found


@given(ROWS)
def test_ranks_are_those_of_scipy_and_other_cells_keep_their_bits(rows: list[list[float]]) -> None:
    X = array(rows)
    found = row_ranks(X)
    for row, ranks in zip(X, found, strict=True):
        assert ranks.tobytes() == expected(row).tobytes()
    np.testing.assert_array_equal(words_of(X)[1], words_of(found)[1])


@given(ROWS, ROW)
def test_a_row_changes_no_other_row_s_ranks(rows: list[list[float]], row: list[float]) -> None:
    assert row_ranks(array([*rows, row]))[:-1].tobytes() == row_ranks(array(rows)).tobytes()


def test_blocks_of_rows_and_their_order_in_memory_do_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = np.random.default_rng(1).integers(0, 9, (40, 13)).astype(np.float64)
    X[X == 8] = NAN
    by_rows = row_ranks(X)
    monkeypatch.setattr(module, "_CELLS_AT_ONCE", 30)
    assert row_ranks(np.asfortranarray(X)).tobytes() == by_rows.tobytes()
    assert row_ranks(np.empty((3, 0))).shape == (3, 0)
    assert row_ranks(np.empty((0, 3))).shape == (0, 3)


def test_a_batch_in_single_precision_has_the_ranks_of_its_doubles() -> None:
    X = np.array([[0.1, 0.1, -2.0], [np.inf, 3.0, np.nan]], dtype=np.float32)
    found = ranked(Batch(0, X, np.zeros(2)))
    np.testing.assert_array_equal(found.X, [[2.5, 2.5, 1.0], [2.0, 1.0, NAN]])


WEIGHTS = st.sampled_from([UNIT, -UNIT, -UNIT // 3])


def stump(rows: list[list[float]], weights: list[int]) -> FloatArray:
    X = row_ranks(array(rows))
    return np.asarray(stump_scores(Cells.of(np.asfortranarray(X)), weighed(weights))[0])


def column_ranks(X: FloatArray) -> FloatArray:
    """A mutant: ranks within columns, which every row decides."""
    return np.asfortranarray(row_ranks(np.ascontiguousarray(X.T)).T)


@given(st.lists(st.tuples(ROW, WEIGHTS), min_size=1, max_size=8), ROW, WEIGHTS)
def test_neighbors_have_stump_scores_within_the_sensitivity(
    table: list[tuple[list[float], int]], row: list[float], weight: int
) -> None:
    rows, weights = [one[0] for one in table], [one[1] for one in table]
    before = stump(rows, weights)
    added = stump([*rows, row], [*weights, weight])
    replaced = stump([*rows[:-1], row], [*weights[:-1], weight])
    unit = Unit()
    assert np.abs(added - before).max() <= stump_sensitivity(Neighbors.ADD_REMOVE, unit)
    assert np.abs(replaced - before).max() <= stump_sensitivity(Neighbors.REPLACE_ONE, unit)


@given(st.lists(st.lists(CELL, min_size=WIDTH + 1, max_size=WIDTH + 1), min_size=1, max_size=8))
def test_neighbors_have_kendall_scores_within_the_sensitivity(rows: list[list[float]]) -> None:
    X = np.array(rows, dtype=np.float64)
    cells = np.column_stack([row_ranks(X[:, :-1]), X[:, -1]])
    scores = [
        scores_of(KendallScore(BOUNDS, Neighbors.ADD_REMOVE, Unit()), some)
        for some in (cells, cells[:-1])
    ]
    assert moved(*scores) <= scores[0].sensitivity


def test_a_row_attains_the_sensitivity_and_ranks_within_columns_would_not_be_a_row_s_own() -> None:
    rows, weights = [[1.0, 2.0, 3.0]] * 3, [UNIT] * 3
    more = stump([*rows, [9.0, 8.0, 7.0]], [*weights, UNIT])
    assert np.abs(more - stump(rows, weights)).max() == UNIT
    X = array([[1.0, 2.0, 3.0], [4.0, 0.0, 6.0]])
    assert column_ranks(X)[:1].tobytes() != column_ranks(X[:1]).tobytes()
