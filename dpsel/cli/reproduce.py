"""`dpsel reproduce`: the paper's experiments, each a command."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dpsel.cli import evaluate_options as shared
from dpsel.cli import options
from dpsel.cli.render import TerminalReporter

reproduce = typer.Typer(
    help="Run the paper's experiments again, with figures.", no_args_is_help=True
)

Folder = Annotated[
    Path,
    typer.Option("--output", metavar="FOLDER", help="Where results and figures are written."),
]
Repetitions = Annotated[
    int, typer.Option("--repetitions", metavar="N", min=1, help="How many tables are drawn.")
]
Trials = Annotated[
    int, typer.Option("--trials", metavar="N", min=1, help="Selections in each cell.")
]
Beyond = Annotated[
    bool,
    typer.Option(
        "--beyond",
        help="Also run what goes beyond the paper: other mechanisms, scores and scalings.",
    ),
]
TablesFolder = Annotated[
    str, typer.Argument(metavar="DIR", help="A folder of Parquet tables.", show_default=False)
]
TableFile = Annotated[
    str, typer.Argument(metavar="FILE", help="A Parquet or CSV table.", show_default=False)
]
TargetColumn = Annotated[
    str, typer.Option("--target", metavar="COLUMN", help="The column with the labels.")
]
_RESULTS = Path("results")


@reproduce.command()
def stability(
    output: Folder = _RESULTS,
    repetitions: Repetitions = 1000,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Section 3: two-stage and SIS without privacy, with and without outliers.

    Example: dpsel reproduce stability --output results
    """
    with _Run(output, 1, seed, threads, resume, force, quiet, no_progress) as setting:
        from dpsel.reproduce.experiments import stability as run

        run(setting, repetitions)


@reproduce.command()
def synthetic(
    output: Folder = _RESULTS,
    trials: Trials = 100,
    beyond: Beyond = False,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """The synthetic data: 100 rows, 2000 features, 8 signals, k = 5 and 8.

    Example: dpsel reproduce synthetic --output results
    """
    run_with = (output, trials, seed, threads, resume, force, quiet, no_progress, beyond)
    with _Run(*run_with) as setting:
        from dpsel.reproduce.experiments import synthetic as run

        run(setting)


@reproduce.command()
def datasets(
    folder: TablesFolder,
    target: TargetColumn = "y",
    output: Folder = _RESULTS,
    trials: Trials = 100,
    beyond: Beyond = False,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """The real data: every table of a folder, k = 5 and log d; curves, heat maps, R^2.

    What it writes is not private, and not for release.

    Example: dpsel reproduce datasets microarrays/ --output results
    """
    run_with = (output, trials, seed, threads, resume, force, quiet, no_progress, beyond)
    with _Run(*run_with) as setting:
        from dpsel.reproduce.experiments import datasets as run

        run(setting, folder, target)


@reproduce.command(name="order-statistics")
def order_statistics(
    table: TableFile,
    target: TargetColumn = "y",
    output: Folder = _RESULTS,
    trials: Trials = 1000,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """The figure of TOP, GREAT and GOOD: how well the best scores are found, k = 10.

    What it writes is not private, and not for release.

    Example: dpsel reproduce order-statistics microarrays/golub.parquet --output results
    """
    with _Run(output, trials, seed, threads, resume, force, quiet, no_progress) as setting:
        from dpsel.reproduce.experiments import order_statistics as run

        run(setting, table, target)


@reproduce.command(name="all")
def everything(
    folder: TablesFolder,
    target: TargetColumn = "y",
    output: Folder = _RESULTS,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """All experiments, and what goes beyond them; the order statistics of the widest table.

    What it writes is not private, and not for release.

    Example: dpsel reproduce all microarrays/ --output results
    """
    from dpsel.reproduce import experiments

    common = (seed, threads, resume, force, quiet, no_progress)
    with _Run(output, 1, *common) as setting:
        experiments.stability(setting, 1000)
    with _Run(output, 100, *common, True) as setting:
        experiments.synthetic(setting)
    with _Run(output, 100, *common, True) as setting:
        results = experiments.datasets(setting, folder, target)
    widest = results.sort("d", descending=True)["dataset"][0]
    with _Run(output, 1000, *common) as setting:
        experiments.order_statistics(setting, str(Path(folder) / f"{widest}.parquet"), target)


class _Run:
    """One experiment on the terminal: its settings, its bar, and where it wrote."""

    def __init__(
        self,
        output: Path,
        trials: int,
        seed: int,
        threads: int | None,
        resume: bool,
        force: bool,
        quiet: bool,
        no_progress: bool,
        beyond: bool = False,
    ) -> None:
        from dpsel.core.checks import check_at_least
        from dpsel.io.figures.style import load_matplotlib
        from dpsel.io.interrupts import take_interrupts_back
        from dpsel.plan import plan_threads
        from dpsel.reproduce.experiments import Setting
        from dpsel.reproduce.folder import ResultsFolder

        take_interrupts_back()
        check_at_least(0, seed, "seed")
        load_matplotlib()
        self._output = output
        self._reporter = TerminalReporter(quiet=quiet, bar=not no_progress, work="running")
        self._setting = Setting(
            folder=ResultsFolder(output, resume=resume, force=force),
            reporter=self._reporter,
            trials=trials,
            seed=seed,
            workers=plan_threads(threads),
            beyond=beyond,
        )

    def __enter__(self) -> Any:
        self._reporter.__enter__()
        return self._setting

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._reporter.note(f"results and figures are in {self._output}")
        self._reporter.__exit__(kind, error, trace)
