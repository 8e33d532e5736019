"""The paper's experiments: how each is run, and the folder that its results are written to."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from dpsel import __version__
from dpsel.cluster.connection import chosen_workers
from dpsel.core.bounds import UNIT_INTERVAL
from dpsel.core.guarantee import Neighbors, check_at_least
from dpsel.errors import InputError, OutputError
from dpsel.evaluation.data import (
    EvaluationData,
    TableRequest,
    named_tables,
    table_sets,
)
from dpsel.evaluation.figures.curves import accuracy_figure, order_figure
from dpsel.evaluation.figures.frequencies import frequency_bars
from dpsel.evaluation.figures.heatmap import heatmap_figure
from dpsel.evaluation.figures.style import png_bytes
from dpsel.evaluation.grid import parse_epsilons, parse_ks
from dpsel.evaluation.journal import Journal
from dpsel.evaluation.methods import parse_methods
from dpsel.evaluation.report import report_facts, report_html
from dpsel.evaluation.report_figures import sweep_figures, unseen_curves
from dpsel.evaluation.request import Sweep
from dpsel.evaluation.results import frequencies_frame, results_frame
from dpsel.evaluation.sweep import SweepResult, run_sweep
from dpsel.evaluation.truth import Truth
from dpsel.paper import (
    BEYOND,
    PAPER_EPSILONS,
    PAPER_METHODS,
    ROUNDS,
    UNSEEN_EPSILONS,
    UNSEEN_METHODS,
)
from dpsel.paper.comparisons import (
    COMPARED,
    claims,
    claims_summary,
    epsilon_needed,
    r_squared_row,
    unseen_means,
)
from dpsel.paper.options import Experimenting
from dpsel.paper.stability import METHODS, compared_with_sis, run_stability
from dpsel.paper.synthetic import run_synthetic
from dpsel.preprocessing.options import DEFAULT_CLIP, Scale
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.system.frames import pl
from dpsel.system.output import Output
from dpsel.system.process import reason
from dpsel.system.threads import plan_threads
from dpsel.system.workers import Workers
from dpsel.tables.bounds_file import uniform_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import FileFormat


class ResultsFolder:
    """The folder of results: writes whole files, and has the journals of unfinished experiments."""

    def __init__(self, place: Path, *, resume: bool, force: bool) -> None:
        """Create the folder if it does not exist."""
        self.place = place
        self._resume, self._force = resume, force
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{place}: cannot be made: {reason(error)}") from None

    def check_free(self, names: Sequence[str]) -> None:
        """Refuse files that exist already, before hours of work and not after."""
        for name in names:
            with Output(str(self.place / name), force=self._force):
                pass

    def journal(self, name: str, about: Mapping[str, Any]) -> Journal:
        """Return the journal of an experiment."""
        place = self.place / f"{name}.unfinished"
        return Journal(place, about, resume=self._resume, force=self._force)

    def write(self, name: str, content: bytes) -> None:
        """Write one file, whole or not at all; only the owner may read it, as it is not private."""
        with Output(str(self.place / name), force=self._force, owner_only=True) as place:
            place.write(content)

    def write_rows(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows as CSV."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self.write(name, text.getvalue().encode())

    def write_frame(self, name: str, frame: pl.DataFrame) -> None:
        """Write a table as CSV, with six decimals: more than a hundred trials can resolve."""
        self.write(name, frame.write_csv(float_precision=6).encode())


def write_beyond(folder: ResultsFolder, name: str, results: pl.DataFrame) -> None:
    """Write the mean curves of each family of methods, and the epsilon that each method needs."""
    folder.write_rows(f"{name}_epsilon_needed.csv", epsilon_needed(results))
    for family, methods in families().items():
        rows = of_methods(results, methods)
        for metric, words in COMPARED.items():
            figure = accuracy_figure(mean_over_sets(rows, metric), y_label=words)
            folder.write(f"{name}_{family}_{metric}.png", png_bytes(figure))


def families() -> dict[str, list[str]]:
    """Return the methods of each figure; DP-SIS is in all of them."""
    dp_sis, two_stage = PAPER_METHODS
    robust = [method for method in BEYOND if method.endswith("@robust")]
    kendall = [method for method in BEYOND if method.startswith("kendall/")]
    others = [method for method in BEYOND if method not in (*robust, *kendall)]
    return {
        "mechanisms": [dp_sis, two_stage, *others],
        "clipping": [dp_sis, *robust],
        "kendall": [dp_sis, *kendall, ROUNDS],
    }


def mean_over_sets(results: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return the mean over data sets of each method, k and epsilon, in the column `accuracy`.

    For accuracy there is a 95 % interval of that mean. The data sets are taken as given, so the
    interval covers the randomness of the draws alone.
    """
    sets = results["dataset"].n_unique()
    mean = pl.col(metric).mean()
    reach = 1.96 * (pl.col("accuracy_sd") ** 2 / pl.col("trials")).sum().sqrt() / pl.len()
    if metric != "accuracy":
        reach = pl.lit(0.0)
    pooled = results.group_by("method", "k_asked", "epsilon", maintain_order=True).agg(
        pl.all().exclude("method", "k_asked", "epsilon", "accuracy").first(),
        mean.alias("accuracy"),
        (mean - reach).clip(0, 1).alias("low"),
        (mean + reach).clip(0, 1).alias("high"),
    )
    named = pooled.with_columns(accuracy_low="low", accuracy_high="high")
    if sets > 1:
        none = pl.lit(None, dtype=pl.Int64)
        named = named.with_columns(
            dataset=pl.lit(f"mean of {sets} data sets"), n=none, d=none, k=none, true_size=none
        )
    return named.select(results.columns)


def paper_sweep(
    *,
    k: str,
    trials: int,
    seed: int,
    beyond: bool,
    methods: tuple[str, ...] = (),
    epsilon: str = PAPER_EPSILONS,
) -> Sweep:
    """Return a sweep under the paper's conditions.

    Columns are centered and divided by their largest absolute value, the true features are those of
    a LASSO with lambda = 0.1, neighbors add or remove one row (sensitivity 1), and two-stage has
    sqrt(n) blocks of equal size.
    """
    names = [*(methods or PAPER_METHODS), *(BEYOND if beyond else ())]
    return Sweep(
        methods=parse_methods(names),
        ks=parse_ks(k),
        epsilons=parse_epsilons(epsilon),
        trials=trials,
        seed=seed,
        truth=Truth(),
        scale=Scale.MAX_ABS,
        clip=DEFAULT_CLIP,
        neighbors=Neighbors.ADD_REMOVE,
        delta=None,
        blocks=None,
        equal_blocks=True,
    )


_ORDER_METHODS = ("dp-sis", "dot/margin-lipschitz")
_FOLDS = 5
UNSEEN_TRIALS = 10
_FEWER = 20
"""The factor by which dpkendall has fewer trials."""
_MOST_CELLS = 600_000
"""The most cells of a table for dpkendall, which compares every pick with every column."""


@frozen
class Setting:
    """What all experiments share."""

    folder: ResultsFolder
    reporter: Reporter
    trials: int
    seed: int
    threads: int
    workers: Workers
    beyond: bool
    """Whether to run the methods beyond the paper too."""


@contextmanager
def experimenting(
    asked: Experimenting, reporter: Reporter, *, trials: int = 1, beyond: bool = False
) -> Iterator[Setting]:
    """Provide what experiments need: a folder to write to, and workers."""
    check_at_least(0, asked.seed, "seed")
    scheduler = asked.scheduler()
    threads = plan_threads(asked.threads)
    folder = ResultsFolder(asked.output, resume=asked.resume, force=asked.force)
    with chosen_workers(scheduler, threads, reporter.warn) as workers:
        yield Setting(
            folder=folder,
            reporter=reporter,
            trials=trials,
            seed=asked.seed,
            threads=threads,
            workers=workers,
            beyond=beyond,
        )
        reporter.note(f"results and figures are in {asked.output}")


def everything(setting: Setting, place: str, target: str) -> None:
    """Run all experiments; the order statistics use the widest table."""
    stability(replace(setting, trials=1, beyond=False), 1000)
    synthetic(setting)
    results = datasets(setting, place, target)
    widest = results.sort("d", descending=True)["dataset"][0]
    thorough = replace(setting, trials=1000, beyond=False)
    order_statistics(thorough, str(Path(place) / f"{widest}.parquet"), target)
    unseen(replace(setting, trials=UNSEEN_TRIALS, beyond=False), place, target)


def stability(setting: Setting, repetitions: int) -> list[dict[str, Any]]:
    """Reproduce the stability experiment of section 3."""
    folder = setting.folder
    folder.check_free(["stability.csv", "stability_counts.csv", "stability.png"])
    about = {"repetitions": repetitions, "seed": setting.seed, "version": __version__}
    with folder.journal("stability", about) as journal:
        rows = run_stability(repetitions, setting.seed, journal, setting.reporter, setting.workers)
        compared = compared_with_sis(rows)
        folder.write_rows("stability.csv", compared)
        counts = [
            {"experiment": row.experiment, "method": row.method, "feature": i + 1, "chosen": count}
            for row in rows
            for i, count in enumerate(row.counts)
        ]
        folder.write_rows("stability_counts.csv", counts)
        side_by_side = sorted(rows, key=lambda row: METHODS.index(row.method))
        panels = [(f"{row.experiment}, {row.method}", row.counts) for row in side_by_side]
        title = f"How often each feature was chosen in {repetitions} repetitions; 1 to 5 are true"
        figure = frequency_bars(panels, repetitions, range(5), title, stamp=None)
        folder.write("stability.png", png_bytes(figure))
    return compared


def synthetic(setting: Setting) -> pl.DataFrame:
    """Reproduce the synthetic experiment."""
    folder = setting.folder
    folder.check_free(["synthetic.csv", "synthetic.png"])
    sweep = paper_sweep(k="5,8", trials=setting.trials, seed=setting.seed, beyond=setting.beyond)
    with folder.journal("synthetic", sweep.described()) as journal:
        rows = run_synthetic(sweep, journal, setting.reporter, setting.workers)
        results = results_frame(rows)
        folder.write_frame("synthetic.csv", results.drop("stamp"))
        figure = accuracy_figure(of_methods(results, PAPER_METHODS), stamp=None)
        folder.write("synthetic.png", png_bytes(figure))
        if setting.beyond:
            write_beyond(setting.folder, "synthetic", results)
    return results


def datasets(setting: Setting, place: str, target: str) -> pl.DataFrame:
    """Reproduce the experiments on real data, with every Parquet table of a folder."""
    folder = setting.folder
    folder.check_free(["datasets.csv", "datasets.html", "datasets_r_squared.csv"])
    paths = _tables_of(place)
    sweep = paper_sweep(k="5,logd", trials=setting.trials, seed=setting.seed, beyond=setting.beyond)
    about = {"target": target, "tables": [path.name for path in paths], **sweep.described()}
    fits: list[dict[str, Any]] = []
    with folder.journal("datasets", about) as journal:
        tables = label_tables([str(path) for path in paths], target, setting)
        sets = _noting(tables, lambda data: fits.append(r_squared_row(data)))
        found = run_sweep(sets, sweep, journal, setting.reporter, setting.workers)
        rows = list(found.results)
        if setting.beyond:
            rounds = replace(
                sweep, methods=parse_methods([ROUNDS]), trials=max(1, setting.trials // _FEWER)
            )
            small = [str(path) for path in paths if _cells(path) <= _MOST_CELLS]
            again = label_tables(small, target, setting)
            rows += run_sweep(again, rounds, journal, setting.reporter, setting.workers).results
        results = results_frame(rows)
        folder.write_frame("datasets.csv", results)
        folder.write_rows("datasets_r_squared.csv", fits)
        compared = claims(results, fits)
        folder.write_rows("datasets_claims.csv", compared)
        folder.write_rows("datasets_claims_summary.csv", claims_summary(compared))
        _write_dataset_figures(setting, sweep, results, found)
    return results


def order_statistics(setting: Setting, place: str, target: str) -> pl.DataFrame:
    """Reproduce the figure of TOP, GREAT and GOOD for k = 10."""
    folder = setting.folder
    folder.check_free(["order_statistics.csv", "order_statistics.png"])
    sweep = paper_sweep(
        k="10", trials=setting.trials, seed=setting.seed, beyond=False, methods=_ORDER_METHODS
    )
    about = {"target": target, "table": Path(place).name, **sweep.described()}
    with folder.journal("order_statistics", about) as journal:
        sets = label_tables([place], target, setting)
        rows = run_sweep(sets, sweep, journal, setting.reporter, setting.workers).results
        results = results_frame(rows)
        folder.write_frame("order_statistics.csv", results)
        folder.write("order_statistics.png", png_bytes(order_figure(results)))
    return results


def unseen(setting: Setting, place: str, target: str) -> pl.DataFrame:
    """Compare the default with the paper's method on unseen rows, for every table of a folder.

    k is 5. A ridge model is tested in 5 folds, with features selected within the training rows.
    """
    folder = setting.folder
    folder.check_free(["unseen.csv", "unseen_means.csv", "unseen.png"])
    paths = _tables_of(place)
    sweep = paper_sweep(
        k="5",
        trials=setting.trials,
        seed=setting.seed,
        beyond=False,
        methods=UNSEEN_METHODS,
        epsilon=UNSEEN_EPSILONS,
    )
    sweep = replace(sweep, unseen=_FOLDS)
    about = {"target": target, "tables": [path.name for path in paths], **sweep.described()}
    classes: dict[str, int] = {}
    with folder.journal("unseen", about) as journal:
        tables = label_tables([str(path) for path in paths], target, setting)
        sets = _noting(tables, lambda data: classes.update({data.name: data.target.classes}))
        found = run_sweep(sets, sweep, journal, setting.reporter, setting.workers)
        results = results_frame(found.results)
        folder.write_frame("unseen.csv", results)
        folder.write_rows("unseen_means.csv", unseen_means(results, classes))
        figure = accuracy_figure(unseen_curves(results), y_label="accuracy on unseen rows")
        folder.write("unseen.png", png_bytes(figure))
    return results


def _tables_of(place: str) -> list[Path]:
    """Return the Parquet tables of a folder."""
    paths = sorted(Path(place).glob("*.parquet"))
    if not paths:
        raise InputError(f"{place}: has no Parquet table")
    return paths


def of_methods(results: pl.DataFrame, methods: Sequence[str]) -> pl.DataFrame:
    """Return the results of some methods."""
    return results.filter(pl.col("method").is_in(list(methods)))


def _write_dataset_figures(
    setting: Setting, sweep: Sweep, results: pl.DataFrame, found: SweepResult
) -> None:
    """Write the curves, the heat map of each k, and the report."""
    folder = setting.folder
    paper = of_methods(results, PAPER_METHODS)
    folder.write("datasets_accuracy.png", png_bytes(accuracy_figure(paper)))
    for asked in sweep.ks:
        figure = heatmap_figure(results, *PAPER_METHODS, asked.text)
        folder.write(f"datasets_heatmap_{asked.text}.png", png_bytes(figure))
    frequencies = of_methods(frequencies_frame(found.frequencies), PAPER_METHODS)
    page = report_html(
        "The paper's experiments on real data",
        report_facts(sweep, results),
        results,
        sweep_figures(paper, frequencies),
        [],
    )
    folder.write("datasets.html", page.encode())
    if setting.beyond:
        write_beyond(setting.folder, "datasets", results)


def _cells(path: Path) -> int:
    """Return how many cells a Parquet table has."""
    rows = int(pl.scan_parquet(path).select(pl.len()).collect().item())
    return rows * len(pl.read_parquet_schema(path))


def label_tables(
    places: Sequence[str], target: str, setting: Setting
) -> list[Callable[[], EvaluationData]]:
    """Return one function per table, which reads it; labels are coded in their sorted order."""
    request = TableRequest(
        wanted=Wanted(target, (), (), labels=True),
        positive=None,
        encode=True,
        bounds=uniform_bounds(UNIT_INTERVAL),
        file_format=FileFormat(),
        threads=setting.threads,
    )
    return table_sets(named_tables(places), request, setting.reporter)


def _noting(
    sets: Sequence[Callable[[], EvaluationData]], note: Callable[[EvaluationData], None]
) -> list[Callable[[], EvaluationData]]:
    """Return functions that read the same sets, each of which `note` is called with."""

    def noted(load: Callable[[], EvaluationData]) -> EvaluationData:
        data = load()
        note(data)
        return data

    return [partial(noted, load) for load in sets]
