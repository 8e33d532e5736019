"""The options of `dpsel evaluate`, some of which `dpsel reproduce` shares."""

from typing import Annotated

import typer

from dpsel.cli import shared_options as options
from dpsel.evaluation.results import ResultsFormat
from dpsel.preprocessing.options import Scale

_SWEEP_PANEL = "Sweep"

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="One table or more, each a data set of its own.",
        show_default=False,
    ),
]
Ks = Annotated[
    str,
    typer.Option(
        "--k",
        metavar="LIST",
        help="How many features to select: numbers and logd, with commas.",
        show_default=False,
    ),
]
Epsilons = Annotated[
    str,
    typer.Option(
        "--epsilon", metavar="LIST", help="Privacy losses: numbers, FROM:TO:logN or FROM:TO:linN."
    ),
]
Trials = Annotated[
    int,
    typer.Option(
        "--trials", metavar="N", help="Selections in each cell.", rich_help_panel=_SWEEP_PANEL
    ),
]
Methods = Annotated[
    list[str],
    typer.Option(
        "--method",
        metavar="LIST",
        help="SCORE/MECHANISM, dp-sis, two-stage, two-stage/MECHANISM, dpkendall, sis or lasso; "
        "with @max-abs or @robust behind it on data scaled so. With commas or repeated.",
        rich_help_panel=_SWEEP_PANEL,
        show_default="dp-sis,two-stage",
    ),
]
TruthOption = Annotated[
    str,
    typer.Option(
        "--truth",
        metavar="WHAT",
        help="The true features: lasso, sis, or names with commas.",
        rich_help_panel=_SWEEP_PANEL,
    ),
]
Penalty = Annotated[
    float,
    typer.Option(
        "--penalty",
        metavar="LAMBDA",
        help="The weight of the L1 norm in every LASSO.",
        rich_help_panel=_SWEEP_PANEL,
    ),
]
ScaleOption = Annotated[
    Scale,
    typer.Option(
        "--scale",
        help="Scale the data as `dpsel preprocess` would; none takes them by their bounds.",
        rich_help_panel=_SWEEP_PANEL,
    ),
]
Blocks = Annotated[
    int | None,
    typer.Option(
        "--blocks",
        metavar="B",
        help="How many blocks vote in two-stage.",
        rich_help_panel=_SWEEP_PANEL,
        show_default="the square root of the number of rows",
    ),
]
SweepSeed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        help="The same seed gives the same results, with any number of threads.",
        rich_help_panel=_SWEEP_PANEL,
    ),
]
SweepThreads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="How many cells are worked on at a time.",
        rich_help_panel=_SWEEP_PANEL,
        show_default="all cores",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a sweep that was killed; without one, begin.",
        rich_help_panel=_SWEEP_PANEL,
    ),
]
ResultsPlace = Annotated[
    str | None,
    typer.Option(
        "--output",
        metavar="FILE",
        help="Where to write the results: a .parquet, .csv or .json file, or - for stdout.",
        rich_help_panel=options.OUTPUT_PANEL,
        show_default="stdout, unless it is a terminal or there is a --report",
    ),
]
ResultsFormatOption = Annotated[
    ResultsFormat | None,
    typer.Option(
        "--format",
        help="The format of the results.",
        rich_help_panel=options.OUTPUT_PANEL,
        show_default="by the name of the file, json for stdout",
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write figures and results as one HTML page. Needs 'dpsel\\[plot]'.",
        rich_help_panel=options.OUTPUT_PANEL,
    ),
]
