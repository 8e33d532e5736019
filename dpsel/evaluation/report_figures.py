"""The figures of a report: which ones an evaluation gets, and their captions."""

from collections.abc import Callable

import numpy as np

from dpsel.evaluation.figures.curves import accuracy_figure, order_figure
from dpsel.evaluation.figures.frequencies import MOST, frequencies_figure
from dpsel.evaluation.figures.heatmap import differences, heatmap_figure, welch_words
from dpsel.evaluation.figures.palette import MethodStyle, Theme, method_styles
from dpsel.evaluation.figures.panels import k_words
from dpsel.evaluation.figures.style import Figure, svg_text
from dpsel.evaluation.metrics import REFERENCES
from dpsel.evaluation.report import ReportFigure
from dpsel.system.frames import pl

Looks = dict[Theme, dict[str, MethodStyle]]

# At most this many data sets get a bar chart, and one figure of curves has this many panels.
MOST_DATASETS = 6
MOST_PANELS = 24
SHOWN_EPSILON = 2.0
_PAPER = ("dp-sis", "two-stage")
_IN_TABLE = "The values are in the table of all results."


def sweep_figures(
    results: pl.DataFrame, frequencies: pl.DataFrame | None = None
) -> list[ReportFigure]:
    """Return the standard figures of an evaluation.

    These are a model on unseen rows, if that was tested; accuracy; where the first private method
    differs from the second (or the paper's two methods, if both were run); order curves; and the
    features picked most often.

    Args:
        results: One row per cell.
        frequencies: One row per feature, method and cell; None for no such figure.
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


def both_themes(caption: str, alt: str, draw: Callable[[Theme], Figure]) -> ReportFigure:
    """Return a figure drawn in both themes."""
    light, dark = (svg_text(draw(theme)) for theme in Theme)
    return ReportFigure(caption, alt, light, dark)


def _names(values: pl.Series) -> str:
    """Return the first six names, and how many more there are."""
    names = values.unique(maintain_order=True).to_list()
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(names[:6]) + more


def _accuracy(results: pl.DataFrame, looks: Looks) -> ReportFigure:
    """Return the figure of accuracy against epsilon."""
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


def unseen_curves(results: pl.DataFrame) -> pl.DataFrame:
    """Return the results on unseen rows in the column `accuracy`, with the references as methods.

    Values below 0, an R^2 worse than that of the mean, are drawn as 0.
    """
    own = {name: pl.col(name.replace("accuracy", "unseen")).clip(0.0, 1.0) for name in _BAND}
    # Set to k, so that no line for the best that can be reached is drawn: there is no truth here.
    found = [results.with_columns(true_size="k", **own)]
    for column, words in REFERENCES.items():
        value = pl.col(column).clip(0.0, 1.0)
        lines = results.unique(["dataset", "k_asked", "epsilon"], maintain_order=True)
        lines = lines.with_columns(true_size="k", method=pl.lit(words), private=pl.lit(value=False))
        found.append(lines.with_columns(**dict.fromkeys(_BAND, value)))
    return pl.concat(found).filter(pl.col("accuracy").is_not_null())


_BAND = ("accuracy", "accuracy_low", "accuracy_high")


def _unseen_figure(results: pl.DataFrame) -> ReportFigure:
    """Return the figure of a model's accuracy on unseen rows against epsilon."""
    curves = unseen_curves(results)
    measures = " and ".join(results["unseen_measure"].unique(maintain_order=True))
    caption = (
        f"A ridge model with the picks on rows that neither it nor the selection saw: {measures} "
        "against epsilon, with bands of 95 % intervals of the draws. The dashed lines are the same "
        "with the features that correlate most, without privacy, with all features and with none."
    )
    alt = f"Curves of {measures} on unseen rows for {_names(results['method'])}. {_IN_TABLE}"

    def draw(theme: Theme) -> Figure:
        return accuracy_figure(curves, theme, y_label=f"{measures} on unseen rows")

    return both_themes(caption, alt, draw)


def compared(results: pl.DataFrame) -> tuple[str, str] | None:
    """Return the two methods to compare: the paper's, or else the first two private ones."""
    private = results.filter(results["private"])["method"].unique(maintain_order=True).to_list()
    if set(_PAPER) <= set(private):
        return _PAPER
    return (private[0], private[1]) if len(private) > 1 else None


def _heat_maps(results: pl.DataFrame) -> list[ReportFigure]:
    """Return heat maps of where two methods differ, one figure per k."""
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

        def draw(theme: Theme, asked: str = asked) -> Figure:
            return heatmap_figure(results, *pair, asked, theme)

        figures.append(both_themes(caption, alt, draw))
    return figures


def _by_k(results: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return every requested k with its results."""
    parts = results.partition_by("k_asked", maintain_order=True)
    return [(part["k_asked"][0], part) for part in parts]


def _orders(results: pl.DataFrame, looks: Looks) -> list[ReportFigure]:
    """Return TOP, GREAT and GOOD in one figure, or one per k if that had too many panels."""
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

        def draw(theme: Theme, rows: pl.DataFrame = rows) -> Figure:
            return order_figure(rows, theme, styles=looks[theme])

        figures.append(both_themes(caption, alt, draw))
    return figures


def _most_picked(frequencies: pl.DataFrame, looks: Looks) -> list[ReportFigure]:
    """Return bar charts of the features picked most often near epsilon 2, for some data sets."""
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

        def draw(theme: Theme, rows: pl.DataFrame = rows, epsilon: float = epsilon) -> Figure:
            name, asked = rows["dataset"][0], rows["k_asked"][0]
            return frequencies_figure(rows, name, asked, epsilon, theme, styles=looks[theme])

        figures.append(both_themes(caption, alt, draw))
    return figures
