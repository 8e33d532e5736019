"""The options of `dpsel audit`."""

from typing import Annotated

import typer

from dpsel.core.guarantee import Neighbors
from dpsel.core.mechanisms import Sampler

_WHAT_PANEL = "What is audited"
_CLAIM_PANEL = "What it claims"
_INPUTS_PANEL = "Neighboring inputs"
_SAMPLING_PANEL = "Sampling"

Mechanism = Annotated[
    str | None,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="A mechanism of `dpsel select`, or printed-lipschitz: the algorithm as the paper "
        "prints it, a known bad example.",
        rich_help_panel=_WHAT_PANEL,
    ),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="NAME",
        help="A score: dot, covariance, kendall, or one of another package.",
        rich_help_panel=_WHAT_PANEL,
    ),
]
Command = Annotated[
    bool,
    typer.Option(
        "--command",
        help="`dpsel select`, ledger and output included; --score and --mechanism may say how.",
        rich_help_panel=_WHAT_PANEL,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        metavar="G",
        help="A parameter of the Lipschitz mechanisms.",
        rich_help_panel=_WHAT_PANEL,
        show_default="0.5",
    ),
]
SamplerOption = Annotated[
    Sampler | None,
    typer.Option(
        "--sampler",
        help="A parameter of the Lipschitz mechanisms.",
        rich_help_panel=_WHAT_PANEL,
        show_default="lazy",
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        metavar="E",
        help="The claimed privacy loss.",
        rich_help_panel=_CLAIM_PANEL,
        show_default="1",
    ),
]
Delta = Annotated[
    float | None,
    typer.Option(
        "--delta",
        metavar="D",
        help="The claimed delta, for peeling and oneshot-laplace.",
        rich_help_panel=_CLAIM_PANEL,
        show_default="0",
    ),
]
NeighborsOption = Annotated[
    Neighbors | None,
    typer.Option(
        "--neighbors",
        help="The relation that --score or --command is audited for.",
        rich_help_panel=_CLAIM_PANEL,
        show_default="both for --score, add-remove for --command",
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        "--rows-per-person",
        metavar="R",
        help="Audit --score or --command for persons with R rows, not for rows.",
        rich_help_panel=_CLAIM_PANEL,
    ),
]
D = Annotated[
    int | None,
    typer.Option(
        "--d",
        metavar="D",
        help="How many features there are.",
        rich_help_panel=_INPUTS_PANEL,
        show_default="6; 4 for --command",
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k",
        metavar="K",
        help="How many features are selected.",
        rich_help_panel=_INPUTS_PANEL,
        show_default="3; 2 for --command",
    ),
]
ScoresOption = Annotated[
    str | None,
    typer.Option(
        "--scores",
        metavar="LIST",
        help="Made-up scores in units of their sensitivity, with commas. They are printed.",
        rich_help_panel=_INPUTS_PANEL,
        show_default="a pair that shows much of the loss",
    ),
]
Change = Annotated[
    str | None,
    typer.Option(
        "--change",
        metavar="LIST",
        help="What the neighbor has more of each score: between -1 and 1, with commas.",
        rich_help_panel=_INPUTS_PANEL,
    ),
]
WorstCase = Annotated[
    bool,
    typer.Option(
        "--worst-case",
        help="Search for the scores with the largest loss by the exact law.",
        rich_help_panel=_INPUTS_PANEL,
    ),
]
TablesOption = Annotated[
    str | None,
    typer.Option(
        "--tables",
        metavar="N",
        help="How many pairs of tables to try with --score, besides those made by hand.",
        rich_help_panel=_INPUTS_PANEL,
        show_default="1000",
    ),
]
Samples = Annotated[
    str | None,
    typer.Option(
        "--samples",
        metavar="N",
        help="Draws from each input, such as 1e6.",
        rich_help_panel=_SAMPLING_PANEL,
        show_default="1e5; 1e3 for --command",
    ),
]
Confidence = Annotated[
    float | None,
    typer.Option(
        "--confidence",
        metavar="C",
        help="How sure all bounds are together.",
        rich_help_panel=_SAMPLING_PANEL,
        show_default="0.999999",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="The same audit again, with seeded draws instead of the system's randomness.",
        rich_help_panel=_SAMPLING_PANEL,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        metavar="N",
        help="How many processes draw.",
        rich_help_panel=_SAMPLING_PANEL,
        show_default="all cores",
    ),
]
