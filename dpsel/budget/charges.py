"""The records of a ledger: its terms and standing, its charges and its reservations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dpsel.budget.amounts import MOST_SIGNS, Amount, amount_text, parse_amount
from dpsel.budget.schema import CHARGE_COLUMNS, RESERVED
from dpsel.core.guarantee import Neighbors
from dpsel.errors import BudgetError, UsageError
from dpsel.records import frozen


@frozen
class Terms:
    """The neighboring relation and the unit; only charges on equal terms add up.

    `person` is the column that identifies a person, None if rows are protected. How many rows of a
    person count does not matter: the guarantee is for a person with all rows.
    """

    neighbors: Neighbors
    person: str | None = None

    def __str__(self) -> str:
        """Return the terms in words."""
        unit = "rows" if self.person is None else f"persons by column '{self.person}'"
        return f"{self.neighbors} of {unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return the terms as plain values."""
        return {
            "neighbors": str(self.neighbors),
            "unit": "row" if self.person is None else "person",
            "person": self.person,
        }


@frozen
class Standing:
    """A ledger with its limit, and what is spent, reserved and left."""

    name: str
    limit: Amount
    terms: Terms
    created: str
    spent: Amount
    reserved: Amount
    charges: int

    @property
    def left(self) -> Amount:
        """Return what can still be spent, without what is reserved."""
        return self.limit.less(self.spent).less(self.reserved)

    def refuse_overrun(self, cost: Amount) -> None:
        """Refuse a cost that exceeds what is left."""
        if self.left.covers(cost):
            return
        asked, left = cost.to_dict(), self.left.to_dict()
        spent, limit = self.spent.to_dict(), self.limit.to_dict()
        held = self.reserved.to_dict()
        short = [
            f"{name} {asked[name]} asked, {left[name]} left ({spent[name]} of {limit[name]} spent"
            + (f", {held[name]} reserved)" if getattr(self.reserved, name) else ")")
            for name in ("epsilon", "delta")
            if getattr(cost, name) > getattr(self.left, name)
        ]
        raise BudgetError(f"the ledger '{self.name}' does not cover this: {'; '.join(short)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; amounts are exact decimals, as texts."""
        return {
            "ledger": self.name,
            "limit": self.limit.to_dict(),
            "spent": self.spent.to_dict(),
            "reserved": self.reserved.to_dict(),
            "left": self.left.to_dict(),
            "charges": self.charges,
            **self.terms.to_dict(),
            "created": self.created,
        }


@frozen
class ChargeRequest:
    """What a run asks a ledger to pay: a cost on some terms, with its public parameters."""

    cost: Amount
    terms: Terms
    rows_per_unit: int
    command: str
    parameters: Mapping[str, Any]
    run_id: str | None = None
    note: str | None = None
    """A note of the user, which is not part of the run's identity."""


@frozen
class Charge:
    """One charge of a ledger, with the stored release; None if nothing was stored."""

    number: int
    time: str
    asked: ChargeRequest
    release: str | None = None
    user: str | None = None
    """Who made it; None in charges of versions that did not record it."""

    @property
    def outcome(self) -> str:
        """Return the outcome in words; a charge for another tool is only booked."""
        if self.asked.parameters.get("by") is not None:
            return "booked"
        return "no release" if self.release is None else "released"

    def row(self) -> tuple[Any, ...]:
        """Return the charge as values of CHARGE_COLUMNS."""
        asked = self.asked
        return (
            self.number,
            self.time,
            amount_text(asked.cost.epsilon),
            amount_text(asked.cost.delta),
            str(asked.terms.neighbors),
            asked.terms.person,
            asked.rows_per_unit,
            asked.command,
            json.dumps(asked.parameters),
            asked.run_id,
            self.user,
            asked.note,
            self.release,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the charge as plain values, without the release."""
        asked, stated = self.asked, self._guarantee()
        return {
            "number": self.number,
            "time": self.time,
            **asked.cost.to_dict(),
            **asked.terms.to_dict(),
            "rows_per_unit": asked.rows_per_unit,
            "command": asked.command,
            "table": asked.parameters.get("table"),
            "target": asked.parameters.get("target"),
            "score": asked.parameters.get("score"),
            "mechanism": asked.parameters.get("mechanism"),
            "k": asked.parameters.get("k"),
            "run_id": asked.run_id,
            "end_to_end": stated.get("end_to_end"),
            "scope": stated.get("why", asked.parameters.get("scope")),
            "by": asked.parameters.get("by"),
            "user": self.user,
            "note": asked.note,
            "released": self.release is not None,
        }

    def exported(self) -> dict[str, Any]:
        """Return the charge as plain values, with its public parameters and its release.

        At the time of the charge, `scope` says what the options alone promise. How the table was
        made may change that, and is known only once there is a release. So with a release, the
        scope is that of the release.
        """
        release = None if self.release is None else json.loads(self.release)
        fields, parameters = self.to_dict(), dict(self.asked.parameters)
        if "scope" in parameters:
            parameters["scope"] = fields["scope"]
        return {**fields, "parameters": parameters, "release": release}

    def _guarantee(self) -> dict[str, Any]:
        """Return the guarantee that the release states; empty without a release."""
        release = None if self.release is None else json.loads(self.release)
        guarantee = release.get("guarantee") if isinstance(release, dict) else None
        return guarantee if isinstance(guarantee, dict) else {}


@frozen
class Reservation:
    """A reserved part of a ledger; or, with `frees`, the freeing of that reservation."""

    number: int
    time: str
    amount: Amount
    frees: int | None
    user: str
    note: str | None = None

    def row(self) -> tuple[Any, ...]:
        """Return the reservation as values of RESERVED."""
        amounts = self.amount.to_dict().values()
        return (self.number, self.time, *amounts, self.frees, self.user, self.note)

    def to_dict(self) -> dict[str, Any]:
        """Return the reservation as plain values."""
        return dict(zip(RESERVED, self.row(), strict=True))


def reservation_of(row: tuple[Any, ...]) -> Reservation:
    """Make a reservation from values of RESERVED.

    Raises:
        ValueError: If the values are invalid.
    """
    number, time, epsilon, delta, frees, user, note = row
    return Reservation(number, time, budget_of(epsilon, delta), frees, user, note)


def not_freed(reservations: Sequence[Reservation]) -> dict[int, Reservation]:
    """Return the reservations that are not freed, by number.

    Raises:
        ValueError: If a number is missing, or a reservation is freed that is not held.
    """
    held: dict[int, Reservation] = {}
    for number, one in enumerate(reservations, start=1):
        if one.number != number:
            raise ValueError("a reservation is missing")
        if one.frees is None:
            held[number] = one
        elif held.pop(one.frees, None) is None:
            raise ValueError("what is not held cannot be freed")
    return held


def charge_of(row: tuple[Any, ...]) -> Charge:
    """Make a charge from values of CHARGE_COLUMNS.

    Raises:
        ValueError: If the values are invalid.
    """
    values = dict(zip(CHARGE_COLUMNS, row, strict=True))
    parameters = json.loads(values["parameters"])
    if not isinstance(parameters, dict):
        raise ValueError("parameters")
    if values["release"] is not None:
        json.loads(values["release"])
    asked = ChargeRequest(
        budget_of(values["epsilon"], values["delta"]),
        Terms(Neighbors(values["neighbors"]), values["person"]),
        int(values["rows_per_unit"]),
        str(values["command"]),
        parameters,
        values["run_id"],
        values["note"],
    )
    number, time = int(values["number"]), str(values["time"])
    return Charge(number, time, asked, values["release"], values["user"])


def budget_of(epsilon: Any, delta: Any) -> Amount:
    """Return the amount in two stored texts.

    Raises:
        ValueError: If they are not amounts.
    """
    if not isinstance(epsilon, str) or not isinstance(delta, str):
        raise ValueError("an amount is a text")
    try:
        return Amount(
            parse_amount(epsilon, "epsilon", 2 * MOST_SIGNS),
            parse_amount(delta, "delta", 2 * MOST_SIGNS),
        )
    except UsageError as error:
        raise ValueError(str(error)) from None


def refuse_terms(ledger: Standing, asked: ChargeRequest) -> None:
    """Refuse a charge on other terms than those of the ledger."""
    if asked.terms != ledger.terms:
        raise UsageError(
            f"the ledger '{ledger.name}' is for {ledger.terms}, this run for {asked.terms}; "
            "these do not add up, so use a ledger of its own"
        )


def refuse_other_run(known: ChargeRequest, asked: ChargeRequest) -> None:
    """Refuse a run id that already identifies a run with other public parameters."""
    before, now = _all_parameters(known), _all_parameters(asked)
    differing = [
        name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)
    ]
    if differing:
        raise UsageError(
            f"--run-id: '{asked.run_id}' stands for a run that differs in {', '.join(differing)}; "
            "choose another id"
        )


def _all_parameters(asked: ChargeRequest) -> dict[str, Any]:
    """Return everything that two runs with the same run id must have in common."""
    return {
        **asked.parameters,
        **asked.cost.to_dict(),
        **asked.terms.to_dict(),
        "rows-per-person": asked.rows_per_unit,
        "command": asked.command,
    }
