"""The report of an evaluation: one page of HTML, with the style sheet `report.css`."""

import base64
import re
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsel import __version__
from dpsel.display import safe
from dpsel.evaluation.figures.curves import accuracy_figure, order_figure
from dpsel.evaluation.figures.frequencies import MOST, frequencies_figure
from dpsel.evaluation.figures.heatmap import differences, heatmap_figure, welch_words
from dpsel.evaluation.figures.palette import MethodStyle, Theme, method_styles
from dpsel.evaluation.figures.panels import k_words
from dpsel.evaluation.figures.style import svg_text
from dpsel.evaluation.metrics import (
    ACCURACY,
    ALL,
    METRICS,
    NONE,
    REFERENCES,
    SIS,
    UNSEEN_NUMBERS,
    Metric,
)
from dpsel.preprocessing.options import Scale
from dpsel.records import frozen
from dpsel.system.page import page_html

if TYPE_CHECKING:
    import polars as pl

    from dpsel.evaluation.figures.style import Figure
    from dpsel.evaluation.request import Sweep


def sweep_notes(results: "pl.DataFrame", sweep: "Sweep") -> list[str]:
    """Return what is wrong with results: no truth to be found, or scores that tie."""
    notes = []
    empty = results.filter(results["true_size"] == 0)["dataset"].unique(maintain_order=True)
    for name in empty:
        notes.append(
            f"{name}: no feature counts as true ({sweep.truth.described()}), so every accuracy is "
            "0; try a smaller --penalty, another --truth, --bounds or --scale"
        )
    tied = results.filter(results["tied"] > 0)
    for (name, method), cells in tied.group_by("dataset", "method", maintain_order=True):
        ks = ", ".join(map(str, cells["k"].unique(maintain_order=True)))
        most = max(cells["tied"].to_list())
        notes.append(
            f"{name}: by {method} the k-th and the next score are equal, k = {ks}, in up to "
            f"{most:.0%} of the trials: there no k features are the best, and TOP is 0"
        )
    return notes


def report_facts(sweep: "Sweep", results: "pl.DataFrame") -> list[tuple[str, str]]:
    """Return what was run, for the report."""
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


# More rows than this are folded away at first.
FOLD = 60
_NONE = "\N{EN DASH}"


@frozen
class ReportColumn:
    """A column of the table of results: its heading, what it means, and its cells."""

    heading: str
    meaning: str
    cell: Callable[[dict[str, Any]], str]
    is_number: bool = True


def _decimals(name: str, places: int) -> Callable[[dict[str, Any]], str]:
    """Return a maker of cells with some decimal places; nothing to show is a dash."""

    def cell(row: dict[str, Any]) -> str:
        value = row[name]
        # NaN is the only value that differs from itself.
        return _NONE if value is None or value != value else f"{value:.{places}f}"

    return cell


def _metric_column(metric: Metric) -> ReportColumn:
    """Return the column of a metric: its value, with its interval if trials differ."""
    value, *ends = (_decimals(name, metric.digits) for name in metric.columns[:3])

    def with_interval(row: dict[str, Any]) -> str:
        low, high = (end(row) for end in ends)
        return f'{value(row)} <span class="interval">[{low}, {high}]</span>'

    return ReportColumn(
        metric.heading, metric.meaning, with_interval if metric.each_trial else value
    )


def _method(row: dict[str, Any]) -> str:
    """Return the method, and that it is not private if so."""
    tag = "" if row["private"] else ' <span class="tag">(not private)</span>'
    return f"<bdi>{safe(row['method'])}</bdi>{tag}"


def _k(row: dict[str, Any]) -> str:
    """Return k, with the rule it came from."""
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
    """Return how well a model did on unseen rows, and what that is."""
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
        _decimals(SIS, 3),
    ),
    ReportColumn(
        "all unseen",
        "The same with all features; a dash where that takes too long.",
        _decimals(ALL, 3),
    ),
    ReportColumn(
        "none unseen",
        "The same without any feature: always the most frequent class, or the mean.",
        _decimals(NONE, 3),
    ),
)


def _columns(results: "pl.DataFrame") -> tuple[ReportColumn, ...]:
    """Return the columns of the table of results."""
    return (*COLUMNS, *UNSEEN_COLUMNS) if "unseen" in results.columns else COLUMNS


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
    """Return the class of a column's cells."""
    return "number" if column.is_number else "name"


def _row(row: dict[str, Any], columns: Sequence[ReportColumn]) -> str:
    """Return one row of the results."""
    cells = (f'<td class="{_kind(column)}">{column.cell(row)}</td>' for column in columns)
    return f"<tr>{''.join(cells)}</tr>"


def _meanings(columns: Sequence[ReportColumn]) -> str:
    """Return what the columns mean."""
    entries = "\n".join(
        f"<dt>{escape(column.heading)}</dt><dd>{escape(column.meaning)}</dd>" for column in columns
    )
    return f"<h3>What the columns mean</h3>\n<dl>\n{entries}\n</dl>"


Looks = dict[Theme, dict[str, MethodStyle]]

# Bars are shown for so many data sets, and curves of one figure stand in so many panels.
MOST_DATASETS = 6
MOST_PANELS = 24
SHOWN_EPSILON = 2.0
_PAPER = ("dp-sis", "two-stage")
_IN_TABLE = "The values are in the table of all results."


@frozen
class ReportFigure:
    """A figure in both themes, with the words below it and the words in its place."""

    caption: str
    alt: str
    light_svg: str
    dark_svg: str


def report_html(
    title: str,
    facts: list[tuple[str, str]],
    results: "pl.DataFrame",
    figures: list[ReportFigure],
    notes: list[str],
    words: Sequence[str] = (),
) -> str:
    """Return a page that says it is not private, with figures, all results and notes.

    It begins with `words`, the conclusion, a sentence each. All arguments are plain text; names of
    data sets, methods and features may hold anything.
    """
    sections = [f'<p class="conclusion">{safe(sentence)}</p>' for sentence in words]
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
    """What stands above a page: whether it may be passed on."""

    head: str
    about: str
    public: bool = False


_NOT_PRIVATE = Banner(
    "Not private, not for release",
    "The numbers and figures below were computed from the data themselves, without protection: "
    "this page is for the holder of the data, and must not be passed on.",
)


def banner_page(title: str, banner: Banner, sections: Sequence[str]) -> str:
    """Return a page of sections that are HTML already; title and banner are plain text."""
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


def figure_html(figure: ReportFigure, number: int) -> str:
    """Return one figure as HTML: the light picture, or the dark one on a dark screen."""
    width, height = _pixels(figure.light_svg)
    return f"""<figure id="figure-{number}" style="--width: {width}px">
<div class="scroll" role="region" aria-label="Figure {number}" tabindex="0"><picture>
<source media="screen and (prefers-color-scheme: dark)" srcset="{_data_uri(figure.dark_svg)}">
<img src="{_data_uri(figure.light_svg)}" width="{width}" height="{height}" alt="{safe(figure.alt)}">
</picture></div>
<figcaption>Figure {number}. {safe(figure.caption)}</figcaption>
</figure>"""


def _data_uri(svg: str) -> str:
    """Return a picture as an address that holds all of it."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _pixels(svg: str) -> tuple[int, int]:
    """Return a picture's natural width and height on a page; 96 pixels are 72 points."""
    width = re.search(r'\bwidth="([\d.]+)pt"', svg)
    height = re.search(r'\bheight="([\d.]+)pt"', svg)
    if width is None or height is None:
        return 800, 600
    return round(float(width[1]) * 4 / 3), round(float(height[1]) * 4 / 3)


def sweep_figures(
    results: "pl.DataFrame", frequencies: "pl.DataFrame | None" = None
) -> list[ReportFigure]:
    """Return the standard figures of an evaluation.

    A model on unseen rows, if that was asked for; accuracy; where the first private method differs
    from the second (for the paper's two, if both are there); order curves; and the features picked
    most often.

    Args:
        results: One row a cell.
        frequencies: One row a feature, method and cell; None for no such figure.

    Raises:
        UsageError: If matplotlib is missing.
    """
    if results.is_empty():
        return []
    looks = {theme: method_styles(results, theme) for theme in Theme}
    unseen = [_unseen_figure(results)] if "unseen" in results.columns else []
    figures = [
        *unseen,
        _accuracy(results, looks),
        *_heat_maps(results),
        *_orders(results, looks),
    ]
    if frequencies is not None:
        figures += _most_picked(frequencies, looks)
    return figures


def both_themes(caption: str, alt: str, draw: Callable[[Theme], "Figure"]) -> ReportFigure:
    """Return a figure drawn in both themes."""
    light, dark = (svg_text(draw(theme)) for theme in Theme)
    return ReportFigure(caption, alt, light, dark)


def _names(values: "pl.Series") -> str:
    """Return a few names in words, and how many more there are."""
    names = values.unique(maintain_order=True).to_list()
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(names[:6]) + more


def _accuracy(results: "pl.DataFrame", looks: Looks) -> ReportFigure:
    """Return accuracy against epsilon."""
    caption = "Accuracy against epsilon: the share of the k picks that are right"
    if results["private"].any():
        caption += ", with bands of 95 % intervals"
    if not results["private"].all():
        caption += "; a dashed line is a method that is not private"
    if (results["true_size"] < results["k"]).any():
        caption += "; a dotted line is the best that can be reached where fewer than k are right"
    alt = f"Curves of accuracy against epsilon for {_names(results['method'])}. {_IN_TABLE}"
    return both_themes(
        f"{caption}.", alt, lambda theme: accuracy_figure(results, theme, styles=looks[theme])
    )


def unseen_curves(results: "pl.DataFrame") -> "pl.DataFrame":
    """Return results with those on unseen rows as their accuracy, and the references as methods.

    What is below 0, an R^2 worse than that of the mean, is drawn as 0.
    """
    from dpsel.system.frames import pl

    own = {name: pl.col(name.replace("accuracy", "unseen")).clip(0.0, 1.0) for name in _BAND}
    # Nothing here goes by a truth.
    found = [results.with_columns(true_size="k", **own)]
    for column, words in REFERENCES.items():
        value = pl.col(column).clip(0.0, 1.0)
        lines = results.unique(["dataset", "k_asked", "epsilon"], maintain_order=True)
        lines = lines.with_columns(true_size="k", method=pl.lit(words), private=pl.lit(value=False))
        found.append(lines.with_columns(**dict.fromkeys(_BAND, value)))
    return pl.concat(found).filter(pl.col("accuracy").is_not_null())


_BAND = ("accuracy", "accuracy_low", "accuracy_high")


def _unseen_figure(results: "pl.DataFrame") -> ReportFigure:
    """Return how well a model does on unseen rows, against epsilon."""
    curves = unseen_curves(results)
    measures = " and ".join(results["unseen_measure"].unique(maintain_order=True))
    caption = (
        f"A ridge model with the picks on rows that neither it nor the selection saw: {measures} "
        "against epsilon, with bands of 95 % intervals of the draws. The dashed lines are the same "
        "with the features that correlate most, without privacy, with all features and with none."
    )
    alt = f"Curves of {measures} on unseen rows for {_names(results['method'])}. {_IN_TABLE}"

    def draw(theme: Theme) -> "Figure":
        return accuracy_figure(curves, theme, y_label=f"{measures} on unseen rows")

    return both_themes(caption, alt, draw)


def compared(results: "pl.DataFrame") -> tuple[str, str] | None:
    """Return the two methods to compare: the paper's, or the first two private ones."""
    private = results.filter(results["private"])["method"].unique(maintain_order=True).to_list()
    if set(_PAPER) <= set(private):
        return _PAPER
    return (private[0], private[1]) if len(private) > 1 else None


def _heat_maps(results: "pl.DataFrame") -> list[ReportFigure]:
    """Return where two methods differ, one figure a k."""
    pair = compared(results)
    if pair is None:
        return []
    figures = []
    for asked, rows in _by_k(results):
        count = int(np.isfinite(differences(rows, *pair)[2]).sum())
        if count == 0:
            continue
        caption = (
            f"Accuracy of {pair[0]} minus that of {pair[1]}, k = {asked}; {welch_words(count)}."
        )
        alt = f"Table of differences in accuracy of {pair[0]} and {pair[1]}. {_IN_TABLE}"

        def draw(theme: Theme, asked: str = asked) -> "Figure":
            return heatmap_figure(results, *pair, asked, theme)

        figures.append(both_themes(caption, alt, draw))
    return figures


def _by_k(results: "pl.DataFrame") -> list[tuple[str, "pl.DataFrame"]]:
    """Return the results of every k that was asked for."""
    parts = results.partition_by("k_asked", maintain_order=True)
    return [(part["k_asked"][0], part) for part in parts]


def _orders(results: "pl.DataFrame", looks: Looks) -> list[ReportFigure]:
    """Return TOP, GREAT and GOOD: one figure, or one a k if that had too many panels."""
    private = results.filter(results["private"])
    if private.is_empty():
        return []
    panels = private.select("dataset", "k_asked", "method").n_unique()
    parts = _by_k(private) if panels > MOST_PANELS else [("", private)]
    figures = []
    for asked, rows in parts:
        which = f", k = {asked}" if asked else ""
        caption = (
            f"Shares of trials that were TOP, GREAT and GOOD against epsilon{which}: how near the "
            "picks were to the best scores. What the words mean stands below the table."
        )
        alt = f"Curves of TOP, GREAT and GOOD for {_names(rows['method'])}. {_IN_TABLE}"

        def draw(theme: Theme, rows: "pl.DataFrame" = rows) -> "Figure":
            return order_figure(rows, theme, styles=looks[theme])

        figures.append(both_themes(caption, alt, draw))
    return figures


def _most_picked(frequencies: "pl.DataFrame", looks: Looks) -> list[ReportFigure]:
    """Return the features picked most often on the first data sets, near epsilon 2."""
    picked = frequencies.filter(frequencies["share"] > 0)
    figures = []
    for rows in picked.partition_by("dataset", maintain_order=True)[:MOST_DATASETS]:
        dataset, asked = rows["dataset"][0], rows["k_asked"][0]
        rows = rows.filter(rows["k_asked"] == asked)
        epsilon = min(rows["epsilon"].unique(), key=lambda one: (abs(one - SHOWN_EPSILON), one))
        cell = f"{dataset}, {k_words(rows['k'][0], asked)}, epsilon = {epsilon:g}"
        caption = (
            f"The {MOST} features picked most often by each method: {cell}. Full bars are features "
            "that count as right, pale bars are others."
        )
        alt = f"Bars of how often features were picked by {_names(rows['method'])}: {cell}."

        def draw(theme: Theme, rows: "pl.DataFrame" = rows, epsilon: float = epsilon) -> "Figure":
            name, asked = rows["dataset"][0], rows["k_asked"][0]
            return frequencies_figure(rows, name, asked, epsilon, theme, styles=looks[theme])

        figures.append(both_themes(caption, alt, draw))
    return figures
