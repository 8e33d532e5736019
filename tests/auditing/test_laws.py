"""Exact laws and exact losses: the numbers that audits are compared with."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.auditing.laws import (
    LAWS,
    PRINTED,
    Law,
    exact_law,
    is_law,
    laplace_law,
    margin_law,
    printed_subset_law,
    subset_law,
)
from dpsel.auditing.loss import loss, one_way_loss
from dpsel.auditing.pairs import BUILT_IN
from tests.privacy.test_margin_lipschitz import margin_law as margin_law_by_hand

PARAMETERS = {"gamma": 0.5, "delta": 0.0}


@pytest.mark.parametrize(
    ("epsilon", "ours", "printed"), [(0.5, 0.344, 1.406), (1.0, 0.685, 1.715), (2.0, 1.312, 2.312)]
)
def test_the_built_in_pair_tells_the_right_classes_from_the_printed_ones(
    epsilon: float, ours: float, printed: float
) -> None:
    right, wrong = (
        loss(law(BUILT_IN.scores, 3, epsilon), law(BUILT_IN.neighbor, 3, epsilon))
        for law in (subset_law, printed_subset_law)
    )
    assert round(right, 3) == ours <= epsilon
    assert round(wrong, 3) == printed > epsilon


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("x", [BUILT_IN.scores, (0.0,) * 4, (1e9, 0.0, -1e9, 3.0), (5.0, 1.0)])
def test_laws_give_every_subset_a_chance_and_add_up_to_1(name: str, x: tuple[float, ...]) -> None:
    for k in range(1, len(x)):
        law = exact_law(name, x, k, 1.0, PARAMETERS)
        if name == PRINTED and max(x) > 1e3:
            # Nothing cuts the printed utilities off, so that some chances are 0 in floats.
            assert law is None
            continue
        assert law is not None
        assert is_law(law)
        assert list(law) == list(itertools.combinations(range(len(x)), k))


@pytest.mark.parametrize("name", LAWS)
def test_a_law_that_would_take_too_long_is_not_known(name: str) -> None:
    assert exact_law(name, [0.0] * 40, 20, 1.0, PARAMETERS) is None
    assert exact_law("magic", [0.0] * 4, 2, 1.0, PARAMETERS) is None


@pytest.mark.parametrize("name", sorted(set(LAWS) - {PRINTED}))
def test_all_features_are_one_subset(name: str) -> None:
    law = exact_law(name, [3.0, 1.0, 2.0], 3, 1.0, PARAMETERS)
    assert law is not None
    assert law == {(0, 1, 2): pytest.approx(1.0)}


def test_the_law_with_a_margin_is_that_of_its_definition() -> None:
    for k, gamma in ((1, 0.5), (3, 0.2)):
        found = margin_law(BUILT_IN.neighbor, k, 2.0, gamma)
        expected = margin_law_by_hand(BUILT_IN.neighbor, k, 2.0, gamma)
        assert found == pytest.approx(expected, rel=1e-12)


def test_the_law_of_laplace_noise_is_that_of_two_draws() -> None:
    # P(a + L1 > b + L2) for a gap g = b - a: (2 + g) exp(-g) / 4.
    for gap in (0.0, 0.7, 30.0):
        law = laplace_law([0.0, gap], 1, 2.0)
        assert law[0,] == pytest.approx((2 + gap) * math.exp(-gap) / 4, rel=1e-9)


CHANCES = st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(lambda w: sum(w) > 0)


def by_brute_force(p: Law, q: Law, delta: float) -> float:
    """Return the largest log((P(S) - delta) / Q(S)) over all sets."""
    found = -math.inf
    for size in range(1, len(p) + 1):
        for chosen in itertools.combinations(p, size):
            above = sum(p[key] for key in chosen) - delta
            below = sum(q[key] for key in chosen)
            if above > 1e-12:
                found = max(found, math.log(above / below) if below > 0 else math.inf)
    return found


@settings(max_examples=60)
@given(CHANCES, CHANCES, st.sampled_from([0.0, 1e-3, 0.1, 0.4]))
def test_the_loss_is_the_largest_over_all_sets_of_outcomes(
    first: list[int], second: list[int], delta: float
) -> None:
    p: Law = {(i,): weight / sum(first) for i, weight in enumerate(first)}
    q: Law = {(i,): weight / sum(second) for i, weight in enumerate(second)}
    expected = max(0.0, by_brute_force(p, q, delta), by_brute_force(q, p, delta))
    assert loss(p, q, delta) == pytest.approx(expected, abs=1e-9)


def test_the_set_behind_a_loss_shows_it() -> None:
    p, q = np.array([0.5, 0.3, 0.1, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
    found, chosen = one_way_loss(p, q, 0.1)
    assert math.log((p[chosen].sum() - 0.1) / q[chosen].sum()) == pytest.approx(found)
    assert one_way_loss(p, q)[1].tolist() == [True, False, False, False]


def test_an_outcome_that_only_one_law_has_is_an_infinite_loss() -> None:
    law: Law = {(0,): 0.5, (1,): 0.5}
    assert loss(law, {(0,): 1.0}) == math.inf
    assert loss(law, {(0,): 1.0}, 0.5) == 0.0
    assert loss(law, law) == 0.0
