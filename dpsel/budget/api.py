"""The class `dpsel.Ledger`, and the functions that it shares with `dpsel budget`."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpsel.budget.amounts import Amount, limit_of
from dpsel.budget.chain import Chain
from dpsel.budget.charges import Charge, ChargeRequest, Reservation, Standing, Terms
from dpsel.budget.ledger import History, LedgerFile, Paid
from dpsel.budget.options import (
    Freeing,
    LedgerPlace,
    Limits,
    ReportFormat,
    Reserving,
    Spending,
    Verifying,
)
from dpsel.budget.place import check_name, check_note
from dpsel.budget.reports import export_fields, ledger_block, ledger_text
from dpsel.display import block_html
from dpsel.errors import DpselError, UsageError
from dpsel.python import python_function, record_of


def make_ledger(name: str, limits: Limits, place: LedgerPlace) -> Standing:
    """Make a ledger that does not exist yet."""
    limit, person = limit_of(limits.epsilon, limits.delta), limits.person
    if person is not None and not (person and person.isprintable()):
        raise UsageError("--person must be the name of a column, in printable text")
    return LedgerFile(place.path).make(
        check_name(name), limit, Terms(limits.neighbors, person), with_folder=place.is_customary
    )


def named_history(name: str, place: LedgerPlace) -> History:
    """Return a ledger with all its charges and reservations."""
    return LedgerFile(place.path).history(check_name(name))


def book_charge(name: str, spending: Spending, place: LedgerPlace) -> Paid:
    """Charge a ledger for what another tool has spent."""
    cost = limit_of(spending.epsilon, spending.delta)
    note, by = check_note(spending.note, "--note"), check_note(spending.by, "--by")
    file = LedgerFile(place.path)
    terms = file.standing(check_name(name)).terms
    return file.charge(name, ChargeRequest(cost, terms, 1, "charge", {"by": by}, note=note))


def reserve_part(
    name: str, reserving: Reserving, place: LedgerPlace
) -> tuple[Reservation, Standing]:
    """Reserve a part of a ledger."""
    amount = limit_of(reserving.epsilon, reserving.delta)
    note = check_note(reserving.note, "--note")
    return LedgerFile(place.path).reserve(check_name(name), amount, note)


def free_reservation(
    name: str, number: int, freeing: Freeing, place: LedgerPlace
) -> tuple[Reservation, Standing]:
    """Free a reservation."""
    note = check_note(freeing.note, "--note")
    return LedgerFile(place.path).free(check_name(name), number, note)


def verified_chain(name: str, verifying: Verifying, place: LedgerPlace) -> Chain:
    """Verify the chain of a ledger, and that the given head, if any, is still in it."""
    file = LedgerFile(place.path)
    chain = file.verify(check_name(name))
    if verifying.head is not None:
        chain.refuse_another(verifying.head, name, file.place)
    return chain


Number = float | str | Decimal


class Ledger:
    """A privacy budget on disk: a limit that never changes, and all charges to it.

    `dpsel.select(..., ledger="patients")` charges it. Methods and properties read the file anew.

    Privacy:
        Guarantee: all releases charged to one ledger are together as private as its limit says;
            see `LedgerFile.charge`.
        Tested by: tests/privacy/test_ledger_crashes.py
    """

    @python_function(LedgerPlace)
    def __init__(self, name: str, *, ledger_file: str | Path | None = None) -> None:
        """Open a ledger by its name.

        Args:
            name: The ledger's name.
            ledger_file: The file of the ledgers, if it is not the default one.

        Raises:
            UsageError: If there is no ledger of this name; `Ledger.init` makes one.
        """
        self._place = LedgerPlace(ledger_file=ledger_file)
        self.name = name
        self.show()

    @classmethod
    @python_function(Limits, LedgerPlace)
    def init(
        cls,
        name: str,
        *,
        epsilon: Number,
        delta: Number = "0",
        neighbors: str = "add-remove",
        person: str | None = None,
        ledger_file: str | Path | None = None,
    ) -> "Ledger":
        """Make a ledger. Its limits, neighbors and person never change.

        Args:
            name: The ledger's name.
            epsilon: The limit of all charges together; a text is taken as an exact decimal.
            delta: The limit for delta.
            neighbors: `add-remove` or `replace-one`: only such runs can be charged to it.
            person: The ledger is for runs with this `person`; if not given, for runs that protect
                rows.
            ledger_file: The file of the ledgers, if it is not the default one.
        """
        given = locals()
        make_ledger(name, record_of(Limits, given), record_of(LedgerPlace, given))
        return cls(name, ledger_file=ledger_file)

    @classmethod
    @python_function(LedgerPlace)
    def all(cls, *, ledger_file: str | Path | None = None) -> "list[Ledger]":
        """Return all ledgers of a file, sorted by name."""
        standings = LedgerFile(LedgerPlace(ledger_file=ledger_file).path).standings()
        return [cls(one.name, ledger_file=ledger_file) for one in standings]

    @property
    def limit(self) -> Amount:
        """Return the limit of all charges together."""
        return self.show().limit

    @property
    def spent(self) -> Amount:
        """Return the sum of all charges."""
        return self.show().spent

    @property
    def left(self) -> Amount:
        """Return what can still be charged, without what is reserved."""
        return self.show().left

    @python_function(LedgerPlace)
    def show(self) -> Standing:
        """Return the limit, and what is spent, reserved and left."""
        return LedgerFile(self._place.path).standing(check_name(self.name))

    @python_function(LedgerPlace)
    def log(self) -> History:
        """Return every charge and every reservation, in order."""
        return named_history(self.name, self._place)

    @python_function(Verifying, LedgerPlace)
    def verify(self, *, head: str | None = None) -> Chain:
        """Verify that no entry was changed since it was written, and return the chain.

        Args:
            head: The head of an earlier time, which must still be in the chain.

        Raises:
            InputError: If an entry was changed; the message names the first one.
        """
        return verified_chain(self.name, record_of(Verifying, {"head": head}), self._place)

    @python_function(Spending, LedgerPlace)
    def charge(
        self, *, epsilon: Number, by: str, delta: Number = "0", note: str | None = None
    ) -> Charge:
        """Charge what another tool has spent on the same people; it cannot be undone.

        Args:
            epsilon: What it cost, for the ledger's own neighbors and unit.
            by: What or who spent it: a tool, a publication, a person.
            delta: What it cost in delta.
            note: A line to keep with the charge.

        Raises:
            BudgetError: If the ledger does not have enough left.
        """
        return book_charge(self.name, record_of(Spending, locals()), self._place).charge

    @python_function(Reserving, LedgerPlace)
    def reserve(
        self, *, epsilon: Number, delta: Number = "0", note: str | None = None
    ) -> Reservation:
        """Reserve a part of the ledger: runs cannot spend it until it is freed.

        Args:
            epsilon: How much to reserve.
            delta: How much delta to reserve.
            note: A line to keep with the reservation.
        """
        return reserve_part(self.name, record_of(Reserving, locals()), self._place)[0]

    @python_function(Freeing, LedgerPlace)
    def free(self, number: int, *, note: str | None = None) -> Reservation:
        """Free a reservation, so that runs can spend it.

        Args:
            number: The reservation's number.
            note: A line to keep with it.
        """
        freeing = record_of(Freeing, {"note": note})
        return free_reservation(self.name, number, freeing, self._place)[0]

    @python_function(LedgerPlace)
    def export(self) -> Mapping[str, Any]:
        """Return the whole ledger as plain values: limits, charges, parameters and releases."""
        return export_fields(self.log())

    def to_dict(self) -> dict[str, Any]:
        """Return the limit, and what is spent, reserved and left, as plain values."""
        return self.show().to_dict()

    def __repr__(self) -> str:
        """Return the limit, and what is spent and left, in words."""
        try:
            text = ledger_text(self.show(), ReportFormat.TEXT)
        except DpselError as error:
            text = str(error)
        return f"Ledger {text.rstrip()}"

    def _repr_html_(self) -> str:
        """Return the same as HTML for a notebook, with the last charges."""
        try:
            return ledger_block(self.log())
        except DpselError as error:
            return block_html(stamps=[str(error)])
