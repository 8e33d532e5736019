"""No row moves a `dot` score by more than the stated sensitivity, and one row attains it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import ONE, Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.registry import SCORES, ScoreKind
from dpsel.core.scores.sums import DotScore
from tests.privacy.neighboring import BOUNDS, ROW, WIDTH, cells_of, moved, scores_of


def scored(table: list[list[float]], neighbors: Neighbors, rows: int = 1) -> Scores:
    score = DotScore(BOUNDS, neighbors, Unit("person" if rows > 1 else "row", rows))
    return scores_of(score, cells_of(table))


# Feature 0 and the target at a bound: one row contributes exactly 1.
FULL, OPPOSITE = [1.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]


def test_adding_a_row_can_move_a_score_by_all_of_the_sensitivity() -> None:
    before, after = scored([FULL], Neighbors.ADD_REMOVE), scored([FULL] * 2, Neighbors.ADD_REMOVE)
    assert moved(before, after) == before.sensitivity


def test_replacing_a_row_can_move_a_score_by_all_of_the_sensitivity() -> None:
    base = [FULL] * 3
    before, after = (scored([*base, row], Neighbors.REPLACE_ONE) for row in (FULL, OPPOSITE))
    assert moved(before, after) == before.sensitivity
    # The sensitivity for add-remove would not do here.
    assert moved(before, after) > scored(base, Neighbors.ADD_REMOVE).sensitivity


def test_a_person_can_move_a_score_by_all_of_the_sensitivity() -> None:
    before, after = (scored([FULL] * n, Neighbors.ADD_REMOVE, 3) for n in (5, 8))
    assert moved(before, after) == before.sensitivity == 3 * ONE * ONE


def exact_dot(X: FloatArray, y: FloatArray) -> list[int]:
    def whole(value: float) -> int:
        return 0 if np.isnan(value) else int(np.rint(np.clip(value, -1, 1) * ONE))

    return [abs(sum(whole(x) * whole(t) for x, t in zip(column, y, strict=True))) for column in X.T]


@settings(max_examples=60)
@given(st.lists(ROW, max_size=20), st.data())
def test_scores_equal_exact_integer_arithmetic_however_the_table_is_cut(
    table: list[list[float]], data: st.DataObject
) -> None:
    cells = cells_of(table)
    X, y = cells[:, :WIDTH], cells[:, WIDTH]
    unit = Bounds.of([Interval(-1, 1)] * WIDTH, Interval(-1, 1))
    score = DotScore(unit, Neighbors.ADD_REMOVE, Unit())
    batches = []
    cut = data.draw(st.integers(0, len(table)))
    split = data.draw(st.integers(1, WIDTH))
    for rows in (slice(0, cut), slice(cut, None)):
        for first, last in ((0, split), (split, WIDTH)):
            batches.append(Batch(first, X[rows, first:last], y[rows]))
    for batch in data.draw(st.permutations(batches)):
        score.add(score.part(batch))
    assert score.scores().values.tolist() == exact_dot(X, y)


def test_sums_stay_exact_where_floats_alone_would_not() -> None:
    # 3 * 2^21 rows of 1, and one of 2^-32: a float64 sum would lose the last.
    rows = 3 * (1 << 21)
    X = np.ones((rows + 1, 1))
    y = np.ones(rows + 1)
    X[-1] = y[-1] = 2.0**-16
    score = DotScore(Bounds.of([Interval(-1, 1)], Interval(-1, 1)), Neighbors.ADD_REMOVE, Unit())
    score.add(score.part(Batch(0, X, y)))
    assert score.scores().values.tolist() == [rows * ONE * ONE + 1]


@pytest.mark.parametrize("kind", SCORES.values(), ids=SCORES)
def test_a_score_without_rows_is_zero(kind: ScoreKind) -> None:
    score = kind.make(BOUNDS, Neighbors.ADD_REMOVE, Unit())
    assert score.scores().values.tolist() == [0] * WIDTH


def test_scores_do_not_show_when_printed() -> None:
    scores = scored([FULL], Neighbors.ADD_REMOVE)
    assert str(ONE * ONE) not in repr(scores).replace("sensitivity=4294967296.0", "")
    assert "values" not in repr(scores)
