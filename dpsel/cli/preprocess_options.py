"""The options of `dpsel preprocess` alone."""

from typing import Annotated

import typer

from dpsel.cli import shared_options as options
from dpsel.preprocessing.options import Center, Missing, Scale
from dpsel.preprocessing.writers import TableFormat
from dpsel.tables.formats import Orientation

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
PersonColumn = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COLUMN",
        help="The column that says whose row it is: pass it on as it is, for `dpsel select`.",
        rich_help_panel=options.COLUMNS_PANEL,
    ),
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
        rich_help_panel=options.COLUMNS_PANEL,
    ),
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,C",
        help="The labels in the order of their codes. Public: nothing is read off the data.",
        rich_help_panel=options.COLUMNS_PANEL,
        show_default="sorted, as found in the data",
    ),
]
PublicBoundsFile = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        metavar="FILE",
        help="Public bounds, in TOML or JSON: the way to an end-to-end guarantee.",
        rich_help_panel=options.METHOD_PANEL,
    ),
]
CenterOption = Annotated[
    Center | None,
    typer.Option(
        "--center",
        help="What becomes 0.",
        rich_help_panel=options.METHOD_PANEL,
        show_default="mean; median with --scale robust",
    ),
]
ScaleOption = Annotated[
    Scale | None,
    typer.Option(
        "--scale",
        help="What becomes 1: the farthest value, so many robust deviations, or 1.",
        rich_help_panel=options.METHOD_PANEL,
        show_default="max-abs",
    ),
]
Clip = Annotated[
    float,
    typer.Option(
        "--clip",
        metavar="C",
        help="With --scale robust: clip at C robust standard deviations.",
        rich_help_panel=options.METHOD_PANEL,
    ),
]
MissingOption = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="What a missing cell becomes: the centre, or the column's mean or median.",
        rich_help_panel=options.METHOD_PANEL,
    ),
]
FeaturesIn = Annotated[
    Orientation,
    typer.Option(
        "--features-in",
        help="Whether a feature is a column, or a row as in genes x samples.",
        rich_help_panel=options.INPUT_PANEL,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="With --features-in rows: the samples' labels.",
        rich_help_panel=options.INPUT_PANEL,
    ),
]
LabelKey = Annotated[
    str | None,
    typer.Option(
        "--label-key",
        metavar="KEY",
        help="For a GEO series matrix: the sample characteristic that is the label.",
        rich_help_panel=options.INPUT_PANEL,
    ),
]
TableFormatOption = Annotated[
    TableFormat | None,
    typer.Option(
        "--format",
        help="The format to write.",
        rich_help_panel=options.OUTPUT_PANEL,
        show_default="by OUTPUT's name; parquet for -",
    ),
]
Float32 = Annotated[
    bool,
    typer.Option(
        "--float32",
        help="Write 32-bit numbers: half the size.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
