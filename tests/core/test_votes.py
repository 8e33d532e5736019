"""Blocks of rows, their votes, and the exact answers they are compared with."""

import threading
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import linear_model

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import Scores
from dpsel.core.votes import contiguous_blocks, independent_blocks, largest, random_partition
from dpsel.errors import UsageError
from dpsel.selection.exact import exact_top_k
from dpsel.selection.lasso import lasso_coefficients, quiet_solver
from tests.voting import lasso_scores, lasso_votes, lasso_votes_for_each_k


def table(rows: int, d: int, seed: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, d))
    y = X[:, :3] @ np.array([0.5, -0.4, 0.3]) + 0.1 * rng.standard_normal(rows)
    return X, np.clip(y, -1, 1)


def reference_votes(
    X: FloatArray, y: FloatArray, block_of_row: IntArray, blocks: int, k: int, penalty: float
) -> list[int]:
    """One block after the other, with a full sort in plain Python."""
    votes = [0] * X.shape[1]
    for block in range(blocks):
        rows = block_of_row == block
        if not rows.any():
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights = np.abs(linear_model.Lasso(alpha=penalty).fit(X[rows], y[rows]).coef_).tolist()
        ranked = sorted(range(len(weights)), key=lambda j: (-weights[j], j))
        for j in ranked[:k]:
            votes[j] += weights[j] > 0
    return votes


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("rows", "d", "k"), [(60, 200, 5), (60, 200, 1), (300, 12, 2), (9, 4, 4)])
def test_votes_are_those_of_a_plain_loop(
    rows: int, d: int, k: int, order: str, threads: int
) -> None:
    X, y = table(rows, d, rows + d)
    block_of_row = independent_blocks(rows, 8, make_randomness(d))
    cells = np.asfortranarray(X) if order == "F" else X
    for penalty in (0.1, 0.02, 1e-4):
        votes = lasso_votes(cells, y, block_of_row, 8, k, penalty=penalty, threads=threads)
        assert votes.dtype == np.int64
        assert votes.tolist() == reference_votes(X, y, block_of_row, 8, k, penalty)
        assert votes.sum() <= 8 * k


def test_votes_leave_their_input_as_it_is() -> None:
    X, y = table(30, 10, 0)
    X = np.asfortranarray(X)
    before = X.copy(), y.copy()
    lasso_votes(X, y, np.zeros(30, dtype=np.int64), 1, 3)
    lasso_coefficients(X, y)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


def test_equal_coefficients_give_the_vote_to_the_smaller_index() -> None:
    # Orthogonal columns with the same share in y: 1, 3 and 4 have equal coefficients.
    X = np.zeros((16, 6))
    y = np.zeros(16)
    for bit, j in enumerate((1, 3, 4)):
        X[:, j] = np.where(np.arange(16) >> bit & 1, 1.0, -1.0)
        y += X[:, j] / 3
    half = np.arange(16) // 8
    assert lasso_votes(X, y, half, 2, 2).tolist() == [0, 2, 0, 2, 0, 0]
    assert lasso_votes(X, y, half, 2, 6).tolist() == [0, 2, 0, 2, 2, 0]


def test_empty_blocks_and_blocks_of_one_row_or_one_label_do_not_vote() -> None:
    X, y = table(5, 7, 1)
    assert lasso_votes(X, y, np.arange(5), 9, 3).tolist() == [0] * 7
    assert lasso_votes(X[:0], y[:0], np.arange(0), 4, 3).tolist() == [0] * 7
    constant = np.ones(5)
    assert lasso_votes(X, constant, np.zeros(5, dtype=np.int64), 1, 3).tolist() == [0] * 7
    assert lasso_coefficients(X[:0], y[:0]).tolist() == [0] * 7


def test_a_lasso_that_does_not_converge_is_silent_and_leaves_the_filters_alone() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (40, 1)) + 1e-3 * rng.uniform(-1, 1, (40, 60))
    X, y = X / np.abs(X).max(), rng.uniform(-1, 1, 40)
    with pytest.warns(Warning, match="did not converge"):
        linear_model.Lasso(alpha=1e-9).fit(X, y)
    before = list(warnings.filters)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lasso_votes(X, y, np.arange(40) % 2, 2, 3, penalty=1e-9, threads=2)
        lasso_coefficients(X, y, penalty=1e-9)
    assert caught == []
    assert list(warnings.filters) == before


def test_the_last_thread_that_leaves_the_solver_sets_the_filters_back() -> None:
    before = list(warnings.filters)
    inside, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with quiet_solver():
            inside.set()
            leave.wait()

    other = threading.Thread(target=stay)
    with quiet_solver():
        silent = list(warnings.filters)
        other.start()
        assert inside.wait(60)
    assert list(warnings.filters) == silent != before
    leave.set()
    other.join()
    assert list(warnings.filters) == before


def test_progress_is_reported_after_each_block_and_by_the_caller_s_thread() -> None:
    X, y = table(20, 5, 2)
    shares: list[float] = []
    names = set()

    def progress(share: float) -> None:
        shares.append(share)
        names.add(threading.current_thread())

    lasso_votes(X, y, contiguous_blocks(20, 4), 4, 2, threads=2, progress=progress)
    assert shares == [0.25, 0.5, 0.75, 1.0]
    assert names == {threading.current_thread()}


def test_an_interrupt_in_progress_ends_the_votes() -> None:
    X, y = table(20, 5, 2)

    def progress(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lasso_votes(X, y, contiguous_blocks(20, 4), 4, 2, progress=progress)


def test_the_lasso_on_all_rows_is_scikit_learn_s() -> None:
    X, y = table(80, 150, 3)
    for penalty in (0.1, 0.01):
        expected = linear_model.Lasso(alpha=penalty).fit(X, y).coef_
        assert np.array_equal(lasso_coefficients(X, y, penalty), expected)
    assert np.array_equal(lasso_coefficients(X, y), linear_model.Lasso(alpha=0.1).fit(X, y).coef_)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.data())
def test_exact_top_k_is_a_full_sort_with_ties_to_the_smaller_index(
    values: list[int], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(values)))
    ranked = sorted(range(len(values)), key=lambda j: (-values[j], j))
    for dtype in (np.int64, np.float64):
        found = exact_top_k(np.array(values, dtype=dtype), k)
        assert found.dtype == np.int64
        assert found.tolist() == sorted(ranked[:k])


def test_exact_top_k_holds_at_the_ends_of_the_integers() -> None:
    ends = np.iinfo(np.int64)
    assert exact_top_k(np.array([ends.min, 0, ends.max, ends.min]), 3).tolist() == [0, 1, 2]


def sizes(block_of_row: IntArray, blocks: int) -> list[int]:
    return [int(count) for count in np.bincount(block_of_row, minlength=blocks)]


@pytest.mark.parametrize(("rows", "blocks"), [(0, 3), (1, 1), (2, 5), (9, 3), (104, 10), (1000, 7)])
def test_blocks_of_a_partition_differ_by_at_most_one_row(rows: int, blocks: int) -> None:
    for made in (
        random_partition(rows, blocks, make_randomness(1)),
        contiguous_blocks(rows, blocks),
    ):
        assert made.dtype == np.int64
        assert len(made) == rows
        counts = sizes(made, blocks)
        assert len(counts) == blocks
        assert max(counts) - min(counts) <= 1


def test_contiguous_blocks_follow_the_table() -> None:
    assert contiguous_blocks(7, 3).tolist() == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("unit", [Unit(), Unit("person", 1), Unit("person", 4)])
@pytest.mark.parametrize("neighbors", Neighbors)
def test_scores_are_the_votes_of_equal_blocks_only_if_the_number_of_rows_is_public(
    neighbors: Neighbors, unit: Unit
) -> None:
    X, y = table(60, 20, 4)
    scores = lasso_scores(X, y, 3, blocks=6, neighbors=neighbors, unit=unit, rng=make_randomness(8))
    public = neighbors is Neighbors.REPLACE_ONE and unit.name == "row"
    draw = random_partition if public else independent_blocks
    expected = reference_votes(X, y, draw(60, 6, make_randomness(8)), 6, 3, 0.1)
    assert scores.values.tolist() == expected
    assert scores.sensitivity == unit.rows


def test_contiguous_blocks_are_the_paper_s_and_only_for_a_public_number_of_rows() -> None:
    X, y = table(60, 20, 4)

    def scores(neighbors: Neighbors, unit: Unit) -> Scores:
        rng = make_randomness(8)
        return lasso_scores(
            X, y, 3, blocks=6, neighbors=neighbors, unit=unit, rng=rng, contiguous=True
        )

    expected = reference_votes(X, y, contiguous_blocks(60, 6), 6, 3, 0.1)
    assert scores(Neighbors.REPLACE_ONE, Unit()).values.tolist() == expected
    for neighbors, unit in (
        (Neighbors.ADD_REMOVE, Unit()),
        (Neighbors.REPLACE_ONE, Unit("person", 2)),
    ):
        with pytest.raises(UsageError, match="contiguous blocks need replace-one"):
            scores(neighbors, unit)


def test_arguments_that_do_not_fit_are_refused() -> None:
    X, y = table(6, 4, 0)
    one = np.zeros(6, dtype=np.int64)
    with pytest.raises(UsageError, match="k must be between 1 and 4"):
        lasso_votes(X, y, one, 1, 5)
    with pytest.raises(UsageError, match="k must be between 1 and 4"):
        exact_top_k(X[0], 0)
    with pytest.raises(UsageError, match="threads must be 1 or more, got 0"):
        lasso_votes(X, y, one, 1, 1, threads=0)
    for penalty in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(UsageError, match="penalty must be a positive, finite number"):
            lasso_coefficients(X, y, penalty)
    with pytest.raises(UsageError, match="blocks must be 1 or more, got 0"):
        lasso_votes(X, y, one, 0, 1)
    with pytest.raises(UsageError, match="blocks must be 1 or more, got 0"):
        contiguous_blocks(6, 0)
    for draw in (random_partition, independent_blocks):
        with pytest.raises(UsageError, match="blocks must be 1 or more, got 0"):
            draw(6, 0, make_randomness(0))


@pytest.mark.parametrize("penalty", [0.1, 0.02])
@pytest.mark.parametrize(("rows", "d", "blocks"), [(60, 30, 6), (40, 12, 9), (3, 5, 4), (0, 5, 2)])
def test_votes_for_each_k_are_the_block_votes_of_that_k(
    rows: int, d: int, blocks: int, penalty: float
) -> None:
    X, y = table(rows, d, rows)
    X = np.asfortranarray(X)
    before = X.copy(), y.copy()
    block_of_row = independent_blocks(rows, blocks, make_randomness(d))
    # In any order, some twice, up to whole supports.
    ks = [3, 1, d, 2, 3]
    votes = lasso_votes_for_each_k(X, y, block_of_row, blocks, ks, penalty)
    expected = [lasso_votes(X, y, block_of_row, blocks, k, penalty=penalty) for k in ks]
    assert [vote.tolist() for vote in votes] == [vote.tolist() for vote in expected]
    assert all(vote.dtype == np.int64 for vote in votes)
    assert votes[0] is not votes[-1]
    if rows == 60:
        assert len({str(vote.tolist()) for vote in votes}) > 1
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


def test_votes_for_no_k_are_none() -> None:
    X, y = table(20, 5, 0)
    assert lasso_votes_for_each_k(X, y, contiguous_blocks(20, 4), 4, []) == []


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 5e-324]), max_size=9))
def test_the_largest_coefficients_are_those_of_a_full_sort_without_zeros(
    values: list[float],
) -> None:
    ranked = sorted((j for j, v in enumerate(values) if v), key=lambda j: (-abs(values[j]), j))
    for k in range(len(values) + 2):
        assert largest(np.array(values), k).tolist() == sorted(ranked[:k])
