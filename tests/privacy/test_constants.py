"""Every constant of a guarantee: searched for worse, nearly or quite attained, and 10 % too small.

A constant that is smaller than it may be breaks the guarantee; one that is larger than it has to be
wastes epsilon. So each has a witness near it, and the same check refuses a mutant whose noise, or
sensitivity, is smaller by a tenth. docs/explanation/privacy.md has the proofs.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from dpsel.auditing.laws import LAWS, peeling_law, subset_law
from dpsel.auditing.loss import loss
from dpsel.auditing.pairs import two_levels
from dpsel.core.mechanisms.composition import concentrated_rho, round_epsilon

MUTANT = 0.9
"""What a mutant's noise or sensitivity is multiplied with."""


def gaussian_delta(rho: float, epsilon: float) -> float:
    """The exact delta of Gaussian noise, which is rho-zCDP and nothing better."""
    mean = math.sqrt(2 * rho)
    below = float(norm.cdf(-mean / 2 - epsilon / mean))
    return float(norm.cdf(mean / 2 - epsilon / mean)) - math.exp(epsilon) * below


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3, 0.1])
def test_gaussian_noise_of_the_largest_rho_keeps_delta(epsilon: float, delta: float) -> None:
    assert 0 < gaussian_delta(concentrated_rho(epsilon, delta), epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-6), (1.0, 1e-9), (3.0, 1e-9)])
def test_a_tenth_less_noise_breaks_the_conversion_to_delta(epsilon: float, delta: float) -> None:
    assert gaussian_delta(concentrated_rho(epsilon, delta) / MUTANT**2, epsilon) > delta


def renyi(p: float, q: float, alpha: float) -> float:
    """The Renyi divergence of two laws of two outcomes."""
    total = p * (p / q) ** (alpha - 1) + (1 - p) * ((1 - p) / (1 - q)) ** (alpha - 1)
    return math.log(total) / (alpha - 1)


def largest_share(each: float) -> float:
    """The largest divergence of a round of range 0.01 as a share of alpha each^2 / 8, by search."""
    shares = []
    for alpha in (1.01, 1.5, 2.0, 8.0, 64.0, 1000.0):
        for logit in np.linspace(-8, 8, 1601).tolist():
            p, q = (1 / (1 + math.exp(-at)) for at in (logit, logit + 0.01))
            shares.append(max(renyi(p, q, alpha), renyi(q, p, alpha)) / (alpha * each**2 / 8))
    return max(shares)


def test_a_round_is_concentrated_by_an_eighth_of_its_epsilon_squared() -> None:
    assert 0.999 < largest_share(0.01) <= 1 + 1e-6
    assert largest_share(MUTANT * 0.01) > 1.2


def test_rounds_with_a_delta_are_never_worse_than_pure_ones_or_the_simple_conversion() -> None:
    for epsilon in (1e-9, 0.1, 10.0, 1e6, 1e60, 1e300):
        for delta in (1e-300, 1e-30, 1e-6, 0.1, 1 - 1e-15):
            log_inverse = -math.log(delta)
            simple = epsilon / (math.sqrt(log_inverse + epsilon) + math.sqrt(log_inverse))
            for k in (1, 7, 2000):
                each = round_epsilon(epsilon, k, delta)
                assert each >= max(epsilon / k, math.sqrt(8 / k) * simple * (1 - 1e-12))
                assert math.isfinite(each)
    assert round_epsilon(5e-324, 3, 1e-300) < 1e-300


def test_with_a_delta_a_single_record_may_lose_more_than_epsilon_and_sets_do_not() -> None:
    far = (16.0,) * 4 + (0.0,) * 4
    apart = (17.0,) * 4 + (-1.0,) * 4
    laws = peeling_law(far, 4, 1.0, 0.1), peeling_law(apart, 4, 1.0, 0.1)
    assert round(loss(*laws), 1) == 3.5
    assert loss(*laws, 0.1) <= 1.0


def largest_loss(name: str, d: int, k: int, epsilon: float, drawn_with: float) -> float:
    """The largest exact loss in units of epsilon, over two levels and random neighbors."""
    rng = np.random.default_rng(d * k)
    heights = (1.0, 120.0 * min(k, d - k) / epsilon)
    rises = itertools.product(range(k + 1), range(d - k + 1), heights)
    pairs = [two_levels(d, k, (high, low), height) for high, low, height in rises]
    tried = [(pair.scores, pair.neighbor) for pair in pairs]
    for _ in range(20):
        x = rng.uniform(0, rng.choice([1.0, 6.0, 40.0]), d)
        tried.append((tuple(x), tuple(x + rng.uniform(-1, 1, d).round())))
    law = LAWS[name].of
    return max(
        loss(law(x, k, drawn_with), law(other, k, drawn_with)) / epsilon for x, other in tried
    )


@pytest.mark.parametrize(
    ("name", "d", "k"),
    [
        ("canonical-lipschitz", 2, 1),
        ("canonical-lipschitz", 4, 1),
        ("canonical-lipschitz", 4, 3),
        ("joint", 2, 1),
        ("joint", 4, 1),
    ],
)
def test_one_feature_or_all_but_one_take_all_of_epsilon(name: str, d: int, k: int) -> None:
    assert 0.999 < largest_loss(name, d, k, 1.0, 1.0) <= 1 + 1e-9
    assert largest_loss(name, d, k, 1.0, 1.0 / MUTANT) > 1.1


@pytest.mark.parametrize("gamma", [0.25, 0.5, 0.75])
def test_other_sizes_and_weights_have_no_epsilon_left_over(gamma: float) -> None:
    # With twice the epsilon, as for one feature, they would break the guarantee.
    d, k = (4, 2) if gamma == 0.5 else (4, 3)
    pairs = [two_levels(d, k, (high, 1), 2.0) for high in range(k + 1)]
    law = [
        (subset_law(p.scores, k, 1.0, gamma), subset_law(p.neighbor, k, 1.0, gamma)) for p in pairs
    ]
    assert 0.5 < max(loss(*two) for two in law) <= 1.0


@pytest.mark.parametrize(("d", "k"), [(2, 1), (4, 3), (5, 3)])
def test_one_shot_noise_of_twice_the_smaller_side_is_all_that_it_takes(d: int, k: int) -> None:
    assert 0.97 < largest_loss("oneshot-laplace", d, k, 1.0, 1.0) <= 1 + 1e-9
    assert largest_loss("oneshot-laplace", d, k, 1.0, 1.0 / MUTANT) > 1.05
