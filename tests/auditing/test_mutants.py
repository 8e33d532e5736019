"""Mutants of mechanisms: each wrong in one way, and the layer of the audit that catches it.

    exact law        the law itself, integrated, has a loss above epsilon
    sampling         draws show a loss above epsilon
    fit to the law   draws contradict the exact law: not the mechanism that was proven private
    check: NAME      a plain check, of randomness, reach or the shape of outcomes

Mutants are made here, by patches and small wrong copies; those of scores and of the command are in
tests/auditing/test_mutants_of_tables.py. The positive control is in the tests beside this one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpsel.auditing.certificate import Verdict
from dpsel.auditing.pairs import BUILT_IN
from dpsel.auditing.request import MechanismTarget
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.mechanisms import Sampler, joint, lipschitz
from dpsel.core.mechanisms import noisy as oneshot_laplace
from dpsel.core.mechanisms import noisy as peeling
from dpsel.core.mechanisms import permute_and_flip as flip
from dpsel.core.mechanisms import samplers as direct
from dpsel.core.mechanisms import samplers as lazy
from dpsel.core.mechanisms import subset_classes as lipschitz_losses
from dpsel.core.mechanisms.binomials import log_binomial, log_binomial_gap
from dpsel.core.mechanisms.composition import round_epsilon
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.mechanisms.subset_classes import LipschitzLosses, largest_noise
from dpsel.core.randomness import Randomness, SeededRandomness, exponentials, integers_below
from dpsel.selection.exact import exact_top_k
from tests.audited import audited, caught_by

DIRECT: dict[str, Any] = {"sampler": Sampler.DIRECT}
Patch = pytest.MonkeyPatch


def printed_members(h: IntArray, t: IntArray, k: int, rng: Randomness) -> IntArray:
    """Bodies as printed: from the ranks h+1..t-1, so that classes overlap."""
    rows = []
    for head, tail in zip(h.tolist(), t.tolist(), strict=True):
        room = list(range(head + 1, tail))
        body = []
        for _ in range(k - head - 1):
            body.append(room.pop(int(integers_below(rng, np.array([len(room)]))[0])))
        rows.append([*range(1, head + 1), *body, tail])
    return np.array(rows)


@pytest.mark.parametrize("sampler", Sampler)
def test_the_class_size_printed_in_the_paper_is_caught_by_sampling(
    sampler: Sampler, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(
        direct, "log_class_size", lambda h, t, k: log_binomial(t - h - 1, k - h - 1)
    )
    monkeypatch.setattr(
        lazy,
        "log_node_size",
        lambda h, t1, t2, k: log_binomial_gap(t2 - h, k - h, t2 - t1 + 1),
    )
    monkeypatch.setattr(lipschitz, "uniform_members", printed_members)
    # The built-in pair, backwards: the printed law depends on how ties are broken, as Ranking does.
    scores, change = (
        ",".join(map(str, numbers[::-1])) for numbers in (BUILT_IN.scores, BUILT_IN.change)
    )
    found = audited("canonical-lipschitz", 10_000, sampler=sampler, scores=scores, change=change)
    assert caught_by(found) == {"sampling", "fit to the law"}
    assert 1.1 < found.fields["lower_bound"] < 1.715 < found.fields["upper_bound"]


@pytest.mark.parametrize("sampler", Sampler)
def test_a_lost_factor_2_is_caught_by_sampling(sampler: Sampler, monkeypatch: Patch) -> None:
    monkeypatch.setattr(LipschitzLosses, "_scale", property(lambda self: self.epsilon_per_unit))
    found = audited("canonical-lipschitz", 100_000, sampler=sampler)
    assert caught_by(found) == {"sampling", "fit to the law"}


class Weaker(MechanismTarget):
    """Draws with an epsilon that is larger than claimed by a tenth."""

    factor = 1.1

    def draw(self, x: Any, draws: int, seed: int | None) -> IntArray:
        real = MechanismTarget(self.name, self.parameters, self.k, self.factor * self.epsilon)
        return real.draw(x, draws, seed)


class Stronger(Weaker):
    """Draws with a smaller epsilon: private, but not the law that was promised."""

    factor = 0.9


@pytest.mark.parametrize("mutant", [Weaker, Stronger])
def test_noise_that_is_off_by_a_tenth_is_caught_by_its_fit_to_the_law(
    mutant: type[MechanismTarget],
) -> None:
    found = audited("canonical-lipschitz", 120_000, target=mutant, **DIRECT)
    assert caught_by(found) == {"fit to the law"}
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "the draws do not follow the exact law" in found.explanation


def test_noise_that_is_off_by_a_fifth_is_caught_by_sampling_where_the_loss_is_tight() -> None:
    class Off(Weaker):
        factor = 1.2

    found = audited("margin-lipschitz", 60_000, target=Off, d=2, k=1, **DIRECT)
    assert caught_by(found) == {"sampling", "fit to the law"}


def test_an_epsilon_for_each_round_is_caught_by_sampling(monkeypatch: Patch) -> None:
    monkeypatch.setattr(peeling, "round_epsilon", lambda epsilon, k, delta: epsilon)
    found = audited("peeling", 50_000)
    assert caught_by(found) == {"sampling", "fit to the law"}


def test_half_the_noise_of_one_shot_laplace_is_caught_by_sampling(monkeypatch: Patch) -> None:
    monkeypatch.setattr(oneshot_laplace, "noise_scale", lambda k, d, delta: float(k))
    found = audited("oneshot-laplace", 100_000)
    assert caught_by(found) == {"sampling", "fit to the law"}


def test_a_delta_that_is_not_the_one_claimed_is_caught_by_sampling(monkeypatch: Patch) -> None:
    monkeypatch.setattr(
        peeling, "round_epsilon", lambda epsilon, k, delta: 3 * round_epsilon(epsilon, k, delta)
    )
    found = audited("peeling", 200_000, epsilon=0.5, delta=1e-3)
    assert caught_by(found) == {"sampling", "fit to the law"}
    assert found.fields["outcome"]["how_many"] >= 1


def noise_of_53_bits(rng: Randomness, count: int) -> FloatArray:
    """Exponential draws as many libraries make them: they end at 37."""
    uniform = ((rng.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return np.asarray(-np.log(uniform))


@pytest.mark.parametrize(
    ("name", "given"),
    [*((name, {}) for name in MECHANISMS), ("canonical-lipschitz", DIRECT)],
)
def test_noise_of_53_bits_is_caught_by_the_check_of_reach(
    name: str, given: dict[str, Any], monkeypatch: Patch
) -> None:
    for module in (direct, lazy, peeling, oneshot_laplace, joint, flip):
        monkeypatch.setattr(module, "exponentials", noise_of_53_bits)
    found = audited(name, 300, **given)
    assert caught_by(found) == {"check: reach"}
    assert found.verdict is Verdict.FAIL
    assert found.explanation == "features far behind never win: the noise has a cap."


def test_a_fixed_seed_is_caught_by_the_check_of_randomness(monkeypatch: Patch) -> None:
    class Fixed(SeededRandomness):
        private = True

    monkeypatch.setattr("dpsel.core.release.make_randomness", lambda seed: Fixed(7))
    for name in MECHANISMS:
        found = audited(name, 300, seed=None)
        assert "check: fresh-randomness" in caught_by(found)


class ByScore(MechanismTarget):
    """Lists the selected features by their scores."""

    def draw(self, x: Any, draws: int, seed: int | None) -> IntArray:
        rows = super().draw(x, draws, seed)
        order = np.argsort(-np.array(x)[rows], axis=1, kind="stable")
        return np.take_along_axis(rows, order, axis=1)


def test_an_output_in_the_order_of_scores_is_caught_by_its_shape_and_by_sampling() -> None:
    found = audited("canonical-lipschitz", 5_000, target=ByScore, **DIRECT)
    assert {"check: sets", "fit to the law"} <= caught_by(found)
    # Where a change turns the order of two scores, the order alone tells the inputs apart.
    turned = audited(
        "canonical-lipschitz", 2_000, target=ByScore, scores="1,0,0", change="-1,1,0", k=2
    )
    assert {"check: sets", "sampling"} <= caught_by(turned)


def stops_early(losses: LipschitzLosses, draws: int, rng: Randomness) -> tuple[IntArray, IntArray]:
    """The lazy sampler, with its last split left out: the better of two classes always wins."""
    best_h, best_t = np.full(draws, losses.k - 1), np.full(draws, losses.k)
    floor = largest_noise(np.log(exponentials(rng, draws))) + losses.top_gain
    nodes = lazy._whole_rows(losses, draws, rng)
    while nodes.draw.size:
        noise = largest_noise(nodes.log_y)
        np.maximum.at(floor, nodes.draw, noise - losses(nodes.h, nodes.t2))
        live = noise - losses(nodes.h, nodes.t1) >= floor[nodes.draw]
        single = nodes.t2 - nodes.t1 <= 1
        winners = nodes[live & single]
        best_h[winners.draw], best_t[winners.draw] = winners.h, winners.t1
        nodes = lazy._split(nodes[live & ~single], losses.k, rng)
    return best_h, best_t


def unconditioned(
    nodes: Any, k: int, rng: Randomness, split: Callable[..., Any] = lazy._split
) -> Any:
    """The split of the lazy sampler, with parts drawn anew instead of behind their parent."""
    parts = split(nodes, k, rng)
    fresh = np.log(exponentials(rng, parts.h.size)) - lazy.log_node_size(
        parts.h, parts.t1, parts.t2, k
    )
    return lazy._Nodes(parts.draw, parts.h, parts.t1, parts.t2, fresh)


def test_a_lazy_sampler_that_stops_a_split_too_early_is_caught(monkeypatch: Patch) -> None:
    monkeypatch.setitem(lipschitz.CLASSES, Sampler.LAZY, stops_early)
    found = audited("canonical-lipschitz", 5_000)
    assert "fit to the law" in caught_by(found)


def test_a_lazy_sampler_that_forgets_the_parent_s_noise_is_caught(monkeypatch: Patch) -> None:
    monkeypatch.setattr(lazy, "_split", unconditioned)
    found = audited("canonical-lipschitz", 30_000)
    assert "fit to the law" in caught_by(found)


def test_coarse_noise_with_ties_to_the_first_is_caught(monkeypatch: Patch) -> None:
    # Rounded to multiples of 1/2: argmax then takes the first of equal classes.
    monkeypatch.setattr(direct, "largest_noise", lambda y: np.floor(2 * largest_noise(y)) / 2)
    found = audited("canonical-lipschitz", 60_000, **DIRECT)
    assert "fit to the law" in caught_by(found)


class NoNoise(MechanismTarget):
    """Returns the true top k."""

    def draw(self, x: Any, draws: int, seed: int | None) -> IntArray:
        return np.tile(exact_top_k(np.array(x), self.k), (draws, 1))


def test_a_mechanism_without_noise_is_caught_by_sampling() -> None:
    found = audited("canonical-lipschitz", 500, target=NoNoise, scores="1,0.5", change="-1,1", k=1)
    assert {"sampling", "fit to the law", "check: fresh-randomness"} <= caught_by(found)


def test_a_margin_that_is_counted_twice_is_caught(monkeypatch: Patch) -> None:
    right = lipschitz_losses.LipschitzLosses.top_gain.func  # type: ignore[attr-defined]
    monkeypatch.setattr(LipschitzLosses, "top_gain", property(lambda self: 2 * right(self)))
    found = audited("margin-lipschitz", 60_000, d=2, k=1, **DIRECT)
    # The gain is beyond what noise may have to make up for, so that the check of reach sees it too.
    assert caught_by(found) == {"sampling", "fit to the law", "check: reach"}


def test_scores_that_are_rounded_before_they_are_ranked_are_caught(monkeypatch: Patch) -> None:
    # Rounding to a coarse grid lets a score move by 2 where the data moved it by 1.
    class Rounded(MechanismTarget):
        def draw(self, x: Any, draws: int, seed: int | None) -> IntArray:
            return super().draw((2 * np.round(np.array(x) / 2)).tolist(), draws, seed)

    found = audited(
        "margin-lipschitz", 60_000, target=Rounded, scores="1.1,0.9", change="-1,1", k=1, **DIRECT
    )
    assert {"sampling", "fit to the law"} == caught_by(found)
