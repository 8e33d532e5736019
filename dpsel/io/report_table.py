"""The tables of a report, as HTML; every name in them is escaped."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from dpsel.io.figures.names import printable

if TYPE_CHECKING:
    from dpsel.io.frames import pl

# More rows than this are folded away at first.
FOLD = 60
_NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class Column:
    """A column of the table of results: its heading, what it means, and its cells."""

    heading: str
    meaning: str
    cell: Callable[[dict[str, Any]], str]
    is_number: bool = True


def safe(text: str) -> str:
    """Return any text as HTML, on one line."""
    return escape(printable(text))


def _decimals(name: str, places: int) -> Callable[[dict[str, Any]], str]:
    """Return a maker of cells with some decimal places; nothing to show is a dash."""

    def cell(row: dict[str, Any]) -> str:
        value = row[name]
        # NaN is the only value that differs from itself.
        return _NONE if value is None or value != value else f"{value:.{places}f}"

    return cell


def _accuracy(row: dict[str, Any]) -> str:
    """Return the accuracy with its interval."""
    mean, low, high = (
        _decimals(name, 3)(row) for name in ("accuracy", "accuracy_low", "accuracy_high")
    )
    return f'{mean} <span class="interval">[{low}, {high}]</span>'


def _method(row: dict[str, Any]) -> str:
    """Return the method, and that it is not private if so."""
    tag = "" if row["private"] else ' <span class="tag">(not private)</span>'
    return f"<bdi>{safe(row['method'])}</bdi>{tag}"


def _k(row: dict[str, Any]) -> str:
    """Return k, with the rule it came from."""
    asked = row["k_asked"]
    return f"{row['k']}" if asked == str(row["k"]) else f"{row['k']} ({safe(asked)})"


COLUMNS = (
    Column("data set", "The table that was used.", lambda row: _bdi(row["dataset"]), False),
    Column("n", "Rows of the table.", lambda row: f"{row['n']:,}"),
    Column("d", "Features to choose from.", lambda row: f"{row['d']:,}"),
    Column("method", "How features were picked.", _method, False),
    Column("k", "Features picked in each trial; a rule in brackets says where k is from.", _k),
    Column(
        "epsilon",
        "The privacy budget of one trial; smaller is more private. It means nothing for a method "
        "that is not private.",
        lambda row: f"{row['epsilon']:g}",
    ),
    Column("trials", "How often the pick was repeated.", lambda row: f"{row['trials']:,}"),
    Column("truth", "How many features count as right.", lambda row: f"{row['true_size']:,}"),
    Column(
        "accuracy [95 %]",
        "Share of the k picks that are right: the mean over the trials, and its 95 % interval.",
        _accuracy,
    ),
    Column(
        "TOP",
        "Share of trials with exactly the k best scores. Equal scores have no order: here, in "
        "GREAT and in GOOD a trial counts only if it would in every order of them.",
        _decimals("top", 2),
    ),
    Column(
        "GREAT",
        "Share of trials with all of the best k/10 scores, and the rest from the best 11k/10.",
        _decimals("great", 2),
    ),
    Column(
        "GOOD",
        "Share of trials with all of the best k/100 scores, and the rest from the best 3k/2.",
        _decimals("good", 2),
    ),
    Column(
        "tied",
        "Share of trials in which the k-th and the next score are equal, so that no k features are "
        "the best.",
        _decimals("tied", 2),
    ),
    Column(
        "relative correlation",
        "Mean strength of the picks' correlation with the target, divided by the largest mean that "
        "k features can have; 1 is best.",
        _decimals("relative_correlation", 3),
    ),
    Column(
        "Jaccard",
        "How alike two trials are: features that both picked, divided by features that either did, "
        "as a mean over all pairs of trials. It says nothing about the truth.",
        _decimals("jaccard", 3),
    ),
    Column(
        "bound",
        "What theory promises for TOP: at least this share. A dash where it says nothing.",
        _decimals("bound", 3),
    ),
)


def _bdi(name: str) -> str:
    """Return a name that cannot turn the text around it."""
    return f"<bdi>{safe(name)}</bdi>"


def facts_table(facts: list[tuple[str, str]]) -> str:
    """Return what was run, one fact a row."""
    rows = "\n".join(
        f'<tr><th scope="row">{safe(name)}</th><td>{safe(value)}</td></tr>' for name, value in facts
    )
    return f'<h2>What was run</h2>\n<table class="facts"><tbody>\n{rows}\n</tbody></table>'


def results_table(results: "pl.DataFrame") -> str:
    """Return all results and what the columns mean; a long table is folded away at first."""
    head = "".join(
        f'<th scope="col" class="{_kind(column)}">{escape(column.heading)}</th>'
        for column in COLUMNS
    )
    rows = "\n".join(_row(row) for row in results.iter_rows(named=True))
    table = (
        '<div class="results" role="region" aria-label="All results" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )
    if results.height > FOLD:
        table = f"<details><summary>Show all {results.height:,} rows</summary>\n{table}\n</details>"
    return f'<section class="wide">\n<h2>All results</h2>\n{table}\n</section>\n{_meanings()}'


def _kind(column: Column) -> str:
    """Return the class of a column's cells."""
    return "number" if column.is_number else "name"


def _row(row: dict[str, Any]) -> str:
    """Return one row of the results."""
    cells = (f'<td class="{_kind(column)}">{column.cell(row)}</td>' for column in COLUMNS)
    return f"<tr>{''.join(cells)}</tr>"


def _meanings() -> str:
    """Return what the columns mean."""
    entries = "\n".join(
        f"<dt>{escape(column.heading)}</dt><dd>{escape(column.meaning)}</dd>" for column in COLUMNS
    )
    return f"<h3>What the columns mean</h3>\n<dl>\n{entries}\n</dl>"
