"""No row moves a `stump` score by more than the stated sensitivity, and one row attains it.

The mutants are scores that look alike and break the proof; the same search finds them out.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.stump import UNIT, Cells, RowWeights, stump_scores, stump_sensitivity
from tests.core.test_stump import weighed

ROW = Unit()
ADD, REPLACE = Neighbors.ADD_REMOVE, Neighbors.REPLACE_ONE
NAN, INF = float("nan"), float("inf")
WIDTH = 2
CELL = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([NAN, INF, -INF, 0.0, -0.0, 1.0, 5e-324, 1e308, "a", "b", None]),
)
WEIGHT = st.one_of(st.integers(-UNIT, UNIT), st.sampled_from([UNIT, -UNIT, 0, -UNIT // 3]))
Row = tuple[Any, ...]
RowOf = st.tuples(*[CELL] * WIDTH, WEIGHT)
Rows = st.lists(RowOf, max_size=8)
Score = Callable[[list[Row]], list[int]]


def stump(rows: list[Row]) -> list[int]:
    """Score rows of cells, numbers and words and missing ones, whose last is the weight."""
    width = len(rows[0]) - 1 if rows else WIDTH
    cells = [[row[column] for row in rows] for column in range(width)]
    numbers = [[cell if isinstance(cell, float) else NAN for cell in column] for column in cells]
    codes = [[ord(cell) if isinstance(cell, str) else -1 for cell in column] for column in cells]
    shape = (width, len(rows))
    table = Cells(np.reshape(numbers, shape).astype(float), np.reshape(codes, shape).astype(int))
    return [int(score) for score in stump_scores(table, weighed([row[-1] for row in rows]))[0]]


def moved(score: Score, before: list[Row], after: list[Row]) -> int:
    pairs = zip(score(before), score(after), strict=True)
    return max(abs(a - b) for a, b in pairs)


@given(Rows, RowOf)
def test_adding_a_row_moves_scores_by_at_most_the_sensitivity(rows: list[Row], row: Row) -> None:
    assert moved(stump, rows, [*rows, row]) <= stump_sensitivity(ADD, ROW) == UNIT


@given(Rows, RowOf, RowOf)
def test_replacing_a_row_moves_scores_by_at_most_the_sensitivity(
    rows: list[Row], old: Row, new: Row
) -> None:
    assert moved(stump, [*rows, old], [*rows, new]) <= stump_sensitivity(REPLACE, ROW) == 2 * UNIT


@given(Rows, st.lists(RowOf, max_size=3), st.lists(RowOf, max_size=3))
def test_a_person_s_rows_move_scores_by_at_most_the_sensitivity(
    rows: list[Row], old: list[Row], new: list[Row]
) -> None:
    person = Unit("person", 3)
    assert moved(stump, rows, [*rows, *old]) <= stump_sensitivity(ADD, person)
    assert moved(stump, [*rows, *old], [*rows, *new]) <= stump_sensitivity(REPLACE, person)


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([0.0, 0.3, 3.0]))
def test_rows_of_separated_tables_move_scores_by_at_most_the_sensitivity(
    seed: int, n: int, noise: float
) -> None:
    # Strong scores, where a row moves most.
    rng = np.random.default_rng(seed)
    weights = rng.choice([UNIT, -UNIT, -UNIT // 3], n + 2)
    x = np.round(weights / UNIT + noise * rng.standard_normal((20, n + 2)), 1)
    x[:, -2:] = rng.choice([-INF, INF, NAN, 0.0], (20, 2))
    kept = {"less": [*range(n)], "more": [*range(n + 1)], "other": [*range(n), n + 1]}
    found = {
        name: stump_scores(Cells(x[:, rows]), weighed(weights[rows].tolist()))
        for name, rows in kept.items()
    }
    assert np.abs(found["more"] - found["less"]).max() <= stump_sensitivity(ADD, ROW)
    assert np.abs(found["more"] - found["other"]).max() <= stump_sensitivity(REPLACE, ROW)


CELLS: list[Any] = [-INF, 0.0, 1.0, NAN, "a", "b"]
WEIGHTS = [UNIT, -UNIT, UNIT // 2]


def largest_moves(score: Score, most_rows: int) -> tuple[int, int]:
    """Return how far a row moves a score, added and replaced, over all tables of so many rows."""
    possible = list(product(CELLS, WEIGHTS))
    scores = {
        table: score([possible[row] for row in table])[0] if table else 0
        for n in range(most_rows + 1)
        for table in combinations_with_replacement(range(len(possible)), n)
    }
    added = replaced = 0
    for table, own in scores.items():
        for place in range(len(table)):
            rest = table[:place] + table[place + 1 :]
            added = max(added, abs(own - scores[rest]))
            others = (scores[tuple(sorted((*rest, row)))] for row in range(len(possible)))
            replaced = max(replaced, *(abs(own - other) for other in others))
    return added, replaced


def test_over_all_small_tables_the_sensitivity_is_attained_and_never_exceeded() -> None:
    added, replaced = largest_moves(stump, 3)
    assert added == stump_sensitivity(ADD, ROW)
    assert replaced == stump_sensitivity(REPLACE, ROW)


@pytest.mark.parametrize("n", [2, 100, 20_000])
def test_one_row_attains_the_sensitivity(n: int) -> None:
    x = np.append(np.arange(2 * n), [-1.0, 3.0 * n])
    groups = np.repeat([1, 2, 1, 1], [n, n, 1, 1])
    table = np.array([[0, -UNIT, UNIT]])

    def score(rows: list[int]) -> int:
        return int(stump_scores(Cells(x[np.newaxis, rows]), RowWeights(groups[rows], table))[0, 0])

    plain = list(range(2 * n))
    assert score(plain) == 2 * n * UNIT
    agreeing, at_odds = [*plain, 2 * n], [*plain, 2 * n + 1]
    assert score(agreeing) - score(plain) == stump_sensitivity(ADD, ROW)
    assert score(agreeing) - score(at_odds) == stump_sensitivity(REPLACE, ROW)


def test_a_person_attains_the_sensitivity() -> None:
    rows: list[Row] = [(float(i), UNIT if i >= 10 else -UNIT) for i in range(20)]
    agreeing, at_odds = [(99.0, UNIT)] * 3, [(99.0, -UNIT)] * 3
    person = Unit("person", 3)
    assert moved(stump, rows, [*rows, *agreeing]) == stump_sensitivity(ADD, person)
    both = moved(stump, [*rows, *agreeing], [*rows, *at_odds])
    assert both == stump_sensitivity(REPLACE, person)


def best_of(rows: list[Row], asked: list[list[int]], weights: list[int]) -> list[int]:
    sums = (sum(a * q for a, q in zip(weights, answers, strict=True)) for answers in asked)
    return [max((abs(s) for s in sums), default=0)]


def number(row: Row) -> float | None:
    cell = row[0]
    return None if not isinstance(cell, float) or cell != cell else cell


def answers(rows: list[Row], threshold: float) -> list[int]:
    cells = [number(row) for row in rows]
    return [0 if cell is None else 1 if cell > threshold else -1 for cell in cells]


def by_own_median(rows: list[Row]) -> list[int]:
    """The threshold is the data's own median."""
    cells = sorted(cell for cell in map(number, rows) if cell is not None)
    if not cells:
        return [0]
    asked = [answers(rows, cells[len(cells) // 2])]
    return best_of(rows, asked, [row[-1] for row in rows])


def by_own_type(rows: list[Row]) -> list[int]:
    """A column has number questions only while every cell of it is a number."""
    if all(number(row) is not None or row[0] != row[0] for row in rows):
        return stump([(row[0], row[-1]) for row in rows])
    return [0]


def heavier(rows: list[Row]) -> list[int]:
    """Weights go beyond 1."""
    asked = [answers(rows, t) for t in (-INF, 0.0, 1.0, INF)]
    return best_of(rows, asked, [3 * row[-1] // 2 for row in rows])


def by_true_share(rows: list[Row]) -> list[int]:
    """The classes' weights come from their true share in the table, which nobody paid for."""
    rare = [row for row in rows if row[-1] > 0]
    other = len(rows) - len(rare)
    if not rare or not other:
        return [0]
    low = min(1.0, len(rare) / other)
    weights = [UNIT if row[-1] > 0 else -int(UNIT * low) for row in rows]
    asked = [answers(rows, t) for t in (-INF, 0.0, 1.0, INF)]
    return best_of(rows, asked, weights)


@pytest.mark.parametrize("mutant", [by_own_median, by_own_type, heavier, by_true_share])
def test_mutants_are_caught(mutant: Score) -> None:
    added, replaced = largest_moves(mutant, 3)
    assert added > stump_sensitivity(ADD, ROW) or replaced > stump_sensitivity(REPLACE, ROW)
