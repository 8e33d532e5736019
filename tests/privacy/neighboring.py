"""Small tables of any cells, and how far the scores of neighboring ones are apart."""

import numpy as np
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.scores.base import Score, Scores

WIDTH = 3
BOUNDS = Bounds.of([Interval(-1, 1), Interval(0, 10), Interval(-1e-3, 5e300)], Interval(-2, 1))
CELL = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, 1e-323, -0.0, 0.0, 1.0, -1.0, 10.0, 1e308]),
)
ROW = st.lists(CELL, min_size=WIDTH + 1, max_size=WIDTH + 1)
TABLE = st.lists(ROW, max_size=8)


def cells_of(table: list[list[float]]) -> FloatArray:
    """Return the rows of a table as an array; the last column is the target."""
    return np.array(table, dtype=np.float64).reshape(len(table), WIDTH + 1)


def scores_of(score: Score, cells: FloatArray) -> Scores:
    """Return the scores of a table whose last column is the target."""
    score.add(score.part(Batch(0, cells[:, :-1], cells[:, -1])))
    return score.scores()


def moved(a: Scores, b: Scores) -> int:
    """Return how far the score that moves most does."""
    assert a.sensitivity == b.sensitivity
    return int(np.abs(a.values - b.values).max())
