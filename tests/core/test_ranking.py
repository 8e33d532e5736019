"""Ranks and the features behind them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.mechanisms.ranking import Ranking


@given(st.lists(st.sampled_from([-2.0, -0.0, 0.0, 1.0, 1.5, 7e300]), min_size=1), st.data())
def test_looking_up_a_few_ranks_agrees_with_sorting_everything(
    values: list[float], data: st.DataObject
) -> None:
    ranks = np.array(
        data.draw(st.lists(st.integers(1, len(values)), min_size=1, unique=True)), dtype=np.int64
    )
    for kind in (np.float64, np.int64):
        x = (
            np.array(values).astype(kind)
            if kind is np.float64
            else (np.array(values) > 0).astype(kind)
        )
        ranking = Ranking(x)
        assert sorted(ranking.few_indices(ranks)) == sorted(ranking.indices(ranks))
        assert np.array_equal(x[ranking.indices(ranks)], ranking.values(ranks))


def test_rank_1_is_the_largest() -> None:
    ranking = Ranking(np.array([3.0, 9.0, 5.0]))
    assert ranking.values(np.array([1, 2, 3])).tolist() == [9.0, 5.0, 3.0]
    assert ranking.indices(np.array([1, 2, 3])).tolist() == [1, 2, 0]


def test_a_large_vector_with_many_ties_is_looked_up_right() -> None:
    x = np.random.default_rng(0).integers(0, 1000, 200_000)
    ranking = Ranking(x)
    ranks = np.array([1, 2, 50, 51, 99_999, 200_000])
    assert sorted(ranking.few_indices(ranks)) == sorted(ranking.indices(ranks))
