"""Many draws by one method: their law, and the scores they are drawn by."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dpsel.auditing.laws import Subset, subset_law
from dpsel.core import matrix as kept
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.registry import MECHANISMS, find_mechanism
from dpsel.core.randomness import derived_seed, make_randomness
from dpsel.core.rounds import kendall_rounds
from dpsel.core.scores.base import Scores
from dpsel.evaluation import methods as draws
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.methods import ExactDraws, RoundDraws, ScoreDraws, VoteDraws, table_scores
from dpsel.evaluation.metrics import accuracies, lipschitz_bound, mean_interval
from dpsel.tables.bounds_file import PublicBounds
from tests.chi_square import ALPHA
from tests.core.test_randomness import Scripted
from tests.privacy.test_kendall_rounds import kendall as plain_kendall
from tests.privacy.test_margin_lipschitz import margin_law
from tests.sample_tables import scored

LIPSCHITZ = {"gamma": 0.5, "sampler": Sampler.LAZY}
DRAWS = 20_000
CELLS = 200
TRIALS = 100


def made(d: int, n: int = 60) -> DataSet:
    """Return rows whose target follows feature 1 most, then 3, then 0."""
    rng = np.random.default_rng(d)
    X = rng.uniform(-1, 1, (n, d))
    weights = np.zeros(d)
    weights[[1, 3, 0]] = 0.5, 0.3, 0.2
    return DataSet(np.asfortranarray(X), X @ weights)


def dot_draws(d: int, mechanism: str = "canonical-lipschitz") -> ScoreDraws:
    scores = table_scores("dot", made(d), None, Neighbors.ADD_REMOVE, Unit())
    return ScoreDraws(scores, mechanism, LIPSCHITZ)


def in_units(scores: Scores) -> list[float]:
    """Return scores in units of their sensitivity, as the exact laws want them."""
    found: list[float] = (scores.values / scores.sensitivity).tolist()
    return found


def best(x: Sequence[float], k: int) -> IntArray:
    return np.sort(np.argsort(x)[-k:])


def hits_law(law: Mapping[Subset, float], truth: IntArray, k: int) -> FloatArray:
    """Return the chances of 0, 1, ..., k picks that are true."""
    chances = np.zeros(k + 1)
    for subset, chance in law.items():
        chances[len(set(subset) & set(truth.tolist()))] += chance
    return chances


def expected_accuracy(law: Mapping[Subset, float], truth: IntArray, k: int) -> float:
    return float(hits_law(law, truth, k) @ np.arange(k + 1) / k)


# Hoeffding: the mean of so many accuracies, all within [0, 1], is no farther from its expectation,
# but for one seed in ten million.
REACH = math.sqrt(math.log(2 / ALPHA) / (2 * DRAWS))


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
@pytest.mark.parametrize(("d", "k"), [(6, 2), (7, 3), (8, 2), (8, 3)])
def test_the_accuracy_of_dp_sis_is_that_of_its_exact_law(d: int, k: int, epsilon: float) -> None:
    method = dot_draws(d)
    x = in_units(method.scores)
    truth = best(x, k)
    drawn = method.draw(k, epsilon, DRAWS, make_randomness(d + k))
    assert drawn.picks.shape == (DRAWS, k)
    found = float(accuracies(drawn.picks, truth).mean())
    assert abs(found - expected_accuracy(subset_law(x, k, epsilon), truth, k)) < REACH
    # The check notices half an epsilon, or twice as much, and a forgotten k.
    for wrong in (epsilon / 2, epsilon * 2, epsilon / k):
        exact = expected_accuracy(subset_law(x, k, wrong), truth, k)
        assert abs(found - exact) > REACH


@pytest.mark.parametrize("k", [2, 3])
def test_the_accuracy_with_a_margin_is_that_of_a_law_in_which_only_the_top_set_gains(
    k: int,
) -> None:
    method = dot_draws(7, "margin-lipschitz")
    x = in_units(method.scores)
    truth = best(x, k)
    picks = method.draw(k, 6.0, DRAWS, make_randomness(k)).picks
    with_margin, without = margin_law(x, k, 6.0), subset_law(x, k, 6.0)
    found = float(accuracies(picks, truth).mean())
    assert abs(found - expected_accuracy(with_margin, truth, k)) < REACH
    top = tuple(truth.tolist())
    shares = float((picks == truth).all(axis=1).mean())
    assert abs(shares - with_margin[top]) < REACH
    assert abs(shares - without[top]) > REACH
    # All other sets lose to it, none to another: with the same utility they are as likely.
    gains = {
        s: with_margin[s] - without[s] for s in without if abs(with_margin[s] - without[s]) > 0
    }
    assert [s for s, gain in gains.items() if gain > 1e-12] == [top]


def covering_chance(chances: FloatArray, mean: float) -> float:
    """Return how likely the interval of one cell holds a mean: all outcomes, no draws."""
    k = len(chances) - 1
    total = np.array([1.0])
    for _ in range(TRIALS):
        total = np.convolve(total, chances)
    covers = [
        low <= mean <= high
        for low, high in (
            mean_interval(np.full(TRIALS, hits / (k * TRIALS))) for hits in range(len(total))
        )
    ]
    return float(total[covers].sum())


@pytest.mark.parametrize(("k", "epsilon"), [(1, 3.0), (2, 4.0), (3, 6.0)])
def test_the_interval_of_a_cell_holds_the_exact_accuracy_at_least_95_times_in_100(
    k: int, epsilon: float
) -> None:
    method = dot_draws(6)
    x = in_units(method.scores)
    truth = best(x, k)
    law = subset_law(x, k, epsilon)
    exact = expected_accuracy(law, truth, k)
    cells = [
        mean_interval(
            accuracies(
                method.draw(k, epsilon, TRIALS, make_randomness(derived_seed(k, cell))).picks, truth
            )
        )
        for cell in range(CELLS)
    ]
    covered = sum(low <= exact <= high for low, high in cells)
    chance = covering_chance(hits_law(law, truth, k), exact)
    # Where k is 1 it is Wilson's own, close to 95 %; beyond, shares vary less and it is wider.
    assert chance > (0.95 if k == 1 else 0.97)
    assert stats.binomtest(covered, CELLS, chance).pvalue > ALPHA
    # At 95 % fewer than 180 of 200 cells would be one seed in 500; beyond, one in a million.
    assert stats.binom.cdf(179, CELLS, chance) < (2e-3 if k == 1 else 1e-6)
    assert covered >= 180
    wrong = expected_accuracy(subset_law(x, k, epsilon / 2), truth, k)
    assert sum(low <= wrong <= high for low, high in cells) < 0.2 * CELLS


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_score_draws_are_those_of_the_mechanism_itself(mechanism: str) -> None:
    scores = dot_draws(8).scores
    parameters = dict(MECHANISMS[mechanism].defaults)
    drawn = ScoreDraws(scores, mechanism, parameters).draw(3, 2.0, 50, make_randomness(4))
    expected = MECHANISMS[mechanism].draw_sets(
        scores, 3, 2.0, make_randomness(4), draws=50, **parameters
    )
    assert np.array_equal(drawn.picks, expected)
    assert drawn.scores is scores.values
    if "gamma" in parameters:
        assert drawn.bound == lipschitz_bound(scores.values, scores.sensitivity, 3, 2.0, 0.5)
    else:
        assert drawn.bound is None


def test_a_delta_reaches_the_draws() -> None:
    scores = dot_draws(8).scores

    def picks(delta: float) -> list[list[int]]:
        method = ScoreDraws(scores, "peeling", {"delta": delta})
        found: list[list[int]] = method.draw(6, 1.0, 200, make_randomness(4)).picks.tolist()
        return found

    assert picks(0.0) == picks(0.0) != picks(1e-2)


@pytest.mark.parametrize("mechanism", ["canonical-lipschitz", "peeling"])
def test_vote_draws_use_the_votes_of_each_trial(mechanism: str) -> None:
    # In trial i the features i and i + 1 have all votes: with this epsilon nothing else happens.
    votes = np.zeros((9, 10), dtype=np.int64)
    for trial in range(9):
        votes[trial, [trial, trial + 1]] = 1000
    parameters = MECHANISMS[mechanism].defaults
    method = VoteDraws({2: votes, 1: votes[::-1]}, 1.0, mechanism, parameters)
    drawn = method.draw(2, 10.0, 9, make_randomness(0))
    assert drawn.picks.tolist() == [[trial, trial + 1] for trial in range(9)]
    assert np.array_equal(drawn.scores, votes)
    # Each k has votes of its own.
    ones = method.draw(1, 10.0, 9, make_randomness(0)).picks[:, 0]
    assert (votes[::-1][np.arange(9), ones] == 1000).all()


def test_vote_draws_are_one_draw_a_trial_with_the_bound_of_all_trials_on_average() -> None:
    rng = np.random.default_rng(7)
    votes = rng.integers(0, 60, (40, 6))
    method = VoteDraws({2: votes}, 2.0, "canonical-lipschitz", LIPSCHITZ)
    drawn = method.draw(2, 3.0, 40, make_randomness(5))
    draw, source = find_mechanism("canonical-lipschitz").draw_sets, make_randomness(5)
    expected = [draw(Scores(row, 2.0), 2, 3.0, source, **LIPSCHITZ)[0].tolist() for row in votes]
    assert drawn.picks.tolist() == expected
    bounds = [lipschitz_bound(row, 2.0, 2, 3.0, 0.5) for row in votes]
    assert drawn.bound == pytest.approx(np.mean(bounds), rel=1e-12)
    assert 0.0 < np.mean(bounds) < 1.0
    assert (
        VoteDraws({2: votes}, 2.0, "joint", {}).draw(2, 3.0, 40, make_randomness(5)).bound is None
    )


def test_vote_draws_follow_the_exact_law_of_each_trial_s_votes() -> None:
    # Half the trials prefer the first features, half the last: mixed up, neither would be right.
    first, last = np.array([6, 5, 1, 1, 0, 0]), np.array([0, 0, 1, 1, 5, 6])
    votes = np.tile(np.stack([first, last]), (400, 1))
    method = VoteDraws({2: votes}, 1.0, "canonical-lipschitz", LIPSCHITZ)
    picks = method.draw(2, 2.0, 800, make_randomness(3)).picks
    reach = math.sqrt(math.log(2 / ALPHA) / 800)
    for some, row in ((picks[::2], first), (picks[1::2], last)):
        law = subset_law(row.tolist(), 2, 2.0)
        for truth in ([0, 1], [4, 5]):
            exact = expected_accuracy(law, np.array(truth), 2)
            assert abs(float(accuracies(some, np.array(truth)).mean()) - exact) < reach
        halved = expected_accuracy(subset_law(row.tolist(), 2, 1.0), best(row.tolist(), 2), 2)
        found = float(accuracies(some, best(row.tolist(), 2)).mean())
        assert abs(found - halved) > reach


def test_exact_draws_are_the_same_every_time_and_draw_nothing() -> None:
    values = np.array([0.5, 3.0, 1.0, 3.0, 0.0])
    nothing = Scripted()
    drawn = ExactDraws(values).draw(3, 1.0, 4, nothing)
    assert drawn.picks.tolist() == [[1, 2, 3]] * 4
    assert drawn.bound is None
    assert drawn.scores is values
    with pytest.raises(AssertionError):
        nothing.words(1)


def rounds(rows: DataSet, k: int, neighbors: Neighbors, unit: Unit, seed: int) -> list[list[int]]:
    rng = make_randomness(seed)
    return [
        kendall_rounds(
            *(rows.X, rows.y, k, 1.0, rng),
            neighbors=neighbors,
            unit=unit,
            kendall=plain_kendall,
        ).tolist()
        for _ in range(12)
    ]


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("unit", [Unit(), Unit("person", 2)])
@pytest.mark.parametrize("neighbors", Neighbors)
def test_round_draws_are_kendall_s_rounds_whatever_is_remembered(
    neighbors: Neighbors, unit: Unit, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = made(7, 24)
    rows.X[:2], rows.y[:2] = 0.25, 0.25  # columns that begin alike are still told apart
    expected = rounds(rows, k, neighbors, unit, seed=6)
    assert len({tuple(row) for row in expected}) > 1
    remembering = RoundDraws(rows, neighbors, unit)
    drawn = remembering.draw(k, 1.0, 12, make_randomness(6))
    assert drawn.picks.tolist() == expected
    # Under add-remove a quarter for every row is added to all of them.
    quarters = 24 if neighbors is Neighbors.ADD_REMOVE else 0
    plain = plain_kendall(rows.y, rows.X) + quarters * 2**30
    assert drawn.scores.tolist() == plain.tolist()
    assert drawn.bound is None
    # The target, and every feature that was chosen before the last round.
    assert 1 <= len(remembering.known) <= 8
    assert (len(remembering.known) > 1) is (k > 1)
    # Again from memory, then without one, then with room for two columns, each with its name.
    assert remembering.draw(k, 1.0, 12, make_randomness(6)).picks.tolist() == expected
    for room, most in ((0, 0), (1, 1), ((7 + 24) * 8 + 1, 2)):
        monkeypatch.setattr(draws, "_MOST_REMEMBERED", room)
        forgetful = RoundDraws(rows, neighbors, unit)
        assert forgetful.draw(k, 1.0, 12, make_randomness(6)).picks.tolist() == expected
        assert len(forgetful.known) == min(most, len(remembering.known))


def test_round_draws_pay_for_neighbors_and_persons() -> None:
    rows = made(7, 24)
    found = {
        str(RoundDraws(rows, neighbors, unit).draw(3, 9.0, 40, make_randomness(1)).picks.tolist())
        for neighbors in Neighbors
        for unit in (Unit(), Unit("person", 2))
    }
    assert len(found) == 4


INTERVALS = {"a": Interval(-0.5, 0.7), "b": Interval(-2.0, 1.0), "c": Interval(0.0, 1.0)}
TARGET = Interval(-1.0, 3.0)
BOUNDS = Bounds.of(list(INTERVALS.values()), TARGET)


@pytest.mark.parametrize("unit", [Unit(), Unit("person", 3)])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("bounds", [None, BOUNDS])
@pytest.mark.parametrize("score", ["dot", "covariance", "kendall"])
def test_table_scores_are_those_of_select_wherever_the_rows_are_cut(
    score: str,
    bounds: Bounds | None,
    neighbors: Neighbors,
    unit: Unit,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(8)
    X = np.asfortranarray(rng.uniform(-1.3, 1.3, (23, 3)))
    X[[2, 9], [0, 1]] = np.nan
    y = rng.uniform(-1.3, 1.3, 23)
    public = PublicBounds("", None, TARGET, INTERVALS).to_dict()
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
        y=pl.Series(y), who=pl.Series([f"p{i}" for i in range(23)])
    )
    # Kendall's score needs no bounds, and select refuses them.
    asked: dict[str, Any] = {"score": score, "neighbors": str(neighbors), "exclude": ("who",)}
    if bounds is not None and score != "kendall":
        asked["bounds"] = public
    if unit.name == "person":
        asked |= {"person": "who", "rows_per_person": unit.rows}
    expected = scored(frame, **asked)
    for rows_at_once in (1 << 20, 23, 7, 1):
        monkeypatch.setattr(kept, "TILE_CELLS", 3 * rows_at_once)
        found = table_scores(score, DataSet(X, y), bounds, neighbors, unit)
        assert found.values.tolist() == expected.values.tolist()
        assert found.sensitivity == expected.sensitivity
    assert len(set(expected.values.tolist())) == 3


def test_the_scores_of_no_rows_are_0() -> None:
    empty = DataSet(np.zeros((0, 4)), np.zeros(0))
    for score in ("dot", "covariance", "kendall"):
        found = table_scores(score, empty, None, Neighbors.ADD_REMOVE, Unit())
        assert found.values.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("method", [ScoreDraws, VoteDraws])
def test_an_evaluation_draws_with_a_seed_only(method: type) -> None:
    scores = Scores(np.arange(5), 1.0)
    made: dict[type, ScoreDraws | VoteDraws] = {
        ScoreDraws: ScoreDraws(scores, "peeling", {}),
        VoteDraws: VoteDraws({2: np.ones((1, 5), dtype=np.int64)}, 1.0, "peeling", {}),
    }
    with pytest.raises(ValueError, match="drawn with a seed"):
        made[method].draw(2, 1.0, 1, make_randomness(None))
