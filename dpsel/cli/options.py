"""Options that many commands share: where to write, and what to show on stderr."""

from typing import Annotated

import typer

from dpsel.options import option, same_as
from dpsel.records import frozen
from dpsel.selection.options import OutputFormat

OUTPUT = "Output"

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A Parquet, CSV, TSV or Arrow file, a folder or glob of Parquet or CSV files, "
        "s3://bucket/folder, or - for stdin.",
        show_default=False,
    ),
]


@frozen(kw_only=True)
class ConfigFile:
    """The file with options that are not on the command line."""

    config: str | None = option(
        "--config FILE",
        "Read options from this TOML file, by their long names; the command line overrides it.",
        None,
    )


@frozen(kw_only=True)
class Writing:
    """Where a record is written, and which part of it."""

    output: str = option(
        "--output FILE", "Where to write the record; - for stdout.", "-", panel=OUTPUT
    )
    output_format: OutputFormat = option(
        "--format",
        "The whole record, or only the names or indices, one per line.",
        OutputFormat.JSON,
        panel=OUTPUT,
    )
    force: bool = option("--force", "Replace an existing output file.", False, panel=OUTPUT)


@frozen(kw_only=True)
class RecordFile:
    """Where a record with only one format is written."""

    output: str = same_as(Writing, "output")
    force: bool = same_as(Writing, "force")


@frozen(kw_only=True)
class CardFile:
    """Where a card is written."""

    output: str = option(
        "--output FILE", "Where to write the card; - for stdout.", "-", panel=OUTPUT
    )
    force: bool = same_as(Writing, "force")


@frozen(kw_only=True)
class Terminal:
    """What is shown on stderr."""

    quiet: bool = option(
        "--quiet",
        "Hide progress and notes on stderr, except notes that you must see.",
        False,
        panel=OUTPUT,
    )
    no_progress: bool = option("--no-progress", "Hide the progress bar.", False, panel=OUTPUT)
    debug: bool = option(
        "--debug", "If there is a bug in dpsel, show where it happened.", False, panel=OUTPUT
    )


@frozen(kw_only=True)
class Debugging:
    """What is shown after a bug, by commands that show nothing else on stderr."""

    debug: bool = same_as(Terminal, "debug")
