"""Simulated scores are those of `select`, and what is drawn from them is what `evaluate` finds."""

from fractions import Fraction

import numpy as np
import pytest

from dpsel.core.epsilon_parts import MEDIAN, SELECTION
from dpsel.core.guarantee import Neighbors
from dpsel.core.randomness import SeededRandomness
from dpsel.core.scores.stump import UNIT, Cells, WeightRule, stump_scores
from dpsel.core.target import balanced_by_share
from dpsel.planning.effects import Effects
from dpsel.planning.request import GuessedTable, TargetKind
from dpsel.planning.shares import (
    DrawnWeights,
    DrawSettings,
    SortedColumns,
    TargetWeights,
    shares_of,
)
from dpsel.planning.simulate import ScoreFactors, null_scores, simulate, target_of
from dpsel.selection.options import Method

ONE = np.ones(1)
WANTED = DrawSettings(3, False, Neighbors.ADD_REMOVE, 4, 0)


def design(rows: int, kind: TargetKind, effect: float = 0.3, features: int = 40) -> GuessedTable:
    return GuessedTable(rows, features, Effects(3, effect, effect), kind)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(3, 10)])
@pytest.mark.parametrize("rows", [3, 40, 301])
def test_sorted_columns_score_as_stump_does(share: Fraction, rows: int) -> None:
    X = np.random.default_rng(rows).standard_normal((rows, 20))
    y = target_of(TargetKind(2, float(share)), rows)
    weights = WeightRule(balanced_by_share(share), 2).weights(y)
    values = weights.values[0].take(weights.groups) / UNIT
    found = SortedColumns(X, ONE).best(DrawnWeights(values, float(values.sum())))
    np.testing.assert_array_equal(np.rint(found * UNIT), stump_scores(Cells.of(X), weights)[0])


@pytest.mark.parametrize("kind", [TargetKind(), TargetKind(2, 0.2), TargetKind(6)])
def test_features_have_the_correlations_that_were_guessed(kind: TargetKind) -> None:
    found = simulate(design(1000, kind), 200, seed=1)
    groups = found.y
    if kind.classes > 2:
        means = np.array([found.signals[groups == c].mean(axis=0) for c in range(kind.classes)])
        # The means of finite classes vary by noise too: less 1 / 1000 a class.
        squares = means.var(axis=0) / found.signals.var(axis=0) - kind.classes / 1000
        correlation = np.sqrt(squares.mean())
    else:
        correlation = np.corrcoef(found.signals.T, groups)[-1, :-1].mean()
    # 600 features: the mean is within 0.012 of the truth but for one seed in a million.
    assert abs(correlation - 0.3) < 0.012
    assert abs(found.signals.std() - 1) < 0.02


def test_a_small_table_is_simulated_as_it_is_and_a_large_one_by_factors() -> None:
    effects = np.array([[0.5, 0.02]])
    small = ScoreFactors.of(1000, effects)
    assert (small.noise, small.effects.tolist(), small.signals.tolist()) == (
        1.0,
        effects.tolist(),
        [[1.0, 1.0]],
    )
    large = ScoreFactors.of(100_000, effects)
    # A clear effect stays, and its score grows with the rows; a weak one grows with their root,
    # and so does its score.
    assert large.effects.tolist() == [[0.5, pytest.approx(0.2)]]
    assert large.signals.tolist() == [[pytest.approx(100.0), pytest.approx(10.0)]]
    assert large.noise == pytest.approx(10.0)


def test_scores_of_many_features_continue_those_of_the_pool() -> None:
    rng = np.random.default_rng(5)
    pool = np.abs(rng.standard_normal(400))
    found = null_scores(pool, 100_000, rng.random(100_000))
    assert (np.diff(found) <= 0).all()
    from scipy.stats import halfnorm

    # The half normal law: its median, and its 1 - 10^-5 quantile up to a tenth.
    assert abs(np.median(found) - halfnorm.median()) < 0.12
    assert abs(found[0] / halfnorm.isf(1e-5) - 1) < 0.1
    few = null_scores(pool, 7, rng.random(400))
    assert len(few) == 7
    assert np.isin(few, pool).all()


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (TargetKind(), 1 - 1 / 3),
        (TargetKind(known=True), 1),
        (TargetKind(2, 0.3), 0.9),
        (TargetKind(2, 0.3, known=True), 1),
    ],
)
def test_the_target_is_paid_for_as_in_select(kind: TargetKind, left: float) -> None:
    simulated = simulate(design(200, kind), 1, seed=0)
    parts, k = TargetWeights(simulated, WANTED).paid(2.0)
    assert k == 3
    assert parts.part(SELECTION) == pytest.approx(2 * left, rel=1e-3)


def test_up_to_counts_the_rows_and_picks_what_epsilon_carries() -> None:
    simulated = simulate(design(50, TargetKind()), 1, seed=0)
    wanted = DrawSettings(10, True, Neighbors.ADD_REMOVE, 4, 0)
    parts, k = TargetWeights(simulated, wanted).paid(1.0)
    assert k == 1
    assert [part.name for part in parts.parts] == ["number of rows", MEDIAN, SELECTION]


def test_weights_of_little_epsilon_are_off_balance_and_of_much_are_not() -> None:
    weights = TargetWeights(simulate(design(400, TargetKind()), 1, seed=0), WANTED)

    def imbalance(epsilon: float) -> float:
        parts, _ = weights.paid(epsilon)
        totals = [weights.draw(parts, SeededRandomness(i)).total for i in range(40)]
        return float(np.mean(np.abs(totals)))

    assert imbalance(0.05) > 10 * imbalance(20.0)


@pytest.mark.parametrize("method", [Method.STUMP, Method.KENDALL, Method.DP_SIS])
def test_all_is_found_with_much_epsilon_and_chance_alone_with_next_to_none(method: Method) -> None:
    simulated = simulate(design(1000, TargetKind(2, 0.4), effect=0.6), 6, seed=3)
    shares = shares_of(method, simulated, DrawSettings(3, False, Neighbors.ADD_REMOVE, 30, 3))
    assert shares.at(20.0).tolist() == [1.0] * 6
    # 540 picks, of which 3 in 40 are right by chance: above 0.16 for one seed in a million.
    assert shares.at(1e-6).mean() < 0.16
