"""The margin: a strict gain for the top set, at the same privacy."""

import itertools
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from dpsel.auditing.laws import Subset, flip_law, subset_law
from dpsel.auditing.loss import loss
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.lipschitz import margin_lipschitz
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import Scores
from tests.chi_square import ALPHA, p_value


def margin_law(
    x: Sequence[float], k: int, epsilon: float, gamma: float = 0.5, margins: float = 1.0
) -> dict[Subset, float]:
    """Return the law by brute force; `margins` counts how often the top set gains its margin."""
    ordered = sorted(x, reverse=True)
    subsets = list(itertools.combinations(range(len(x)), k))
    utilities = []
    for subset in subsets:
        worst_in = min(x[i] for i in subset)
        best_out = max(x[i] for i in range(len(x)) if i not in subset)
        utility = gamma * worst_in - (1 - gamma) * max(best_out, worst_in)
        if worst_in > best_out:
            utility += margins * (1 - gamma) * (ordered[k - 1] - ordered[k])
        utilities.append(utility)
    chances = flip_law(0.5 * epsilon * np.array(utilities), np.ones(len(subsets)))
    return dict(zip(subsets, chances.tolist(), strict=True))


@pytest.mark.parametrize("sampler", Sampler)
@pytest.mark.parametrize(("k", "epsilon", "gamma"), [(1, 1.0, 0.5), (3, 2.0, 0.5), (3, 2.0, 0.2)])
def test_draws_follow_the_exact_law(sampler: Sampler, k: int, epsilon: float, gamma: float) -> None:
    x = (9.0, 1.0, 4.5, 7.0, 3.0, 0.0, 6.5)
    rows = margin_lipschitz(
        Scores(np.array(x), 1.0),
        k,
        epsilon,
        make_randomness(3),
        draws=50_000,
        gamma=gamma,
        sampler=sampler,
    )
    observed: Counter[Subset] = Counter(map(tuple, rows.tolist()))
    assert p_value(observed, margin_law(x, k, epsilon, gamma)) > ALPHA
    assert p_value(observed, subset_law(x, k, epsilon, gamma)) < ALPHA


def test_the_top_set_never_has_a_smaller_chance_than_without_the_margin() -> None:
    rng = np.random.default_rng(0)
    gains = []
    for _ in range(300):
        d = int(rng.integers(2, 7))
        k = int(rng.integers(1, d))
        x = rng.uniform(0, rng.choice([1.0, 5.0, 40.0]), d).tolist()
        epsilon = float(rng.choice([0.1, 1.0, 3.0]))
        # With gamma = 1/2, one feature or all but one have twice the epsilon without the margin.
        gamma = float(rng.choice([0.0, 0.3, 0.6 if k in (1, d - 1) else 0.5, 1.0]))
        top = tuple(sorted(np.argsort(x)[-k:].tolist()))
        with_margin = margin_law(x, k, epsilon, gamma)[top]
        gains.append(with_margin - subset_law(x, k, epsilon, gamma)[top])
    assert min(gains) > -1e-12
    assert max(gains) > 0.1


def worst_loss(margins: float, epsilon: float) -> float:
    """Search neighboring scores for the largest loss: a grid, then hill climbing."""
    rng = np.random.default_rng(1)
    d, k = 5, 2
    signs = [np.array(s, dtype=float) for s in itertools.product((-1, 1), repeat=d)]

    def found(x: np.ndarray[tuple[int], np.dtype[np.float64]], change: int) -> float:
        y = x + signs[change]
        return loss(
            margin_law(x.tolist(), k, epsilon, margins=margins),
            margin_law(y.tolist(), k, epsilon, margins=margins),
        )

    best, point, change = 0.0, np.zeros(d), 0
    for _ in range(150):
        x, c = rng.choice([0.0, 1.0, 2.0, 4.0, 8.0], d), int(rng.integers(len(signs)))
        if (value := found(x, c)) > best:
            best, point, change = value, x, c
    for step in (1.0, 0.3, 0.1):
        for _ in range(60):
            x = np.abs(point + step * rng.normal(size=d))
            if (value := found(x, change)) > best:
                best, point = value, x
    return best


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_loss_stays_within_epsilon(epsilon: float) -> None:
    assert 0.5 * epsilon < worst_loss(1.0, epsilon) <= epsilon * (1 + 1e-9)


def test_a_margin_that_is_counted_twice_is_caught() -> None:
    assert worst_loss(2.0, 2.0) > 2.05
