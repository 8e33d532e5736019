"""Every option, declared once. Imports nothing heavy: `--help` is instant."""

from typing import Annotated

import typer

from dpsel.core.choices import Center, Missing, Scale
from dpsel.core.mechanisms.sampler import Sampler
from dpsel.core.privacy import Neighbors
from dpsel.io.formats import InputFormat, Orientation, OutputFormat, TableFormat

_COLUMNS = "Columns"
_PRIVACY = "Privacy"
_METHOD = "Method"
_INPUT = "Input"
_OUTPUT = "Output"

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A Parquet, CSV, TSV or Arrow file, a folder or glob of Parquet files, or - (stdin).",
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
        rich_help_panel=_COLUMNS,
        show_default="all but the target",
    ),
]
Exclude = Annotated[
    list[str],
    typer.Option(
        "--exclude",
        metavar="NAMES",
        help="Leave these columns out: names or globs, with commas or repeated.",
        rich_help_panel=_COLUMNS,
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="For a text target: this label counts 1, any other -1.",
        rich_help_panel=_COLUMNS,
    ),
]
BoundsFile = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="FILE",
        help="Public bounds of the columns, in TOML or JSON.",
        rich_help_panel=_COLUMNS,
    ),
]
Lower = Annotated[
    float | None,
    typer.Option(
        "--lower",
        metavar="L",
        help="Public lower bound of every column.",
        rich_help_panel=_COLUMNS,
        show_default="-1, the table is taken as bounded",
    ),
]
Upper = Annotated[
    float | None,
    typer.Option(
        "--upper",
        metavar="U",
        help="Public upper bound of every column.",
        rich_help_panel=_COLUMNS,
        show_default="1",
    ),
]

NeighborsOption = Annotated[
    Neighbors,
    typer.Option(
        "--neighbors",
        help="What one row more or less means: it is there or not, or it has other values.",
        rich_help_panel=_PRIVACY,
    ),
]
Person = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="Protect persons, not rows: the column that says whose row it is.",
        rich_help_panel=_PRIVACY,
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--rows-per-person",
        metavar="R",
        help="At most R rows of a person count. Needs --person.",
        rich_help_panel=_PRIVACY,
        show_default="1",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="For tests only: a reproducible draw, which is not private.",
        rich_help_panel=_PRIVACY,
    ),
]

ScoreName = Annotated[
    str,
    typer.Option("--score", metavar="NAME", help="dot.", rich_help_panel=_METHOD),
]
MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism", metavar="NAME", help="canonical-lipschitz.", rich_help_panel=_METHOD
    ),
]
Gamma = Annotated[
    float,
    typer.Option(
        "--gamma",
        metavar="G",
        help="Weight of the worst included score against the best missing one, 0 to 1.",
        rich_help_panel=_METHOD,
    ),
]
SamplerOption = Annotated[
    Sampler,
    typer.Option(
        "--sampler",
        help="How to draw: lazy is fast, direct the reference; the law is the same.",
        rich_help_panel=_METHOD,
    ),
]

InputFormatOption = Annotated[
    InputFormat | None,
    typer.Option(
        "--input-format",
        help="The format of TABLE, if its name does not tell.",
        rich_help_panel=_INPUT,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        help="What separates the cells of a CSV.",
        rich_help_panel=_INPUT,
        show_default="comma",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="How many threads read.",
        rich_help_panel=_INPUT,
        show_default="all cores",
    ),
]

OutputPlace = Annotated[
    str,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Where to write the record; - for stdout.",
        rich_help_panel=_OUTPUT,
    ),
]
OutputFormatOption = Annotated[
    OutputFormat,
    typer.Option(
        "--format",
        help="The whole record, or the names or indices alone, one a line.",
        rich_help_panel=_OUTPUT,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace an existing output file.", rich_help_panel=_OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", help="No notes and no progress on stderr.", rich_help_panel=_OUTPUT),
]
NoProgress = Annotated[
    bool,
    typer.Option("--no-progress", help="No progress bar on stderr.", rich_help_panel=_OUTPUT),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="After a bug, show where it happened.", rich_help_panel=_OUTPUT),
]

InputArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="INPUT",
        help="The raw table: whatever `dpsel select` reads, or a GEO series matrix.",
        show_default=False,
    ),
]
OutputArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="OUTPUT",
        help="Where to write: a .parquet, .csv or .arrow file, or - for stdout.",
        show_default=False,
    ),
]
TargetColumn = Annotated[
    str | None,
    typer.Option("--target", metavar="COLUMN", help="The column to predict.", show_default=False),
]
Show = Annotated[
    str | None,
    typer.Option("--show", metavar="FILE", help="Print how a table was preprocessed, and stop."),
]
EncodeTarget = Annotated[
    bool,
    typer.Option(
        "--encode-target",
        help="Code the target's labels as 0, 1, 2, ...",
        rich_help_panel=_COLUMNS,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,C",
        help="The labels in the order of their codes. Public: nothing is read off the data.",
        rich_help_panel=_COLUMNS,
        show_default="sorted, as found in the data",
    ),
]
PublicBoundsFile = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="FILE",
        help="Public bounds, in TOML or JSON: the way to an end-to-end guarantee.",
        rich_help_panel=_METHOD,
    ),
]
CenterOption = Annotated[
    Center | None,
    typer.Option(
        "--center",
        help="What becomes 0.",
        rich_help_panel=_METHOD,
        show_default="mean; median with --scale robust",
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        "--scale",
        help="What becomes 1: the farthest value, so many robust deviations, or 1.",
        rich_help_panel=_METHOD,
        show_default="max-abs",
    ),
]
Clip = Annotated[
    float,
    typer.Option(
        "--clip",
        metavar="C",
        help="With --scale robust: clip at C robust standard deviations.",
        rich_help_panel=_METHOD,
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="What a missing cell becomes: the centre, or the column's mean or median.",
        rich_help_panel=_METHOD,
    ),
]
FeaturesIn = Annotated[
    Orientation,
    typer.Option(
        "--features-in",
        help="Whether a feature is a column, or a row as in genes x samples.",
        rich_help_panel=_INPUT,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="With --features-in rows: the samples' labels.",
        rich_help_panel=_INPUT,
    ),
]
LabelKey = Annotated[
    str | None,
    typer.Option(
        "--label-key",
        metavar="KEY",
        help="For a GEO series matrix: the sample characteristic that is the label.",
        rich_help_panel=_INPUT,
    ),
]
TableFormatOption = Annotated[
    TableFormat | None,
    typer.Option(
        "--format",
        help="The format to write.",
        rich_help_panel=_OUTPUT,
        show_default="by OUTPUT's name; parquet for -",
    ),
]
Float32 = Annotated[
    bool,
    typer.Option("--float32", help="Write 32-bit numbers: half the size.", rich_help_panel=_OUTPUT),
]
