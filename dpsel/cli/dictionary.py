"""The commands of `dpsel dictionary`: make, import and check public facts about columns."""

from contextlib import closing
from typing import Annotated

import typer

from dpsel.cli.forms import form
from dpsel.cli.options import Debugging, TableArgument, Terminal
from dpsel.cli.terminal import TerminalReporter, say
from dpsel.dictionary.options import Checking, Importing
from dpsel.system.output import print_text
from dpsel.system.process import take_interrupts_back
from dpsel.tables.formats import FileFormat, Reading

ImportArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A REDCap data dictionary (CSV), a Frictionless Table Schema or CSVW-EO metadata "
        "(JSON), or SmartNoise metadata (YAML).",
        show_default=False,
    ),
]
DictionaryArgument = Annotated[
    str,
    typer.Argument(metavar="DICTIONARY", help="The dictionary, in TOML.", show_default=False),
]

dictionary = typer.Typer()


@dictionary.command()
@form
def init(table: TableArgument, reading: FileFormat, debugging: Debugging) -> None:
    """Print a dictionary to fill in: the column names, and the facts that can be given for them.

    No cell is read.

    Example: dpsel dictionary init visits.csv > visits.toml
    """
    from dpsel.dictionary.toml_file import skeleton_text
    from dpsel.tables.opening import open_table

    with closing(open_table(table, reading)) as opened:
        text = skeleton_text(opened.columns, opened.label)
    print_text(text)


@dictionary.command("import")
@form
def import_(file: ImportArgument, importing: Importing, debugging: Debugging) -> None:
    """Convert the dictionary of another tool to TOML, and print it.

    Its facts are copied as they are: check them, and fill in the rest.

    Example: dpsel dictionary import redcap_dictionary.csv > visits.toml
    """
    from dpsel.dictionary.imports import import_dictionary
    from dpsel.dictionary.toml_file import dictionary_text

    imported = import_dictionary(file, importing.written_as)
    for note in imported.notes:
        say("note", note)
    print_text(dictionary_text(imported.dictionary))


@dictionary.command()
@form
def check(
    table: TableArgument,
    facts: DictionaryArgument,
    checking: Checking,
    reading: Reading,
    terminal: Terminal,
) -> None:
    """Print how well a table fits its dictionary. Not private: for the data holder only.

    For every column: the share of cells that are missing, clipped to the range, of an unknown
    category, or not a number or date. A fact that you change because of this check is not public.

    Example: dpsel dictionary check visits.csv visits.toml
    """
    from dpsel.dictionary.check import check_table, check_text
    from dpsel.dictionary.toml_file import read_dictionary
    from dpsel.system.threads import plan_threads
    from dpsel.tables.opening import open_table

    take_interrupts_back()
    public_facts, threads = read_dictionary(facts), plan_threads(reading.threads)
    with (
        closing(open_table(table, reading)) as opened,
        TerminalReporter(quiet=terminal.quiet, bar=not terminal.no_progress) as reporter,
    ):
        reporter.warn("a check reads the rows, without privacy: the result is not for release")
        checks = check_table(opened, public_facts, reporter, threads)
    print_text(check_text(checks, checking.check_format))
