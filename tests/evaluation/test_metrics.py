"""Metrics of selections: answers worked out by hand, and numpy, scipy or brute force as oracle."""

import itertools
import math
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpsel.auditing.laws import subset_law
from dpsel.core.arrays import IntArray, NumberArray
from dpsel.evaluation.metrics import (
    accuracies,
    correlations,
    good,
    great,
    lipschitz_bound,
    mean_interval,
    mean_jaccard,
    order_hits,
    relative_correlation,
    top,
)
from dpsel.selection.exact import tied_share


def rows(*picks: list[int]) -> IntArray:
    return np.array(picks, dtype=np.int64)


def falling(d: int) -> IntArray:
    """Scores of which feature 0 has the best, feature 1 the next, and so on."""
    return np.arange(d, 0, -1)


@st.composite
def selections(draw: st.DrawFn) -> IntArray:
    """At least two trials of k features each."""
    d = draw(st.integers(1, 9))
    k = draw(st.integers(1, d))
    one = st.permutations(range(d)).map(lambda order: sorted(order[:k]))
    return np.array(draw(st.lists(one, min_size=2, max_size=8)), dtype=np.int64)


def test_accuracy_is_the_share_of_the_picks_that_are_true() -> None:
    picks = rows([0, 1, 2, 3], [3, 5, 7, 8], [4, 5, 6, 7])
    assert accuracies(picks, np.array([0, 1, 3, 9])).tolist() == [0.75, 0.25, 0.0]
    # A truth of two features leaves at most 2 / 4, one of five features a whole 1.
    assert accuracies(picks, np.array([1, 3])).tolist() == [0.5, 0.25, 0.0]
    assert accuracies(picks, np.array([4, 5, 6, 7, 8])).tolist() == [0.0, 0.75, 1.0]
    assert accuracies(picks, np.array([], dtype=np.int64)).tolist() == [0.0, 0.0, 0.0]


def top_great_good(picks: IntArray, scores: NumberArray) -> tuple[float, float, float]:
    return top(picks, scores), great(picks, scores), good(picks, scores)


@pytest.mark.parametrize(
    ("picks", "expected"),
    [
        # k = 10: GREAT is the best 1 and 9 others of the best 11, GOOD is 10 of the best 15.
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], (1, 1, 1)),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], (0, 1, 1)),
        ([0, 2, 3, 4, 5, 6, 7, 8, 9, 10], (0, 1, 1)),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (0, 0, 1)),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 11], (0, 0, 1)),
        ([5, 6, 7, 8, 9, 10, 11, 12, 13, 14], (0, 0, 1)),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 15], (0, 0, 0)),
    ],
)
def test_ten_picks_are_top_great_or_good(picks: list[int], expected: tuple[int, ...]) -> None:
    assert top_great_good(rows(picks), falling(40)) == expected
    # The names of features do not matter, only their scores.
    assert top_great_good(rows([39 - pick for pick in picks]), falling(40)[::-1]) == expected


@pytest.mark.parametrize(
    ("picks", "expected"),
    [
        (range(200), (1, 1, 1)),
        # The paper's example: all of the top 20, the other 180 from the top 220.
        ([*range(20), *range(40, 220)], (0, 1, 1)),
        ([*range(19), *range(20, 201)], (0, 0, 1)),
        ([*range(199), 219], (0, 1, 1)),
        ([*range(199), 220], (0, 0, 1)),
        # GOOD: the best 2, the other 198 from the best 300.
        ([0, 1, *range(102, 300)], (0, 0, 1)),
        ([0, *range(101, 300)], (0, 0, 0)),
        ([*range(199), 300], (0, 0, 0)),
    ],
)
def test_two_hundred_picks_are_top_great_or_good(
    picks: list[int], expected: tuple[int, ...]
) -> None:
    assert len(list(picks)) == 200
    assert top_great_good(rows(list(picks)), falling(1000)) == expected


def test_fewer_than_ten_picks_are_great_only_if_they_are_top() -> None:
    # k = 5: GREAT asks for the best 5, GOOD for 5 of the best 7.
    picks = rows([0, 1, 2, 3, 4], [0, 1, 2, 3, 5], [2, 3, 4, 5, 6], [0, 1, 2, 3, 7])
    assert top_great_good(picks, falling(9)) == (0.25, 0.25, 0.75)
    assert top_great_good(rows([0], [1]), falling(2)) == (0.5, 0.5, 0.5)


def test_tenths_and_hundredths_of_k_are_rounded_down() -> None:
    # k = 15: GREAT is the best 1 and 14 others of the best 16, GOOD is 15 of the best 22.
    picks = rows([0, *range(2, 16)], [0, *range(1, 14), 16], [*range(1, 15), 21], [*range(14), 22])
    assert top_great_good(picks, falling(40)) == (0.0, 0.25, 0.75)
    # k = 199: GOOD asks for the best 1 only.
    assert top_great_good(rows([0, *range(2, 200)]), falling(400)) == (0.0, 0.0, 1.0)
    assert top_great_good(rows([*range(1, 200)]), falling(400)) == (0.0, 0.0, 0.0)


def test_a_tie_is_no_success() -> None:
    scores = np.array([7.0, 3.0, 3.0, 3.0, 1.0])
    # Features 1 to 3 tie for the second place: no two features are the best two.
    assert order_hits(rows([0, 1], [0, 2], [1, 2], [0, 4]), scores, 2, 2).tolist() == [0.0] * 4
    # Within the best 4 are all that score 3 or more, and the best 1 is only feature 0.
    assert order_hits(rows([1, 3], [0, 3], [0, 4]), scores, 0, 4).tolist() == [1.0, 1.0, 0.0]
    assert order_hits(rows([1, 3], [0, 3], [0, 4]), scores, 1, 5).tolist() == [0.0, 1.0, 1.0]
    # All three of the tie, and the one before it.
    assert order_hits(rows([0, 1, 2, 3], [0, 1, 2, 4]), scores, 2, 4).tolist() == [1.0, 0.0]
    for k in range(1, 5):
        assert top_great_good(rows(list(range(k))), np.zeros(5))[0] == 0.0
    assert top_great_good(rows([3, 4]), np.zeros(5)) == (0.0, 0.0, 0.0)


def test_trials_whose_last_place_is_tied_are_counted() -> None:
    assert [tied_share(np.array([3, 1, 3, 2]), k) for k in (1, 2, 3, 4)] == [1.0, 0.0, 0.0, 0.0]
    votes = np.array([[3, 1, 1], [0, 2, 1], [0, 0, 0], [4, 4, 0]])
    assert [tied_share(votes, k) for k in (1, 2, 3)] == [0.5, 0.5, 0.0]
    assert tied_share(np.zeros(5), 5) == 0.0


def test_each_trial_may_have_scores_of_its_own() -> None:
    picks = rows([0, 1], [0, 1], [1, 2])
    scores = np.array([[5, 4, 0], [0, 4, 5], [0, 4, 5]])
    assert order_hits(picks, scores, 2, 2).tolist() == [1.0, 0.0, 1.0]
    assert order_hits(picks, scores[0], 2, 2).tolist() == [1.0, 1.0, 0.0]
    assert top_great_good(picks, scores)[0] == pytest.approx(2 / 3, rel=1e-15)


def test_a_selection_of_all_features_is_top_and_needs_no_more_features_than_there_are() -> None:
    assert top_great_good(rows(list(range(12))), falling(12)) == (1.0, 1.0, 1.0)


def hit_in_every_order(pick: list[int], scores: list[int], must: int, within: int) -> float:
    """Return 1 for a hit by the definition in all orders of features that their scores allow."""
    orders = (
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    )
    return float(all(set(order[:must]) <= set(pick) <= set(order[:within]) for order in orders))


@pytest.mark.parametrize("most", [0, 1, 2, 9])
def test_hits_are_those_of_the_definition_in_every_order_of_equal_scores(most: int) -> None:
    rng = np.random.default_rng(most)
    seen = set()
    for _ in range(60):
        d = int(rng.integers(1, 7))
        k = int(rng.integers(1, d + 1))
        scores = rng.integers(0, most + 1, d)
        must, within = int(rng.integers(0, k + 1)), int(rng.integers(k, d + 3))
        picks = np.array(list(itertools.combinations(range(d), k)))
        found = order_hits(picks, scores, must, within).tolist()
        assert found == [
            hit_in_every_order(pick, scores.tolist(), must, within) for pick in picks.tolist()
        ]
        seen.update(found)
        top = order_hits(picks, scores, k, k)
        assert tied_share(scores, k) == 1.0 - top.sum()
    assert seen == {0.0, 1.0}


@given(selections(), st.data())
def test_hits_among_different_scores_are_those_of_the_definition(
    picks: IntArray, data: st.DataObject
) -> None:
    k, d = picks.shape[1], int(picks.max()) + 2
    scores = data.draw(st.permutations(range(d)))
    must, within = data.draw(st.integers(0, k)), data.draw(st.integers(k, 2 * k))
    order = sorted(range(d), key=lambda j: -scores[j])
    expected = [
        float(set(order[:must]) <= set(pick) <= set(order[:within])) for pick in picks.tolist()
    ]
    assert order_hits(picks, np.array(scores), must, within).tolist() == expected


@given(selections())
def test_jaccard_is_the_mean_over_all_pairs_of_trials(picks: IntArray) -> None:
    sets = [set(row) for row in picks.tolist()]
    found = [len(a & b) / len(a | b) for a, b in itertools.combinations(sets, 2)]
    assert mean_jaccard(picks) == pytest.approx(fmean(found), rel=1e-12)


def test_jaccard_of_equal_and_of_disjoint_trials_is_1_and_0_and_of_one_trial_nothing() -> None:
    assert mean_jaccard(rows([3, 900], [3, 900], [3, 900])) == 1.0
    assert mean_jaccard(rows([0, 1], [2, 3])) == 0.0
    assert mean_jaccard(rows([0, 1], [1, 2], [0, 1])) == pytest.approx((1 / 3 + 1 + 1 / 3) / 3)
    assert mean_jaccard(rows([0, 1])) is None


def test_correlations_are_the_absolute_ones_of_numpy() -> None:
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 30)) @ rng.standard_normal((30, 30)) + 5.0
    y = X[:, 0] - 2 * X[:, 1] + rng.standard_normal(60)
    expected = np.abs(np.corrcoef(X, y, rowvar=False)[-1, :-1])
    assert np.allclose(correlations(X, y), expected, rtol=1e-12, atol=1e-14)
    assert correlations(np.column_stack([y, -y, 3 * y + 1]), y) == pytest.approx([1.0] * 3)
    # Rounding alone would make some of these a little more than 1.
    assert correlations(np.outer(y, rng.uniform(-1, 1, 200)), y).max() == 1.0


@pytest.mark.parametrize("constant", [0.0, 1.0, -0.1, 1 / 3])
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_a_constant_column_has_a_correlation_of_0(n: int, constant: float) -> None:
    rng = np.random.default_rng(n)
    X = np.column_stack([np.full(n, constant), rng.uniform(-1, 1, n)])
    assert correlations(X, rng.uniform(-1, 1, n))[0] == 0.0
    assert correlations(X, np.full(n, constant)).tolist() == [0.0, 0.0]


def test_the_smallest_step_of_the_grid_is_no_constant() -> None:
    X = np.zeros((1000, 1))
    X[0] = 2.0**-16
    assert correlations(X, X[:, 0]) == pytest.approx([1.0], rel=1e-12)


def test_relative_correlation_is_1_for_the_best_and_less_for_others() -> None:
    correlation = np.array([0.1, 0.8, 0.4, 0.0])
    assert relative_correlation(rows([1, 2]), correlation) == 1.0
    assert relative_correlation(rows([1, 2], [0, 3]), correlation) == pytest.approx(0.65 / 1.2)
    assert relative_correlation(rows([0, 1]), correlation) == pytest.approx(0.9 / 1.2)
    assert relative_correlation(rows([0, 1, 2, 3]), correlation) == 1.0
    assert relative_correlation(rows([0, 1]), np.zeros(4)) is None


@pytest.mark.parametrize("trials", [1, 2, 3, 10, 100, 1000])
def test_the_interval_of_yes_and_no_is_wilson_s(trials: int) -> None:
    for hits in {0, 1, trials // 3, trials // 2, trials - 1, trials}:
        values = np.repeat([1.0, 0.0], [hits, trials - hits])
        expected = stats.binomtest(hits, trials).proportion_ci(method="wilson")
        found = mean_interval(values)
        assert found == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-15)


def test_the_interval_of_no_hit_begins_at_0_and_that_of_no_miss_ends_at_1() -> None:
    for trials in range(1, 300):
        low, high = mean_interval(np.zeros(trials))
        assert low == 0.0 < high < 1.0
        low, high = mean_interval(np.ones(trials))
        assert 0.0 < low < high == 1.0


@given(st.integers(1, 12), st.lists(st.integers(0, 12), min_size=1, max_size=40))
def test_the_interval_holds_the_mean_and_has_a_width(k: int, hits: list[int]) -> None:
    values = np.minimum(hits, k) / k
    low, high = mean_interval(values)
    mean = float(values.mean())
    assert 0.0 <= low <= mean <= high <= 1.0
    assert high - low > 1.0 / (len(hits) + 1)
    assert (low == 0.0) == (mean == 0.0)
    assert (high == 1.0) == (mean == 1.0)
    mirrored = mean_interval(1.0 - values)
    assert mirrored == pytest.approx((1.0 - high, 1.0 - low), abs=1e-12)


def covered(chance: float, trials: int, *, squeezed: float = 1.0) -> float:
    """Return how likely the interval of so many yes and no holds their chance: a sum, no draws."""
    total = 0.0
    for hits in range(trials + 1):
        low, high = mean_interval(np.repeat([1.0, 0.0], [hits, trials - hits]))
        middle, reach = (low + high) / 2, squeezed * (high - low) / 2
        if middle - reach <= chance <= middle + reach:
            total += float(stats.binom.pmf(hits, trials, chance))
    return total


def test_the_interval_covers_95_percent_of_the_time_on_average() -> None:
    # Wilson's covers 95 % on average over chances, and dips to about 93 % at single ones.
    chances = np.linspace(0.05, 0.95, 61)
    shares = [covered(float(chance), 100) for chance in chances]
    assert fmean(shares) == pytest.approx(0.95, abs=0.002)
    assert min(shares) > 0.93
    squeezed = [covered(float(chance), 100, squeezed=0.9) for chance in chances]
    assert fmean(squeezed) < 0.93


def bound_from_comb(x: list[float], k: int, epsilon: float, gamma: float, half: float) -> float:
    """Return the bound from its definition; `half` is 1/2 there."""
    ordered = sorted(x, reverse=True)
    xi = ordered[k - 1] - ordered[k]
    return max(0.0, 1.0 - math.comb(len(x), k) * math.exp(-xi * gamma * epsilon * half))


cases = st.tuples(
    st.lists(st.integers(0, 120), min_size=2, max_size=7),
    st.sampled_from([0.25, 1.0, 3.0]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from([0.1, 1.0, 2.0]),
)


@given(cases, st.data())
def test_the_bound_is_its_formula_with_math_comb(
    case: tuple[list[int], float, float, float], data: st.DataObject
) -> None:
    values, sensitivity, gamma, epsilon = case
    k = data.draw(st.integers(1, len(values) - 1))
    found = lipschitz_bound(np.array(values), sensitivity, k, epsilon, gamma)
    x = [value / sensitivity for value in values]
    assert found == pytest.approx(bound_from_comb(x, k, epsilon, gamma, 0.5), rel=1e-9, abs=1e-12)


@given(cases, st.data())
def test_the_bound_is_never_above_the_exact_chance_of_the_top_set(
    case: tuple[list[int], float, float, float], data: st.DataObject
) -> None:
    values, sensitivity, gamma, epsilon = case
    k = data.draw(st.integers(1, len(values) - 1))
    x = [value / sensitivity for value in values]
    top = tuple(sorted(np.argsort(x, kind="stable")[-k:].tolist()))
    chance = subset_law(x, k, epsilon, gamma)[top]
    assert lipschitz_bound(np.array(values), sensitivity, k, epsilon, gamma) <= chance + 1e-12


def test_a_bound_without_the_factor_of_one_half_would_be_above_the_exact_chance() -> None:
    # Of one feature, or all but one, the law is twice as sharp: there it would not be.
    x = [9.0, 0.0, 5.0, 0.0, 9.0]
    chance = subset_law(x, 2, 3.0)[(0, 4)]
    assert bound_from_comb(x, 2, 3.0, 0.5, 0.5) < chance < bound_from_comb(x, 2, 3.0, 0.5, 1.0)


def test_the_bound_is_0_for_ties_and_1_where_all_features_are_selected() -> None:
    assert lipschitz_bound(np.array([5, 5, 1]), 1.0, 1, 1e6, 0.5) == 0.0
    assert lipschitz_bound(np.array([5, 5, 1]), 1.0, 3, 0.1, 0.5) == 1.0
    assert lipschitz_bound(np.array([1e6, 0.0, 0.0]), 1.0, 1, 1.0, 0.5) == 1.0


def test_the_bound_of_more_subsets_than_a_float_can_hold_is_still_right() -> None:
    # log C(20000, 100) is about 626: xi gamma epsilon / 2 has to be larger than that.
    scores = np.zeros(20_000)
    scores[:100] = 1.0
    log_subsets = math.log(math.comb(20_000, 100))
    for beyond in (0.01, 1.0, 5.0):
        epsilon = 4 * (log_subsets + beyond)
        expected = -math.expm1(-beyond)
        assert lipschitz_bound(scores, 1.0, 100, epsilon, 0.5) == pytest.approx(expected, rel=1e-8)
        assert lipschitz_bound(scores, 2.0, 100, epsilon, 0.5) == 0.0
