"""`dpsel dictionary`: public facts about the columns of a table."""

import typer

from dpsel.cli.forms import form
from dpsel.cli.options import Debugging, TableArgument
from dpsel.tables.formats import FileFormat

dictionary = typer.Typer(
    help="Write public facts about columns once, for --dictionary FILE of every run."
)


@dictionary.callback(invoke_without_command=True)
def _help_if_alone(context: typer.Context) -> None:
    """Show the commands."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@dictionary.command()
@form
def init(table: TableArgument, reading: FileFormat, debugging: Debugging) -> None:
    """Print a dictionary to fill in: the names of the columns, and what can be said about them.

    No cell is read.

    Example: dpsel dictionary init visits.csv > visits.toml
    """
    from contextlib import closing

    from dpsel.dictionary.skeleton import skeleton_text
    from dpsel.system.output import print_text
    from dpsel.tables.opening import open_table

    with closing(open_table(table, reading.input_format, reading.separator)) as opened:
        text = skeleton_text(opened.columns, opened.label)
    print_text(text)
