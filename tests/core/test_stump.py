"""`stump` is the best of all questions, counted exactly, whatever the cells and their order."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpsel.core.arrays import IntArray, NumberArray
from dpsel.core.scores import float_bins, questions
from dpsel.core.scores.cell_keys import number_keys
from dpsel.core.scores.stump import UNIT, Cells, RowWeights, matrix_scores, stump_scores
from dpsel.core.words import boxed_words
from dpsel.errors import UsageError

FLOAT = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, -5e-324, -0.0, 0.0, 1.0, 2.0, 1e308]),
)
WEIGHT = st.one_of(st.integers(-UNIT, UNIT), st.sampled_from([UNIT, -UNIT, 0, -UNIT // 3]))
Cell = Fraction | float | str | None


@pytest.fixture(params=["sorted", "counted", "counted in bent bins", "counted in few bins"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Take each way to the score, whatever the number of rows."""
    if request.param != "sorted":
        monkeypatch.setattr(questions, "_FEW_ROWS", 0)
        monkeypatch.setattr(questions, "_MOST_GROUPS", 64)
    if request.param == "counted in bent bins":
        # As if all bins of equal width were too full.
        monkeypatch.setattr(float_bins, "_FEW", 1 << 40)
    if request.param == "counted in few bins":
        monkeypatch.setattr(float_bins, "_BIN_BITS", 3)
        monkeypatch.setattr(questions, "_MOST_BIN_BITS", 1)
    return str(request.param)


def exact(cell: Any) -> Cell:
    """Return a cell as what it is: a number, without rounding; an infinity; a word; or missing."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, float) and not np.isfinite(cell):
        return None if np.isnan(cell) else cell
    return Fraction(cell)


def by_brute_force(column: list[Any], weights: list[int]) -> int:
    """Ask every question that could have another answer, one after the other."""
    cells = [exact(cell) for cell in column]
    numbers = [cell for cell in cells if cell is not None and not isinstance(cell, str)]
    answers = [
        [0 if cell is None or isinstance(cell, str) else 1 if cell > t else -1 for cell in cells]
        for t in [*numbers, -np.inf, np.inf]
    ]
    answers += [
        [0 if cell is None else 1 if cell == v else -1 for cell in cells]
        for v in [*(cell for cell in cells if cell is not None), "no cell has this"]
    ]
    return max(abs(sum(a * q for a, q in zip(weights, asked, strict=True))) for asked in answers)


def weighed(weights: list[int]) -> RowWeights:
    """Return the weights of single rows: those that weigh the same are a group."""
    values, groups = np.unique(np.array(weights, dtype=np.int64), return_inverse=True)
    return RowWeights(groups + 1, np.array([[0, *values]], dtype=np.int64))


def columns_of(rows: list[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


@given(st.lists(st.tuples(FLOAT, FLOAT, WEIGHT), min_size=1, max_size=12))
def test_floats_get_the_best_of_all_questions(rows: list[tuple[float, float, int]]) -> None:
    *columns, weights = columns_of(rows)
    found = stump_scores(Cells(np.array(columns, dtype=np.float64)), weighed(weights))
    assert found.tolist() == [[by_brute_force(column, weights) for column in columns]]


MIXED = st.one_of(FLOAT, st.sampled_from(["a", "b", "c", ""]), st.none())


def mixed(columns: list[list[Any]]) -> Cells:
    """Return columns of numbers, words and missing cells."""
    numbers = [[c if isinstance(c, float) else np.nan for c in column] for column in columns]
    codes = [
        [ord(c[:1] or "z") if isinstance(c, str) else -1 for c in column] for column in columns
    ]
    return Cells(np.array(numbers, dtype=np.float64), np.array(codes, dtype=np.int64))


@given(st.lists(st.tuples(MIXED, MIXED, WEIGHT), min_size=1, max_size=12))
def test_mixed_cells_get_the_best_of_all_questions(rows: list[tuple[Any, Any, int]]) -> None:
    *columns, weights = columns_of(rows)
    found = stump_scores(mixed(columns), weighed(weights))
    assert found.tolist() == [[by_brute_force(column, weights) for column in columns]]


def test_each_way_gives_the_best_of_all_questions(way: str) -> None:
    rng = np.random.default_rng(1)
    chosen: list[Any] = [0.0, -0.0, 1.0, -2.5, 1e300, -1e-300, np.inf, -np.inf, np.nan, None, "a"]
    for n in [1, 2, 3, *range(20, 60)]:
        weights = rng.choice([UNIT, -UNIT, -UNIT // 3, 0, 5], n).tolist()
        columns: list[list[Any]] = [
            rng.standard_normal(n).tolist(),
            rng.integers(0, 5, n).astype(float).tolist(),
            [chosen[i] for i in rng.integers(0, len(chosen), n)],
            ["abcdefgh"[i] for i in rng.integers(0, 8, n)],
        ]
        found = stump_scores(mixed(columns), weighed(weights))
        assert found.tolist() == [[by_brute_force(column, weights) for column in columns]], way


def by_sorting(column: NumberArray, weights: IntArray) -> int:
    """Return the score of a long column without missing cells."""
    runs = np.unique(column, return_inverse=True)[1]
    values = np.zeros(runs.max() + 1, dtype=np.int64)
    np.add.at(values, runs, weights)
    total = values.sum()
    sums = np.concatenate([values, np.cumsum(values)])
    return int(max(abs(total), np.abs(2 * sums - total).max()))


@pytest.mark.parametrize("other", [-UNIT, -UNIT // 3], ids=["balanced", "unbalanced"])
@pytest.mark.parametrize("shift", [0.0, 0.02, 1.0])
def test_long_columns_get_the_same_as_by_sorting(shift: float, other: int) -> None:
    rng = np.random.default_rng(2)
    groups = rng.integers(0, 3, 30_000)
    values = np.array([[0, UNIT, other]])
    normal = rng.standard_normal(len(groups)) + shift * groups
    columns = [
        normal,
        np.round(normal, 2),
        np.floor(1e4 * normal),
        1e6 + normal,
        normal * 10.0 ** rng.integers(-100, 100, len(groups)),
        np.where(groups > 1, 0.0, normal),
        np.full(len(groups), 7.0),
    ]
    found = stump_scores(Cells(np.array(columns)), RowWeights(groups, values))
    assert found.tolist() == [[by_sorting(column, values[0][groups]) for column in columns]]
    assert found.min() > 0


def test_columns_that_are_counted_in_several_parts_get_the_same_as_by_sorting() -> None:
    rng = np.random.default_rng(8)
    groups = rng.integers(0, 3, 600_001)
    values = np.array([[0, UNIT, -UNIT]])
    columns = np.stack([rng.standard_normal(len(groups)), rng.integers(0, 99, len(groups))])
    found = stump_scores(Cells(columns), RowWeights(groups, values))
    assert found.tolist() == [[by_sorting(column, values[0][groups]) for column in columns]]


def test_the_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    for n in (50, 20_000):
        X = np.stack([rng.standard_normal(n), rng.integers(0, 9, n).astype(float)])
        groups = rng.integers(0, 3, n)
        values = np.array([[0, UNIT, -UNIT // 7], [0, -UNIT, 3]])
        order = rng.permutation(n)
        before = stump_scores(Cells(X), RowWeights(groups, values))
        after = stump_scores(Cells(X[:, order]), RowWeights(groups[order], values))
        assert before.tolist() == after.tolist()


@pytest.mark.parametrize("n", [40, 20_000])
def test_rounds_at_once_are_the_same_as_one_by_one(n: int) -> None:
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 5, n)
    values = rng.integers(-UNIT, UNIT, (4, 5))
    values[:, 0] = 0
    cells = Cells(rng.standard_normal((3, n)), rng.integers(-3, 4, (3, n)))
    together = stump_scores(cells, RowWeights(groups, values))
    for index in range(4):
        alone = stump_scores(cells, RowWeights(groups, values[[index]]))
        assert together[[index]].tolist() == alone.tolist()


def test_increasing_transforms_change_nothing() -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 200))
    weights = weighed(rng.choice([UNIT, -UNIT], 200).tolist())
    before = stump_scores(Cells(x), weights)
    for other in (np.exp(x), np.arctan(x), x**3 - 5):
        assert stump_scores(Cells(other), weights).tolist() == before.tolist()


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2**50 - 1, -1]), WEIGHT), min_size=1))
def test_words_are_apart_whatever_their_codes(rows: list[tuple[int, int]]) -> None:
    codes, weights = columns_of(rows)
    cells = Cells(np.full((1, len(rows)), np.nan), np.array([codes], dtype=np.int64))
    words = [None if code < 0 else str(code) for code in codes]
    assert stump_scores(cells, weighed(weights)).tolist() == [[by_brute_force(words, weights)]]


def test_missing_cells_do_not_count() -> None:
    rng = np.random.default_rng(7)
    whole = rng.integers(1000, 1010, (3, 200)).astype(np.float64)
    missing = rng.random((3, 200)) < [[0.3], [0.0], [1.0]]
    weights = rng.choice([UNIT, -UNIT], 200)
    found = stump_scores(Cells(np.where(missing, np.nan, whole)), weighed(weights.tolist()))
    for column in range(3):
        there = ~missing[column]
        alone = Cells(whole[[column]][:, there])
        expected = stump_scores(alone, weighed(weights[there].tolist()))
        assert found[:, column].tolist() == expected[:, 0].tolist()
    assert found[0, 2] == 0


def test_the_largest_sums_do_not_overflow() -> None:
    # 2^31 - 1 rows of weight 1 come to this.
    most = ((1 << 31) - 1) * UNIT
    assert 2 * most < 1 << 63
    x = np.zeros((1, 100_000))
    assert stump_scores(Cells(x), weighed([UNIT] * 100_000)).tolist() == [[100_000 * UNIT]]


def test_no_rows_score_nothing() -> None:
    none = RowWeights(np.zeros(0, dtype=np.int64), np.array([[0, UNIT], [0, 1]]))
    assert stump_scores(Cells(np.zeros((3, 0))), none).tolist() == [[0] * 3] * 2
    assert stump_scores(Cells(np.zeros((0, 2))), weighed([1, 1])).shape == (1, 0)


SINGLE = st.floats(width=32) | st.sampled_from([-0.0, 0.0, -1.0, 1.0, -2.0, 2.0])


@given(st.lists(FLOAT, min_size=1, max_size=20) | st.lists(SINGLE, min_size=1, max_size=20))
@example([-0.0, 0.0])
@example([-2.0, -1.0, 1.0, 2.0])
def test_keys_have_the_order_of_the_floats(column: list[float]) -> None:
    found = number_keys(np.array([column], dtype=np.float64))
    keys = found.keys[0].tolist()
    for a, x in zip(keys, column, strict=True):
        for b, z in zip(keys, column, strict=True):
            if x == x and z == z:
                assert (a < b, a == b) == (x < z, x == z)


@pytest.mark.parametrize("rows", [0, 1, 40, 9000])
@pytest.mark.parametrize("single", [True, False])
def test_a_matrix_scores_as_its_cells_do(single: bool, rows: int) -> None:
    rng = np.random.default_rng(9)
    X = np.asfortranarray(np.round(rng.normal(size=(rows, 30)), 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    if single:
        X = X.astype(np.float32)
        # A NaN with other bits, which as a double would be a word, is missing too.
        X.view(np.uint32)[np.isnan(X)] = 0x7FFFABCD
    elif rows:
        X[:, 3] = boxed_words(rng.integers(0, 5, rows).astype(np.uint64) << np.uint64(60))
    weights = weighed(rng.integers(-UNIT, UNIT, 40).tolist())
    weights = RowWeights(rng.integers(0, 40, rows), weights.values)
    expected = X.astype(np.float64)
    if single:
        expected[np.isnan(expected)] = np.nan
    found = matrix_scores(X, weights)
    assert found.tolist() == stump_scores(Cells.of(expected), weights).tolist()


@pytest.mark.parametrize("step", [1.0, 0.1])
def test_keys_leave_room_for_weights(step: float) -> None:
    # Exact in single precision, or not: keys must not need all of the 64 bits.
    near = number_keys(step * np.arange(1024.0)[np.newaxis])
    assert int(near.keys.max()) < 1 << 61
    far = number_keys(2.0**30 + step * np.arange(1024.0)[np.newaxis])
    assert int(far.keys.max()) < 1 << 40


@pytest.mark.parametrize("single", [True, False])
def test_tied_and_distinct_columns_score_the_same_together_and_alone(single: bool) -> None:
    rng = np.random.default_rng(8)
    distinct, tied = rng.normal(size=(6, 40)), np.round(rng.normal(size=(6, 40)), 1)
    cells = np.concatenate([distinct, tied])[rng.permutation(12)]
    if single:
        cells = cells.astype(np.float32).astype(np.float64)
    cells[3, 5] = cells[7, 9] = cells[7, 11] = np.nan
    weights = weighed(rng.integers(-UNIT, UNIT, 40).tolist())
    together = stump_scores(Cells(cells), weights)
    for column in range(12):
        alone = stump_scores(Cells(cells[[column]]), weights)
        assert alone.tolist() == together[:, [column]].tolist()
        # A second copy of all rows, with weight 0, ties every cell and changes nothing.
        twice = RowWeights(np.concatenate([weights.groups, 0 * weights.groups]), weights.values)
        copied = stump_scores(Cells(np.tile(cells[[column]], 2)), twice)
        assert copied.tolist() == alone.tolist()


def test_scores_and_cells_do_not_show_when_printed() -> None:
    weights = weighed([UNIT, 12345])
    assert "12345" not in repr(weights)
    assert "777" not in repr(Cells(np.array([[777.0, 777.0]]), np.array([[777, 777]])))


@pytest.mark.parametrize(
    ("groups", "values"),
    [
        ([1], [[0, UNIT + 1]]),
        ([1], [[0, -UNIT - 1]]),
        ([0], [[1, 0]]),
        ([2], [[0, 1]]),
        ([-1], [[0, 1]]),
        ([0], [[]]),
    ],
)
def test_weights_beyond_1_are_refused(groups: list[int], values: list[list[int]]) -> None:
    with pytest.raises(UsageError):
        RowWeights(np.array(groups), np.array(values, dtype=np.int64))


def test_the_least_integer_is_no_weight() -> None:
    # Its absolute value is itself, in 64 bits.
    with pytest.raises(UsageError):
        RowWeights(np.array([1]), np.array([[0, -(2**63)]]))
    with pytest.raises(UsageError):
        weighed([-(2**63)])


def test_cells_that_do_not_fit_are_refused() -> None:
    for cells in (
        lambda: Cells(np.zeros(3)),
        lambda: Cells(np.zeros((1, 3), dtype=np.float32)),
        lambda: Cells(np.zeros((1, 3)), np.zeros((1, 4), dtype=np.int64)),
        lambda: Cells(np.zeros((1, 3)), np.zeros((1, 3), dtype=np.int32)),
        lambda: stump_scores(Cells(np.zeros((1, 3))), weighed([1])),
    ):
        with pytest.raises(UsageError):
            cells()
