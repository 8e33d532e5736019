"""Every shared option, declared once. Imports nothing heavy: `--help` is instant."""

from typing import Annotated

import typer

from dpsel.core.guarantee import Neighbors
from dpsel.core.mechanisms import Sampler
from dpsel.selection.options import OutputFormat
from dpsel.tables.formats import InputFormat

COLUMNS_PANEL = "Columns"
PRIVACY_PANEL = "Privacy"
METHOD_PANEL = "Method"
INPUT_PANEL = "Input"
OUTPUT_PANEL = "Output"

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A Parquet, CSV, TSV or Arrow file, a folder or glob of Parquet files, the same as "
        "s3://bucket/folder, or - (stdin).",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option("--target", metavar="COLUMN", help="The column to predict.", show_default=False),
]
K = Annotated[
    int, typer.Option("--k", metavar="K", help="How many features to select.", show_default=False)
]
Epsilon = Annotated[
    float,
    typer.Option(
        "--epsilon", metavar="E", help="The privacy loss, such as 1 or 2.", show_default=False
    ),
]

Features = Annotated[
    list[str],
    typer.Option(
        "--features",
        metavar="NAMES",
        help="Choose among these columns only: names or globs, with commas or repeated.",
        rich_help_panel=COLUMNS_PANEL,
        show_default="all but the target",
    ),
]
Exclude = Annotated[
    list[str],
    typer.Option(
        "--exclude",
        metavar="NAMES",
        help="Leave these columns out: names or globs, with commas or repeated.",
        rich_help_panel=COLUMNS_PANEL,
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="For a text target: this label counts 1, any other -1.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
BoundsFile = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="FILE",
        help="Public bounds of the columns, in TOML or JSON.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Lower = Annotated[
    float | None,
    typer.Option(
        "--lower",
        metavar="L",
        help="Public lower bound of every column.",
        rich_help_panel=COLUMNS_PANEL,
        show_default="-1, the table is taken as bounded",
    ),
]
Upper = Annotated[
    float | None,
    typer.Option(
        "--upper",
        metavar="U",
        help="Public upper bound of every column.",
        rich_help_panel=COLUMNS_PANEL,
        show_default="1",
    ),
]

NeighborsOption = Annotated[
    Neighbors,
    typer.Option(
        "--neighbors",
        help="What one row more or less means: it is there or not, or it has other values.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="Protect persons, not rows: the column that says whose row it is.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--rows-per-person",
        metavar="R",
        help="At most R rows of a person count. Needs --person.",
        rich_help_panel=PRIVACY_PANEL,
        show_default="1",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="For tests only: a reproducible draw, which is not private.",
        rich_help_panel=PRIVACY_PANEL,
    ),
]

ScoreName = Annotated[
    str,
    typer.Option(
        "--score",
        metavar="NAME",
        help="How features are scored: dot, covariance or kendall.",
        rich_help_panel=METHOD_PANEL,
    ),
]
MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="How features are drawn: canonical-lipschitz, margin-lipschitz, peeling, "
        "permute-and-flip, oneshot-laplace or joint.",
        rich_help_panel=METHOD_PANEL,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        metavar="G",
        help="Lipschitz only: weight of the worst included score against the best missing one.",
        rich_help_panel=METHOD_PANEL,
        show_default="0.5",
    ),
]
SamplerOption = Annotated[
    Sampler | None,
    typer.Option(
        "--sampler",
        help="Lipschitz only: lazy is fast, direct the reference; the law is the same.",
        rich_help_panel=METHOD_PANEL,
        show_default="lazy",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        metavar="D",
        help="Peeling and oneshot-laplace: an (epsilon, delta) guarantee, with less noise.",
        rich_help_panel=METHOD_PANEL,
        show_default="0",
    ),
]

InputFormatOption = Annotated[
    InputFormat | None,
    typer.Option(
        "--input-format",
        help="The format of TABLE, if its name does not tell.",
        rich_help_panel=INPUT_PANEL,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        help="What separates the cells of a CSV.",
        rich_help_panel=INPUT_PANEL,
        show_default="comma",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="How many threads read and compute.",
        rich_help_panel=INPUT_PANEL,
        show_default="all cores",
    ),
]

OutputPlace = Annotated[
    str,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Where to write the record; - for stdout.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
OutputFormatOption = Annotated[
    OutputFormat,
    typer.Option(
        "--format",
        help="The whole record, or the names or indices alone, one a line.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace an existing output file.", rich_help_panel=OUTPUT_PANEL),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        help="No progress on stderr, and of the notes only those that must be seen.",
        rich_help_panel=OUTPUT_PANEL,
    ),
]
NoProgress = Annotated[
    bool,
    typer.Option("--no-progress", help="No progress bar on stderr.", rich_help_panel=OUTPUT_PANEL),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug", help="After a bug, show where it happened.", rich_help_panel=OUTPUT_PANEL
    ),
]
