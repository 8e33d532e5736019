"""`dpsel budget`: ledgers of privacy."""

import re
from typing import Annotated

import typer

from dpsel.budget.reports import ExportFormat, ReportFormat
from dpsel.cli import ledger_options
from dpsel.cli import shared_options as options
from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError

Name = Annotated[str, typer.Argument(metavar="NAME", help="The ledger's name.", show_default=False)]
OptionalName = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="The ledger's name; all ledgers without it.", show_default=False
    ),
]
Limit = Annotated[
    str,
    typer.Option(
        "--epsilon",
        metavar="E",
        help="All charges together may cost this much.",
        show_default=False,
    ),
]
DeltaLimit = Annotated[
    str, typer.Option("--delta", metavar="D", help="The same for delta; 0 is for pure privacy.")
]
LedgerPerson = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="For runs with this --person only; else for those that protect rows.",
    ),
]
ReportFormatOption = Annotated[
    ReportFormat, typer.Option("--format", help="JSON, or a table to read.")
]
ExportFormatOption = Annotated[
    ExportFormat, typer.Option("--format", help="All of it in JSON, or the charges alone in CSV.")
]

Head = Annotated[
    str | None,
    typer.Option(
        "--head",
        metavar="SHA256",
        help="The head of an earlier time, which must still be in the chain.",
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
def init(
    name: Name,
    epsilon: Limit,
    delta: DeltaLimit = "0",
    neighbors: options.NeighborsOption = Neighbors.ADD_REMOVE,
    person: LedgerPerson = None,
    ledger_file: ledger_options.LedgerFileOption = None,
    debug: options.Debug = False,
) -> None:
    """Make a ledger. Its limits, and what it is for, never change.

    Only runs with the same --neighbors, and the same --person or none, can be charged to it: the
    costs of others do not add up with theirs.

    Example: dpsel budget init patients --epsilon 10 --delta 1e-6
    """
    from dpsel.budget.amounts import limit_of
    from dpsel.budget.ledger import LedgerFile, Terms
    from dpsel.budget.place import check_name, is_customary, ledger_place
    from dpsel.budget.reports import ledger_text

    limit = limit_of(epsilon, delta)
    if person is not None and not (person and person.isprintable()):
        raise UsageError("--person must be the name of a column, in printable text")
    made = LedgerFile(ledger_place(ledger_file)).make(
        check_name(name), limit, Terms(neighbors, person), with_folder=is_customary(ledger_file)
    )
    _print(ledger_text(made, ReportFormat.JSON))


@budget.command()
def show(
    name: OptionalName = None,
    ledger_file: ledger_options.LedgerFileOption = None,
    report_format: ReportFormatOption = ReportFormat.JSON,
    debug: options.Debug = False,
) -> None:
    """Print what is spent and left of a ledger, or of all.

    Amounts are exact decimals, written as texts in JSON.

    Example: dpsel budget show patients
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name, ledger_place
    from dpsel.budget.reports import ledger_text, ledgers_text

    file = LedgerFile(ledger_place(ledger_file))
    if name is None:
        _print(ledgers_text(file.standings(), report_format))
    else:
        _print(ledger_text(file.standing(check_name(name)), report_format))


@budget.command()
def log(
    name: Name,
    ledger_file: ledger_options.LedgerFileOption = None,
    report_format: ReportFormatOption = ReportFormat.JSON,
    debug: options.Debug = False,
) -> None:
    """Print every charge of a ledger, in order.

    A charge that is not released is one of a run that failed, was ended, or is still running.

    Example: dpsel budget log patients --format text
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name, ledger_place
    from dpsel.budget.reports import log_text

    file = LedgerFile(ledger_place(ledger_file))
    _print(log_text(*file.history(check_name(name)), report_format))


@budget.command()
def verify(
    name: Name,
    head: Head = None,
    ledger_file: ledger_options.LedgerFileOption = None,
    debug: options.Debug = False,
) -> None:
    """Check that nothing in a ledger was changed since it was written.

    Every entry carries the SHA-256 of the one before it. Prints how many there are and that of the
    last one, the head; or ends with exit code 3 and names the first entry that is not what was
    written. Keep the head elsewhere: with --head it shows later that no entry was taken away.

    Example: dpsel budget verify patients
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name, ledger_place
    from dpsel.budget.reports import chain_text

    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        raise UsageError("--head must be a SHA-256, 64 digits from 0 to f, as printed by verify")
    file = LedgerFile(ledger_place(ledger_file))
    chain = file.verify(check_name(name))
    if head is not None:
        chain.refuse_another(head, name, file.place)
    _print(chain_text(name, chain))


@budget.command()
def export(
    name: Name,
    ledger_file: ledger_options.LedgerFileOption = None,
    export_format: ExportFormatOption = ExportFormat.JSON,
    debug: options.Debug = False,
) -> None:
    """Print all of a ledger: limits, charges, public parameters and releases.

    Example: dpsel budget export patients > patients-budget.json
    """
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name, ledger_place
    from dpsel.budget.reports import export_text

    file = LedgerFile(ledger_place(ledger_file))
    _print(export_text(*file.history(check_name(name)), export_format))


def _print(text: str) -> None:
    """Print a result."""
    from dpsel.system.output import STDOUT, Output

    with Output(STDOUT, force=False) as place:
        place.write(text.encode())
