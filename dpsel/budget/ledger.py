"""The ledgers in a file: make, charge, store, reserve, verify and read them."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpsel.budget.amounts import Amount
from dpsel.budget.chain import Chain, EntryKind, append_entry, is_chained, verify_chain
from dpsel.budget.charges import (
    Charge,
    ChargeRequest,
    Reservation,
    Standing,
    Terms,
    budget_of,
    charge_of,
    not_freed,
    refuse_other_run,
    refuse_terms,
    reservation_of,
)
from dpsel.budget.database import transaction
from dpsel.budget.place import is_there, make_file
from dpsel.budget.schema import CHARGED, RESERVED, charge_rows, damaged, reservation_rows
from dpsel.core.guarantee import Neighbors
from dpsel.errors import InputError, OutputError, UsageError
from dpsel.records import frozen
from dpsel.system.process import user_name
from dpsel.system.text import did_you_mean


@frozen
class History:
    """A ledger with its charges and reservations, in order, and the head of its chain.

    `head` is None for a file of a version without chains.
    """

    ledger: Standing
    charges: list[Charge]
    reservations: list[Reservation]
    head: str | None

    def to_dict(self) -> dict[str, Any]:
        """Return the charges and reservations as plain values."""
        return {
            "ledger": self.ledger.name,
            "log": [charge.to_dict() for charge in self.charges],
            "reservations": [one.to_dict() for one in self.reservations],
        }


@frozen
class Paid:
    """The outcome of a charge. If `charge` already has a release, nothing was charged."""

    charge: Charge
    ledger: Standing
    unfinished: int
    """How many earlier charges of the run id have no release."""


class LedgerFile:
    """The ledgers in one SQLite file.

    Every method is one transaction, and the file is closed in between: no lock is held while a
    table is read.
    """

    def __init__(self, place: Path) -> None:
        """Keep the path; open nothing yet."""
        self.place = place

    def is_at(self, place: str) -> bool:
        """Return whether a path leads to this file, or to its journal."""
        target = os.path.realpath(place)
        return target in (str(self.place), f"{self.place}-journal")

    def make(self, name: str, limit: Amount, terms: Terms, *, with_folder: bool) -> Standing:
        """Make a new ledger, and the file if it does not exist."""
        if not is_there(self.place):
            make_file(self.place, with_folder=with_folder)
        with transaction(self.place, write=True, make=True) as connection:
            if name in _names(connection):
                raise UsageError(f"{self.place} has a ledger '{name}' already; it stays as it is")
            connection.execute(
                "INSERT INTO ledgers VALUES (?, ?, ?, ?, ?, ?)",
                (name, *limit.to_dict().values(), str(terms.neighbors), terms.person, _now()),
            )
            append_entry(connection, name, EntryKind.LEDGER)
            made = self._standing(connection, name)
        return made

    def standings(self) -> list[Standing]:
        """Return all ledgers, sorted by name."""
        with self._reading(None) as connection:
            return [self._verified(connection, name) for name in _names(connection)]

    def standing(self, name: str) -> Standing:
        """Return one ledger."""
        with self._reading(name) as connection:
            return self._verified(connection, name)

    def verify(self, name: str) -> Chain:
        """Verify the chain of a ledger, and return it; an error names the first bad entry."""
        with self._reading(name) as connection:
            self._standing(connection, name)
            chain = self._verified_chain(connection, name)
        if chain is None:
            raise InputError(
                f"{self.place}: is of an earlier version of dpsel and has no chain yet; the "
                "next charge to any of its ledgers adds it"
            )
        return chain

    def history(self, name: str) -> History:
        """Return a ledger with its charges and reservations, in order."""
        with self._reading(name) as connection:
            standing = self._standing(connection, name)
            chain = self._verified_chain(connection, name)
            charges = self._as_charges(charge_rows(connection, name))
            reservations = self._reservations(connection, name)
        return History(standing, charges, reservations, None if chain is None else chain.head)

    def released(self, name: str, asked: ChargeRequest) -> tuple[Standing, Charge | None]:
        """Return a ledger, and the charge of the run id that has a release, if there is one."""
        with self._reading(name) as connection:
            standing = self._verified(connection, name)
            refuse_terms(standing, asked)
            return standing, self._earlier(connection, name, asked)[0]

    def charge(self, name: str, asked: ChargeRequest) -> Paid:
        """Charge a run, durably, or refuse it; a run id with a release is not charged again.

        Privacy:
            Guarantee: on return the charge is on the disk, and the exact sum of all charges is
                within the limit, however many processes charge at once. All charges are for one
                relation and one unit, so they add up. No charge is ever undone.
            Assumes: nobody rewrites the chain of the file, or replaces the file by an older copy.
            Tested by: tests/privacy/test_ledger_crashes.py

        Raises:
            BudgetError: If there is not enough left.
            UsageError: If the terms differ, or the run id identifies a different run.
        """
        self._must_be_there(name)
        with transaction(self.place, write=True) as connection:
            before = self._verified(connection, name)
            refuse_terms(before, asked)
            done, unfinished = self._earlier(connection, name, asked)
            if done is not None:
                return Paid(done, before, 0)
            before.refuse_overrun(asked.cost)
            charge = Charge(before.charges + 1, _now(), asked, user=user_name())
            _insert_charge(connection, name, charge)
            append_entry(connection, name, EntryKind.CHARGE, charge.number)
            after = self._standing(connection, name)
        return Paid(charge, after, unfinished)

    def store(self, name: str, charge: Charge, release: str) -> str:
        """Store the release of a charge, durably, and return what the run may release.

        That is `release`, unless another process with the same run id was first. Then it is that
        process's release: a run id has only one.
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
            append_entry(connection, name, EntryKind.RELEASE, charge.number)
        return release

    def reserve(self, name: str, amount: Amount, note: str | None) -> tuple[Reservation, Standing]:
        """Reserve a part of a ledger, durably, so that runs cannot spend it."""
        self._must_be_there(name)
        with transaction(self.place, write=True) as connection:
            before = self._verified(connection, name)
            before.refuse_overrun(amount)
            made = self._append_reservation(connection, name, amount, None, note)
            return made, self._standing(connection, name)

    def free(self, name: str, number: int, note: str | None) -> tuple[Reservation, Standing]:
        """Free a reservation, durably; it stays in the log."""
        self._must_be_there(name)
        with transaction(self.place, write=True) as connection:
            self._verified(connection, name)
            held = not_freed(self._reservations(connection, name))
            if number not in held:
                raise UsageError(f"the ledger '{name}' holds no reservation {number}")
            made = self._append_reservation(connection, name, held[number].amount, number, note)
            return made, self._standing(connection, name)

    def _append_reservation(
        self,
        connection: sqlite3.Connection,
        name: str,
        amount: Amount,
        frees: int | None,
        note: str | None,
    ) -> Reservation:
        """Write a reservation, or the freeing of one, and its entry."""
        number = 1 + len(reservation_rows(connection, name))
        made = Reservation(number, _now(), amount, frees, user_name(), note)
        marks = ", ".join("?" * (1 + len(RESERVED)))
        connection.execute(
            f"INSERT INTO reservations (ledger, {', '.join(RESERVED)}) VALUES ({marks})",
            (name, *made.row()),
        )
        append_entry(connection, name, EntryKind.RESERVATION, number)
        return made

    def _must_be_there(self, name: str | None) -> None:
        """Refuse to continue without a file."""
        if not is_there(self.place):
            what = "there is no ledger yet" if name is None else f"there is no ledger '{name}' yet"
            raise UsageError(f"{what}: {self.place} does not exist; {_how_to_make(name)}")

    @contextmanager
    def _reading(self, name: str | None) -> Iterator[sqlite3.Connection]:
        """Open the file for reading."""
        self._must_be_there(name)
        with transaction(self.place, write=False) as connection:
            yield connection

    def _verified(self, connection: sqlite3.Connection, name: str) -> Standing:
        """Return a ledger after verifying its chain."""
        standing = self._standing(connection, name)
        self._verified_chain(connection, name)
        return standing

    def _verified_chain(self, connection: sqlite3.Connection, name: str) -> Chain | None:
        """Verify and return the chain of a ledger; None in a file without chains."""
        return verify_chain(connection, name, self.place) if is_chained(connection) else None

    def _standing(self, connection: sqlite3.Connection, name: str) -> Standing:
        """Return a ledger with the exact sums of its charges and reservations."""
        row = connection.execute(
            "SELECT epsilon, delta, neighbors, person, created FROM ledgers WHERE name = ?", (name,)
        ).fetchone()
        if row is None:
            hint = did_you_mean(name, _names(connection)) or f"; {_how_to_make(name)}"
            raise UsageError(f"{self.place} has no ledger '{name}'{hint}")
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
            reserved = Amount()
            for held in not_freed(self._reservations(connection, name)).values():
                reserved = reserved.plus(held.amount)
            terms, limit = Terms(Neighbors(row[2]), row[3]), budget_of(row[0], row[1])
            return Standing(name, limit, terms, str(row[4]), spent, reserved, count)
        except ValueError:
            raise damaged(self.place) from None

    def _reservations(self, connection: sqlite3.Connection, name: str) -> list[Reservation]:
        """Return the reservations of a ledger, and their freeings, in order."""
        try:
            return [reservation_of(row) for row in reservation_rows(connection, name)]
        except (ValueError, TypeError):
            raise damaged(self.place) from None

    def _earlier(
        self, connection: sqlite3.Connection, name: str, asked: ChargeRequest
    ) -> tuple[Charge | None, int]:
        """Return the charge of the run id that has a release, and how many have none."""
        if asked.run_id is None:
            return None, 0
        known = self._as_charges(charge_rows(connection, name, "run_id = ?", asked.run_id))
        for charge in known:
            refuse_other_run(charge.asked, asked)
        done = [charge for charge in known if charge.release is not None]
        return (done[0] if done else None), len(known) - len(done)

    def _as_charges(self, rows: sqlite3.Cursor) -> list[Charge]:
        """Make charges from rows."""
        try:
            return [charge_of(row) for row in rows]
        except (ValueError, TypeError, RecursionError):
            raise damaged(self.place) from None


def _insert_charge(connection: sqlite3.Connection, ledger: str, charge: Charge) -> None:
    """Write a charge, with its user and note."""
    *charged, user, note, _ = charge.row()
    marks = ", ".join("?" * (1 + len(CHARGED)))
    connection.execute(
        f"INSERT INTO charges (ledger, {', '.join(CHARGED)}) VALUES ({marks})", (ledger, *charged)
    )
    connection.execute(
        "INSERT INTO remarks VALUES (?, ?, ?, ?)", (ledger, charge.number, user, note)
    )


def _names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all ledgers."""
    return [str(name) for (name,) in connection.execute("SELECT name FROM ledgers ORDER BY name")]


def _how_to_make(name: str | None) -> str:
    """Return, in words, how to make a ledger."""
    return f"make it with `dpsel budget init {name or 'NAME'} --epsilon E`"


def _now() -> str:
    """Return the time in UTC. Charges are ordered by their numbers, not by their times."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
