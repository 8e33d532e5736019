"""Heat maps of the difference between two methods: one row per data set, one column per epsilon."""

from math import ceil, isnan
from typing import Any

import numpy as np
from scipy.stats import ttest_ind_from_stats

from dpsel.core.arrays import BoolArray, FloatArray
from dpsel.errors import UsageError
from dpsel.evaluation import STAMP
from dpsel.evaluation.figures.palette import COLOURS, Theme, readable_on
from dpsel.evaluation.figures.style import (
    TEXT_SIZE,
    Axes,
    Figure,
    diverging_map,
    drawable,
    drawing,
    fitted,
    fitted_apart,
    new_figure,
    text_width,
)
from dpsel.system.frames import pl

LEVEL = 0.05
_CELL_WIDTH, _CELL_HEIGHT, _LONGEST_NAME = 0.5, 0.32, 2.4


def significant(
    means: tuple[float, float],
    deviations: tuple[float, float],
    trials: tuple[int, int],
    *,
    comparisons: int = 1,
    level: float = LEVEL,
) -> bool:
    """Return whether two means differ, by a two-sided Welch test with Bonferroni's correction.

    If neither method varied between trials, the means differ if they are not equal. With a single
    trial or a missing value the answer is False.
    """
    if min(trials) < 2 or any(isnan(value) for value in (*means, *deviations)):
        return False
    if max(deviations) == 0:
        return means[0] != means[1]
    outcome = ttest_ind_from_stats(
        means[0], deviations[0], trials[0], means[1], deviations[1], trials[1], equal_var=False
    )
    return bool(outcome.pvalue < level / comparisons)


def differences(
    results: pl.DataFrame, first: str, second: str
) -> tuple[list[str], list[float], FloatArray, BoolArray]:
    """Return data sets, epsilons, accuracy of `first` minus `second`, and where it is significant.

    A cell that one of the methods lacks is NaN.
    """
    known = results["accuracy"].is_finite().fill_null(value=False)
    rows = results.filter(known & results["method"].is_in([first, second]))
    rows = rows.with_columns(rows["accuracy_sd"].fill_null(float("nan")))
    datasets = rows["dataset"].unique(maintain_order=True).to_list()
    epsilons = rows["epsilon"].unique().sort().to_list()
    cells = {
        (row["dataset"], row["epsilon"], row["method"]): row for row in rows.iter_rows(named=True)
    }
    pairs = {
        (down, across): (cells[dataset, epsilon, first], cells[dataset, epsilon, second])
        for down, dataset in enumerate(datasets)
        for across, epsilon in enumerate(epsilons)
        if (dataset, epsilon, first) in cells and (dataset, epsilon, second) in cells
    }
    values = np.full((len(datasets), len(epsilons)), np.nan)
    marks = np.zeros(values.shape, dtype=bool)
    for place, (one, other) in pairs.items():
        values[place] = one["accuracy"] - other["accuracy"]
        marks[place] = significant(
            (one["accuracy"], other["accuracy"]),
            (one["accuracy_sd"], other["accuracy_sd"]),
            (one["trials"], other["trials"]),
            comparisons=len(pairs),
        )
    return datasets, epsilons, values, marks


def welch_words(comparisons: int) -> str:
    """Return what a dot means, and by which test."""
    cells = "1 cell" if comparisons == 1 else f"{comparisons} cells"
    return (
        "a dot marks a significant difference: two-sided Welch test at level "
        f"{LEVEL:g} / {comparisons} (Bonferroni over {cells})"
    )


def heatmap_figure(
    results: pl.DataFrame,
    first: str,
    second: str,
    k_asked: str,
    theme: Theme = Theme.LIGHT,
    *,
    stamp: str | None = STAMP,
) -> Figure:
    """Return the accuracy of `first` minus that of `second`, with a dot where it is significant.

    Args:
        results: One row per cell.
        first: The method that is better if the value is positive.
        second: The method that is better if the value is negative.
        k_asked: The k to show, as requested.
        theme: Light or dark.
        stamp: The text in the corner, or None.

    Raises:
        UsageError: If the two methods have no cell in common.
    """
    rows = results.filter(results["k_asked"] == k_asked)
    datasets, epsilons, values, marks = differences(rows, first, second)
    count = int(np.isfinite(values).sum())
    if count == 0:
        raise UsageError(f"a heat map needs results of both {first} and {second}")
    names = fitted_apart(datasets, _LONGEST_NAME)
    with drawing(theme):
        figure, ax, bar = _frame(values.shape, list(names.values()), theme, stamp)
        mesh = _colour_cells(ax, values, theme)
        _label_axes(ax, list(names.values()), epsilons)
        _fill_cells(ax, mesh, values, marks)
        _colour_bar(figure, mesh, bar)
        _words(figure, f"k = {k_asked}", (first, second), count)
    return figure


def _frame(
    shape: tuple[int, ...], names: list[str], theme: Theme, stamp: str | None
) -> tuple[Figure, Axes, Axes]:
    """Return a figure with empty axes for the cells and for the colour bar."""
    down, across = shape
    left = max(text_width(name) for name in names) + 0.16
    cell = min(1.0, max(_CELL_WIDTH, 4.4 / across))
    wide, high = across * cell, max(0.64, down * _CELL_HEIGHT)
    width, height = max(6.4, left + wide + 0.95), 0.46 + high + 0.86
    figure = new_figure(width, height, theme, title="Difference in accuracy", stamp=stamp)
    bottom = 0.86 / height
    ax = figure.add_axes((left / width, bottom, wide / width, high / height))
    bar_left = (left + wide + 0.14) / width
    bar = figure.add_axes((bar_left, bottom, 0.13 / width, high / height))
    return figure, ax, bar


def _label_axes(ax: Axes, names: list[str], epsilons: list[float]) -> None:
    """Label the rows with data sets and the columns with epsilons."""
    ax.set_yticks(np.arange(len(names)) + 0.5, names)
    ax.set_xticks(np.arange(len(epsilons)) + 0.5, [f"{epsilon:g}" for epsilon in epsilons])
    ax.tick_params(length=0, pad=4)
    ax.tick_params(axis="y", labelsize=TEXT_SIZE)
    ax.invert_yaxis()
    ax.set_xlabel("epsilon", labelpad=3)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _colour_cells(ax: Axes, values: FloatArray, theme: Theme) -> Any:
    """Colour the cells on a scale that is symmetric about 0 and ends at a multiple of 0.1."""
    limit = max(0.2, ceil(float(np.nanmax(np.abs(values))) * 10) / 10)
    return ax.pcolormesh(
        np.ma.masked_invalid(values),
        cmap=diverging_map(theme),
        vmin=-limit,
        vmax=limit,
        edgecolors=COLOURS[theme].surface,
        linewidth=1.2,
    )


def _fill_cells(ax: Axes, mesh: Any, values: FloatArray, marks: BoolArray) -> None:
    """Print each value in its cell, and a dot where it is significant."""
    dots, inks = [], []
    for (down, across), value in np.ndenumerate(values):
        if isnan(value):
            continue
        colour = mesh.cmap(mesh.norm(value))[:3]
        ink = readable_on(colour)
        mark = bool(marks[down, across])
        ax.text(
            across + 0.5,
            down + 0.54,
            # Adding 0.0 avoids "-0.00".
            _signed(f"{round(value, 2) + 0.0:.2f}"),
            ha="center",
            va="center",
            color=ink,
            size=TEXT_SIZE - 0.5,
            weight="bold" if mark else "normal",
        )
        if mark:
            dots.append((across + 0.88, down + 0.2))
            inks.append(ink)
    places = np.array(dots).reshape(-1, 2)
    ax.scatter(places[:, 0], places[:, 1], s=7, c=inks or None, linewidths=0, label="significant")


def _signed(number: str) -> str:
    """Return a number with the minus sign U+2212, which is as wide as a plus."""
    return number.replace("-", "\N{MINUS SIGN}")


def _colour_bar(figure: Figure, mesh: Any, bar: Axes) -> None:
    """Draw the colour bar."""
    limit = mesh.norm.vmax
    scale: Any = figure.colorbar(mesh, cax=bar)
    # Vector boxes rather than an embedded bitmap, which would blur when enlarged.
    scale.solids.set_rasterized(False)
    scale.solids.set_edgecolor("face")
    scale.outline.set_visible(False)
    ticks = [-limit, -limit / 2, 0.0, limit / 2, limit]
    scale.set_ticks(ticks, labels=[_signed(f"{tick:+.2g}") if tick else "0" for tick in ticks])
    bar.tick_params(length=0, pad=3)


def _words(figure: Figure, k_text: str, methods: tuple[str, str], count: int) -> None:
    """Write the heading above the cells, and the note about the test below them."""
    width, height = figure.get_size_inches()
    room = width - 0.2
    heading = "accuracy of {} minus accuracy of {}, " + k_text
    share = (room - text_width(heading, TEXT_SIZE + 1)) / 2
    first, second = (fitted(method, share, TEXT_SIZE + 1) for method in methods)
    figure.text(
        0.1 / width, 1 - 0.14 / height, heading.format(first, second), size=TEXT_SIZE + 1, va="top"
    )
    note = fitted(drawable(welch_words(count)), room, TEXT_SIZE - 0.5)
    figure.text(0.1 / width, 0.24 / height, note, size=TEXT_SIZE - 0.5, va="bottom")
