"""`dpsel reproduce`: the paper's experiments, each a command."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from dpsel.cli import cluster_options
from dpsel.cli import evaluate_options as shared
from dpsel.cli import shared_options as options
from dpsel.cli.terminal import TerminalReporter

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
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Section 3: two-stage and SIS without privacy, with and without outliers.

    Example: dpsel reproduce stability --output results
    """
    common = _Common(output, seed, threads, cluster, workers, resume, force, quiet, no_progress)
    with _Run(common, 1) as setting:
        from dpsel.paper.experiments import stability as run

        run(setting, repetitions)


@reproduce.command()
def synthetic(
    output: Folder = _RESULTS,
    trials: Trials = 100,
    beyond: Beyond = False,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
    resume: shared.Resume = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """The synthetic data: 100 rows, 2000 features, 8 signals, k = 5 and 8.

    Example: dpsel reproduce synthetic --output results
    """
    common = _Common(output, seed, threads, cluster, workers, resume, force, quiet, no_progress)
    with _Run(common, trials, beyond=beyond) as setting:
        from dpsel.paper.experiments import synthetic as run

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
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
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
    common = _Common(output, seed, threads, cluster, workers, resume, force, quiet, no_progress)
    with _Run(common, trials, beyond=beyond) as setting:
        from dpsel.paper.experiments import datasets as run

        run(setting, folder, target)


@reproduce.command(name="order-statistics")
def order_statistics(
    table: TableFile,
    target: TargetColumn = "y",
    output: Folder = _RESULTS,
    trials: Trials = 1000,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
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
    common = _Common(output, seed, threads, cluster, workers, resume, force, quiet, no_progress)
    with _Run(common, trials) as setting:
        from dpsel.paper.experiments import order_statistics as run

        run(setting, table, target)


@reproduce.command(name="all")
def everything(
    folder: TablesFolder,
    target: TargetColumn = "y",
    output: Folder = _RESULTS,
    seed: shared.SweepSeed = 0,
    threads: shared.SweepThreads = None,
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
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
    from dpsel.paper import experiments

    common = _Common(output, seed, threads, cluster, workers, resume, force, quiet, no_progress)
    with _Run(common, 100, beyond=True) as setting:
        experiments.stability(replace(setting, trials=1, beyond=False), 1000)
        experiments.synthetic(setting)
        results = experiments.datasets(setting, folder, target)
        widest = results.sort("d", descending=True)["dataset"][0]
        thorough = replace(setting, trials=1000, beyond=False)
        experiments.order_statistics(thorough, str(Path(folder) / f"{widest}.parquet"), target)


class _Common(NamedTuple):
    """The options that all experiments have."""

    output: Path
    seed: int
    threads: int | None
    cluster: str | None
    workers: int | None
    resume: bool
    force: bool
    quiet: bool
    no_progress: bool


class _Run:
    """Experiments on the terminal: their settings, their bar, and where they wrote."""

    def __init__(self, common: _Common, trials: int, *, beyond: bool = False) -> None:
        from dpsel.cluster.place import Place
        from dpsel.core.guarantee import check_at_least
        from dpsel.evaluation.figures.style import load_matplotlib
        from dpsel.paper.experiments import ResultsFolder, Setting
        from dpsel.system.process import take_interrupts_back
        from dpsel.system.workers import plan_threads

        take_interrupts_back()
        check_at_least(0, common.seed, "seed")
        self._cluster = Place(cluster=common.cluster, workers=common.workers).scheduler()
        load_matplotlib()
        self._output = common.output
        self._reporter = TerminalReporter(
            quiet=common.quiet, bar=not common.no_progress, work="running"
        )
        threads = plan_threads(common.threads)
        self._setting = Setting(
            folder=ResultsFolder(common.output, resume=common.resume, force=common.force),
            reporter=self._reporter,
            trials=trials,
            seed=common.seed,
            threads=threads,
            workers=threads,
            beyond=beyond,
        )
        self._entered = ExitStack()

    def __enter__(self) -> Any:
        from dpsel.cluster.connection import chosen_workers

        with ExitStack() as stack:
            stack.enter_context(self._reporter)
            setting = self._setting
            workers = stack.enter_context(
                chosen_workers(self._cluster, setting.threads, self._reporter.warn)
            )
            self._entered = stack.pop_all()
        return replace(setting, workers=workers)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._reporter.note(f"results and figures are in {self._output}")
        self._entered.__exit__(kind, error, trace)
