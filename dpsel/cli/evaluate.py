"""`dpsel evaluate`."""

import sys
from pathlib import Path
from typing import Any

from dpsel.cli import cluster_options, preprocess_options
from dpsel.cli import evaluate_options as own
from dpsel.cli import shared_options as options
from dpsel.cli.terminal import TerminalReporter
from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError
from dpsel.evaluation.results import ResultsFormat, results_format_of
from dpsel.preprocessing.options import DEFAULT_CLIP, Scale


def evaluate(
    tables: own.Tables,
    target: options.Target,
    k: own.Ks,
    epsilon: own.Epsilons = "0.1:20:log12",
    trials: own.Trials = 100,
    method: own.Methods = [],  # noqa: B006
    truth: own.TruthOption = "lasso",
    penalty: own.Penalty = 0.1,
    scale: own.ScaleOption = Scale.NONE,
    clip: preprocess_options.Clip = DEFAULT_CLIP,
    blocks: own.Blocks = None,
    delta: options.Delta = None,
    neighbors: options.NeighborsOption = Neighbors.ADD_REMOVE,
    features: options.Features = [],  # noqa: B006
    exclude: options.Exclude = [],  # noqa: B006
    positive: options.Positive = None,
    encode_target: preprocess_options.EncodeTarget = False,
    bounds: options.BoundsFile = None,
    lower: options.Lower = None,
    upper: options.Upper = None,
    input_format: options.InputFormatOption = None,
    separator: options.Separator = None,
    seed: own.SweepSeed = 0,
    threads: own.SweepThreads = None,
    cluster: cluster_options.ClusterOption = None,
    workers: cluster_options.ClusterWorkers = None,
    resume: own.Resume = False,
    output: own.ResultsPlace = None,
    results_format: own.ResultsFormatOption = None,
    report: own.Report = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_progress: options.NoProgress = False,
    debug: options.Debug = False,
) -> None:
    """Try private selection on your own data: what would a method find at which epsilon?

    For the data's holder only: nothing of what it prints or writes is private. It runs every
    method for every k and epsilon many times, and compares the picks with features taken as true.
    Tables that do not fit in memory are kept in temporary files.

    Example: dpsel evaluate data.parquet --target y --k 5 --epsilon 0.1:20:log12 --report r.html

    On a cluster: dpsel evaluate data.parquet --target y --k 5 --cluster slurm --workers 20
    """
    from dpsel.cluster.place import Place
    from dpsel.evaluation.request import make_evaluate_plan
    from dpsel.system.process import take_interrupts_back

    take_interrupts_back()
    plan = make_evaluate_plan(
        target=target,
        k=k,
        epsilon=epsilon,
        trials=trials,
        methods=method,
        truth=truth,
        penalty=penalty,
        scale=scale,
        clip=clip,
        blocks=blocks,
        delta=delta,
        neighbors=neighbors,
        features=features,
        exclude=exclude,
        positive=positive,
        encode_target=encode_target,
        bounds=bounds,
        lower=lower,
        upper=upper,
        input_format=input_format,
        separator=separator,
        seed=seed,
        threads=threads,
    )
    place = Place(cluster=cluster, workers=workers).scheduler()
    if output is None and report is None and not (sys.stdout is None or sys.stdout.isatty()):
        output = "-"
    written = _format(output, results_format)
    reporter = TerminalReporter(quiet=quiet, bar=not no_progress, work="evaluating")
    _run(tables, plan, place, output, written, report, reporter, resume=resume, force=force)


def _format(output: str | None, asked: ResultsFormat | None) -> ResultsFormat:
    """Return the format of the results."""
    if asked is not None:
        return asked
    return ResultsFormat.JSON if output in (None, "-") else results_format_of(Path(output).name)


def _run(
    tables: list[str],
    plan: Any,
    cluster: Any,
    output: str | None,
    written: ResultsFormat,
    report: str | None,
    reporter: TerminalReporter,
    *,
    resume: bool,
    force: bool,
) -> None:
    """Sweep, and write what was asked for."""
    from dpsel.budget.place import NAME_VARIABLE, ledger_from_environment
    from dpsel.cli.terminal import show_results
    from dpsel.cluster.connection import chosen_workers
    from dpsel.evaluation.data import table_sets
    from dpsel.evaluation.journal import Journal
    from dpsel.evaluation.report import sweep_notes
    from dpsel.evaluation.results import frequencies_frame, results_bytes, results_frame
    from dpsel.evaluation.sweep import run_sweep
    from dpsel.system.output import Output
    from dpsel.tables.sources import input_files, public_place, refuse_part

    inputs = [path for table in tables for path in input_files(table)]
    places = [place for place in (output, report) if place is not None]
    for place in places:
        for table in tables:
            refuse_part(table, place)
        # Said before the sweep, not after it. Nothing is left behind if it is killed.
        with Output(place, force=force, inputs=inputs):
            pass
    if report is not None:
        from dpsel.evaluation.figures.style import load_matplotlib

        load_matplotlib()
    about = {
        "tables": [public_place(table) for table in tables],
        "target": plan.tables.wanted.target,
        **plan.sweep.described(),
    }
    journal = Journal(_journal_place(places, resume), about, resume=resume, force=force)
    try:
        with reporter:
            sets = table_sets(tables, plan.tables, reporter)
            with chosen_workers(cluster, plan.tables.threads, reporter.warn) as workers:
                found = run_sweep(sets, plan.sweep, journal, reporter, workers)
            results = results_frame(found.results)
            notes = [*found.notes, *sweep_notes(results, plan.sweep)]
            for note in notes:
                reporter.note(note)
            reporter.note("this is not private: nothing of it is for release")
            if ledger_from_environment() is not None:
                reporter.note(f"{NAME_VARIABLE} is not charged: an evaluation releases nothing")
        frequencies = frequencies_frame(found.frequencies)
        show_results(results, reporter)
        if report is not None:
            page = _page(plan, results, frequencies, notes)
            with Output(report, force=force, inputs=inputs, owner_only=True) as page_file:
                page_file.write(page.encode())
        if output is not None:
            content = results_bytes(results, frequencies, about, written)
            with Output(output, force=force, inputs=inputs, owner_only=True) as results_file:
                results_file.write(content)
        journal.remove()
    finally:
        journal.close()


def _journal_place(places: list[str], resume: bool) -> Path | None:
    """Return where an unfinished sweep is kept: beside the first file that will be written."""
    from dpsel.system.output import is_plain

    for place in places:
        if is_plain(place):
            return Path(f"{place}.unfinished")
    if resume:
        raise UsageError("--resume needs --output FILE or --report FILE: a run is kept beside it")
    return None


def _page(plan: Any, results: Any, frequencies: Any, notes: list[str]) -> str:
    """Return the report."""
    from dpsel.evaluation.report import report_facts, report_html, sweep_figures

    facts = report_facts(plan.sweep, results)
    return report_html(
        "Private feature selection, evaluated",
        facts,
        results,
        sweep_figures(results, frequencies),
        notes,
    )
