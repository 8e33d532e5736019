"""Neighboring scores: by rule, given, or the worst that is found."""

import pytest

from dpsel.auditing.laws import LAWS
from dpsel.auditing.loss import loss
from dpsel.auditing.pairs import (
    BUILT_IN,
    ScorePair,
    default_pair,
    given_pair,
    two_levels,
    worst_pairs,
)
from dpsel.auditing.request import MechanismTarget, mechanism_target
from dpsel.errors import UsageError


def exact_loss(target: MechanismTarget, pair: ScorePair) -> float:
    laws = pair.laws(target.law)
    assert laws is not None
    return loss(*laws, target.delta)


def chosen(target: MechanismTarget, d: int) -> ScorePair:
    assert target.delta == 0.0
    return default_pair(target, d, 1_000_000, 1e-6)


def searched(
    target: MechanismTarget, d: int, seed: int = 0, steps: int = 300
) -> tuple[ScorePair, ScorePair]:
    return worst_pairs(target, d, 1_000_000, 1e-6, seed=seed, steps=steps)


def test_6_and_3_have_a_pair_of_their_own() -> None:
    assert chosen(mechanism_target("canonical-lipschitz", {}, 3, 1.0), 6) == BUILT_IN


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("d", "k"), [(2, 1), (5, 2), (7, 1)])
def test_the_rule_s_pairs_are_neighbors_and_show_a_loss(name: str, d: int, k: int) -> None:
    target = mechanism_target(name, {}, k, 1.0)
    pair = chosen(target, d)
    assert len(pair.scores) == len(pair.change) == d
    assert {abs(change) for change in pair.change} == {1.0}
    assert exact_loss(target, pair) > 0.4


def test_large_d_have_a_pair_without_any_law() -> None:
    target = mechanism_target("canonical-lipschitz", {}, 10, 1.0)
    pair = chosen(target, 300)
    assert pair == two_levels(300, 10, (9, 1), 2.0)
    assert pair.laws(target.law) is None


@pytest.mark.parametrize(
    ("name", "d", "k"),
    [
        ("margin-lipschitz", 2, 1),
        ("margin-lipschitz", 6, 3),
        ("peeling", 3, 1),
        ("permute-and-flip", 3, 1),
    ],
)
def test_the_search_finds_nearly_all_of_epsilon_where_the_bound_is_tight(
    name: str, d: int, k: int
) -> None:
    for epsilon in (0.5, 2.0):
        target = mechanism_target(name, {}, k, epsilon)
        worst, shown = searched(target, d)
        assert 0.95 * epsilon < exact_loss(target, worst) <= epsilon + 1e-9
        assert exact_loss(target, shown) <= exact_loss(target, worst) + 1e-9


def test_the_search_finds_more_than_epsilon_for_the_printed_algorithm() -> None:
    for d, k in ((4, 2), (6, 3)):
        target = mechanism_target("printed-lipschitz", {}, k, 1.0)
        worst, shown = searched(target, d)
        assert exact_loss(target, worst) > 1.25
        assert exact_loss(target, shown) > 1.2
        ours = mechanism_target("canonical-lipschitz", {}, k, 1.0)
        assert exact_loss(ours, worst) <= 1.0


def test_the_search_beats_the_rule_and_the_built_in_pair() -> None:
    target = mechanism_target("canonical-lipschitz", {}, 3, 1.0)
    worst, _ = searched(target, 6)
    assert exact_loss(target, worst) > 0.82 > exact_loss(target, BUILT_IN)


def test_the_same_seed_finds_the_same_pairs() -> None:
    target = mechanism_target("peeling", {}, 2, 1.0)
    assert searched(target, 4, steps=60) == searched(target, 4, steps=60)
    assert searched(target, 4, steps=60) != searched(target, 4, seed=1, steps=60)


def test_a_search_without_a_law_is_refused() -> None:
    target = mechanism_target("canonical-lipschitz", {}, 10, 1.0)
    with pytest.raises(UsageError, match="takes too long for d = 40 and k = 10"):
        searched(target, 40)


@pytest.mark.parametrize(
    ("scores", "change", "message"),
    [
        ((1.0, 2.0), (1.0,), "as many numbers, got 2 and 1"),
        ((1.0, float("nan")), (1.0, 1.0), "must be finite"),
        ((1.0, 2.0), (1.0, -1.5), "between -1 and 1"),
    ],
)
def test_a_pair_that_are_no_neighbors_is_refused(
    scores: tuple[float, ...], change: tuple[float, ...], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        given_pair(scores, change)
    assert given_pair((1.0, 2.0), (1.0, -1.0)).neighbor == (2.0, 1.0)
