"""`dpsel budget`: ledgers of privacy."""

from typing import Annotated

import typer

from dpsel.budget.options import Exporting, LedgerPlace, Limits, ReportFormat, Showing, Verifying
from dpsel.cli.forms import form
from dpsel.cli.options import Debugging
from dpsel.errors import UsageError

Name = Annotated[str, typer.Argument(metavar="NAME", help="The ledger's name.", show_default=False)]
OptionalName = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="The ledger's name; all ledgers without it.", show_default=False
    ),
]

budget = typer.Typer(
    help="Keep a privacy budget: ledgers with a limit, which --ledger NAME charges for every run."
)


@budget.callback(invoke_without_command=True)
def _help_if_alone(context: typer.Context) -> None:
    """Show the commands."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@budget.command()
@form
def init(name: Name, limits: Limits, place: LedgerPlace, debugging: Debugging) -> None:
    """Make a ledger. Its limits, and what it is for, never change.

    Only runs with the same --neighbors, and the same --person or none, can be charged to it: the
    costs of others do not add up with theirs.

    Example: dpsel budget init patients --epsilon 10 --delta 1e-6
    """
    from dpsel.budget.amounts import limit_of
    from dpsel.budget.ledger import LedgerFile, Terms
    from dpsel.budget.place import check_name
    from dpsel.budget.reports import ledger_text
    from dpsel.system.output import print_text

    limit, person = limit_of(limits.epsilon, limits.delta), limits.person
    if person is not None and not (person and person.isprintable()):
        raise UsageError("--person must be the name of a column, in printable text")
    made = LedgerFile(place.path).make(
        check_name(name), limit, Terms(limits.neighbors, person), with_folder=place.is_customary
    )
    print_text(ledger_text(made, ReportFormat.JSON))


@budget.command()
@form
def show(
    name: OptionalName = None, *, place: LedgerPlace, showing: Showing, debugging: Debugging
) -> None:
    """Print what is spent and left of a ledger, or of all.

    Amounts are exact decimals, written as texts in JSON.

    Example: dpsel budget show patients
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name
    from dpsel.budget.reports import ledger_text, ledgers_text
    from dpsel.system.output import print_text

    file = LedgerFile(place.path)
    if name is None:
        print_text(ledgers_text(file.standings(), showing.report_format))
    else:
        print_text(ledger_text(file.standing(check_name(name)), showing.report_format))


@budget.command()
@form
def log(name: Name, place: LedgerPlace, showing: Showing, debugging: Debugging) -> None:
    """Print every charge of a ledger, in order.

    A charge that is not released is one of a run that failed, was ended, or is still running.

    Example: dpsel budget log patients --format text
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name
    from dpsel.budget.reports import log_text
    from dpsel.system.output import print_text

    history = LedgerFile(place.path).history(check_name(name))
    print_text(log_text(*history, showing.report_format))


@budget.command()
@form
def verify(name: Name, verifying: Verifying, place: LedgerPlace, debugging: Debugging) -> None:
    """Check that nothing in a ledger was changed since it was written.

    Every entry carries the SHA-256 of the one before it. Prints how many there are and that of the
    last one, the head; or ends with exit code 3 and names the first entry that is not what was
    written. Keep the head elsewhere: with --head it shows later that no entry was taken away.

    Example: dpsel budget verify patients
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name
    from dpsel.budget.reports import chain_text
    from dpsel.system.output import print_text

    file = LedgerFile(place.path)
    chain = file.verify(check_name(name))
    if verifying.head is not None:
        chain.refuse_another(verifying.head, name, file.place)
    print_text(chain_text(name, chain))


@budget.command()
@form
def export(name: Name, place: LedgerPlace, exporting: Exporting, debugging: Debugging) -> None:
    """Print all of a ledger: limits, charges, public parameters and releases.

    Example: dpsel budget export patients > patients-budget.json
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name
    from dpsel.budget.reports import export_text
    from dpsel.system.output import print_text

    history = LedgerFile(place.path).history(check_name(name))
    print_text(export_text(*history, exporting.export_format))
