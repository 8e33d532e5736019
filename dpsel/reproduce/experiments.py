"""Running the experiments, and writing what came of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpsel import __version__
from dpsel.core.bounds import UNIT_INTERVAL
from dpsel.core.errors import InputError
from dpsel.core.evaluation.data import EvaluationData
from dpsel.core.evaluation.methods import parse_methods
from dpsel.core.evaluation.stability import METHODS
from dpsel.evaluating import TablePlan, report_facts, table_sets
from dpsel.io.bounds_file import uniform_bounds
from dpsel.io.columns import Wanted
from dpsel.io.frames import pl
from dpsel.io.journal import Journal
from dpsel.io.results import frequencies_frame, results_frame
from dpsel.reproduce import PAPER_METHODS, ROUNDS
from dpsel.reproduce.beyond import write_beyond
from dpsel.reproduce.claims import claims, claims_summary
from dpsel.reproduce.folder import ResultsFolder
from dpsel.reproduce.plans import paper_plan
from dpsel.reproduce.rsquared import r_squared_row
from dpsel.reproduce.stability import compared_with_sis, run_stability
from dpsel.reproduce.synthetic import run_synthetic
from dpsel.run import Reporter
from dpsel.sweep import SweepResult, run_sweep
from dpsel.sweep_plan import SweepPlan
from dpsel.workers import Workers

_ORDER_METHODS = ("dp-sis", "dot/margin-lipschitz")
_FEWER = 20
"""How many times fewer trials dpkendall has."""
_MOST_CELLS = 600_000
"""Larger tables are left out for dpkendall, which compares every pick with every column."""


@dataclass(frozen=True)
class Setting:
    """What all experiments share."""

    folder: ResultsFolder
    reporter: Reporter
    trials: int
    seed: int
    threads: int
    workers: Workers
    beyond: bool
    """Whether to run what goes beyond the paper."""


def stability(setting: Setting, repetitions: int) -> list[dict[str, Any]]:
    """Reproduce section 3."""
    from dpsel.io.figures import frequency_bars, png_bytes

    folder = setting.folder
    folder.check_free(["stability.csv", "stability_counts.csv", "stability.png"])
    about = {"repetitions": repetitions, "seed": setting.seed, "version": __version__}
    with _finished(folder.journal("stability", about)) as journal:
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
    from dpsel.io.figures import accuracy_figure, png_bytes

    folder = setting.folder
    folder.check_free(["synthetic.csv", "synthetic.png"])
    plan = paper_plan(k="5,8", trials=setting.trials, seed=setting.seed, beyond=setting.beyond)
    with _finished(folder.journal("synthetic", plan.described())) as journal:
        rows = run_synthetic(plan, journal, setting.reporter, setting.workers)
        results = results_frame(rows)
        folder.write_frame("synthetic.csv", results.drop("stamp"))
        figure = accuracy_figure(of_methods(results, PAPER_METHODS), stamp=None)
        folder.write("synthetic.png", png_bytes(figure))
        if setting.beyond:
            write_beyond(setting.folder, "synthetic", results)
    return results


def datasets(setting: Setting, place: str, target: str) -> pl.DataFrame:
    """Reproduce the experiments on real data: every Parquet table of a folder."""
    folder = setting.folder
    folder.check_free(["datasets.csv", "datasets.html", "datasets_r_squared.csv"])
    paths = sorted(Path(place).glob("*.parquet"))
    if not paths:
        raise InputError(f"{place}: has no Parquet table")
    plan = paper_plan(k="5,logd", trials=setting.trials, seed=setting.seed, beyond=setting.beyond)
    about = {"target": target, "tables": [path.name for path in paths], **plan.described()}
    fits: list[dict[str, Any]] = []
    with _finished(folder.journal("datasets", about)) as journal:
        sets = _noting_fits(label_tables([str(path) for path in paths], target, setting), fits)
        found = run_sweep(sets, plan, journal, setting.reporter, setting.workers)
        rows = list(found.results)
        if setting.beyond:
            rounds = replace(
                plan, methods=parse_methods([ROUNDS]), trials=max(1, setting.trials // _FEWER)
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
        _write_dataset_figures(setting, plan, results, found)
    return results


def order_statistics(setting: Setting, place: str, target: str) -> pl.DataFrame:
    """Reproduce the figure of TOP, GREAT and GOOD, k = 10."""
    from dpsel.io.figures import order_figure, png_bytes

    folder = setting.folder
    folder.check_free(["order_statistics.csv", "order_statistics.png"])
    plan = paper_plan(
        k="10", trials=setting.trials, seed=setting.seed, beyond=False, methods=_ORDER_METHODS
    )
    about = {"target": target, "table": Path(place).name, **plan.described()}
    with _finished(folder.journal("order_statistics", about)) as journal:
        sets = label_tables([place], target, setting)
        rows = run_sweep(sets, plan, journal, setting.reporter, setting.workers).results
        results = results_frame(rows)
        folder.write_frame("order_statistics.csv", results)
        folder.write("order_statistics.png", png_bytes(order_figure(results)))
    return results


def of_methods(results: pl.DataFrame, methods: Sequence[str]) -> pl.DataFrame:
    """Return the rows of some methods."""
    return results.filter(pl.col("method").is_in(list(methods)))


def _write_dataset_figures(
    setting: Setting, plan: SweepPlan, results: pl.DataFrame, found: SweepResult
) -> None:
    """Write the curves, both heat maps, and the report."""
    from dpsel.io.figures import accuracy_figure, heatmap_figure, png_bytes
    from dpsel.io.report import report_html, sweep_figures

    folder = setting.folder
    paper = of_methods(results, PAPER_METHODS)
    folder.write("datasets_accuracy.png", png_bytes(accuracy_figure(paper)))
    for asked in plan.ks:
        figure = heatmap_figure(results, *PAPER_METHODS, asked.text)
        folder.write(f"datasets_heatmap_{asked.text}.png", png_bytes(figure))
    frequencies = of_methods(frequencies_frame(found.frequencies), PAPER_METHODS)
    page = report_html(
        "The paper's experiments on real data",
        report_facts(plan, results),
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
    """Return what reads the tables, with labels coded by their order."""
    plan = TablePlan(
        wanted=Wanted(target, (), (), labels=True),
        positive=None,
        encode=True,
        bounds=uniform_bounds(UNIT_INTERVAL),
        input_format=None,
        separator=None,
        threads=setting.threads,
    )
    return table_sets(places, plan, setting.reporter)


def _noting_fits(
    sets: Sequence[Callable[[], EvaluationData]], fits: list[dict[str, Any]]
) -> list[Callable[[], EvaluationData]]:
    """Return the same sets; each one that is read has its R^2 noted."""

    def noting(load: Callable[[], EvaluationData]) -> Callable[[], EvaluationData]:
        def loaded() -> EvaluationData:
            data = load()
            fits.append(r_squared_row(data))
            return data

        return loaded

    return [noting(load) for load in sets]


@contextmanager
def _finished(journal: Journal) -> Iterator[Journal]:
    """Close a journal, and take it away once all is written."""
    try:
        yield journal
        journal.remove()
    finally:
        journal.close()
