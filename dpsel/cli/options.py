"""What every command has: where it writes, and what it says meanwhile."""

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
        "s3://bucket/folder, or - (stdin).",
        show_default=False,
    ),
]


@frozen(kw_only=True)
class ConfigFile:
    """Where options come from that are not on the command line."""

    config: str | None = option(
        "--config FILE",
        "Take options from this TOML file, by their long names; those on the command line win.",
        None,
    )


@frozen(kw_only=True)
class Writing:
    """Where a record goes, and what of it."""

    output: str = option(
        "--output FILE", "Where to write the record; - for stdout.", "-", panel=OUTPUT
    )
    output_format: OutputFormat = option(
        "--format",
        "The whole record, or the names or indices alone, one a line.",
        OutputFormat.JSON,
        panel=OUTPUT,
    )
    force: bool = option("--force", "Replace an existing output file.", False, panel=OUTPUT)


@frozen(kw_only=True)
class RecordFile:
    """Where a record goes that has one form only."""

    output: str = same_as(Writing, "output")
    force: bool = same_as(Writing, "force")


@frozen(kw_only=True)
class CardFile:
    """Where a card goes."""

    output: str = option(
        "--output FILE", "Where to write the card; - for stdout.", "-", panel=OUTPUT
    )
    force: bool = same_as(Writing, "force")


@frozen(kw_only=True)
class Terminal:
    """What is said on stderr."""

    quiet: bool = option(
        "--quiet",
        "No progress on stderr, and of the notes only those that must be seen.",
        False,
        panel=OUTPUT,
    )
    no_progress: bool = option("--no-progress", "No progress bar on stderr.", False, panel=OUTPUT)
    debug: bool = option("--debug", "After a bug, show where it happened.", False, panel=OUTPUT)


@frozen(kw_only=True)
class Debugging:
    """What is said after a bug, by commands that say nothing else."""

    debug: bool = same_as(Terminal, "debug")
