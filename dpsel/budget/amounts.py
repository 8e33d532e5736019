"""Exact decimal amounts of epsilon and delta: the cost of a release, and the limit of a ledger."""

import re
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow, Rounded

from dpsel.core.guarantee import Guarantee
from dpsel.errors import UsageError
from dpsel.records import frozen

SMALLEST = Decimal("1e-100")
LARGEST = Decimal("1e100")
MOST_SIGNS = 40
_DECIMAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
# Amounts are multiples of 1e-200 below 1e101, so even sums of 1e90 amounts have fewer digits than
# this precision. The traps make any rounding an error.
_EXACT = Context(
    prec=400,
    traps=[Inexact, Rounded, InvalidOperation, Overflow, DivisionByZero],
)
_ZERO = Decimal(0)


@frozen
class Amount:
    """An epsilon and a delta; each adds up under sequential composition.

    Privacy:
        Guarantee: releases that are (epsilon_i, delta_i)-DP for one relation and one unit are
            together (sum of epsilon_i, sum of delta_i)-DP [DKMMN06], even if each was chosen after
            seeing those before it, as long as the sums stay within limits fixed at the start
            [RRUV16].
        Tested by: tests/budget/test_amounts.py

    References:
        [DKMMN06] Dwork, Kenthapadi, McSherry, Mironov & Naor (2006), "Our data, ourselves".
        [RRUV16] Rogers, Roth, Ullman & Vadhan (2016), "Privacy odometers and filters".
    """

    epsilon: Decimal = _ZERO
    delta: Decimal = _ZERO

    def plus(self, other: "Amount") -> "Amount":
        """Return the sum of both amounts."""
        return Amount(_EXACT.add(self.epsilon, other.epsilon), _EXACT.add(self.delta, other.delta))

    def less(self, other: "Amount") -> "Amount":
        """Return the difference of both amounts."""
        return Amount(
            _EXACT.subtract(self.epsilon, other.epsilon), _EXACT.subtract(self.delta, other.delta)
        )

    def covers(self, other: "Amount") -> bool:
        """Return whether the other amount is at most this one, in epsilon and in delta."""
        return other.epsilon <= self.epsilon and other.delta <= self.delta

    def to_dict(self) -> dict[str, str]:
        """Return epsilon and delta as exact texts."""
        return {"epsilon": amount_text(self.epsilon), "delta": amount_text(self.delta)}

    def words(self) -> str:
        """Return epsilon, and delta if there is any, in words."""
        delta = f" and delta {amount_text(self.delta)}" if self.delta else ""
        return f"epsilon {amount_text(self.epsilon)}{delta}"


def limit_of(epsilon: str, delta: str) -> Amount:
    """Return the limit of a ledger from texts."""
    limit = Amount(parse_amount(epsilon, "epsilon"), parse_amount(delta, "delta"))
    if not limit.epsilon:
        raise UsageError("epsilon must be above 0, got 0")
    if limit.delta >= 1:
        raise UsageError(f"delta must be below 1, got {delta}")
    return limit


def cost_of(guarantee: Guarantee) -> Amount:
    """Return what a release with this guarantee costs: the numbers that its record states.

    A record writes a float as the shortest decimal that identifies it, and that decimal is charged:
    ten times 0.1 is 1. The float itself may be larger by one part in 2^53. The mechanisms hold back
    more than that, of epsilon and of delta: see `effective_epsilon`.
    """
    cost = Amount(
        amount_of(guarantee.epsilon, "epsilon"),
        amount_of(guarantee.delta, "delta"),
    )
    if not cost.epsilon:
        raise UsageError("epsilon must be above 0, got 0")
    return cost


def amount_of(number: float, name: str) -> Decimal:
    """Return a number as the decimal that Python and JSON write."""
    exact = isinstance(number, int) and not isinstance(number, bool)
    return parse_amount(str(int(number)) if exact else repr(float(number)), name)


def parse_amount(text: str, name: str, most_signs: int = MOST_SIGNS) -> Decimal:
    """Parse an amount: 0, or a decimal of a sensible size and length.

    Raises:
        UsageError: For anything else: negative, NaN, infinite, very long or very small.
    """
    if len(text) > most_signs:
        raise UsageError(f"{name} must have at most {most_signs} signs, got {len(text)}")
    if not _DECIMAL.fullmatch(text):
        raise UsageError(f"{name} must be a positive number such as 2 or 0.5, got {text}")
    amount = Decimal(text)
    if amount and not SMALLEST <= amount <= LARGEST:
        raise UsageError(
            f"{name} must be between {SMALLEST:g} and {LARGEST:g} to be charged, got {text}"
        )
    return amount if amount else _ZERO


def amount_text(amount: Decimal) -> str:
    """Write an amount in its only form: no trailing zeros, an exponent only if far from 1."""
    if not amount:
        return "0"
    plain = amount.normalize(_EXACT)
    return f"{plain:f}" if -7 <= plain.adjusted() < 16 else f"{plain:e}"
