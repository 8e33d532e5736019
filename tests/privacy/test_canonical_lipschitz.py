"""The mechanism draws from its exact law, and that law is private."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from dpsel.auditing.laws import (
    Class,
    Subset,
    class_law,
    printed_size,
    printed_subset_law,
    right_size,
    subset_law,
)
from dpsel.auditing.loss import loss
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.mechanisms import Sampler, lipschitz
from dpsel.core.mechanisms import samplers as direct
from dpsel.core.mechanisms import samplers as lazy
from dpsel.core.mechanisms.binomials import log_binomial, log_binomial_gap
from dpsel.core.mechanisms.lipschitz import float_slack
from dpsel.core.mechanisms.noisy import effective_epsilon
from dpsel.core.mechanisms.ranking import Ranking
from dpsel.core.mechanisms.subset_classes import LipschitzLosses
from dpsel.core.randomness import make_randomness
from dpsel.core.release import top_k
from tests.chi_square import ALPHA, counted, p_value
from tests.core.test_randomness import Scripted

SCORES = {
    "spread": (9.0, 1.0, 4.5, 7.0, 3.0, 0.0, 6.5, 2.0),
    "ties": (5.0, 5.0, 5.0, 2.0, 2.0, 0.0, 0.0, 5.0),
    "signals": (11.0, 0.5, 9.0, 0.1, 0.3, 0.2, 0.4, 0.0),
}
DRAWS = {"lazy": 200_000, "direct": 50_000}


def drawn_subsets(
    x: tuple[float, ...], k: int, epsilon: float, **options: object
) -> Counter[Subset]:
    draws = DRAWS[str(options.get("sampler", "lazy"))]
    rows = top_k(x, k, epsilon, seed=20_261, draws=draws, **options)  # type: ignore[arg-type]
    return counted(rows)


def drawn_classes(sampler: str, x: FloatArray, k: int, epsilon: float) -> Counter[Class]:
    losses = LipschitzLosses(Ranking(x), k, 0.5, epsilon)
    classes = {"lazy": lazy.lazy_classes, "direct": direct.direct_classes}[sampler]
    h, t = classes(losses, DRAWS[sampler], make_randomness(7))
    return Counter(zip(h.tolist(), t.tolist(), strict=True))


def uniform_law(d: int, k: int) -> dict[Subset, float]:
    subsets: list[Subset] = list(itertools.combinations(range(d), k))
    return dict.fromkeys(subsets, 1 / len(subsets))


@pytest.mark.parametrize("d", range(2, 13))
def test_the_class_sizes_sum_to_the_number_of_subsets(d: int) -> None:
    for k in range(1, d):
        h, t = np.meshgrid(np.arange(k), np.arange(k + 1, d + 1), indexing="ij")
        sizes = np.exp(direct.log_class_size(h, t, k))
        assert np.allclose(sizes, np.rint(sizes), rtol=1e-12)
        assert 1 + int(np.rint(sizes).sum()) == math.comb(d, k)


def test_the_classes_partition_the_subsets() -> None:
    d, k = 7, 3
    found: Counter[Class] = Counter()
    for subset in itertools.combinations(range(1, d + 1), k):
        h = next((i - 1 for i in range(1, k + 1) if i not in subset), k - 1)
        found[(h, max(subset))] += 1
    assert found == {
        (h, t): right_size(h, t, k)
        for h, t in [(k - 1, k), *itertools.product(range(k), range(k + 1, d + 1))]
    }


def test_the_class_law_adds_up_to_the_law_of_all_subsets() -> None:
    # With k = 1 and gamma = 1/2 subsets have twice the epsilon, and classes do not know of it.
    for k, gamma in [(1, 0.4), (2, 0.5), (3, 0.5), (3, 0.1), (4, 1.0)]:
        by_class = class_law(SCORES["spread"], k, 1.0, gamma)
        by_subset = subset_law(SCORES["spread"], k, 1.0, gamma)
        assert math.isclose(sum(by_class.values()), 1.0, abs_tol=1e-12)
        top = tuple(sorted(np.argsort(SCORES["spread"])[-k:].tolist()))
        assert math.isclose(by_class[k - 1, k], by_subset[top], rel_tol=1e-10)


@pytest.mark.parametrize("sampler", ["lazy", "direct"])
@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize(
    ("k", "epsilon", "gamma"),
    [
        (1, 1.0, 0.5),
        (2, 2.0, 0.5),
        (3, 0.5, 0.5),
        (3, 3.0, 0.5),
        (3, 2.0, 0.0),
        (4, 2.0, 1.0),
        (7, 1.0, 0.3),
    ],
)
def test_subsets_follow_the_exact_law(
    sampler: str, scores: str, k: int, epsilon: float, gamma: float
) -> None:
    x = SCORES[scores]
    observed = drawn_subsets(x, k, epsilon, gamma=gamma, sampler=sampler)
    assert p_value(observed, subset_law(x, k, epsilon, gamma)) > ALPHA


@pytest.mark.parametrize("sampler", ["lazy", "direct"])
@pytest.mark.parametrize(("d", "k", "epsilon"), [(40, 4, 1.0), (30, 2, 4.0), (24, 5, 0.5)])
def test_classes_of_larger_tables_follow_the_exact_law(
    sampler: str, d: int, k: int, epsilon: float
) -> None:
    x = np.random.default_rng(d).uniform(0, 25, d)
    assert p_value(drawn_classes(sampler, x, k, epsilon), class_law(x.tolist(), k, epsilon)) > ALPHA


def test_parts_drawn_in_whole_numbers_follow_the_same_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "_DOUBT", 2.0)
    monkeypatch.setitem(DRAWS, "lazy", 20_000)
    observed = drawn_subsets(SCORES["spread"], 3, 2.0)
    assert p_value(observed, subset_law(SCORES["spread"], 3, 2.0)) > ALPHA


def test_a_part_is_where_the_number_falls_to_the_last_bit() -> None:
    h, k, edges = 1, 4, [5, 6, 6, 9, 40]
    sizes = [sum(right_size(h, t, k) for t in range(a, b)) for a, b in itertools.pairwise(edges)]
    total = sum(sizes)
    for part, end in enumerate(itertools.accumulate(sizes)):
        border = (end << 64) // total
        if part < len(sizes) - 1:
            assert lazy.exact_part(h, edges, k, border + 1, Scripted()) > part
        if sizes[part]:
            assert lazy.exact_part(h, edges, k, border - 1, Scripted()) == part
    # The word on the border itself is decided by later bits: end / total goes on after 64 bits.
    border = (sizes[0] << 64) // total
    later = ((sizes[0] << 128) // total) % (1 << 64)
    assert lazy.exact_part(h, edges, k, border, Scripted(later - 1)) == 0
    assert lazy.exact_part(h, edges, k, border, Scripted(later + 1)) == 2


def test_parts_found_by_floats_are_those_found_by_whole_numbers() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        k = int(10 ** rng.uniform(0, 2.5))
        d = k + int(10 ** rng.uniform(0.5, 5))
        h = int(rng.integers(0, k))
        edges = np.sort(rng.integers(k + 1, d + 1, 6))
        edges[-1] += edges[0] == edges[-1]
        sizes = lazy.log_node_size(np.array([h]), edges[:-1], edges[1:] - 1, k)
        word = int(rng.integers(0, 1 << 63)) * 2
        found = lazy._parts_with_smallest(
            np.array([h]), edges[None, :], sizes[None, :], k, Scripted(word)
        )
        assert found[0] == lazy.exact_part(h, edges.tolist(), k, word, Scripted())


@pytest.mark.parametrize("sampler", ["lazy", "direct"])
def test_the_check_notices_a_lost_factor_2_and_a_wrong_gamma(sampler: str) -> None:
    observed = drawn_subsets(SCORES["spread"], 3, 2.0, sampler=sampler)
    for wrong in ({"epsilon": 4.0}, {"epsilon": 1.0}, {"gamma": 0.6}, {"gamma": 0.4}):
        law = subset_law(SCORES["spread"], 3, **{"epsilon": 2.0, "gamma": 0.5, **wrong})
        assert p_value(observed, law) < ALPHA, wrong


@pytest.mark.parametrize("sampler", ["lazy", "direct"])
def test_the_check_notices_the_class_size_printed_in_the_paper(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed_class(h: IntArray, t: IntArray, k: int) -> FloatArray:
        return log_binomial(t - h - 1, k - h - 1)

    def printed_node(h: IntArray, t1: IntArray, t2: IntArray, k: int) -> FloatArray:
        return log_binomial_gap(t2 - h, k - h, t2 - t1 + 1)

    monkeypatch.setattr(direct, "log_class_size", printed_class)
    monkeypatch.setattr(lazy, "log_node_size", printed_node)
    x = np.array(SCORES["spread"])
    observed = drawn_classes(sampler, x, 3, 1.0)
    assert p_value(observed, class_law(SCORES["spread"], 3, 1.0)) < ALPHA
    assert p_value(observed, class_law(SCORES["spread"], 3, 1.0, size=printed_size)) > ALPHA


@pytest.mark.parametrize("sampler", [pytest.param("lazy", marks=pytest.mark.long), "direct"])
def test_every_subset_is_equally_likely_as_epsilon_goes_to_0(sampler: str) -> None:
    uniform = uniform_law(8, 3)
    for epsilon in (1e-9, 1e-30, 5e-324):
        observed = drawn_subsets(SCORES["spread"], 3, epsilon, sampler=sampler)
        assert p_value(observed, uniform) > ALPHA
    observed = drawn_subsets(SCORES["spread"], 3, 0.5, sampler=sampler)
    assert p_value(observed, uniform) < ALPHA


@pytest.mark.parametrize("sampler", ["lazy", "direct"])
def test_equal_scores_are_exchangeable(sampler: str) -> None:
    observed = drawn_subsets((4.0,) * 8, 3, 50.0, sampler=sampler)
    assert p_value(observed, uniform_law(8, 3)) > ALPHA


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_law_is_private_where_the_printed_one_is_not(epsilon: float) -> None:
    x = (2.2585, 4.0, 4.0, 0.1692, 0.0, 4.0)
    neighbor = tuple(a + b for a, b in zip(x, (-1, -1, -1, 1, 1, 1), strict=True))
    ours = loss(subset_law(x, 3, epsilon), subset_law(neighbor, 3, epsilon))
    printed = loss(printed_subset_law(x, 3, epsilon), printed_subset_law(neighbor, 3, epsilon))
    assert ours <= epsilon
    assert printed > epsilon


def test_the_privacy_loss_stays_within_epsilon_over_random_neighbors() -> None:
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(300):
        d = int(rng.integers(2, 7))
        k = int(rng.integers(1, d))
        gamma = float(rng.choice([0.0, 0.3, 0.5, 1.0]))
        epsilon = float(rng.choice([0.1, 1.0, 3.0]))
        x = rng.uniform(0, rng.choice([1.0, 5.0, 40.0]), d)
        y = x + rng.choice([-1.0, 1.0], d)
        worst = max(
            worst,
            loss(
                subset_law(x.tolist(), k, epsilon, gamma), subset_law(y.tolist(), k, epsilon, gamma)
            )
            / epsilon,
        )
    assert 0.9 < worst <= 1 + 1e-9


def test_rounding_costs_next_to_nothing_at_any_size() -> None:
    assert float_slack(22_283, 10) < 1e-9
    assert float_slack(1_000_000, 1_000) < 1e-8


def test_the_mechanism_spends_less_than_epsilon_by_the_slack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def spy(losses: LipschitzLosses, draws: int, rng: object) -> tuple[IntArray, IntArray]:
        seen.append(losses.epsilon_per_unit)
        return np.full(draws, losses.k - 1), np.full(draws, losses.k)

    monkeypatch.setitem(lipschitz.CLASSES, Sampler.LAZY, spy)
    top_k(np.arange(9.0), 3, 1.0, sensitivity=4.0)
    top_k(np.arange(9.0), 3, 1e-12)
    assert seen == [effective_epsilon(1.0, float_slack(9, 3)) / 4.0, 0.0]
    assert 1.0 - 4.0 * seen[0] > float_slack(9, 3)
