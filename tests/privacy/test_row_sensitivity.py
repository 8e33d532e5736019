"""Whatever its cells, no row and no person moves a score by more than the stated sensitivity."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.bounds import ONE
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import UNIT
from dpsel.core.scores.registry import SCORES
from tests.privacy.neighboring import BOUNDS, ROW, TABLE, cells_of, moved, scores_of

ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
# What one row costs.
ROWS: Mapping[str, Mapping[Neighbors, float]] = {
    "dot": {ADD: ONE * ONE, REPLACE: 2 * ONE * ONE},
    "covariance": {ADD: 4 * ONE * ONE, REPLACE: 4 * ONE * ONE},
    "kendall": {ADD: 1.25 * UNIT, REPLACE: 2 * UNIT},
}
every_score = pytest.mark.parametrize("name", ROWS)


def scored(name: str, table: list[list[float]], neighbors: Neighbors, rows: int = 1) -> Scores:
    unit = Unit("person" if rows > 1 else "row", rows)
    return scores_of(SCORES[name].make(BOUNDS, neighbors, unit), cells_of(table))


@every_score
@given(table=TABLE, row=ROW)
def test_adding_a_row_moves_scores_by_at_most_the_sensitivity(
    name: str, table: list[list[float]], row: list[float]
) -> None:
    before, after = (scored(name, rows, ADD) for rows in (table, [*table, row]))
    assert moved(before, after) <= before.sensitivity == ROWS[name][ADD]


@every_score
@given(table=TABLE, old=ROW, new=ROW)
def test_replacing_a_row_moves_scores_by_at_most_the_sensitivity(
    name: str, table: list[list[float]], old: list[float], new: list[float]
) -> None:
    before, after = (scored(name, [*table, row], REPLACE) for row in (old, new))
    assert moved(before, after) <= before.sensitivity == ROWS[name][REPLACE]


@every_score
@given(table=TABLE, old=st.lists(ROW, max_size=3), new=st.lists(ROW, max_size=3))
def test_a_person_s_rows_move_scores_by_at_most_the_sensitivity(
    name: str, table: list[list[float]], old: list[list[float]], new: list[list[float]]
) -> None:
    for neighbors, changed in ((ADD, []), (REPLACE, new)):
        before, after = (scored(name, [*table, *rows], neighbors, 3) for rows in (old, changed))
        assert moved(before, after) <= before.sensitivity == 3 * ROWS[name][neighbors]
