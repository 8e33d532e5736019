"""Amounts of privacy add up exactly."""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.budget.amounts import (
    MOST_SIGNS,
    Amount,
    amount_of,
    amount_text,
    cost_of,
    limit_of,
    parse_amount,
)
from dpsel.core.guarantee import Guarantee, Neighbors, Scope
from dpsel.core.mechanisms import joint, lipschitz, noisy, permute_and_flip
from dpsel.core.mechanisms.lipschitz import float_slack
from dpsel.core.mechanisms.noisy import rounding_cost, single_limit
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.mechanisms.subset_classes import LipschitzLosses
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import Scores
from dpsel.errors import UsageError

SCOPE = Scope(end_to_end=True, why="")

amounts = st.floats(1e-99, 1e99).map(repr) | st.decimals(
    0, 10**17, allow_nan=False, allow_infinity=False, places=20
).map(lambda value: f"{value:f}")


def guarantee(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee(epsilon, Neighbors.ADD_REMOVE, SCOPE, delta=delta)


@given(st.lists(amounts, max_size=20))
def test_sums_are_those_of_exact_fractions(texts: list[str]) -> None:
    spent = Amount()
    for text in texts:
        spent = spent.plus(Amount(parse_amount(text, "epsilon"), parse_amount(text, "delta")))
    exact = sum((Fraction(text) for text in texts), Fraction(0))
    assert Fraction(spent.epsilon) == Fraction(spent.delta) == exact
    assert spent.less(spent) == Amount()


@given(amounts, amounts)
def test_a_charge_fits_if_and_only_if_the_exact_numbers_do(limit: str, asked: str) -> None:
    fits = Amount(Decimal(limit)).covers(Amount(Decimal(asked)))
    assert fits is (Fraction(asked) <= Fraction(limit))


def test_the_smallest_overrun_is_noticed() -> None:
    limit = limit_of("10", "0")
    for tiny in ("1e-100", "0." + "0" * 37 + "1"):
        spent = Amount(Decimal(8)).plus(Amount(parse_amount(tiny, "epsilon")))
        assert not limit.covers(spent.plus(Amount(Decimal(2))))
    assert limit.covers(Amount(Decimal(8)).plus(Amount(Decimal(2))))
    # In floats, the same overrun would slip through.
    assert 8.0 + 1e-100 + 2.0 <= 10.0


def test_ten_times_a_tenth_is_one() -> None:
    spent = Amount()
    for _ in range(10):
        spent = spent.plus(cost_of(guarantee(0.1)))
    assert limit_of("1", "0").covers(spent)
    assert spent.epsilon == 1
    assert sum([0.1] * 10) != 1.0


def test_epsilon_and_delta_must_both_fit() -> None:
    limit = limit_of("1", "1e-6")
    assert limit.covers(cost_of(guarantee(1.0, 1e-6)))
    assert not limit.covers(cost_of(guarantee(1.0, 2e-6)))
    assert not limit.covers(cost_of(guarantee(1.5, 1e-6)))
    assert not limit_of("1", "0").covers(cost_of(guarantee(1.0, 1e-9)))


@pytest.mark.parametrize(
    "text",
    [
        *("-1", "+1", "nan", "NaN", "sNaN", "inf", "-inf", "Infinity", "", " ", " 1", "1 ", "1_0"),
        *("1e-101", "5e-324", "2e100", "1e999", "1e9999", "0x1p3", "1/2", "1,5", "\u0661", "--1"),
        *("\uff11", "1e", ".", "e5", "1e1000000000", "1\n", "1" * 41, "0." + "1" * 39, "-0"),
    ],
)
def test_amounts_that_are_not_sensible_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^epsilon must "):
        parse_amount(text, "epsilon")


@pytest.mark.parametrize(
    ("text", "plain"), [("0", "0"), ("0.0e5", "0"), ("1e1", "10"), (".5", ".5")]
)
def test_sensible_amounts_are_read(text: str, plain: str) -> None:
    assert parse_amount(text, "epsilon") == Decimal(plain)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("0", "0"), ("1", "1"), ("1", "1.5"), ("-1", "0"), ("1", "-1e-9")]
)
def test_limits_that_promise_nothing_are_refused(epsilon: str, delta: str) -> None:
    with pytest.raises(UsageError):
        limit_of(epsilon, delta)


@given(st.floats(1e-99, 1e99))
def test_the_cost_is_the_number_in_the_record(epsilon: float) -> None:
    import json

    written = json.dumps(epsilon)
    assert cost_of(guarantee(epsilon)).epsilon == Decimal(written)


def test_all_kinds_of_numbers_are_charged_alike() -> None:
    assert amount_of(2, "e") == amount_of(2.0, "e") == amount_of(np.float64(2), "e") == 2
    assert amount_of(np.float64(0.1), "e") == Decimal("0.1")
    # A whole number is not rounded to a float.
    assert amount_of(2**53 + 1, "e") == 2**53 + 1
    for wrong in (math.nan, math.inf, -1.0, 5e-324, 1e300, 10**200):
        with pytest.raises(UsageError):
            amount_of(wrong, "e")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("10", "10"),
        ("1e1", "10"),
        ("2.50", "2.5"),
        ("1e-6", "0.000001"),
        ("1e-9", "1e-9"),
        ("0.0", "0"),
    ],
)
def test_amounts_are_written_in_one_way(text: str, written: str) -> None:
    assert amount_text(Decimal(text)) == written
    assert amount_text(-Decimal("0.50")) == "-0.5"


@given(amounts)
def test_a_written_amount_reads_the_same(text: str) -> None:
    amount = parse_amount(text, "e")
    assert parse_amount(amount_text(amount), "e", 2 * MOST_SIGNS) == amount


@pytest.mark.parametrize("text", [f".{'1' * 39}", f"1.{'1' * 35}e-7", "1" * 40, f"{'9' * 37}e-9"])
def test_the_longest_amounts_read_the_same(text: str) -> None:
    amount = parse_amount(text, "e")
    assert parse_amount(amount_text(amount), "e", 2 * MOST_SIGNS) == amount == Decimal(text)


FIVE = Scores(np.array([4.0, 1.0, 3.0, 0.0, 2.0]), 1.0)
# The k at which nothing is rounded on the way from epsilon to a weight, what to multiply a weight
# with to get epsilon again, and what rounding costs.
ASKED: dict[str, tuple[int, float, float]] = {
    "peeling": (1, 2.0, rounding_cost(1, single_limit(5))),
    "permute-and-flip": (1, 2.0, rounding_cost(1, single_limit(5))),
    "oneshot-laplace": (1, 2.0, rounding_cost(1, single_limit(5))),
    "joint": (2, 4.0, rounding_cost(66, 2 * math.log(5) + 128)),
    "canonical-lipschitz": (2, 1.0, float_slack(5, 2)),
    "margin-lipschitz": (2, 1.0, float_slack(5, 2)),
}


def recorded(real: Callable[..., Any], place: int, found: list[float]) -> Callable[..., Any]:
    """Do the real thing, and remember one of its arguments."""

    def called(*arguments: Any) -> Any:
        found.append(arguments[place])
        return real(*arguments)

    return called


def decimals_below(sizes: range, count: int) -> list[float]:
    """Floats that are larger than the shortest decimals which stand for them."""
    rng = np.random.default_rng(7)
    drawn = [float(rng.uniform(1, 10) * 10.0**size) for size in sizes for _ in range(count)]
    return [number for number in drawn if Fraction(Decimal(repr(number))) < Fraction(number)]


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_mechanism_spends_more_epsilon_than_the_decimal_that_is_charged(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights: list[float] = []
    for module in (joint, noisy, permute_and_flip):
        record = recorded(module.weighted_scores, 2, weights)
        monkeypatch.setattr(module, "weighted_scores", record)
    losses = recorded(LipschitzLosses, 3, weights)
    monkeypatch.setattr(lipschitz, "LipschitzLosses", losses)
    k, times, cost = ASKED[name]
    asked = decimals_below(range(-3, 90, 3), 8)
    for epsilon in asked:
        MECHANISMS[name].draw_sets(FIVE, k, epsilon, make_randomness(1))
        spent = Fraction(weights.pop()) * Fraction(times) + Fraction(cost)
        assert spent <= Fraction(cost_of(guarantee(epsilon)).epsilon)
        assert spent >= Fraction(epsilon) * (1 - Fraction(1, 10**13))
    assert len(asked) > 60


@pytest.mark.parametrize(
    ("name", "asks"), [("peeling", "round_epsilon"), ("oneshot-laplace", "noise_scale")]
)
def test_no_mechanism_spends_more_delta_than_the_decimal_that_is_charged(
    name: str, asks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    deltas: list[float] = []
    monkeypatch.setattr(noisy, asks, recorded(getattr(noisy, asks), 2, deltas))
    # Rounding multiplies delta by exp(2 k eta), where 4 k eta is what it costs of epsilon.
    rounds = 4 if name == "peeling" else 3
    grown = Fraction(math.exp(0.5 * rounding_cost(rounds, single_limit(5))))
    asked = decimals_below(range(-90, -2, 3), 8)
    for delta in asked:
        MECHANISMS[name].draw_sets(FIVE, 3, 0.1, make_randomness(1), delta=delta)
        spent = Fraction(deltas.pop()) * grown
        assert spent <= Fraction(cost_of(guarantee(0.1, delta)).delta)
        assert spent >= Fraction(delta) * (1 - Fraction(1, 10**13))
    assert len(asked) > 60
