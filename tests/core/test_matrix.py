"""Tables that do not fit in memory: every way of reading them, and every method on them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.matrix import (
    TiledMatrix,
    changed,
    column_of,
    row_chunks,
    target_products,
)
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.votes import grouped_blocks
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.evaluation.methods import table_scores
from dpsel.evaluation.metrics import correlations
from dpsel.preprocessing.options import Scale
from dpsel.selection.lasso import lasso_coefficients
from dpsel.tables.spill import Spill
from tests.voting import lasso_votes, lasso_votes_for_each_k

# The least that is worked on at once is 2^17 cells: these are some groups of that.
ROWS, COLUMNS = 9000, 50


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", "1MB")


def made(rows: int = ROWS, columns: int = COLUMNS, seed: int = 0) -> DataSet:
    """Return values on the grid of all scores, some of which say something about the target."""
    rng = np.random.default_rng(seed)
    X = np.rint(rng.normal(0.1, 0.3, (rows, columns)).clip(-1, 1) * 65536) / 65536
    y = X[:, :5] @ np.array([0.7, -0.5, 0.4, 0.3, -0.2]) + rng.normal(0, 0.3, rows)
    return DataSet(np.asfortranarray(X), np.rint(y.clip(-1, 1) * 65536) / 65536)


def raw(rows: int = ROWS, columns: int = COLUMNS) -> FloatArray:
    """Return numbers of all sorts."""
    rng = np.random.default_rng(1)
    X = np.asfortranarray(
        rng.standard_normal((rows, columns)) * 10.0 ** rng.integers(-9, 99, columns)
    )
    X[rng.random(X.shape) < 0.02] = np.nan
    X[rng.random(X.shape) < 0.01] = np.inf
    X[:, 3] = np.rint(rng.normal(0, 5, rows))
    return X


def kept(X: FloatArray) -> Spill:
    table = Spill(X.shape[1], copies=None)
    for first, rows in row_chunks(X):
        assert first == table.shape[0]
        table.add(0, rows)
    assert not table.fits_in_memory
    return table


@given(st.data())
def test_a_spill_is_the_table_wherever_it_was_cut(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(0, 40)), data.draw(st.integers(1, 9))
    X = np.random.default_rng(2).standard_normal((rows, columns))
    if data.draw(st.booleans()):
        X = np.rint(X)
    kind = data.draw(st.sampled_from(["memory", "disk", "first memory, then disk"]))
    tile_cells = data.draw(st.integers(1, 100))
    table: TiledMatrix
    if kind == "memory":
        table = TiledMatrix(columns, tile_cells=tile_cells)
    else:
        copies = None if kind == "disk" else 2e6 / max(1, X.nbytes)
        table = Spill(columns, copies=copies, tile_cells=tile_cells)
    row = 0
    while row < rows:
        next_row = data.draw(st.integers(row + 1, rows))
        first = 0
        while first < columns:
            last = data.draw(st.integers(first + 1, columns))
            table.add(first, X[row:next_row, first:last])
            first = last
        row = next_row
    assert table.shape == X.shape or rows == 0
    assert table.fits_in_memory == (kind == "memory") or rows == 0
    if rows:
        first = data.draw(st.integers(0, columns - 1))
        last = data.draw(st.integers(first + 1, columns))
        assert np.array_equal(table.columns(first, last), X[:, first:last])
        assert np.array_equal(column_of(table, first), X[:, first])
    chunks = [(start, rows.copy()) for start, rows in table.row_chunks()]
    assert [start for start, _ in chunks] == np.cumsum([0, *(len(r) for _, r in chunks)])[
        :-1
    ].tolist()
    assert np.array_equal(np.concatenate([X[:0], *(rows for _, rows in chunks)]), X)
    assert np.array_equal(table.array(), X.reshape(rows, columns))


def test_groups_of_columns_cover_the_table_and_fit() -> None:
    X = raw()
    table = kept(X)
    groups = list(table.column_groups())
    assert len(groups) > 3
    assert [first for first, _ in groups] == [0, *(last for _, last in groups[:-1])]
    assert groups[-1][1] == COLUMNS
    assert all((last - first) * ROWS <= 1 << 17 for first, last in groups)
    for first, last in groups:
        assert np.array_equal(table.columns(first, last), X[:, first:last], equal_nan=True)


def test_batches_out_of_order_are_refused() -> None:
    for table in (TiledMatrix(4), Spill(4, copies=None)):
        table.add(0, np.zeros((3, 2)))
        with pytest.raises(ValueError, match="order of the rows"):
            table.add(1, np.zeros((3, 2)))
        with pytest.raises(ValueError, match="fewer rows"):
            _ = table.shape


def test_products_with_the_target_are_exact() -> None:
    rows = made()
    found = target_products(kept(rows.X), rows.y)
    exact = (rows.X * 65536).astype(np.int64).T @ (rows.y * 65536).astype(np.int64)
    assert found.tolist() == (exact / 65536 / 65536).tolist()
    assert found.tolist() == target_products(rows.X, rows.y).tolist()


def test_a_changed_table_has_the_changed_cells() -> None:
    X = raw()
    lower = np.linspace(-1, 0, COLUMNS)

    def change(columns: slice, cells: FloatArray) -> FloatArray:
        return np.clip(cells, lower[columns], 1.0)

    found = changed(kept(X), change)
    assert isinstance(found, TiledMatrix)
    expected = changed(X, change)
    assert not isinstance(expected, TiledMatrix)
    assert np.array_equal(expected, np.clip(X, lower, 1.0), equal_nan=True)
    assert np.array_equal(found.array(), expected, equal_nan=True)


@pytest.mark.parametrize("score", ["dot", "covariance", "kendall"])
def test_scores_of_a_spill_are_the_same(score: str) -> None:
    X = raw(3000)
    y = np.random.default_rng(4).integers(0, 3, 3000) / 2
    expected = table_scores(score, DataSet(X, y), None, Neighbors.ADD_REMOVE, Unit())
    found = table_scores(score, DataSet(kept(X), y), None, Neighbors.ADD_REMOVE, Unit())
    assert found.values.tolist() == expected.values.tolist()
    assert found.sensitivity == expected.sensitivity
    assert len(set(found.values.tolist())) > COLUMNS // 2


def test_kendall_keeps_rows_where_it_is_told_to() -> None:
    X, y = raw(3000), np.random.default_rng(4).standard_normal(3000)
    bounds = Bounds.of([UNIT_INTERVAL] * COLUMNS, UNIT_INTERVAL)
    found = []
    spills = (Spill(COLUMNS, copies=copies) for copies in (None, 2.0))
    for matrix in (TiledMatrix(COLUMNS), *spills):
        score = KendallScore(bounds, Neighbors.ADD_REMOVE, Unit())
        score.keep_in(matrix)
        for row in range(0, 3000, 700):
            for first in range(0, COLUMNS, 7):
                score.add(Batch(first, X[row : row + 700, first : first + 7], y[row : row + 700]))
        assert (matrix.cells_at_once is None) == (not isinstance(matrix, Spill))
        found.append(score.scores().values.tolist())
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("blocks", [1, 2, 7, 95, 400])
def test_blocks_of_a_spill_have_the_same_rows_and_votes(blocks: int) -> None:
    rows = made()
    # The last blocks are empty, as they may be where rows draw their block.
    block_of_row = np.random.default_rng(3).integers(0, max(1, blocks - 2), ROWS)
    seen = 0
    for X, y, rows_of_blocks in grouped_blocks(kept(rows.X), rows.y, block_of_row, blocks):
        cells = X if not isinstance(X, TiledMatrix) else X.array()
        assert cells.size <= 1 << 17 or len(rows_of_blocks) == 1
        for places in rows_of_blocks:
            own = block_of_row == seen
            assert np.array_equal(cells[places], rows.X[own])
            assert np.array_equal(y[places], rows.y[own])
            seen += 1
    assert seen == blocks
    shares: list[float] = []
    found = lasso_votes(
        kept(rows.X),
        rows.y,
        block_of_row,
        blocks,
        4,
        penalty=0.01,
        threads=2,
        progress=shares.append,
    )
    expected = lasso_votes(rows.X, rows.y, block_of_row, blocks, 4, penalty=0.01)
    assert found.tolist() == expected.tolist()
    assert found.max() > 0
    assert len(shares) == blocks
    assert shares[-1] == 1.0


def test_votes_for_several_k_are_the_same() -> None:
    rows = made(4000)
    block_of_row = np.arange(4000) * 9 // 4000
    ks = [1, 5, 50]
    ours = lasso_votes_for_each_k(kept(rows.X), rows.y, block_of_row, 9, ks, 0.003)
    theirs = lasso_votes_for_each_k(rows.X, rows.y, block_of_row, 9, ks, 0.003)
    assert [votes.tolist() for votes in ours] == [votes.tolist() for votes in theirs]


@pytest.mark.parametrize("penalty", [0.1, 0.02, 0.001])
@pytest.mark.parametrize("shape", [(9000, 50), (400, 600)], ids=["by products", "on disk"])
def test_the_lasso_of_a_spill_is_that_of_the_table(shape: tuple[int, int], penalty: float) -> None:
    rows = made(*shape)
    # A column that hardly varies, far from 0.
    rows.X[:, 7] = 0.75 + rows.X[:, 7] / 4096
    X = kept(rows.X)
    at_once = X.cells_at_once
    assert at_once is not None
    assert (shape[1] ** 2 <= at_once) == (shape[1] == 50)
    found = lasso_coefficients(X, rows.y, penalty)
    expected = lasso_coefficients(rows.X, rows.y, penalty)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert np.flatnonzero(found).tolist() == np.flatnonzero(expected).tolist()
    assert lasso_coefficients(kept(rows.X[:0]), rows.y[:0], penalty).tolist() == [0] * shape[1]


def test_correlations_of_a_spill_are_the_same() -> None:
    rows = made()
    rows.X[:, 9] = 0.25
    found, expected = correlations(kept(rows.X), rows.y), correlations(rows.X, rows.y)
    assert found == pytest.approx(expected, rel=1e-12)
    assert found[9] == 0.0
    assert found[0] > 0.3


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("scale", Scale)
def test_scaled_rows_of_a_spill_are_the_same(scale: Scale, labels: bool) -> None:
    X, y = raw(3000), np.random.default_rng(4).integers(0, 3, 3000) / 2
    bounds = Bounds.of([Interval(-1.0, place + 1.0) for place in range(COLUMNS)], UNIT_INTERVAL)
    data = EvaluationData("any", tuple("ab" * 25), DataSet(X, y), bounds, labels)
    expected = data.scaled(scale, 0.75)
    found = replace(data, raw=DataSet(kept(X), y)).scaled(scale, 0.75)
    assert isinstance(found.X, TiledMatrix)
    assert np.array_equal(found.X.array(), expected.X)
    assert np.array_equal(found.y, expected.y)
