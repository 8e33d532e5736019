"""What a ledger holds, and what it refuses."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpsel.core.budget import MOST_SIGNS, Budget, amount_text, parse_amount
from dpsel.core.errors import BudgetError, UsageError
from dpsel.core.privacy import Neighbors

CHARGE_COLUMNS = (
    "number",
    "time",
    "epsilon",
    "delta",
    "neighbors",
    "person",
    "rows_per_unit",
    "command",
    "parameters",
    "run_id",
    "release",
)


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class Standing:
    """A ledger, and how much of it is spent."""

    name: str
    limit: Budget
    terms: Terms
    created: str
    spent: Budget
    charges: int

    @property
    def left(self) -> Budget:
        """Return what can still be spent."""
        return self.limit.less(self.spent)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; amounts are exact, so they are texts."""
        return {
            "ledger": self.name,
            "limit": self.limit.to_dict(),
            "spent": self.spent.to_dict(),
            "left": self.left.to_dict(),
            "charges": self.charges,
            **self.terms.to_dict(),
            "created": self.created,
        }


@dataclass(frozen=True)
class Asked:
    """What a run asks of a ledger: a cost, on which terms, and all its public parameters."""

    cost: Budget
    terms: Terms
    rows_per_unit: int
    command: str
    parameters: Mapping[str, Any]
    run_id: str | None = None


@dataclass(frozen=True)
class Charge:
    """One charge of a ledger, and what was released for it; None if nothing was stored."""

    number: int
    time: str
    asked: Asked
    release: str | None = None

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
            self.release,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without the release."""
        asked = self.asked
        return {
            "number": self.number,
            "time": self.time,
            **asked.cost.to_dict(),
            **asked.terms.to_dict(),
            "rows_per_unit": asked.rows_per_unit,
            "command": asked.command,
            "score": asked.parameters.get("score"),
            "mechanism": asked.parameters.get("mechanism"),
            "k": asked.parameters.get("k"),
            "run_id": asked.run_id,
            "released": self.release is not None,
        }


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
    )
    return Charge(int(found["number"]), str(found["time"]), asked, found["release"])


def budget_of(epsilon: Any, delta: Any) -> Budget:
    """Return stored amounts.

    Raises:
        ValueError: If they are no amounts.
    """
    if not isinstance(epsilon, str) or not isinstance(delta, str):
        raise ValueError("an amount is a text")
    try:
        return Budget(
            parse_amount(epsilon, "epsilon", 2 * MOST_SIGNS),
            parse_amount(delta, "delta", 2 * MOST_SIGNS),
        )
    except UsageError as error:
        raise ValueError(str(error)) from None


def refuse_overrun(ledger: Standing, cost: Budget) -> None:
    """Refuse a cost that is more than what is left."""
    if ledger.limit.covers(ledger.spent.plus(cost)):
        return
    asked, left = cost.to_dict(), ledger.left.to_dict()
    spent, limit = ledger.spent.to_dict(), ledger.limit.to_dict()
    short = [
        f"{name} {asked[name]} asked, {left[name]} left ({spent[name]} of {limit[name]} spent)"
        for name in ("epsilon", "delta")
        if getattr(cost, name) > getattr(ledger.left, name)
    ]
    raise BudgetError(f"the ledger '{ledger.name}' does not cover this: {'; '.join(short)}")


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
