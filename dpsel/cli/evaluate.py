"""The command `dpsel evaluate`."""

import sys
from dataclasses import replace
from typing import Annotated

import typer

from dpsel.budget.place import NAME_VARIABLE, ledger_from_environment
from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, Terminal
from dpsel.cli.terminal import TerminalReporter
from dpsel.cluster.place import Place
from dpsel.evaluation.options import (
    AssumedBounding,
    Comparison,
    Conditions,
    EvaluatedColumns,
    Grid,
    ResultsWriting,
    Sweeping,
)
from dpsel.system.process import take_interrupts_back
from dpsel.tables.formats import FileFormat

TablesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help="One or more tables, each a separate data set.",
        show_default=False,
    ),
]


@form
def evaluate(
    tables: TablesArgument,
    comparison: Comparison,
    conditions: Conditions,
    columns: EvaluatedColumns,
    grid: Grid,
    bounding: AssumedBounding,
    file_format: FileFormat,
    sweeping: Sweeping,
    place: Place,
    writing: ResultsWriting,
    terminal: Terminal,
    config: ConfigFile,
) -> None:
    """Try private selection on your own data: what does each method find at each epsilon?

    For the data holder only: nothing that it prints or writes is differentially private. It runs
    every method many times for every k and epsilon, and compares the picks with features taken as
    true. Tables that do not fit in memory are kept in temporary files.

    Example: dpsel evaluate data.parquet --target y --k 5 --epsilon 0.1:20:log12 --report r.html

    On a cluster: dpsel evaluate data.parquet --target y --k 5 --cluster slurm --workers 20
    """
    from dpsel.cli.results import show_results
    from dpsel.evaluation.data import named_tables
    from dpsel.evaluation.request import make_evaluate_request
    from dpsel.evaluation.run import open_evaluation

    take_interrupts_back()
    request = make_evaluate_request(
        columns, grid, comparison, conditions, bounding, file_format, sweeping
    )
    scheduler = place.scheduler()
    if not writing.places and not (sys.stdout is None or sys.stdout.isatty()):
        writing = replace(writing, output="-")
    reporter = TerminalReporter(
        quiet=terminal.quiet, bar=not terminal.no_progress, work="evaluating"
    )
    named = named_tables(tables)
    with open_evaluation(named, request, writing, resume=sweeping.resume) as evaluation:
        with reporter:
            outcome = evaluation.run(scheduler, reporter)
            reporter.note("this is not private: nothing of it is for release")
            if ledger_from_environment() is not None:
                reporter.note(f"{NAME_VARIABLE} is not charged: an evaluation releases nothing")
        show_results(outcome.results, reporter)
        evaluation.write(outcome)
