"""The largest score of a group moves no farther than the scores of its columns do."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.arrays import NumberArray
from dpsel.core.groups import Features
from dpsel.core.scores.base import Scores

COLUMNS = tuple("abcdef")
# Any partition: every column in one of four groups, or by itself.
PARTITIONS = st.lists(
    st.sampled_from(["", "g", "h", "i"]), min_size=len(COLUMNS), max_size=len(COLUMNS)
)
VALUES = st.lists(st.integers(-(2**60), 2**60), min_size=len(COLUMNS), max_size=len(COLUMNS))
MOVES = st.lists(st.integers(-7, 7), min_size=len(COLUMNS), max_size=len(COLUMNS))


def features_of(groups: list[str]) -> Features:
    found: dict[str, list[str]] = {}
    for column, group in zip(COLUMNS, groups, strict=True):
        if group:
            found.setdefault(group, []).append(column)
    return Features.of(COLUMNS, found)


def by_hand(
    features: Features, values: list[int], reduced: Callable[[list[int]], int]
) -> list[int]:
    """Return what a group scores, column by column."""
    of = dict(zip(COLUMNS, values, strict=True))
    return [reduced([of[c] for c in features.groups.get(name, (name,))]) for name in features.names]


def faults(largest: Callable[[Features, NumberArray], NumberArray]) -> set[str]:
    """Return what is wrong with a way to put columns together, on 200 seeded pairs of scores."""
    rng = np.random.default_rng(4)
    found = set()
    for _ in range(200):
        features = features_of(rng.choice(["", "g", "h"], len(COLUMNS)).tolist())
        before = rng.integers(-50, 50, len(COLUMNS))
        after = before + rng.integers(-7, 8, len(COLUMNS))
        if np.abs(largest(features, after) - largest(features, before)).max() > 7:
            found.add("moves too far")
        if largest(features, before).tolist() != by_hand(features, before.tolist(), max):
            found.add("is not the largest")
    return found


@given(PARTITIONS, VALUES, MOVES)
def test_no_group_moves_farther_than_its_columns(
    groups: list[str], values: list[int], moves: list[int]
) -> None:
    features = features_of(groups)
    before = np.array(values)
    after = before + np.array(moves)
    change = np.abs(features.largest(after) - features.largest(before))
    assert change.max() <= np.abs(after - before).max()
    assert features.largest(before).tolist() == by_hand(features, values, max)
    scores = features.scores(Scores(before, 7.0))
    assert (scores.sensitivity, len(scores)) == (7.0, len(features.names))


def test_one_column_that_moves_can_move_its_group_as_far() -> None:
    features = features_of(["g", "g", "", "", "", ""])
    before, after = np.zeros(6, dtype=np.int64), np.array([7, 0, 0, 0, 0, 0])
    assert (features.largest(after) - features.largest(before)).tolist() == [7, 0, 0, 0, 0]


def test_rounds_are_grouped_one_by_one() -> None:
    features = features_of(["g", "", "g", "", "", ""])
    values: NumberArray = np.arange(12).reshape(2, 6)[:, ::-1]
    assert features.names == ("g", "b", "d", "e", "f")
    assert features.largest(values).tolist() == [[5, 4, 2, 1, 0], [11, 10, 8, 7, 6]]


def reduced_by(ufunc: Any, features: Features, values: NumberArray) -> NumberArray:
    """Return what `Features.largest` would with another way to put columns together."""
    if features.places is None:
        return values
    order = np.argsort(features.places, kind="stable")
    starts = np.searchsorted(features.places[order], np.arange(len(features.names)))
    found: NumberArray = ufunc.reduceat(values[order], starts)
    return found


def mean(features: Features, values: NumberArray) -> NumberArray:
    sizes = reduced_by(np.add, features, np.ones_like(values))
    return reduced_by(np.add, features, values) / sizes


@pytest.mark.parametrize(
    ("mutant", "fault"),
    [
        (partial(reduced_by, np.add), "moves too far"),
        (partial(reduced_by, np.minimum), "is not the largest"),
        (mean, "is not the largest"),
    ],
)
def test_another_way_to_put_columns_together_is_noticed(
    mutant: Callable[[Features, NumberArray], NumberArray], fault: str
) -> None:
    assert faults(Features.largest) == set()
    assert faults(partial(reduced_by, np.maximum)) == set()
    assert fault in faults(mutant)
