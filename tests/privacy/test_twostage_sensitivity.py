"""No row moves a feature's votes by more than 1, one row does; and the laws of the partitions."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.matrix import Matrix, TiledMatrix
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import Scores
from dpsel.core.votes import contiguous_blocks, independent_blocks, random_partition
from dpsel.selection.lasso import _centered_products, _fitted, _fitted_to_products, quiet_solver
from dpsel.tables.spill import Spill
from tests.chi_square import ALPHA, p_value
from tests.core.test_randomness import Scripted
from tests.voting import lasso_scores, lasso_votes

WIDTH = 12
BLOCKS = 3
# Extreme cells, and enough other ones for a LASSO to find something in 8 rows.
CELL = st.one_of(st.sampled_from([-1.0, 1.0, 0.0, -0.0, 5e-324, 2.0**-16]), st.floats(-1, 1))
ROW = arrays(np.float64, WIDTH + 1, elements=CELL)
SEED = st.integers(0, 2**32)
K = st.integers(1, WIDTH)
PENALTY = st.sampled_from([0.1, 0.01])


@st.composite
def tables(draw: st.DrawFn) -> FloatArray:
    """Up to 24 rows that hypothesis chose cell by cell, or that follow a linear model."""
    rows = draw(st.integers(1, 24))
    if draw(st.booleans()):
        return draw(arrays(np.float64, (rows, WIDTH + 1), elements=CELL))
    rng = np.random.default_rng(draw(SEED))
    cells = rng.uniform(-1, 1, (rows, WIDTH + 1))
    cells[:, WIDTH] = np.sign(cells[:, :2].sum(axis=1))
    return cells


def votes(cells: FloatArray, block_of_row: IntArray, k: int, penalty: float) -> IntArray:
    X, y = cells[:, :WIDTH], cells[:, WIDTH]
    return lasso_votes(X, y, block_of_row, BLOCKS, k, penalty=penalty)


def moved(a: IntArray, b: IntArray) -> int:
    return int(np.abs(a - b).max())


def scored(
    cells: FloatArray, k: int, neighbors: Neighbors, seed: int, unit: Unit | None = None
) -> Scores:
    return lasso_scores(
        cells[:, :WIDTH],
        cells[:, WIDTH],
        k,
        blocks=BLOCKS,
        neighbors=neighbors,
        unit=Unit() if unit is None else unit,
        rng=make_randomness(seed),
        penalty=0.02,
    )


@settings(deadline=None)
@given(tables(), SEED, K, PENALTY, st.data())
def test_removing_a_row_moves_votes_by_at_most_1(
    cells: FloatArray, seed: int, k: int, penalty: float, data: st.DataObject
) -> None:
    gone = data.draw(st.integers(0, len(cells) - 1))
    # The rows that stay keep their draws: this is the coupling of the proof.
    block_of_row = independent_blocks(len(cells), BLOCKS, make_randomness(seed))
    before = votes(cells, block_of_row, k, penalty)
    after = votes(np.delete(cells, gone, axis=0), np.delete(block_of_row, gone), k, penalty)
    assert moved(before, after) <= 1


@settings(deadline=None)
@given(tables(), ROW, SEED, K)
def test_adding_a_row_moves_scores_by_at_most_the_sensitivity(
    cells: FloatArray, row: FloatArray, seed: int, k: int
) -> None:
    # The rows before the last draw the same words from the same seed.
    before = scored(cells, k, Neighbors.ADD_REMOVE, seed)
    after = scored(np.vstack([cells, row]), k, Neighbors.ADD_REMOVE, seed)
    assert moved(before.values, after.values) <= before.sensitivity == after.sensitivity == 1


@settings(deadline=None)
@given(tables(), ROW, SEED, K, st.data())
def test_replacing_a_row_moves_scores_by_at_most_the_sensitivity(
    cells: FloatArray, row: FloatArray, seed: int, k: int, data: st.DataObject
) -> None:
    other = cells.copy()
    other[data.draw(st.integers(0, len(cells) - 1))] = row
    before, after = (scored(some, k, Neighbors.REPLACE_ONE, seed) for some in (cells, other))
    assert moved(before.values, after.values) <= before.sensitivity == after.sensitivity == 1


@settings(deadline=None, max_examples=50)
@given(tables(), st.lists(ROW, max_size=2), st.lists(ROW, max_size=2), SEED, K)
def test_a_person_s_rows_move_scores_by_at_most_the_sensitivity(
    cells: FloatArray, old: list[FloatArray], new: list[FloatArray], seed: int, k: int
) -> None:
    for neighbors, changed in ((Neighbors.ADD_REMOVE, []), (Neighbors.REPLACE_ONE, new)):
        before, after = (
            scored(np.vstack([cells, *rows]), k, neighbors, seed, Unit("person", 2))
            for rows in (old, changed)
        )
        assert moved(before.values, after.values) <= before.sensitivity == 2


def plain(rows: int) -> FloatArray:
    """A table whose target is its feature 0."""
    cells = np.random.default_rng(3).uniform(-1, 1, (rows, WIDTH + 1))
    cells[:, WIDTH] = cells[:, 0] = np.where(np.arange(rows) % 2, 1.0, -1.0)
    return cells


def test_adding_a_row_can_move_a_score_by_all_of_the_sensitivity() -> None:
    # One row has no slope, two have one: the second row of a block gives it its vote.
    cells = plain(24)
    for seed in range(20):
        blocks = independent_blocks(2, BLOCKS, make_randomness(seed))
        before, after = (scored(cells[:n], 1, Neighbors.ADD_REMOVE, seed) for n in (1, 2))
        assert moved(before.values, after.values) == (blocks[0] == blocks[1])
    assert any(np.ptp(independent_blocks(2, BLOCKS, make_randomness(s))) == 0 for s in range(20))


def test_replacing_a_row_can_move_a_score_by_all_of_the_sensitivity() -> None:
    cells = plain(2)
    cells = np.vstack([cells, cells[:1], cells])
    other = cells.copy()
    other[0] = cells[1]
    reached = set()
    for seed in range(20):
        before, after = (scored(some, 1, Neighbors.REPLACE_ONE, seed) for some in (cells, other))
        reached.add(moved(before.values, after.values))
    assert reached == {0, 1}


def test_a_person_with_fewer_rows_than_the_one_replaced_leaves_the_other_rows_in_their_blocks() -> (
    None
):
    # With blocks of equal size, every row would change its block: a vote then moves by 3 or more.
    for seed in range(50):
        cells = np.random.default_rng(seed).uniform(-1, 1, (26, WIDTH + 1))
        unit, replaced = Unit("person", 2), Neighbors.REPLACE_ONE
        before, after = (scored(cells[:rows], 3, replaced, seed, unit) for rows in (26, 24))
        assert moved(before.values, after.values) <= before.sensitivity == 2


def test_a_person_can_move_a_score_by_all_of_the_sensitivity() -> None:
    cells = plain(2)
    unit = Unit("person", 2)
    reached = set()
    for seed in range(60):
        # Two rows alike, in two blocks; the person's rows bring each block its vote.
        table = np.vstack([cells[:1], cells[:1], cells[1:], cells[1:]])
        before, after = (scored(table[:n], 1, Neighbors.ADD_REMOVE, seed, unit) for n in (2, 4))
        reached.add(moved(before.values, after.values))
    assert max(reached) == before.sensitivity == 2


TWINS = 20
# 2.8 MB of cells, in three copies, are all that this much memory holds: one row more is too many.
MEMORY, ROWS_IN_MEMORY = "8400000", 17_500


def twins(rows: int) -> tuple[FloatArray, FloatArray]:
    """A table on the grid in which each column comes twice: rounding says which of them counts."""
    rng = np.random.default_rng(1)
    X = np.repeat(np.rint(rng.uniform(-1, 1, (rows, TWINS // 2)) * 65536) / 65536, 2, axis=1)
    y = (X[:, ::2] @ rng.uniform(-0.2, 0.2, TWINS // 2)).clip(-1, 1)
    return X, np.rint(y * 65536) / 65536


def where_it_fits(X: FloatArray) -> Matrix:
    """Put rows where `baseline` would: in memory, or on disk if there are too many."""
    table = Spill(X.shape[1], copies=3)
    table.add(0, X)
    return table.array() if table.fits_in_memory else table


def test_a_row_moves_no_vote_of_another_block_when_it_sends_the_table_to_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", MEMORY)
    X, y = twins(ROWS_IN_MEMORY + 1)
    tables = [where_it_fits(X[:-1]), where_it_fits(X)]
    assert [isinstance(table, TiledMatrix) for table in tables] == [False, True]
    # Two blocks, each too large to be worked on at once; the new row has a third for itself.
    block_of_row = np.append(np.arange(ROWS_IN_MEMORY) % 2, 2)
    for k in (5, 11, 15):
        before, after = (
            lasso_votes(table, y[: len(table)], block_of_row[: len(table)], 3, k, penalty=1e-4)
            for table in tables
        )
        assert before.max() == 2
        assert before.tolist() == after.tolist()


def test_the_two_solvers_tell_twins_apart_differently() -> None:
    # Else the test above would pass whichever of them a block gets.
    X, y = twins(ROWS_IN_MEMORY // 2)
    with quiet_solver():
        by_cells = _fitted(np.array(X, order="F"), y, 1e-4)
        by_products = _fitted_to_products(X, y, 1e-4)
    pairs = by_cells.reshape(-1, 2), by_products.reshape(-1, 2)
    assert pairs[0].sum(axis=1) == pytest.approx(pairs[1].sum(axis=1), abs=1e-6)
    assert by_cells.tolist() != by_products.tolist()


def test_products_are_the_same_however_the_rows_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", MEMORY)
    X, y = twins(5000)
    X[:, 3] = 1.0 - np.abs(X[:, 3]) / 64
    X = np.rint(X * 65536) / 65536
    expected = _centered_products(X, y)
    moved_X, moved_y = X - X.mean(axis=0), y - y.mean()
    assert expected[0] == pytest.approx(moved_X.T @ moved_X, rel=1e-9, abs=1e-9)
    assert expected[1] == pytest.approx(moved_X.T @ moved_y, rel=1e-9, abs=1e-9)
    for tile_cells in (TWINS, 7 * TWINS, 999 * TWINS):
        table = Spill(TWINS, copies=None, tile_cells=tile_cells)
        table.add(0, X)
        for ours, theirs in zip(_centered_products(table, y), expected, strict=True):
            assert ours.tobytes() == theirs.tobytes()


def test_a_partition_into_equal_blocks_would_not_do_for_add_remove() -> None:
    # Removing the first row shifts the others: the check notices more than one changed block.
    cells = plain(24)
    worst = 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        cells[:, :WIDTH] = rng.uniform(-1, 1, (24, WIDTH))
        for cut in (
            contiguous_blocks,
            lambda rows, blocks, s=seed: random_partition(rows, blocks, make_randomness(s)),
        ):
            before = votes(cells, cut(24, BLOCKS), 3, 0.1)
            after = votes(cells[1:], cut(23, BLOCKS), 3, 0.1)
            worst = max(worst, moved(before, after))
    assert worst > 1


def drawn_partitions(draw: Callable[[], IntArray], draws: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(draw().tolist()) for _ in range(draws))


def balanced_law(rows: int) -> dict[tuple[int, ...], float]:
    """The uniform law over the ways to put half of the rows, the larger one, into block 0."""
    chosen = list(combinations(range(rows), (rows + 1) // 2))
    return {tuple(int(row not in zero) for row in range(rows)): 1 / len(chosen) for zero in chosen}


@pytest.mark.parametrize("rows", [4, 5])
def test_a_random_partition_is_uniform(rows: int) -> None:
    rng = make_randomness(rows)
    drawn = drawn_partitions(lambda: random_partition(rows, 2, rng), 40_000)
    assert p_value(drawn, balanced_law(rows)) > ALPHA


def test_the_check_above_notices_an_incomplete_shuffle() -> None:
    rng = np.random.default_rng(0)

    def sloppy() -> IntArray:
        # Swaps each place with any other: the well-known wrong Fisher-Yates.
        made = np.arange(5) % 2
        for place in range(5):
            other = int(rng.integers(5))
            made[place], made[other] = made[other], made[place]
        return made

    assert p_value(drawn_partitions(sloppy, 40_000), balanced_law(5)) < ALPHA


@pytest.mark.parametrize(("checked_against", "fits"), [(1 / 3, True), (0.36, False)])
def test_independent_blocks_are_uniform_and_independent(checked_against: float, fits: bool) -> None:
    rng = make_randomness(9)
    drawn = drawn_partitions(lambda: independent_blocks(3, 3, rng), 40_000)
    chances = [checked_against, (1 - checked_against) / 2, (1 - checked_against) / 2]
    law = {cell: float(np.prod([chances[b] for b in cell])) for cell in product(range(3), repeat=3)}
    assert (p_value(drawn, law) > ALPHA) is fits


def test_random_blocks_are_never_the_order_of_the_table() -> None:
    # By chance once in more than 10^90 tables.
    for draw in (random_partition, independent_blocks):
        made = draw(104, 10, make_randomness(None))
        assert np.count_nonzero(np.diff(made)) > 40
        assert not np.array_equal(made, draw(104, 10, make_randomness(None)))


def test_a_partition_with_equal_words_is_drawn_again() -> None:
    words = Scripted(7, 5, 7, 30, 10, 20)
    assert random_partition(3, 3, words).tolist() == [2, 0, 1]
