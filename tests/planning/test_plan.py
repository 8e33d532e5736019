"""Plans: what they promise of themselves, and how near they come to `evaluate`."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError
from dpsel.planning.effects import Effects, auc_of_correlation, correlation_of_auc
from dpsel.planning.options import Guesses, Simulation, TargetGuess, Wish
from dpsel.planning.plan import Curve, Plan, advise, first_reached, make_plan, odds, rising
from dpsel.planning.request import (
    GuessedTable,
    PlanRequest,
    TargetKind,
    make_plan_request,
)
from dpsel.planning.shares import DrawSettings, methods_for, shares_of
from dpsel.planning.simulate import simulate
from dpsel.planning.text import plan_text
from dpsel.selection.options import Method
from tests.planning.designs import Known, evaluated

SCHEMA = json.loads((Path(__file__).parents[2] / "dpsel/planning/plan.schema.json").read_text())


def asked(wish: dict[str, Any], guesses: dict[str, Any], **target: Any) -> PlanRequest:
    few = Simulation(tables=3)
    return make_plan_request(Wish(**wish), Guesses(**guesses), TargetGuess(**target), few)


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(asked({"k": 2, "epsilon": "0.5,2"}, {"rows": 80, "features": 10}, share=0.3))


def test_a_plan_validates_and_is_the_same_again(plan: Plan) -> None:
    record = json.loads(json.dumps(plan.to_dict()))
    jsonschema.validate(record, SCHEMA)
    assert [method["method"] for method in record["methods"]] == ["stump", "kendall", "dp-sis"]
    assert record["share_by_chance"] == 0.2
    again = make_plan(plan.request)
    assert again.to_dict() == plan.to_dict()


def test_shares_never_fall_as_epsilon_grows_and_stay_in_their_range(plan: Plan) -> None:
    for curve in plan.curves.values():
        for values in (curve.low, curve.middle, curve.high):
            assert (np.diff(values) >= 0).all()
        assert (curve.low <= curve.middle).all()
        assert (curve.middle <= curve.high).all()
    effects = [effect for effect in plan.smallest_effects.values() if effect is not None]
    assert effects == sorted(effects, reverse=True)


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 1.0, 2.0, math.log(7), 20.0])
def test_odds_are_the_largest_ratio_that_the_guarantee_allows(epsilon: float) -> None:
    # By Bayes' rule: prior odds 1:1, times P(release | there) / P(release | not) <= exp(epsilon).
    assert odds(epsilon) == math.exp(epsilon)
    # Attained by randomized response: yes with a chance of e^epsilon / (1 + e^epsilon).
    yes = 1 / (1 + math.exp(-epsilon))
    assert yes / (1 - yes) == pytest.approx(odds(epsilon), rel=1e-6)


def test_the_record_states_odds_and_chances(plan: Plan) -> None:
    for row in plan.to_dict()["epsilons"]:
        assert row["odds"] == math.exp(row["epsilon"])
        assert row["chance"] == pytest.approx(row["odds"] / (1 + row["odds"]), rel=1e-12)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("area", [0.55, 0.7, 0.95])
def test_areas_and_correlations_are_those_of_normal_features(share: float, area: float) -> None:
    correlation = correlation_of_auc(area, share)
    assert auc_of_correlation(correlation, share) == pytest.approx(area)
    rng = np.random.default_rng(1)
    y = rng.random(100_000) < share
    x = rng.standard_normal(100_000) + math.sqrt(2) * _inverse(area) * y
    # The standard error is about 1 / 316.
    assert abs(np.corrcoef(x, y)[0, 1] - correlation) < 0.02


def _inverse(area: float) -> float:
    from scipy.stats import norm

    return float(norm.ppf(area))


def test_a_line_is_made_to_rise_and_rising_ones_stay() -> None:
    rose = np.array([0.1, 0.2, 0.2, 0.9])
    np.testing.assert_array_equal(rising(rose), rose)
    assert (np.diff(rising(np.array([0.3, 0.1, 0.5, 0.4]))) >= 0).all()
    assert first_reached(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.5, 1.0]), 0.75) == 2.5
    assert first_reached(np.array([1.0, 2.0]), np.array([0.0, 0.5]), 0.75) is None
    assert first_reached(np.array([1.0, 2.0]), np.array([0.9, 1.0]), 0.75) == 1.0


def test_no_epsilon_above_20_is_recommended() -> None:
    values = np.array([0.1, 0.4, 0.9])
    curve = Curve((10.0, 20.0, 100.0), values, values, values)
    assert [*curve.needed(0.3)] == [pytest.approx(16, rel=0.05)] * 3
    assert curve.needed(0.8) == (None, None, None)


def words_of(plan: Plan, reached: float, **guesses: Any) -> str:
    """Return the text of a plan whose curves all end at some share."""
    epsilons = next(iter(plan.curves.values())).epsilons
    values = np.linspace(0, reached, len(epsilons))
    curves = {method: Curve(epsilons, values, values, values) for method in plan.curves}
    request = replace(plan.request, **guesses)
    return " ".join(plan_text(replace(plan, curves=curves, request=request)).split())


def test_a_plan_says_so_when_no_epsilon_will_do(plan: Plan) -> None:
    text = words_of(plan, 0.7)
    assert "No epsilon up to 20 will do for 80 % right picks, by any method." in text
    assert "No epsilon" not in words_of(plan, 0.9)
    assert "fewer features matter than are picked, so at most 50 % can" in words_of(plan, 0.4, k=4)


def test_advice_names_another_method_where_only_that_finds_what_is_wanted(plan: Plan) -> None:
    epsilons = (0.5, 2.0, 20.0)
    early, late = np.array([0.6, 0.7, 0.75]), np.array([0.1, 0.5, 0.9])
    curves = {
        Method.STUMP: Curve(epsilons, early, early, early),
        Method.KENDALL: Curve(epsilons, late, late, late),
    }
    advice = advise(curves, plan.request)
    assert advice.method is Method.STUMP
    assert advice.why.endswith("(stump 65 %, kendall 30 %); but for 80 % take kendall")
    assert "but for" not in advise(curves, replace(plan.request, find=0.5)).why


@pytest.mark.parametrize(
    ("wish", "guesses", "target", "words"),
    [
        ({"k": 3}, {"rows": 10}, {}, "give --rows N and --features D"),
        ({}, {"rows": 10, "features": 5}, {}, "give --k K"),
        ({"k": 3, "up_to": 3}, {"rows": 10, "features": 5}, {}, "give --k K"),
        ({"k": 9}, {"rows": 10, "features": 5, "matter": 2}, {}, "k must be between 1 and 5"),
        ({"k": 9}, {"rows": 10, "features": 5}, {}, "k must be between 1 and 5"),
        ({"k": 9}, {"rows": 10, "features": 0}, {}, "features must be between 1 and"),
        ({"k": 3}, {"rows": 1, "features": 5}, {}, "rows must be between 2 and"),
        ({"k": 3}, {"rows": 10, "features": 5, "matter": 6}, {}, "matter must be between 1 and 5"),
        ({"k": 3}, {"rows": 10, "features": 5, "effect": "1.5"}, {}, "effect must be above 0"),
        ({"k": 3}, {"rows": 10, "features": 5, "effect": "a"}, {}, "effect must be a number, LOW"),
        ({"k": 3}, {"rows": 10, "features": 5, "effect": "1:2:3"}, {}, "effect must be a number"),
        ({"k": 3}, {"rows": 10, "features": 5, "auc": "0.7"}, {}, "--auc goes with two classes"),
        ({"k": 3}, {"rows": 10, "features": 5, "auc": "0.4"}, {"share": 0.5}, "auc must be above"),
        ({"k": 3}, {"rows": 10, "features": 5}, {"share": 1.0}, "share must be between 0 and 1"),
        ({"k": 3}, {"rows": 10, "features": 5}, {"classes": 2}, "classes must be between 3 and"),
        ({"k": 3}, {"rows": 10, "features": 5}, {"classes": 3, "share": 0.1}, "give either"),
        ({"k": 3, "find": 1.0}, {"rows": 10, "features": 5}, {}, "find must be between 0 and 1"),
        ({"k": 3}, {"rows": 10, "features": 5, "within": 0.5}, {}, "within must be between 1"),
        (
            {"k": 3},
            {"rows": 10, "features": 5, "matter": 3, "effect": "0.1,0.2"},
            {},
            "--matter is 3, but there are 2 effects",
        ),
    ],
)
def test_guesses_that_make_no_sense_are_refused(
    wish: dict[str, Any], guesses: dict[str, Any], target: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError) as refused:
        asked(wish, guesses, **target)
    assert str(refused.value).startswith(words)


def test_a_single_effect_stands_for_a_spread_and_a_list_for_itself() -> None:
    base = {"rows": 100, "features": 50}
    spread = asked({"k": 3}, {**base, "effect": "0.2"}).design.effects
    assert spread.each == pytest.approx((0.4, 0.2, 0.1))
    assert asked({"k": 3}, {**base, "effect": "0.5:0.1"}).design.effects.each[0] == 0.5
    listed = asked({"k": 3}, {**base, "effect": "0.1,0.3"})
    assert listed.design.effects.each == (0.3, 0.1)
    assert not listed.matter_guessed
    worse, _, better = asked({"k": 3}, {**base, "matter": 4}).scenarios
    assert (worse.rows, worse.effects.count, better.effects.count) == (50, 2, 8)
    assert better.effects.high == 0.95


EPSILONS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


def design_of(known: Known, factor: float = 1.0) -> GuessedTable:
    """Return a design as a plan knows it, with guesses that are off by a factor."""
    kind = TargetKind(known.classes) if known.share is None else TargetKind(2, known.share)
    design = GuessedTable(known.rows, known.features, Effects.of(known.effects), kind)
    return design.off(factor, matter=False)


def unsaturated(shares: Any, known: Known, k: int) -> Any:
    """Tell which points are neither near chance nor near all that can be reached."""
    chance, best = len(known.effects) / known.features, min(1.0, len(known.effects) / k)
    return (shares > chance + 0.05) & (shares < best - 0.05)


def expected(known: Known, method: Any, k: int) -> Any:
    simulated = simulate(design_of(known), 16, seed=0)
    shares = shares_of(method, simulated, DrawSettings(k, False, Neighbors.ADD_REMOVE, 10, 0))
    return np.array([shares.at(epsilon).mean() for epsilon in EPSILONS])


def test_a_plan_is_near_to_evaluate() -> None:
    known = Known(250, 30, (0.5, 0.4, 0.3), share=0.4)
    for method in methods_for(2, up_to=False):
        truth = evaluated(known, str(method), 3, EPSILONS, tables=10, trials=6)
        # Seeded: with 10 tables the truth itself has a standard error of about 0.05.
        assert np.abs(expected(known, method, 3) - truth).max() < 0.15, method


def unseen() -> list[tuple[Known, int]]:
    """Return 20 designs, by a seed: of all kinds of targets, tall and wide."""
    rng = np.random.default_rng(77)
    found = []
    for number in range(20):
        rows = int(np.exp(rng.uniform(np.log(80), np.log(3000))))
        features = int(np.exp(rng.uniform(np.log(15), np.log(600))))
        matter = int(rng.integers(2, 8))
        strength = float(np.exp(rng.uniform(np.log(0.1), np.log(0.4))))
        effects = strength * np.exp(rng.uniform(-0.6, 0.6, matter))
        share = float(rng.uniform(0.1, 0.5)) if number % 2 else None
        classes = 4 if number % 10 == 4 else 0
        # A sum of independent features cannot be told better than all of it.
        limit = 0.9 if share is None else 0.5
        effects *= min(1.0, math.sqrt(limit / float((effects**2).sum())))
        k = int(rng.integers(2, matter + 3))
        found.append((Known(rows, features, tuple(effects.tolist()), share, classes), k))
    return found


@pytest.mark.long
def test_with_true_inputs_nine_of_ten_points_are_within_a_tenth_of_evaluate() -> None:
    near = []
    for known, k in unseen():
        for method in methods_for(known.classes, up_to=False):
            truth = evaluated(known, str(method), k, EPSILONS, tables=20, trials=8)
            off = np.abs(expected(known, method, k) - truth)
            near += (off[unsaturated(truth, known, k)] <= 0.1).tolist()
    print(f"{sum(near)} of {len(near)} unsaturated points within 0.1")  # noqa: T201
    assert len(near) >= 100
    assert np.mean(near) >= 0.9


@pytest.mark.long
def test_with_guesses_off_by_a_factor_of_2_the_range_covers_nine_of_ten() -> None:
    covered = []
    for number, (known, k) in enumerate(unseen()):
        factor = 2.0 if number % 3 else 0.5
        design = design_of(known, factor)
        request = PlanRequest(
            *(design, k, False, EPSILONS, 0.8, 2.0, False, Neighbors.ADD_REMOVE, 16, 0)
        )
        curves = make_plan(request).curves
        for method, curve in curves.items():
            truth = evaluated(known, str(method), k, EPSILONS, tables=12, trials=6)
            for place in np.flatnonzero(unsaturated(truth, known, k)):
                low, _, high = curve.at(EPSILONS[place])
                covered.append(low <= truth[place] <= high)
    print(f"{sum(covered)} of {len(covered)} unsaturated points covered")  # noqa: T201
    assert len(covered) >= 100
    assert np.mean(covered) >= 0.9
