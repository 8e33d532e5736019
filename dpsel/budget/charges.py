"""What a ledger holds, as records: terms, charges, what is held back, and how it stands."""

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
    """For which change of a table charges add up: fixed for a ledger, stated by every charge.

    `person` is the column that says whose row it is, None where rows are protected. How many rows
    of a person count does not matter: the guarantee is for a person with all rows.
    """

    neighbors: Neighbors
    person: str | None = None

    def __str__(self) -> str:
        """Return it in words."""
        unit = "rows" if self.person is None else f"persons by column '{self.person}'"
        return f"{self.neighbors} of {unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "neighbors": str(self.neighbors),
            "unit": "row" if self.person is None else "person",
            "person": self.person,
        }


@frozen
class Standing:
    """A ledger, and how much of it is spent."""

    name: str
    limit: Amount
    terms: Terms
    created: str
    spent: Amount
    reserved: Amount
    charges: int

    @property
    def left(self) -> Amount:
        """Return what can still be spent: not what is held back."""
        return self.limit.less(self.spent).less(self.reserved)

    def refuse_overrun(self, cost: Amount) -> None:
        """Refuse a cost that is more than what is left."""
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
        """Return it as plain values; amounts are exact, so they are texts."""
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
class Asked:
    """What a run asks of a ledger: a cost, on which terms, and all its public parameters."""

    cost: Amount
    terms: Terms
    rows_per_unit: int
    command: str
    parameters: Mapping[str, Any]
    run_id: str | None = None
    note: str | None = None
    """What whoever asked has to say about it: no part of what a run id stands for."""


@frozen
class Charge:
    """One charge of a ledger, and what was released for it; None if nothing was stored."""

    number: int
    time: str
    asked: Asked
    release: str | None = None
    user: str | None = None
    """Who made it; None in charges of a version that did not ask."""

    @property
    def outcome(self) -> str:
        """Return what came of it, in words: what another tool spent is only booked."""
        if self.asked.parameters.get("by") is not None:
            return "booked"
        return "no release" if self.release is None else "released"

    def row(self) -> tuple[Any, ...]:
        """Return it as values of CHARGE_COLUMNS."""
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
        """Return it as plain values, without the release."""
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
        """Return it as plain values, with its public parameters and its release.

        At the time of the charge `scope` says what the options alone promise. How the table was
        made may say otherwise, and is known when the release is: then the scope is that of the
        release.
        """
        release = None if self.release is None else json.loads(self.release)
        fields, parameters = self.to_dict(), dict(self.asked.parameters)
        if "scope" in parameters:
            parameters["scope"] = fields["scope"]
        return {**fields, "parameters": parameters, "release": release}

    def _guarantee(self) -> dict[str, Any]:
        """Return what the release promises; nothing before there is one."""
        release = None if self.release is None else json.loads(self.release)
        found = release.get("guarantee") if isinstance(release, dict) else None
        return found if isinstance(found, dict) else {}


@frozen
class Reservation:
    """A part of a ledger that is held back; or, with `frees`, that one given back."""

    number: int
    time: str
    amount: Amount
    frees: int | None
    user: str
    note: str | None = None

    def row(self) -> tuple[Any, ...]:
        """Return it as values of RESERVED."""
        amounts = self.amount.to_dict().values()
        return (self.number, self.time, *amounts, self.frees, self.user, self.note)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return dict(zip(RESERVED, self.row(), strict=True))


def reservation_of(row: tuple[Any, ...]) -> Reservation:
    """Return the reservation in values of RESERVED.

    Raises:
        ValueError: If the values make no sense.
    """
    number, time, epsilon, delta, frees, user, note = row
    return Reservation(number, time, budget_of(epsilon, delta), frees, user, note)


def held_back(reservations: Sequence[Reservation]) -> dict[int, Reservation]:
    """Return the reservations that nobody has freed, by number.

    Raises:
        ValueError: If one is missing, or one is freed that is not held.
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
    """Return the charge in values of CHARGE_COLUMNS.

    Raises:
        ValueError: If the values make no sense.
    """
    found = dict(zip(CHARGE_COLUMNS, row, strict=True))
    parameters = json.loads(found["parameters"])
    if not isinstance(parameters, dict):
        raise ValueError("parameters")
    if found["release"] is not None:
        json.loads(found["release"])
    asked = Asked(
        budget_of(found["epsilon"], found["delta"]),
        Terms(Neighbors(found["neighbors"]), found["person"]),
        int(found["rows_per_unit"]),
        str(found["command"]),
        parameters,
        found["run_id"],
        found["note"],
    )
    number, time = int(found["number"]), str(found["time"])
    return Charge(number, time, asked, found["release"], found["user"])


def budget_of(epsilon: Any, delta: Any) -> Amount:
    """Return stored amounts.

    Raises:
        ValueError: If they are no amounts.
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


def refuse_terms(ledger: Standing, asked: Asked) -> None:
    """Refuse a charge that does not add up with those of a ledger."""
    if asked.terms != ledger.terms:
        raise UsageError(
            f"the ledger '{ledger.name}' is for {ledger.terms}, this run for {asked.terms}; "
            "these do not add up, so use a ledger of its own"
        )


def refuse_other_run(known: Asked, asked: Asked) -> None:
    """Refuse a run id that stands for a run with other public parameters."""
    before, now = _all_parameters(known), _all_parameters(asked)
    differing = [
        name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)
    ]
    if differing:
        raise UsageError(
            f"--run-id: '{asked.run_id}' stands for a run that differs in {', '.join(differing)}; "
            "choose another id"
        )


def _all_parameters(asked: Asked) -> dict[str, Any]:
    """Return all that two runs with one id must have in common."""
    return {
        **asked.parameters,
        **asked.cost.to_dict(),
        **asked.terms.to_dict(),
        "rows-per-person": asked.rows_per_unit,
        "command": asked.command,
    }
