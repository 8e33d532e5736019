"""The commands of `dpsel reproduce`, one per experiment of the paper."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from dpsel.cli.forms import SHORT, form
from dpsel.cli.options import Terminal
from dpsel.cli.terminal import TerminalReporter
from dpsel.paper.options import Experimenting
from dpsel.system.process import take_interrupts_back

if TYPE_CHECKING:
    from dpsel.paper.experiments import Setting

reproduce = typer.Typer()

Repetitions = Annotated[
    int, typer.Option("--repetitions", metavar="N", min=1, help="How many tables to draw.")
]
Trials = Annotated[
    int,
    typer.Option(
        "--trials",
        metavar="N",
        min=1,
        help="Selections per cell (data set, method, k and epsilon).",
    ),
]
Beyond = Annotated[
    bool,
    typer.Option(
        "--beyond",
        help="Also run experiments beyond the paper: other mechanisms, scores and scalings.",
    ),
]
TablesFolder = Annotated[
    str, typer.Argument(metavar="DIR", help="A folder of Parquet tables.", show_default=False)
]
TableFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A Parquet or CSV table.", show_default=False)
]
TargetColumn = Annotated[
    str,
    typer.Option(
        "--target", SHORT["--target"], metavar="COLUMN", help="The column with the labels."
    ),
]


@reproduce.command()
@form
def stability(asked: Experimenting, terminal: Terminal, *, repetitions: Repetitions = 1000) -> None:
    """Section 3: two-stage and SIS without privacy, with and without outliers.

    Example: dpsel reproduce stability --output results
    """
    from dpsel.paper import experiments

    with _setting(asked, terminal) as setting:
        experiments.stability(setting, repetitions)


@reproduce.command()
@form
def synthetic(
    asked: Experimenting, terminal: Terminal, *, trials: Trials = 100, beyond: Beyond = False
) -> None:
    """The synthetic data: 100 rows, 2000 features, 8 signals, k = 5 and 8.

    Example: dpsel reproduce synthetic --output results
    """
    from dpsel.paper import experiments

    with _setting(asked, terminal, trials=trials, beyond=beyond) as setting:
        experiments.synthetic(setting)


@reproduce.command()
@form
def datasets(
    folder: TablesFolder,
    *,
    target: TargetColumn = "y",
    asked: Experimenting,
    trials: Trials = 100,
    beyond: Beyond = False,
    terminal: Terminal,
) -> None:
    """The real data: every table in a folder, k = 5 and log d; curves, heat maps, R^2.

    The results are not private, and not for release.

    Example: dpsel reproduce datasets microarrays/ --output results
    """
    from dpsel.paper import experiments

    with _setting(asked, terminal, trials=trials, beyond=beyond) as setting:
        experiments.datasets(setting, folder, target)


@reproduce.command(name="order-statistics")
@form
def order_statistics(
    table: TableFile,
    *,
    target: TargetColumn = "y",
    asked: Experimenting,
    trials: Trials = 1000,
    terminal: Terminal,
) -> None:
    """The figure of TOP, GREAT and GOOD: how well the best scores are found, k = 10.

    The results are not private, and not for release.

    Example: dpsel reproduce order-statistics microarrays/golub.parquet --output results
    """
    from dpsel.paper import experiments

    with _setting(asked, terminal, trials=trials) as setting:
        experiments.order_statistics(setting, table, target)


@reproduce.command()
@form
def unseen(
    folder: TablesFolder,
    *,
    target: TargetColumn = "y",
    asked: Experimenting,
    trials: Trials = 10,
    terminal: Terminal,
) -> None:
    """Beyond the paper: stump and DP-SIS, by a model on unseen rows and by correlation, k = 5.

    The results are not private, and not for release.

    Example: dpsel reproduce unseen microarrays/ --output results
    """
    from dpsel.paper import experiments

    with _setting(asked, terminal, trials=trials) as setting:
        experiments.unseen(setting, folder, target)


@reproduce.command(name="all")
@form
def everything(
    folder: TablesFolder, *, target: TargetColumn = "y", asked: Experimenting, terminal: Terminal
) -> None:
    """All experiments, and those beyond the paper; order statistics of the widest table.

    The results are not private, and not for release.

    Example: dpsel reproduce all microarrays/ --output results
    """
    from dpsel.paper import experiments

    with _setting(asked, terminal, trials=100, beyond=True) as setting:
        experiments.everything(setting, folder, target)


@contextmanager
def _setting(
    asked: Experimenting, terminal: Terminal, *, trials: int = 1, beyond: bool = False
) -> "Iterator[Setting]":
    """Yield the setting of an experiment, which reports its progress to the terminal."""
    from dpsel.paper.experiments import experimenting

    take_interrupts_back()
    bar = not terminal.no_progress
    with (
        TerminalReporter(quiet=terminal.quiet, bar=bar, work="running") as reporter,
        experimenting(asked, reporter, trials=trials, beyond=beyond) as setting,
    ):
        yield setting
