"""The results of `dpsel evaluate` as tables, on stderr only."""

import sys
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from dpsel.cli.terminal import TerminalReporter
from dpsel.display import printable
from dpsel.evaluation.metrics import REFERENCES
from dpsel.evaluation.results import conclusions


def show_results(results: Any, reporter: TerminalReporter) -> None:
    """Print results on stderr if it is a terminal: conclusions, and tables per data set and k."""
    if reporter.quiet or sys.stderr is None or not sys.stderr.isatty():
        return
    console = Console(stderr=True)
    for sentence in conclusions(results.iter_rows(named=True)):
        console.print(printable(sentence), markup=False, highlight=False)
    for (dataset, k), cells in results.group_by("dataset", "k", maintain_order=True):
        of = f"{printable(dataset)}, k = {k}"
        console.print(_results_table(cells, "accuracy", f"{of}: accuracy", {}))
        if "unseen" in results.columns:
            what = f"{of}: {cells['unseen_measure'][0]} of a model on unseen rows"
            console.print(_results_table(cells, "unseen", what, REFERENCES))


def _results_table(cells: Any, metric: str, title: str, references: Mapping[str, str]) -> Any:
    """Return a table of one metric for all methods and references, one row per epsilon."""
    table = Table(title=f"{title}; not private, not for release", title_justify="left")
    table.add_column("epsilon", justify="right")
    methods = cells["method"].unique(maintain_order=True).to_list()
    for name in (*methods, *references.values()):
        table.add_column(printable(name), justify="right", overflow="fold")
    for (epsilon,), line in cells.group_by("epsilon", maintain_order=True):
        rows = line.to_dicts()
        by_method = {row["method"]: _share(row, metric) for row in rows}
        compared = (_decimals(rows[0][name]) for name in references)
        table.add_row(f"{epsilon:g}", *(by_method[method] for method in methods), *compared)
    return table


def _share(cell: dict[str, Any], metric: str) -> str:
    """Return a metric with its interval."""
    value, low, high = (_decimals(cell[f"{metric}{end}"]) for end in ("", "_low", "_high"))
    return f"{value} \\[{low}, {high}]" if cell["private"] else value


def _decimals(value: float | None) -> str:
    """Return a number with two decimals, or a dash for None."""
    return "\N{EN DASH}" if value is None else f"{round(value, 2) + 0.0:.2f}"
