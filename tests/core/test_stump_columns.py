"""`stump` beside a plain reference, on random columns of every length and kind, as shipped.

`test_stump.py` and `test_float_bins.py` ask all questions one by one, of short columns, with bins
made small for the test. Here no constant is changed, and columns are as long as those of users.
"""

from typing import Any

import numpy as np
import pytest

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.scores.float_bins import CELLS_AT_ONCE
from dpsel.core.scores.questions import _FEW_ROWS, _MOST_GROUPS
from dpsel.core.scores.stump import UNIT, Cells, RowWeights, stump_scores

LENGTHS = [1, 2, 100, _FEW_ROWS, _FEW_ROWS + 1, 20_000, CELLS_AT_ONCE - 1, CELLS_AT_ONCE + 1]


def reference(numbers: FloatArray, codes: IntArray, weights: IntArray) -> int:
    """Return the score of one column: sort its values, and try each of them."""
    is_number = ~np.isnan(numbers)
    is_word = ~is_number & (codes >= 0)
    # Adding 0.0 makes -0.0 the same as 0.0.
    values, run = np.unique(numbers[is_number] + 0.0, return_inverse=True)
    of_values = np.zeros(len(values), dtype=np.int64)
    np.add.at(of_values, run, weights[is_number])
    words, run = np.unique(codes[is_word], return_inverse=True)
    of_words = np.zeros(len(words), dtype=np.int64)
    np.add.at(of_words, run, weights[is_word])
    of_numbers, every = int(of_values.sum()), int(of_values.sum() + of_words.sum())
    above = [abs(of_numbers - 2 * int(s)) for s in np.cumsum(of_values)]
    same = [abs(every - 2 * int(s)) for s in (*of_values, *of_words)]
    return max([abs(of_numbers), abs(every), *above, *same])


def numbers_of(kind: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Return a column of one of many kinds, some of them unfriendly to bins."""
    normal = rng.standard_normal(n)
    kinds: list[Any] = [
        lambda: normal,
        lambda: normal.astype(np.float32),
        lambda: np.round(normal, int(rng.integers(0, 6))),
        lambda: np.round(normal, int(rng.integers(0, 4))).astype(np.float32),
        lambda: rng.integers(0, int(rng.integers(1, 5000)), n),
        lambda: rng.integers(-(2**62), 2**62, n),
        lambda: np.exp(rng.uniform(1, 200) * normal),
        lambda: normal / rng.standard_normal(n) ** 8,
        lambda: 10.0 ** rng.uniform(5, 17) + normal,
        # Neighbors among the doubles, which share every bin.
        lambda: np.float64(rng.uniform(-5, 5)) + rng.integers(0, 30, n) * 2.0**-52,
        lambda: rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64),
        lambda: rng.integers(0, 50, n, dtype=np.uint64).view(np.float64),
        lambda: np.where(rng.random(n) < rng.random(), normal[0], normal),
        lambda: np.where(rng.random(n) < rng.random(), 0.0, np.exp(5 * normal)),
        lambda: np.where(rng.random(n) < 0.01, 1e308, normal),
        lambda: np.where(rng.random(n) < 0.5, np.inf * np.sign(normal), normal),
        lambda: np.where(rng.random(n) < 0.5, -0.0, np.where(normal > 0, 0.0, normal)),
        lambda: np.sort(normal),
        lambda: np.clip(normal, -0.3, 0.3),
        lambda: np.full(n, rng.choice([0.0, -0.0, np.inf, -np.inf, 5e-324, 0.1, 1.8e308])),
        lambda: np.where(np.arange(n) % 2, 5e-324, -5e-324) * rng.integers(0, 9, n),
        lambda: np.concatenate([normal[: n // 2], np.round(normal[n // 2 :], 1)]),
        lambda: np.where(np.arange(n) == n - 1, 0.123456789, np.round(normal, 2)),
        lambda: 1.0 + np.arange(n) * rng.choice([1e-16, 1e-9, 1.0, 1e9]),
    ]
    with np.errstate(all="ignore"):
        column: FloatArray = np.asarray(kinds[kind % len(kinds)](), dtype=np.float64)
    return column


def weights_of(n: int, column: FloatArray, rng: np.random.Generator) -> RowWeights:
    """Return weights in one to three rounds: by chance, or by the column itself."""
    groups = int(rng.choice([2, 3, 4, _MOST_GROUPS, _MOST_GROUPS + 1, 60]))
    values = rng.integers(-UNIT, UNIT + 1, (int(rng.integers(1, 4)), groups))
    if rng.random() < 0.3:
        values = rng.choice([-UNIT, 0, UNIT], values.shape)
    values[:, 0] = 0
    chosen = rng.integers(0, groups, n)
    if rng.random() < 0.5:
        # Rows that depend on the column, so that the best question is a good one.
        signal = np.nan_to_num(column, posinf=9, neginf=-9) > np.nanmedian([0.0, *column[:50]])
        chosen = np.where(rng.random(n) < 0.6, np.where(signal, groups - 1, 1), chosen)
    return RowWeights(chosen.astype(np.int64), values.astype(np.int64))


def check(n: int, seed: int) -> None:
    """Compare a few columns, of kinds by chance, with the reference."""
    rng = np.random.default_rng([n, seed])
    count = int(rng.integers(1, 6)) if n < 10**5 else 1
    numbers = np.stack([numbers_of(int(rng.integers(0, 24)), n, rng) for _ in range(count)])
    if rng.random() < 0.4:
        numbers[rng.random(numbers.shape) < rng.random()] = np.nan
    codes = np.full(numbers.shape, -1, dtype=np.int64)
    if rng.random() < 0.4:
        codes = rng.integers(-2, int(rng.choice([1, 3, 1000, 2**40])), numbers.shape)
        numbers[rng.random(numbers.shape) < rng.random()] = np.nan
    weights = weights_of(n, numbers[0], rng)
    found = stump_scores(Cells(numbers, codes), weights)
    for own, scores in zip(weights.values, found.tolist(), strict=True):
        of_rows = own[weights.groups]
        expected = [
            reference(column, code, of_rows) for column, code in zip(numbers, codes, strict=True)
        ]
        assert scores == expected, (n, seed)


@pytest.mark.parametrize("n", LENGTHS[:-2])
def test_columns_score_as_by_the_reference(n: int) -> None:
    for seed in range(4):
        check(n, seed)


@pytest.mark.long
@pytest.mark.parametrize("n", LENGTHS)
def test_many_columns_score_as_by_the_reference(n: int) -> None:
    for seed in range(100, 100 + min(1000, 5 * 10**7 // (n + 10**4))):
        check(n, seed)
