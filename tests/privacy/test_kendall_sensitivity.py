"""No row moves a `kendall` score by more than the stated sensitivity, and one row attains it."""

from dataclasses import replace
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.auditing.laws import permute_and_flip_law
from dpsel.auditing.loss import loss
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.randomness import make_randomness
from dpsel.core.release import release
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import UNIT, KendallScore
from dpsel.core.selection import Selection
from dpsel.selection.api import select
from tests.privacy.neighboring import ROW, TABLE, moved, scores_of


def scored(
    cells: FloatArray, neighbors: Neighbors, rows: int = 1, *, two_classes: bool = False
) -> Scores:
    """Score a table whose last column is the target."""
    bounds = Bounds.of([UNIT_INTERVAL] * (cells.shape[1] - 1), UNIT_INTERVAL)
    bounds = replace(bounds, two_classes=two_classes)
    score = KendallScore(bounds, neighbors, Unit("person" if rows > 1 else "row", rows))
    return scores_of(score, cells)


@given(TABLE, ROW)
def test_adding_a_row_of_two_classes_moves_scores_by_at_most_1(
    table: list[list[float]], row: list[float]
) -> None:
    cells = np.array([*table, row], dtype=np.float64)
    before, after = (
        scored(rows, Neighbors.ADD_REMOVE, two_classes=True) for rows in (cells[:-1], cells)
    )
    assert moved(before, after) <= before.sensitivity == UNIT


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
        # And a quarter for every row.
        assert before.values.tolist() == [3 * UNIT // 2 + 3 * UNIT // 4]
        assert after.values.tolist() == [UNIT + UNIT]


def test_scores_do_not_show_when_printed() -> None:
    assert "values" not in repr(scored(np.ones((2, 2)), Neighbors.ADD_REMOVE))


def with_all_features(y: tuple[float, ...], values: int) -> FloatArray:
    """The table with a target and every feature of so many values."""
    return np.column_stack([np.array(list(product(range(values), repeat=len(y)))).T, y])


def largest_moves(cells: FloatArray, *, two_classes: bool = False) -> tuple[int, int]:
    """How far a score rises at most, and how far it falls, when a row of the table is added."""
    whole = scored(cells, Neighbors.ADD_REMOVE, two_classes=two_classes).values
    moved = [
        whole
        - scored(
            np.delete(cells, row, axis=0), Neighbors.ADD_REMOVE, two_classes=two_classes
        ).values
        for row in range(len(cells))
    ]
    return int(np.max(moved)), -int(np.min(moved))


def test_among_all_small_tables_with_ties_a_row_moves_no_score_by_more_than_five_quarters() -> None:
    found = [
        largest_moves(with_all_features(y, n))
        for n in (1, 2, 3, 4)
        for y in product(range(n), repeat=n)
    ]
    assert max(rise for rise, _ in found) == 5 * UNIT // 4 == max(fall for _, fall in found)


def test_among_all_small_tables_of_two_classes_a_row_moves_no_score_by_more_than_1() -> None:
    found = [
        largest_moves(with_all_features(y, n), two_classes=True)
        for n in (1, 2, 3, 4, 5)
        for y in product((-1.0, 1.0, np.nan), repeat=n)
        if n < 5 or not np.isnan(y).any()
    ]
    assert max(rise for rise, _ in found) == UNIT == max(fall for _, fall in found)


def test_three_classes_would_break_the_sensitivity_of_two() -> None:
    found = [largest_moves(with_all_features(y, 4)) for y in product((0.0, 1.0, 2.0), repeat=4)]
    # Without the quarter of a row that is added to all scores.
    assert max(fall for _, fall in found) + UNIT // 4 > UNIT


def test_a_third_class_counts_as_one_of_the_two() -> None:
    y = np.array([-1.0, 1.0, 0.5, 0.0, np.nan, -7.0])
    two = np.array([-1.0, 1.0, 1.0, -1.0, np.nan, -1.0])
    x = np.array([0.0, 3.0, 2.0, 5.0, 1.0, 4.0])
    first, second = (
        scored(np.column_stack([x, target]), Neighbors.ADD_REMOVE, two_classes=True)
        for target in (y, two)
    )
    assert first.values.tolist() == second.values.tolist() == [UNIT * 2 // 5]


def tables_far_apart(*, two_classes: bool) -> tuple[FloatArray, FloatArray]:
    """A table and one row more, at which one score falls as far as it can, and another rises."""
    # All rows agree, and the new one is at odds with them all; of two classes, one has five rows.
    y = np.repeat([1.0, -1.0], [995, 5]) if two_classes else np.arange(20.0)
    rows = np.column_stack([y, np.zeros(len(y)), y])
    return rows, np.vstack([rows, [2.0, 1.0, -1.0] if two_classes else [-1.0, 1.0, 20.0]])


@pytest.mark.parametrize(("two_classes", "near"), [(False, 1.0), (True, 0.997)])
def test_a_mechanism_loses_all_of_epsilon_and_no_more(two_classes: bool, near: float) -> None:
    tables = tables_far_apart(two_classes=two_classes)
    first, second = (
        scored(cells, Neighbors.ADD_REMOVE, two_classes=two_classes) for cells in tables
    )

    def lost(sensitivity: float) -> float:
        p, q = (
            permute_and_flip_law((scores.values / sensitivity).tolist(), 1, 1.0)
            for scores in (first, second)
        )
        return loss(p, q)

    assert near - 1e-9 <= lost(first.sensitivity) <= 1.0 + 1e-9
    # A mutant: a tenth less.
    assert lost(0.9 * first.sensitivity) > 1.1


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_added_to_all_scores_changes_no_draw(name: str) -> None:
    # So the quarter of a row changes nothing but the sensitivity; whole numbers are exact.
    values = np.array([9, 1, 4, 7, 3, 0]) * UNIT
    for k in (1, 3, 5):
        drawn = [
            MECHANISMS[name].draw_sets(
                Scores(values + shift, float(UNIT)), k, 2.0, make_randomness(3), draws=200
            )
            for shift in (0, UNIT // 4, (1 << 60) + 7)
        ]
        assert np.array_equal(drawn[0], drawn[1])
        assert np.array_equal(drawn[0], drawn[2])


@pytest.mark.parametrize(
    ("positive", "neighbors", "sensitivity"),
    [("yes", "add-remove", 1.0), (None, "add-remove", 1.25), ("yes", "replace-one", 2.0)],
)
def test_a_run_knows_from_its_options_alone_whether_there_are_two_classes(
    positive: str | None, neighbors: str, sensitivity: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Scores] = []

    def seen_scores(scores: Scores, *arguments: Any, **options: Any) -> Selection:
        seen.append(scores)
        return release(scores, *arguments, **options)

    monkeypatch.setattr("dpsel.selection.run.release", seen_scores)
    labels = ["yes", "no", "maybe", None] if positive else [1.0, 0.0, 1.0, 0.0]
    table = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [4.0, 1.0, 2.0, 3.0], "y": labels})
    select(
        table,
        target="y",
        k=1,
        epsilon=1.0,
        score="kendall",
        positive=positive,
        neighbors=neighbors,
    )
    assert seen[0].sensitivity == sensitivity * UNIT
