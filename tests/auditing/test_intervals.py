"""Confidence bounds: they are wrong no more often than they say."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from dpsel.auditing.laws import Law, subset_law
from dpsel.auditing.loss import (
    PARTS,
    Outcome,
    OutcomeCounts,
    disagreement,
    expected_bound,
    highest_chance,
    loss,
    loss_bounds,
    lowest_chance,
    visible_loss,
)
from dpsel.auditing.pairs import BUILT_IN, two_levels

# A right bound fails for one seed in ten million.
ALPHA = 1e-7
PLACES = [(which, part) for which in (0, 1) for part in range(PARTS)]


@pytest.mark.parametrize("draws", [1, 7, 60])
@pytest.mark.parametrize("alpha", [0.2, 1e-3, 1e-9])
def test_a_bound_is_wrong_with_a_chance_of_at_most_alpha(draws: int, alpha: float) -> None:
    counts = np.arange(draws + 1)
    lower, upper = lowest_chance(counts, draws, alpha), highest_chance(counts, draws, alpha)
    assert np.all(np.diff(lower) > 0)
    assert np.all(np.diff(upper) > 0)
    assert (lower[0], upper[-1]) == (0.0, 1.0)
    for p in (1e-6, 0.03, 0.3, 0.5, 0.77, 1 - 1e-6):
        mass = stats.binom.pmf(counts, draws, p)
        assert mass[lower > p].sum() <= alpha * (1 + 1e-9)
        assert mass[upper < p].sum() <= alpha * (1 + 1e-9)


def test_bounds_are_those_of_clopper_and_pearson() -> None:
    exact = stats.binomtest(13, 200).proportion_ci(0.98, method="exact")
    found = lowest_chance(np.array(13), 200, 0.01), highest_chance(np.array(13), 200, 0.01)
    assert found == pytest.approx((exact.low, exact.high), rel=1e-9)


def drawn(laws: tuple[Law, Law], samples: int, rng: np.random.Generator) -> OutcomeCounts:
    """Return a tally from two laws."""
    counters: dict[tuple[int, int], Counter[Outcome]] = {}
    for which, law in enumerate(laws):
        for part in range(PARTS):
            counts = rng.multinomial(samples // PARTS, np.array(list(law.values())))
            pairs: Sequence[tuple[Outcome, int]] = list(zip(law, counts.tolist(), strict=True))
            counters[which, part] = Counter({key: count for key, count in pairs if count})
    return OutcomeCounts.of(counters)


def laws_at(epsilon: float) -> tuple[Law, Law]:
    return (
        subset_law(BUILT_IN.scores, 3, epsilon),
        subset_law(BUILT_IN.neighbor, 3, epsilon),
    )


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("samples", [200, 20_000])
def test_the_loss_is_outside_of_its_bounds_no_more_often_than_said(
    delta: float, samples: int
) -> None:
    laws, alpha, times = laws_at(2.0), 0.2, 400
    truth = loss(*laws, delta)
    rng = np.random.default_rng(samples)
    missed = strange = 0
    for _ in range(times):
        tally = drawn(laws, samples, rng)
        bounds = loss_bounds(tally, 20, delta, alpha)
        missed += not bounds.lower <= truth <= bounds.upper
        strange += disagreement(tally, laws, 20, alpha) is not None
    assert stats.binom.sf(missed - 1, times, alpha) > ALPHA
    assert stats.binom.sf(strange - 1, times, alpha / 2) > ALPHA


def test_with_many_draws_the_bounds_close_in_on_the_loss() -> None:
    laws = laws_at(2.0)
    for delta in (0.0, 0.05):
        tally = drawn(laws, 40_000_000, np.random.default_rng(1))
        bounds = loss_bounds(tally, 20, delta, ALPHA)
        assert bounds.lower <= loss(*laws, delta) <= bounds.upper
        assert bounds.lower > loss(*laws, delta) - 0.03
        assert bounds.upper < loss(*laws, delta) + (0.03 if delta == 0.0 else 0.05)


def test_the_outcomes_of_a_bound_are_likelier_under_the_input_it_names() -> None:
    laws = laws_at(2.0)
    for order in (laws, laws[::-1]):
        bounds = loss_bounds(drawn(order, 1_000_000, np.random.default_rng(2)), 20, 0.0, ALPHA)
        (outcome,) = bounds.outcomes
        assert isinstance(outcome, tuple)
        ratio = order[bounds.likelier][outcome] / order[1 - bounds.likelier][outcome]
        assert math.log(ratio) == pytest.approx(loss(*laws))


def test_a_set_shows_what_no_single_outcome_does() -> None:
    # Each of 3000 outcomes is rare, and those of one half are 1.7 times as likely together.
    first: Law = {(i,): (1.26 if i < 1500 else 0.74) / 3000 for i in range(3000)}
    second: Law = {(i,): (0.74 if i < 1500 else 1.26) / 3000 for i in range(3000)}
    tally = drawn((first, second), 200_000, np.random.default_rng(3))
    bounds = loss_bounds(tally, 3000, 0.0, ALPHA)
    assert 0.3 < bounds.lower < math.log(1.26 / 0.74)
    assert len(bounds.outcomes) > 500


def test_an_outcome_never_drawn_leaves_the_loss_without_an_upper_bound() -> None:
    tally = OutcomeCounts.of({place: Counter({"a": 50}) for place in PLACES})
    assert loss_bounds(tally, 2, 0.0, 0.1).upper == math.inf
    assert loss_bounds(tally, 1, 0.0, 0.1).upper < 0.2
    assert loss_bounds(tally, 1, 0.0, 0.1).lower == 0.0


def test_the_visible_loss_is_what_the_clearest_draws_would_show() -> None:
    counters: dict[tuple[int, int], Counter[Outcome]] = {
        (which, part): Counter({"ab"[which]: 250}) for which, part in PLACES
    }
    for delta in (0.0, 0.1):
        bounds = loss_bounds(OutcomeCounts.of(counters), 2, delta, 1e-6)
        assert bounds.lower == pytest.approx(visible_loss(1000, 2, delta, 1e-6), rel=0.02)
    assert visible_loss(10, 20, 0.0, 1e-6) < 0


def test_an_expected_bound_is_about_what_draws_show() -> None:
    for laws in (laws_at(1.0), laws_at(3.0)):
        for delta in (0.0, 0.02):
            expected = expected_bound(laws, 1_000_000, delta, 1e-6)
            tally = drawn(laws, 1_000_000, np.random.default_rng(4))
            assert loss_bounds(tally, 20, delta, 1e-6).lower == pytest.approx(expected, abs=0.04)


def test_rare_outcomes_count_little_for_an_expected_bound() -> None:
    rare = two_levels(6, 3, (3, 0), 60.0)
    laws = (subset_law(rare.scores, 3, 1.0, 1.0), subset_law(rare.neighbor, 3, 1.0, 1.0))
    assert loss(*laws) > 0.9
    assert expected_bound(laws, 1_000_000, 0.0, 1e-6) < 0.1


def test_a_law_is_contradicted_by_draws_of_another_and_by_outcomes_it_does_not_know() -> None:
    laws, other = laws_at(1.0), laws_at(1.1)
    rng = np.random.default_rng(5)
    assert disagreement(drawn(laws, 200_000, rng), laws, 20, ALPHA) is None
    assert disagreement(drawn(other, 2_000_000, rng), laws, 20, ALPHA) is not None
    strange = OutcomeCounts.of({place: Counter({"x": 100}) for place in PLACES})
    assert disagreement(strange, laws, 20, ALPHA) is not None
    # Nobody drew (3, 4, 5), which the law says is frequent.
    certain: Law = {(3, 4, 5): 1.0}
    tally = drawn(laws, 200_000, rng)
    assert disagreement(tally, (laws[0], certain), 20, ALPHA) is not None
