"""Numbers that are counted in bins get the same scores, whatever their places in the bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.arrays import FloatArray
from dpsel.core.scores import float_bins, questions
from dpsel.core.scores.float_bins import Numbers, RowSlots
from dpsel.core.scores.stump import UNIT, Cells, RowWeights, stump_scores
from tests.core.test_stump import by_brute_force

VALUES = np.array([[0, UNIT, -UNIT, -UNIT // 3], [0, 5, 0, UNIT]])


@pytest.fixture(autouse=True, params=["equal", "bent"])
def few_bins_all_opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut short columns too, into a few bins, and sort what is in them, however much that is.

    Or cut them into bins of unequal width, and leave all questions about values to others.
    """
    monkeypatch.setattr(questions, "_FEW_ROWS", 0)
    monkeypatch.setattr(float_bins, "_BIN_BITS", 3)
    monkeypatch.setattr(float_bins, "_FEW", 1 if request.param == "equal" else 1 << 40)


def asked(columns: FloatArray, weights: RowWeights) -> list[list[int]]:
    """Return the scores of every round."""
    found: list[list[int]] = stump_scores(Cells(columns), weights).tolist()
    return found


def check(columns: FloatArray, weights: RowWeights) -> None:
    """Compare with all questions, asked one by one."""
    for own, found in zip(weights.values, asked(columns, weights), strict=True):
        of_rows = own[weights.groups].tolist()
        assert found == [by_brute_force(column, of_rows) for column in columns.tolist()]


def equal_bins(columns: FloatArray, weights: RowWeights) -> list[bool]:
    """Tell which columns are cut into bins of equal width."""
    scales = float_bins._Scales.of(columns, weights.slots.bins, bent=False)
    return [bool(usable) for usable in scales.usable]


def rows(count: int, seed: int) -> RowWeights:
    groups = np.random.default_rng(seed).integers(0, 4, count)
    return RowWeights(groups, VALUES)


def near(value: float, steps: int) -> list[float]:
    """Return the doubles around a value."""
    found = [value]
    for _ in range(steps):
        found = [np.nextafter(found[0], -np.inf), *found, np.nextafter(found[-1], np.inf)]
    return found


def borders(low: float, high: float, bins: int) -> list[float]:
    """Return numbers from low to high on either side of all borders of bins of equal width."""
    scale = (bins - float_bins._SPARE) / (high - low)
    halves = np.arange(np.rint(low * scale), np.rint(high * scale)) + 0.5
    return [low, high, *(x for half in halves.tolist() for x in near(half / scale, 2))]


@pytest.mark.parametrize(("low", "high"), [(0.0, 60.0), (-1.7, 3.1), (1e15, 1e15 + 64.0)])
def test_neighbors_at_the_borders_of_bins_are_told_apart(
    low: float, high: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No tails, of which low and high would not be the ends; and no values with bins of their own.
    monkeypatch.setattr(float_bins, "_TAIL", 0)
    monkeypatch.setattr(float_bins, "_DECIMALS", (1e-3,))
    monkeypatch.setattr(float_bins, "_BIN_BITS", 1)
    # Each number twice, in groups at random.
    column = np.clip(np.repeat(borders(low, high, bins=16), 2), low, high)
    weights = [rows(len(column), seed) for seed in range(5)]
    assert weights[0].slots.bins == 16
    assert equal_bins(column[np.newaxis], weights[0]) == [True]
    for own in weights:
        check(column[np.newaxis], own)


def test_a_half_is_rounded_the_same_way_in_every_group() -> None:
    # With a scale of 1 every other number is a border: rounded to even, whatever the group.
    halves = np.arange(-20, 20) / 2
    column = np.repeat(halves, 4)[np.newaxis]
    groups = np.tile(np.arange(4), len(halves))
    slots = RowSlots.of(groups, VALUES)
    one = np.ones(1)
    single = np.zeros(1, dtype=np.bool_)
    scales = float_bins._Scales(-10 * one, 10 * one, one, np.nan * one, single, None)
    none = np.zeros((2, 1), dtype=np.int64)
    bins = float_bins._Bins(Numbers(column, None, none, none), slots, scales)
    (_, found) = next(bins._slots())
    expected = np.rint(column[0]) + 10 + groups * slots.bins
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "whole",
            "decimals",
            "single decimals",
            "both decimals",
            "almost decimals",
            "missing",
            "outliers",
            "far",
            "infinite",
            "ties",
        ),
        *(
            "zeros",
            "mostly zeros",
            "a common value among its neighbors",
            "a common value at the end",
        ),
    ],
)
def test_columns_of_all_kinds_get_the_best_of_all_questions(kind: str) -> None:
    rng = np.random.default_rng(6)
    for n in (9, 30, 64):
        normal = rng.standard_normal(n)
        column = {
            "whole": rng.integers(-3, 4, n) / 1.0,
            "decimals": np.round(normal, 1),
            "single decimals": np.round(normal, 1).astype(np.float32) / 1.0,
            "both decimals": np.append(np.round(normal[1:], 1), np.float32(0.1)),
            "almost decimals": np.append(np.round(normal[1:], 1), 0.1 + 0.2),
            "missing": np.where(rng.random(n) < 0.3, np.nan, normal),
            "outliers": np.where(rng.random(n) < 0.05, 1e300, normal),
            "far": 1e9 + normal,
            "infinite": np.where(rng.random(n) < 0.05, -np.inf, normal),
            "ties": normal.repeat(3)[:n],
            "zeros": np.where(rng.random(n) < 0.5, -0.0, normal),
            "mostly zeros": np.where(rng.random(n) < 0.9, 0.0, np.exp(normal)),
            "a common value among its neighbors": rng.permutation(
                [*near(0.7, 2), *[0.7] * (n // 4), *normal][:n]
            ),
            "a common value at the end": np.maximum(normal, -0.5),
        }[kind]
        # Beside others, with which it shares all arrays.
        columns = np.stack([normal, column, normal * np.nan, np.full(n, np.inf), column[::-1]])
        for seed in range(5):
            check(columns, rows(n, seed))


FLOAT = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
SPECIAL = st.sampled_from([5e-324, 1e-310, -0.0, 0.0, 1.0, np.nextafter(1.0, 2.0), 1e308, -1e308])


@given(
    st.lists(st.one_of(FLOAT, SPECIAL), min_size=1, max_size=30),
    st.lists(st.floats(-1, 1), min_size=1, max_size=40),
    st.integers(0, 99),
)
def test_any_floats_get_the_best_of_all_questions(
    odd: list[float], small: list[float], seed: int
) -> None:
    column = np.array([*odd, *small])
    check(np.stack([column, column[::-1], column * 1e-300]), rows(len(column), seed))


@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_bent_places_never_fall(factor: float) -> None:
    rng = np.random.default_rng(9)
    column = factor * rng.standard_normal(2000) * 10.0 ** rng.integers(-20, 7, 2000)
    column = np.sort([*column, *(x for size in column[:50] for x in near(size, 3))])
    column = np.array([[-np.inf, *column[column < 0], -0.0, 0.0, *column[column > 0], np.inf]])
    for bend in (5e-324, factor, 1e308):
        places = float_bins._bent(column, np.array([bend]), np.empty_like(column))[0]
        assert (np.diff(places) >= 0).all()
        assert len(np.unique(places)) > 1


def test_columns_are_cut_as_suits_them() -> None:
    rng = np.random.default_rng(7)
    normal = rng.standard_normal(5000)
    columns = np.stack(
        [
            normal,
            np.where(rng.random(5000) < 0.5, 0.0, normal),
            np.where(rng.random(5000) < 1e-4, 1e300, normal),
            np.where(rng.random(5000) < 0.1, np.inf, normal),
            np.exp(3 * normal),
            np.full(5000, np.pi),
        ]
    )
    assert equal_bins(columns, rows(5000, 1)) == [True, True, True, True, False, False]


def test_the_last_value_of_a_column_may_be_the_first_of_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No value is common enough for a bin of its own.
    monkeypatch.setattr(float_bins, "_COMMON", 1)
    rng = np.random.default_rng(3)
    for seed in range(20):
        lower, upper = rng.uniform(size=12), 1 + rng.uniform(size=12)
        lower[-5:] = upper[:5] = 1.0
        lower[:5], upper[-5:] = 0.0, 2.0
        lower[5], upper[5] = 1 - 1e-9, 1 + 1e-9
        check(np.stack([lower, upper]), rows(12, seed))


def test_cells_in_several_parts_get_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.random.default_rng(8).standard_normal((2, 50))
    columns[0, 7] = np.nan
    before = asked(columns, rows(50, 2))
    monkeypatch.setattr(float_bins, "CELLS_AT_ONCE", 14)
    assert asked(columns, rows(50, 2)) == before


def test_what_is_known_of_cells_does_not_show_when_printed() -> None:
    weights = rows(50, 3)
    columns = np.where(np.arange(100) % 2, 777.0, np.arange(100))[np.newaxis]
    shown = f"{weights.slots} {float_bins._Scales.of(columns, 64, bent=True)}"
    assert "777" not in shown
    assert "array" not in shown
