"""The report of an evaluation: one HTML page, styled by `report.css`."""

import base64
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

from dpsel import __version__
from dpsel.display import safe
from dpsel.evaluation.metrics import (
    ACCURACY,
    BY_ALL,
    BY_NONE,
    BY_SIS,
    METRICS,
    UNSEEN_NUMBERS,
    Metric,
)
from dpsel.preprocessing.options import Scale
from dpsel.records import frozen
from dpsel.system.text import page_html

if TYPE_CHECKING:
    from dpsel.evaluation.request import Sweep
    from dpsel.system.frames import pl


def report_facts(sweep: "Sweep", results: "pl.DataFrame") -> list[tuple[str, str]]:
    """Return the settings of a sweep, as name and value, for the report."""
    sets = results.select("dataset", "n", "d").unique(maintain_order=True).rows()
    scaling = "by their bounds" if sweep.scale is Scale.NONE else str(sweep.scale)
    if sweep.scale is Scale.ROBUST:
        scaling += f", clipped at {sweep.clip:g}"
    return [
        ("data", "; ".join(f"{name} ({n} rows, {d} features)" for name, n, d in sets)),
        ("methods", ", ".join(method.name for method in sweep.methods)),
        ("k", ", ".join(asked.text for asked in sweep.ks)),
        ("epsilon", ", ".join(f"{epsilon:g}" for epsilon in sweep.epsilons)),
        ("trials in each cell", str(sweep.trials)),
        ("true features", sweep.truth.described()),
        ("scaling", scaling),
        ("neighbors", str(sweep.neighbors)),
        ("blocks of two-stage", str(sweep.blocks or "the square root of the number of rows")),
        *([("folds of unseen rows", str(sweep.unseen))] if sweep.unseen else []),
        ("seed", str(sweep.seed)),
        ("dpsel", __version__),
    ]


# A table with more rows than this is collapsed at first.
FOLD = 60
_DASH = "\N{EN DASH}"


@frozen
class ReportColumn:
    """A column of the table of results: its heading, its meaning, and a function for its cells."""

    heading: str
    meaning: str
    cell: Callable[[dict[str, Any]], str]
    is_number: bool = True


def _decimals(name: str, places: int) -> Callable[[dict[str, Any]], str]:
    """Return a function that formats a cell with some decimal places, or a dash if it is empty."""

    def cell(row: dict[str, Any]) -> str:
        value = row[name]
        # NaN is the only value that differs from itself.
        return _DASH if value is None or value != value else f"{value:.{places}f}"

    return cell


def _metric_column(metric: Metric) -> ReportColumn:
    """Return the column of a metric: its value, with an interval if every trial has a value."""
    value, *ends = (_decimals(name, metric.digits) for name in metric.columns[:3])

    def with_interval(row: dict[str, Any]) -> str:
        low, high = (end(row) for end in ends)
        return f'{value(row)} <span class="interval">[{low}, {high}]</span>'

    return ReportColumn(
        metric.heading, metric.meaning, with_interval if metric.each_trial else value
    )


def _method(row: dict[str, Any]) -> str:
    """Return the method, marked if it is not private."""
    tag = "" if row["private"] else ' <span class="tag">(not private)</span>'
    return f"<bdi>{safe(row['method'])}</bdi>{tag}"


def _k(row: dict[str, Any]) -> str:
    """Return k, with the rule it was computed by, if any."""
    asked = row["k_asked"]
    return f"{row['k']}" if asked == str(row["k"]) else f"{row['k']} ({safe(asked)})"


COLUMNS = (
    ReportColumn("data set", "The table that was used.", lambda row: _bdi(row["dataset"]), False),
    ReportColumn("n", "Rows of the table.", lambda row: f"{row['n']:,}"),
    ReportColumn("d", "Features to choose from.", lambda row: f"{row['d']:,}"),
    ReportColumn("method", "How features were picked.", _method, False),
    ReportColumn(
        "k", "Features picked in each trial; a rule in brackets says where k is from.", _k
    ),
    ReportColumn(
        "epsilon",
        "The privacy budget of one trial; smaller is more private. It means nothing for a method "
        "that is not private.",
        lambda row: f"{row['epsilon']:g}",
    ),
    ReportColumn("trials", "How often the pick was repeated.", lambda row: f"{row['trials']:,}"),
    ReportColumn("truth", "How many features count as right.", lambda row: f"{row['true_size']:,}"),
    *(_metric_column(metric) for metric in METRICS),
)


def _unseen(row: dict[str, Any]) -> str:
    """Return how well a model did on unseen rows, with the measure if it is not accuracy."""
    value, low, high = (_decimals(name, 3)(row) for name in UNSEEN_NUMBERS[:3])
    of = "" if row["unseen_measure"] == ACCURACY else f" {row['unseen_measure']}"
    return f'{value}{of} <span class="interval">[{low}, {high}]</span>'


UNSEEN_COLUMNS = (
    ReportColumn(
        "on unseen rows [95 %]",
        "What a ridge model with the picks does on rows that neither it nor the selection saw: "
        "the share of rows whose class it tells, or R^2 of a number. The mean over the trials, "
        "and its 95 % interval for the draws; the folds are taken as given.",
        _unseen,
    ),
    ReportColumn(
        "SIS unseen",
        "The same with the k features that correlate most in the training rows, without privacy.",
        _decimals(BY_SIS, 3),
    ),
    ReportColumn(
        "all unseen",
        "The same with all features; a dash where that takes too long.",
        _decimals(BY_ALL, 3),
    ),
    ReportColumn(
        "none unseen",
        "The same without any feature: always the most frequent class, or the mean.",
        _decimals(BY_NONE, 3),
    ),
)


def _columns(results: "pl.DataFrame") -> tuple[ReportColumn, ...]:
    """Return the columns of the table of results."""
    return (*COLUMNS, *UNSEEN_COLUMNS) if "unseen" in results.columns else COLUMNS


def _bdi(name: str) -> str:
    """Return a name isolated in `<bdi>`, so that it cannot reverse the text around it."""
    return f"<bdi>{safe(name)}</bdi>"


def facts_table(facts: list[tuple[str, str]]) -> str:
    """Return the settings as a table, one per row."""
    rows = "\n".join(
        f'<tr><th scope="row">{safe(name)}</th><td>{safe(value)}</td></tr>' for name, value in facts
    )
    return f'<h2>What was run</h2>\n<table class="facts"><tbody>\n{rows}\n</tbody></table>'


def results_table(results: "pl.DataFrame") -> str:
    """Return the table of all results, collapsed if it is long, and what its columns mean."""
    columns = _columns(results)
    head = "".join(
        f'<th scope="col" class="{_kind(column)}">{escape(column.heading)}</th>'
        for column in columns
    )
    rows = "\n".join(_row(row, columns) for row in results.iter_rows(named=True))
    table = (
        '<div class="results" role="region" aria-label="All results" tabindex="0"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
    )
    if results.height > FOLD:
        table = f"<details><summary>Show all {results.height:,} rows</summary>\n{table}\n</details>"
    meanings = _meanings(columns)
    return f'<section class="wide">\n<h2>All results</h2>\n{table}\n</section>\n{meanings}'


def _kind(column: ReportColumn) -> str:
    """Return the CSS class of a column's cells."""
    return "number" if column.is_number else "name"


def _row(row: dict[str, Any], columns: Sequence[ReportColumn]) -> str:
    """Return one row of the results."""
    cells = (f'<td class="{_kind(column)}">{column.cell(row)}</td>' for column in columns)
    return f"<tr>{''.join(cells)}</tr>"


def _meanings(columns: Sequence[ReportColumn]) -> str:
    """Return the meanings of the columns as a list."""
    entries = "\n".join(
        f"<dt>{escape(column.heading)}</dt><dd>{escape(column.meaning)}</dd>" for column in columns
    )
    return f"<h3>What the columns mean</h3>\n<dl>\n{entries}\n</dl>"


@frozen
class ReportFigure:
    """A figure in both themes, with its caption and its alternative text."""

    caption: str
    alt: str
    light_svg: str
    dark_svg: str


def figure_html(figure: ReportFigure, number: int) -> str:
    """Return a figure as HTML: the light picture, or the dark one on a dark screen."""
    width, height = _pixels(figure.light_svg)
    return f"""<figure id="figure-{number}" style="--width: {width}px">
<div class="scroll" role="region" aria-label="Figure {number}" tabindex="0"><picture>
<source media="screen and (prefers-color-scheme: dark)" srcset="{_data_uri(figure.dark_svg)}">
<img src="{_data_uri(figure.light_svg)}" width="{width}" height="{height}" alt="{safe(figure.alt)}">
</picture></div>
<figcaption>Figure {number}. {safe(figure.caption)}</figcaption>
</figure>"""


def _data_uri(svg: str) -> str:
    """Return a picture as a data URI."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _pixels(svg: str) -> tuple[int, int]:
    """Return the width and height of a picture in CSS pixels; 96 pixels are 72 points."""
    width = re.search(r'\bwidth="([\d.]+)pt"', svg)
    height = re.search(r'\bheight="([\d.]+)pt"', svg)
    if width is None or height is None:
        return 800, 600
    return round(float(width[1]) * 4 / 3), round(float(height[1]) * 4 / 3)


def report_html(
    title: str,
    facts: list[tuple[str, str]],
    results: "pl.DataFrame",
    figures: list[ReportFigure],
    notes: list[str],
    conclusions: Sequence[str] = (),
) -> str:
    """Return the page: a banner that it is not private, conclusions, notes, figures and results.

    All arguments are plain text; the names of data sets, methods and features may contain anything.
    """
    sections = [f'<p class="conclusion">{safe(sentence)}</p>' for sentence in conclusions]
    sections.append(facts_table(facts))
    if notes:
        items = "\n".join(f"<li>{safe(note)}</li>" for note in notes)
        sections.append(f"<h2>Notes</h2>\n<ul>\n{items}\n</ul>")
    if figures:
        sections.append("<h2>Figures</h2>")
        sections += [figure_html(figure, number) for number, figure in enumerate(figures, start=1)]
    sections.append(results_table(results))
    return banner_page(title, _NOT_PRIVATE, sections)


@frozen
class Banner:
    """The box at the top of a page, which says whether it may be passed on."""

    head: str
    about: str
    public: bool = False


_NOT_PRIVATE = Banner(
    "Not private, not for release",
    "The numbers and figures below were computed from the data themselves, without protection: "
    "this page is for the holder of the data, and must not be passed on.",
)


def banner_page(title: str, banner: Banner, sections: Sequence[str]) -> str:
    """Return a page. The sections are HTML already; title and banner are plain text."""
    style = Template(files("dpsel.evaluation").joinpath("report.css").read_text("utf-8"))
    kind = "banner public" if banner.public else "banner"
    lines = [
        f'<div class="{kind}" role="note"><div>',
        f"<strong>{safe(banner.head)}</strong>",
        f"<p>{safe(banner.about)}</p>",
        "</div></div>",
        *("<main>", f"<h1>{safe(title)}</h1>", *sections, "</main>"),
    ]
    return page_html(title, style.substitute(stamp=banner.head.lower()), "\n".join(lines))
