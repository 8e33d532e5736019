"""The options of `dpsel preprocess` that `dpsel evaluate` shares."""

from typing import Annotated

import typer

from dpsel.cli import shared_options as options

EncodeTarget = Annotated[
    bool,
    typer.Option(
        "--encode-target",
        help="Code the target's labels as 0, 1, 2, ...",
        rich_help_panel=options.COLUMNS_PANEL,
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
