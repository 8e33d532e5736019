"""The law of `dpkendall`, and the sensitivity of its rounds."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from dpsel.core import rounds as rounds_module
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import Randomness, make_randomness
from dpsel.core.rounds import kendall_rounds
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import UNIT, KendallScore
from dpsel.errors import UsageError
from tests.chi_square import ALPHA, p_value

PAIR = {Neighbors.ADD_REMOVE: 1.25, Neighbors.REPLACE_ONE: 2.0}
DRAWS = 20_000


def exact(x: FloatArray, z: FloatArray) -> float:
    pairs = itertools.combinations(range(len(x)), 2)
    total = sum(np.sign(x[i] - x[j]) * np.sign(z[i] - z[j]) for i, j in pairs)
    return float(abs(total) / max(1, len(x) - 1))


def kendall(x: FloatArray, others: FloatArray) -> IntArray:
    return np.array([math.floor(exact(x, z) * 2**32) for z in others.T], dtype=np.int64)


def made(rows: int = 24) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((rows, 4))
    X[:, 1] = X[:, 0] + 0.1 * rng.standard_normal(rows)
    return X, X[:, 0] + X[:, 2] + 0.3 * rng.standard_normal(rows)


def law(
    X: FloatArray, y: FloatArray, k: int, epsilon: float, pair: float
) -> dict[tuple[int, ...], float]:
    """Every order of choices, as products of exponential mechanisms."""
    d = X.shape[1]
    found: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(range(d), k):
        chance = 1.0
        for r, pick in enumerate(order):
            left = [j for j in range(d) if j not in order[:r]]
            score = {
                j: exact(X[:, j], y)
                - (np.mean([exact(X[:, j], X[:, c]) for c in order[:r]]) if r else 0.0)
                for j in left
            }
            scale = 2 * (2 * pair if r else pair) * k / epsilon
            weight = {j: math.exp(value / scale) for j, value in score.items()}
            chance *= weight[pick] / sum(weight.values())
        key = tuple(sorted(order))
        found[key] = found.get(key, 0.0) + chance
    return found


def fit(k: int, neighbors: Neighbors, *, drawn_with: float, checked_against: float) -> float:
    X, y = made()
    rng = make_randomness(k)
    cache = {column.tobytes(): kendall(column, X) for column in [y, *X.T]}
    drawn = Counter(
        tuple(
            kendall_rounds(
                X,
                y,
                k,
                drawn_with,
                rng,
                neighbors=neighbors,
                unit=Unit(),
                kendall=lambda x, others: cache[x.tobytes()],
            ).tolist()
        )
        for _ in range(DRAWS)
    )
    return p_value(drawn, law(X, y, k, checked_against, PAIR[neighbors]))


@pytest.mark.parametrize(
    ("k", "neighbors"),
    [
        (1, Neighbors.REPLACE_ONE),
        (2, Neighbors.ADD_REMOVE),
        *(
            pytest.param(k, neighbors, marks=pytest.mark.long)
            for k in (1, 2, 3)
            for neighbors in Neighbors
        ),
    ],
)
def test_selections_follow_k_rounds_of_the_exponential_mechanism(
    k: int, neighbors: Neighbors
) -> None:
    assert fit(k, neighbors, drawn_with=3.0, checked_against=3.0) > ALPHA


@pytest.mark.parametrize("wrong", [1.5, pytest.param(6.0, marks=pytest.mark.long)])
def test_the_check_above_notices_a_wrong_epsilon(wrong: float) -> None:
    assert fit(2, Neighbors.ADD_REMOVE, drawn_with=3.0, checked_against=wrong) < ALPHA


def test_a_copy_of_a_chosen_feature_is_not_chosen_while_others_tell_more() -> None:
    X, y = made(60)
    for seed in range(20):
        chosen = kendall_rounds(
            X,
            y,
            2,
            1e6,
            make_randomness(seed),
            neighbors=Neighbors.ADD_REMOVE,
            unit=Unit(),
            kendall=kendall,
        )
        assert chosen.tolist() == [0, 2]


def test_all_features_can_be_chosen_and_more_cannot() -> None:
    X, y = made()
    rng = make_randomness(0)
    options = {"neighbors": Neighbors.ADD_REMOVE, "unit": Unit(), "kendall": kendall}
    assert kendall_rounds(X, y, 4, 1.0, rng, **options).tolist() == [0, 1, 2, 3]  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="k must be between 1 and 4"):
        kendall_rounds(X, y, 5, 1.0, rng, **options)  # type: ignore[arg-type]


def test_the_reference_is_scipy_s_where_there_are_no_ties() -> None:
    X, y = made()
    for x in X.T:
        tau = stats.kendalltau(x, y).statistic
        assert exact(x, y) == pytest.approx(abs(tau) * len(y) / 2)


def compared(cells: FloatArray, k: int, monkeypatch: pytest.MonkeyPatch) -> list[Scores]:
    """The scores of every round on a table, whose last column is the target.

    The rounds choose the first feature that is left: a round's sensitivity is for given choices.
    """
    seen: list[Scores] = []

    def first(scores: Scores, k: int, epsilon: float, rng: Randomness) -> IntArray:
        seen.append(scores)
        return np.array([[0]])

    def real(x: FloatArray, others: FloatArray) -> IntArray:
        bounds = Bounds.of([UNIT_INTERVAL] * others.shape[1], UNIT_INTERVAL)
        score = KendallScore(bounds, Neighbors.ADD_REMOVE, Unit())
        score.add(Batch(0, others, x))
        return score.scores().values.astype(np.int64)

    monkeypatch.setattr(rounds_module, "peeling", first)
    kendall_rounds(
        cells[:, :-1],
        cells[:, -1],
        k,
        1.0,
        make_randomness(0),
        neighbors=Neighbors.ADD_REMOVE,
        unit=Unit(),
        kendall=real,
    )
    return seen


def moves(before: list[Scores], after: list[Scores]) -> list[float]:
    """How far the scores of every round move, in units of a score of 1."""
    assert [a.sensitivity for a in before] == [b.sensitivity for b in after]
    unit = UNIT >> 16
    return [
        float(np.abs(a.values - b.values).max()) / unit for a, b in zip(before, after, strict=True)
    ]


def test_a_row_moves_the_scores_of_later_rounds_by_five_halves_a_choice_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(11)
    worst = [0.0] * 3
    for n in (2, 3, 5, 9):
        # Columns in order, in reverse, constant or shuffled.
        ranks = np.arange(n, dtype=float)
        for _ in range(100):
            columns = [
                rng.permutation(ranks) if rng.random() < 0.3 else ranks * rng.choice([-1, 0, 1])
                for _ in range(5)
            ]
            cells = np.column_stack(columns)
            row = rng.choice([-np.inf, np.inf, 0.5, np.nan], 5)
            before, after = (
                compared(table, 3, monkeypatch) for table in (cells, np.vstack([cells, row]))
            )
            assert [s.sensitivity / (UNIT >> 16) for s in before] == [1.25, 2.5, 5.0]
            worst = [max(a, b) for a, b in zip(worst, moves(before, after), strict=True)]
    # Attained, so that a tenth less would be passed.
    assert worst == [1.25, 2.5, 5.0]
