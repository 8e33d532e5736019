"""Options of a cluster, declared once."""

from typing import Annotated

import typer

PANEL = "Cluster"

ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Work on a Dask cluster: the tcp://HOST:PORT or tls://HOST:PORT of its scheduler, or "
        "slurm. Needs the extra dask.",
        rich_help_panel=PANEL,
        show_default="this machine",
    ),
]
ClusterWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        help="With slurm: how many workers to start. Else: how many to wait for.",
        rich_help_panel=PANEL,
        show_default="1 to wait for",
    ),
]
