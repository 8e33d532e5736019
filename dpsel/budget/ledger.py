"""The privacy budget: ledgers with a limit, their charges, and what was released for them."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpsel.budget.amounts import MOST_SIGNS, Amount, amount_text, parse_amount
from dpsel.budget.chain import Chain, Kind, append_entry, is_chained, verify_chain
from dpsel.budget.database import transaction
from dpsel.budget.place import is_there, make_file
from dpsel.budget.schema import CHARGE_COLUMNS, damaged
from dpsel.core.guarantee import Neighbors
from dpsel.errors import BudgetError, InputError, OutputError, UsageError
from dpsel.system.text import nearest


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
    limit: Amount
    terms: Terms
    created: str
    spent: Amount
    charges: int

    @property
    def left(self) -> Amount:
        """Return what can still be spent."""
        return self.limit.less(self.spent)

    def refuse_overrun(self, cost: Amount) -> None:
        """Refuse a cost that is more than what is left."""
        if self.limit.covers(self.spent.plus(cost)):
            return
        asked, left = cost.to_dict(), self.left.to_dict()
        spent, limit = self.spent.to_dict(), self.limit.to_dict()
        short = [
            f"{name} {asked[name]} asked, {left[name]} left ({spent[name]} of {limit[name]} spent)"
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
            "left": self.left.to_dict(),
            "charges": self.charges,
            **self.terms.to_dict(),
            "created": self.created,
        }


@dataclass(frozen=True)
class Asked:
    """What a run asks of a ledger: a cost, on which terms, and all its public parameters."""

    cost: Amount
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


_COLUMNS = ", ".join(CHARGE_COLUMNS)


@dataclass(frozen=True)
class Paid:
    """The outcome of a charge; if `charge` has a release already, nothing was charged."""

    charge: Charge
    ledger: Standing
    unfinished: int
    """How many charges the run id had before, of runs that released nothing."""


class LedgerFile:
    """The ledgers in one SQLite file.

    Every method is one transaction, and the file is closed in between: nothing is held while a
    table is read.
    """

    def __init__(self, place: Path) -> None:
        """Know where it is, and open nothing."""
        self.place = place

    def is_at(self, place: str) -> bool:
        """Return whether another name leads to this very file, or to its journal."""
        found = os.path.realpath(place)
        return found in (str(self.place), f"{self.place}-journal")

    def make(self, name: str, limit: Amount, terms: Terms, *, with_folder: bool) -> Standing:
        """Make a ledger that does not exist yet, and the file if need be."""
        if not is_there(self.place):
            make_file(self.place, with_folder=with_folder)
        with transaction(self.place, write=True, make=True) as connection:
            if name in _names(connection):
                raise UsageError(f"{self.place} has a ledger '{name}' already; it stays as it is")
            connection.execute(
                "INSERT INTO ledgers VALUES (?, ?, ?, ?, ?, ?)",
                (name, *limit.to_dict().values(), str(terms.neighbors), terms.person, _now()),
            )
            append_entry(connection, name, Kind.LEDGER)
            made = self._standing(connection, name)
        return made

    def standings(self) -> list[Standing]:
        """Return all ledgers, by name."""
        with self._reading(None) as connection:
            return [self._verified(connection, name) for name in _names(connection)]

    def standing(self, name: str) -> Standing:
        """Return one ledger."""
        with self._reading(name) as connection:
            return self._verified(connection, name)

    def verify(self, name: str) -> Chain:
        """Return the chain of a ledger, or say which entry is the first that does not verify."""
        with self._reading(name) as connection:
            self._standing(connection, name)
            if not is_chained(connection):
                raise InputError(
                    f"{self.place}: is of an earlier version of dpsel and has no chain yet; the "
                    "next charge to any of its ledgers adds it"
                )
            return verify_chain(connection, name, self.place)

    def history(self, name: str) -> tuple[Standing, list[Charge]]:
        """Return a ledger and all its charges, in order."""
        with self._reading(name) as connection:
            return self._verified(connection, name), self._charges(connection, name)

    def released(self, name: str, asked: Asked) -> tuple[Standing, Charge | None]:
        """Return a ledger, and the charge whose release the run id stands for, if there is one."""
        with self._reading(name) as connection:
            standing = self._verified(connection, name)
            refuse_terms(standing, asked)
            return standing, self._earlier(connection, name, asked)[0]

    def charge(self, name: str, asked: Asked) -> Paid:
        """Charge a run, durably, or refuse it; a run id that has its release is not charged again.

        Privacy:
            Guarantee: on return the charge is on the disk, and the exact sum of all charges is
                within the limit, however many processes charge at once. All of them are for one
                relation and one unit, so they add up. No charge is ever taken back.
            Assumes: nobody writes the chain of the file anew, or puts an older copy in its place.
            Tested by: tests/privacy/test_ledger_crashes.py

        Raises:
            BudgetError: If there is not enough left.
            UsageError: If the terms differ, or the run id stands for other parameters.
        """
        self._must_be_there(name)
        with transaction(self.place, write=True) as connection:
            before = self._verified(connection, name)
            refuse_terms(before, asked)
            done, unfinished = self._earlier(connection, name, asked)
            if done is not None:
                return Paid(done, before, 0)
            before.refuse_overrun(asked.cost)
            charge = Charge(before.charges + 1, _now(), asked)
            marks = ", ".join("?" * (1 + len(CHARGE_COLUMNS)))
            connection.execute(
                f"INSERT INTO charges (ledger, {_COLUMNS}) VALUES ({marks})", (name, *charge.row())
            )
            append_entry(connection, name, Kind.CHARGE, charge.number)
            after = self._standing(connection, name)
        return Paid(charge, after, unfinished)

    def store(self, name: str, charge: Charge, release: str) -> str:
        """Keep what was drawn for a charge, durably, and return what the run may release.

        That is `release`, unless another process with the same run id was first: then it is that
        one's, so that a run id stands for one release only.
        """
        self._must_be_there(name)
        with transaction(self.place, write=True) as connection:
            self._verified(connection, name)
            first, _ = self._earlier(connection, name, charge.asked)
            if first is not None and first.release is not None:
                return first.release
            changed = connection.execute(
                "UPDATE charges SET release = ? "
                "WHERE ledger = ? AND number = ? AND time = ? AND release IS NULL",
                (release, name, charge.number, charge.time),
            )
            if changed.rowcount != 1:
                raise OutputError(f"{self.place}: the charge of this run is not there any more")
            append_entry(connection, name, Kind.RELEASE, charge.number)
        return release

    def _must_be_there(self, name: str | None) -> None:
        """Refuse to go on without a file."""
        if not is_there(self.place):
            what = "there is no ledger yet" if name is None else f"there is no ledger '{name}' yet"
            raise UsageError(f"{what}: {self.place} does not exist; {_how_to_make(name)}")

    @contextmanager
    def _reading(self, name: str | None) -> Iterator[sqlite3.Connection]:
        """Open the file to read."""
        self._must_be_there(name)
        with transaction(self.place, write=False) as connection:
            yield connection

    def _verified(self, connection: sqlite3.Connection, name: str) -> Standing:
        """Return a ledger whose chain holds."""
        standing = self._standing(connection, name)
        if is_chained(connection):
            verify_chain(connection, name, self.place)
        return standing

    def _standing(self, connection: sqlite3.Connection, name: str) -> Standing:
        """Return a ledger, with the exact sum of its charges."""
        row = connection.execute(
            "SELECT epsilon, delta, neighbors, person, created FROM ledgers WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            near = nearest(name, _names(connection))
            hint = "" if near is None else f"; did you mean '{near}'?"
            raise UsageError(
                f"{self.place} has no ledger '{name}'{hint or f'; {_how_to_make(name)}'}"
            )
        spent, count = Amount(), 0
        try:
            for number, epsilon, delta in connection.execute(
                "SELECT number, epsilon, delta FROM charges WHERE ledger = ? ORDER BY number",
                (name,),
            ):
                count += 1
                if number != count:
                    raise ValueError("a charge is missing")
                spent = spent.plus(budget_of(epsilon, delta))
            terms = Terms(Neighbors(row[2]), row[3])
            return Standing(name, budget_of(row[0], row[1]), terms, str(row[4]), spent, count)
        except ValueError:
            raise damaged(self.place) from None

    def _charges(self, connection: sqlite3.Connection, name: str) -> list[Charge]:
        """Return the charges of a ledger, in order."""
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM charges WHERE ledger = ? ORDER BY number", (name,)
        )
        return self._as_charges(rows)

    def _earlier(
        self, connection: sqlite3.Connection, name: str, asked: Asked
    ) -> tuple[Charge | None, int]:
        """Return the released charge of the run id, and how many charges it has without one."""
        if asked.run_id is None:
            return None, 0
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM charges WHERE ledger = ? AND run_id = ? ORDER BY number",
            (name, asked.run_id),
        )
        known = self._as_charges(rows)
        for charge in known:
            refuse_other_run(charge.asked, asked)
        done = [charge for charge in known if charge.release is not None]
        return (done[0] if done else None), len(known) - len(done)

    def _as_charges(self, rows: sqlite3.Cursor) -> list[Charge]:
        """Return the charges in some rows."""
        try:
            return [charge_of(row) for row in rows]
        except (ValueError, TypeError, RecursionError):
            raise damaged(self.place) from None


def _names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all ledgers."""
    return [str(name) for (name,) in connection.execute("SELECT name FROM ledgers ORDER BY name")]


def _how_to_make(name: str | None) -> str:
    """Return how a ledger is made."""
    return f"make it with `dpsel budget init {name or 'NAME'} --epsilon E`"


def _now() -> str:
    """Return the time, in UTC. Charges are ordered by their numbers, not by clocks."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
