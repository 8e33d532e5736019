"""k rounds of the exponential mechanism with a delta: compared with compositions worked out whole.

Whatever a test below composes is a possible way to answer, so its delta must not exceed the bound.
docs/explanation/privacy.md, section 9, has the proof.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpsel.auditing.laws import peeling_law
from dpsel.auditing.loss import loss
from dpsel.core.arrays import FloatArray
from dpsel.core.mechanisms.composition import concentrated_rho, delta_of_rounds, round_epsilon

MUTANT = 0.9
"""What a mutant's noise is multiplied with."""

AT = [(1.0, 1e-6), (0.1, 1e-5), (3.0, 1e-9), (1.0, 0.1), (10.0, 1e-6)]


def two_outcomes(each: float, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chances of the losses `largest` and `largest - each`: of two outcomes, as laws have."""
    other = np.exp(largest - each)
    first = (1 - other) / (np.exp(largest) - other) * np.exp(largest)
    return first, 1 - first


def fixed_delta(each: float, k: int, epsilon: float) -> float:
    """The largest delta of k rounds that do not heed each other's outcome (theorem of [DDR20])."""
    deltas = []
    for largest in np.linspace(0, each, 129)[1:-1]:
        first, _ = two_outcomes(each, largest)
        ups = np.arange(k + 1)
        losses = k * largest - (k - ups) * each
        kept = -np.expm1(np.minimum(0.0, epsilon - losses))
        deltas.append(float(binom.pmf(ups, k, float(first)) @ kept))
    return max(deltas)


def adaptive_delta(each: float, k: int, epsilon: FloatArray, steps: int) -> FloatArray:
    """The delta of rounds that heed all outcomes before them: each as bad as one of `steps` is."""
    if k == 0:
        return np.asarray(-np.expm1(np.minimum(0.0, epsilon)))
    largest = np.linspace(0, each, steps + 2)[1:-1]
    first, second = two_outcomes(each, largest)
    left = epsilon[..., None] - largest
    up, down = (adaptive_delta(each, k - 1, at, steps) for at in (left, left + each))
    return np.asarray((first * up + second * down).max(axis=-1))


@pytest.mark.parametrize(("epsilon", "delta"), AT)
@pytest.mark.parametrize("k", [1, 2, 5, 10, 50])
def test_rounds_that_are_all_alike_keep_delta(epsilon: float, delta: float, k: int) -> None:
    assert fixed_delta(round_epsilon(epsilon, k, delta), k, epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), AT)
@pytest.mark.parametrize("k", [5, 10, 50])
def test_a_tenth_less_noise_a_round_breaks_delta(epsilon: float, delta: float, k: int) -> None:
    each = round_epsilon(epsilon, k, delta) / MUTANT
    assert fixed_delta(each, k, epsilon) > delta
    assert delta_of_rounds(each, k, epsilon) > delta


@pytest.mark.parametrize("each", [0.01, 0.3, 2.0, 8.0])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_rounds_that_heed_those_before_keep_to_the_bound_and_come_near_it(
    each: float, share: float
) -> None:
    for k, steps in ((1, 999), (2, 127), (3, 31)):
        epsilon = share * k * each
        found = float(adaptive_delta(each, k, np.array(epsilon), steps))
        bound = delta_of_rounds(each, k, epsilon)
        assert 0.95 * bound <= found <= bound


def test_rounds_that_heed_those_before_are_worse_than_rounds_that_are_all_alike() -> None:
    # So a bound for rounds that are all alike would promise too much.
    fixed = fixed_delta(0.5, 2, 0.0)
    assert float(adaptive_delta(0.5, 2, np.array(0.0), 31)) > 1.05 * fixed
    assert delta_of_rounds(0.5, 2, 0.0) > 1.05 * fixed


def tree_laws(
    rng: np.random.Generator, each: float, k: int, outcomes: int
) -> tuple[FloatArray, FloatArray]:
    """The laws, on two neighbors, of k exponential mechanisms that depend on all that came out."""
    p, q = np.ones(1), np.ones(1)
    for _ in range(k):
        utility = rng.uniform(0, rng.choice([1.0, 10.0]), (len(p), outcomes))
        moved = utility + rng.choice([-1.0, 1.0, 0.0], (len(p), outcomes))
        laws = [np.exp(0.5 * each * (u - u.max(axis=1)[:, None])) for u in (utility, moved)]
        now, then = (law / law.sum(axis=1)[:, None] for law in laws)
        p, q = (p[:, None] * now).ravel(), (q[:, None] * then).ravel()
    return p, q


@pytest.mark.parametrize(("k", "outcomes"), [(1, 5), (2, 4), (4, 3), (7, 2)])
def test_any_rounds_of_the_exponential_mechanism_keep_delta(k: int, outcomes: int) -> None:
    rng = np.random.default_rng(k)
    shares = []
    for epsilon, delta in itertools.product((0.01, 0.3, 2.0), (1e-4, 0.02, 0.2)):
        each = round_epsilon(epsilon, k, delta)
        for _ in range(10):
            p, q = tree_laws(rng, each, k, outcomes)
            shares += [np.maximum(0, p - math.exp(epsilon) * q).sum() / delta]
            shares += [np.maximum(0, q - math.exp(epsilon) * p).sum() / delta]
    assert 0.1 < max(shares) <= 1


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.05), (0.5, 1e-3), (2.0, 0.2)])
def test_the_law_of_peeling_keeps_epsilon_and_delta_over_neighbors(
    epsilon: float, delta: float
) -> None:
    rng = np.random.default_rng(11)
    losses = []
    for _ in range(40):
        d = int(rng.integers(2, 7))
        k = int(rng.integers(1, d))
        x = rng.uniform(0, rng.choice([1.0, 20.0]), d)
        moved = x + rng.choice([-1.0, 1.0], d)
        now, then = (peeling_law(scores.tolist(), k, epsilon, delta) for scores in (x, moved))
        losses.append(loss(now, then, delta))
    assert 0.0 < max(losses) <= epsilon


def test_one_round_has_the_delta_that_is_known() -> None:
    for each, epsilon in ((1.0, 0.5), (0.01, 0.002), (5.0, 1.0), (5.0, 4.9)):
        known = math.expm1((epsilon - each) / 2) ** 2 / -math.expm1(-each)
        assert known <= delta_of_rounds(each, 1, epsilon) <= 1.02 * known


def test_where_no_loss_is_as_large_delta_is_next_to_nothing() -> None:
    assert 0 < delta_of_rounds(0.25, 4, 1.001) < 1e-200
    assert delta_of_rounds(0.25, 4, 0.999) > 1e-13


def test_gains_of_epsilon_a_round_are_those_of_the_docs() -> None:
    gains = {}
    for k in (5, 10, 50, 200):
        before = max(1 / k, math.sqrt(8 * concentrated_rho(1.0, 1e-6) / k))
        each = round_epsilon(1.0, k, 1e-6)
        gains[k] = (round(each, 4), round(each / before, 2), round(each * k, 2))
    assert gains == {
        5: (0.2328, 1.16, 1.16),
        10: (0.1533, 1.10, 1.53),
        50: (0.067, 1.07, 3.35),
        200: (0.0332, 1.06, 6.64),
    }


def test_a_round_is_never_worse_than_pure_or_concentrated() -> None:
    for epsilon in (1e-300, 1e-9, 1.0, 10.0, 1e6, 1e300):
        for delta in (1e-300, 1e-190, 1e-6, 0.9, 1 - 1e-15):
            concentrated = math.sqrt(8 * concentrated_rho(epsilon, delta))
            for k in (1, 7, 5000):
                each = round_epsilon(epsilon, k, delta)
                assert math.isfinite(each)
                assert each >= max(epsilon / k, concentrated / math.sqrt(k)) * (1 - 1e-15)


def test_more_rounds_and_less_to_spend_leave_less_for_a_round() -> None:
    by_k = [round_epsilon(1.0, k, 1e-6) for k in (1, 2, 6, 7, 20, 60, 2000)]
    assert by_k == sorted(by_k, reverse=True)
    by_epsilon = [round_epsilon(epsilon, 10, 1e-6) for epsilon in (0.01, 0.1, 1.0, 5.0, 40.0, 1e3)]
    assert by_epsilon == sorted(by_epsilon)
    by_delta = [round_epsilon(1.0, 10, delta) for delta in (0.0, 1e-99, 1e-9, 1e-3, 0.5)]
    assert by_delta == sorted(by_delta)
