"""The commands of `dpsel budget`, which keep ledgers."""

from typing import Annotated

import typer

from dpsel.budget.api import (
    book_charge,
    free_reservation,
    make_ledger,
    named_history,
    reserve_part,
    verified_chain,
)
from dpsel.budget.ledger import LedgerFile
from dpsel.budget.options import (
    Exporting,
    Freeing,
    LedgerPlace,
    Limits,
    ReportFormat,
    Reserving,
    Showing,
    Spending,
    Verifying,
)
from dpsel.budget.place import check_name
from dpsel.budget.reports import (
    chain_text,
    charge_text,
    export_text,
    ledger_text,
    ledgers_text,
    log_text,
    reservation_text,
)
from dpsel.cli.forms import form
from dpsel.cli.options import Debugging
from dpsel.errors import OutputError
from dpsel.system.output import print_text

Name = Annotated[str, typer.Argument(metavar="NAME", help="The ledger's name.", show_default=False)]
Number = Annotated[
    int,
    typer.Argument(metavar="NUMBER", help="The reservation's number.", show_default=False),
]
OptionalName = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="The ledger's name; all ledgers if omitted.", show_default=False
    ),
]

budget = typer.Typer()


@budget.command()
@form
def init(name: Name, limits: Limits, place: LedgerPlace, debugging: Debugging) -> None:
    """Create a ledger. Its limits and the runs it accepts never change.

    It accepts only runs with the same --neighbors, and with the same --person or none: the costs of
    other runs do not add up with theirs.

    Example: dpsel budget init patients --epsilon 10 --delta 1e-6
    """
    _print_receipt(ledger_text(make_ledger(name, limits, place), ReportFormat.JSON))


@budget.command()
@form
def show(
    name: OptionalName = None, *, place: LedgerPlace, showing: Showing, debugging: Debugging
) -> None:
    """Print what is spent and what is left of a ledger, or of all ledgers.

    Amounts are exact decimals, written as strings in JSON.

    Example: dpsel budget show patients
    """
    file = LedgerFile(place.path)
    if name is None:
        print_text(ledgers_text(file.standings(), showing.report_format))
    else:
        print_text(ledger_text(file.standing(check_name(name)), showing.report_format))


@budget.command()
@form
def log(name: Name, place: LedgerPlace, showing: Showing, debugging: Debugging) -> None:
    """Print every charge of a ledger, in order, and its reservations.

    A charge that is not released belongs to a run that failed, was stopped or is still running, or
    was booked for another tool.

    Example: dpsel budget log patients --format text
    """
    print_text(log_text(named_history(name, place), showing.report_format))


@budget.command()
@form
def charge(name: Name, spending: Spending, place: LedgerPlace, debugging: Debugging) -> None:
    """Book a charge for what another tool has spent on the same people.

    A ledger counts only what it knows. Releases by another tool count too, if their guarantee is
    for the ledger's own neighbors and unit. A charge cannot be undone.

    Example: dpsel budget charge patients --epsilon 0.5 --by "yearly report, tool X"
    """
    paid = book_charge(name, spending, place)
    _print_receipt(charge_text(paid.ledger, paid.charge))


@budget.command()
@form
def reserve(name: Name, reserving: Reserving, place: LedgerPlace, debugging: Debugging) -> None:
    """Hold back part of a ledger: no run can be charged to it until it is freed.

    Example: dpsel budget reserve patients --epsilon 2 --note "for the final analysis"
    """
    made, ledger = reserve_part(name, reserving, place)
    _print_receipt(reservation_text(ledger, made))


@budget.command()
@form
def free(
    name: Name, number: Number, freeing: Freeing, place: LedgerPlace, debugging: Debugging
) -> None:
    """Free a reservation, so that runs can be charged to it again.

    Example: dpsel budget free patients 1
    """
    made, ledger = free_reservation(name, number, freeing, place)
    _print_receipt(reservation_text(ledger, made))


@budget.command()
@form
def verify(name: Name, verifying: Verifying, place: LedgerPlace, debugging: Debugging) -> None:
    """Check that nothing in a ledger has changed since it was written.

    Every entry contains the SHA-256 of the one before it. Prints the number of entries and the
    SHA-256 of the last one, the head; or exits with code 3 and names the first entry that is not as
    it was written. Keep the head elsewhere: --head shows later that no entry was removed.

    Example: dpsel budget verify patients
    """
    print_text(chain_text(name, verified_chain(name, verifying, place)))


@budget.command()
@form
def export(name: Name, place: LedgerPlace, exporting: Exporting, debugging: Debugging) -> None:
    """Print a whole ledger: limits, charges, public parameters and releases.

    Example: dpsel budget export patients > patients-budget.json
    """
    print_text(export_text(named_history(name, place), exporting.export_format))


def _print_receipt(text: str) -> None:
    """Print what was done to a ledger; if that fails, say that it was done all the same."""
    try:
        print_text(text)
    except OutputError as error:
        raise OutputError(f"{error}; the ledger was changed all the same") from None
