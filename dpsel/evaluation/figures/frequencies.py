"""Bar charts of how often each feature was picked."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np

from dpsel.errors import UsageError
from dpsel.evaluation import STAMP
from dpsel.evaluation.figures.palette import COLOURS, MethodStyle, Theme, method_styles, mixed
from dpsel.evaluation.figures.panels import WIDEST, Key, draw_legend, k_words
from dpsel.evaluation.figures.style import (
    TEXT_SIZE,
    Axes,
    Figure,
    drawing,
    fitted,
    fitted_apart,
    new_figure,
    patch_key,
    text_width,
)
from dpsel.system.frames import pl

MOST = 20
_LONGEST_NAME = 1.5
_TOP, _BAR, _BARS_WIDE, _HEAD, _FOOT = 0.56, 0.18, 1.9, 0.3, 0.36


def frequencies_figure(
    frequencies: pl.DataFrame,
    dataset: str,
    k_asked: str,
    epsilon: float,
    theme: Theme = Theme.LIGHT,
    *,
    styles: Mapping[str, MethodStyle] | None = None,
    stamp: str | None = STAMP,
) -> Figure:
    """Return the 20 features that each method picked most often, one panel per method.

    Solid bars are true features, pale bars are others.

    Args:
        frequencies: One row per feature, method and cell.
        dataset: The data set to show.
        k_asked: The k to show, as requested.
        epsilon: The epsilon to show.
        theme: Light or dark.
        styles: The style of every method, if other figures share it.
        stamp: The text in the corner, or None.

    Raises:
        UsageError: If there is no such cell.
    """
    styles = styles or method_styles(frequencies, theme)
    cell = (frequencies["dataset"] == dataset) & (frequencies["k_asked"] == k_asked)
    shown = frequencies.filter(cell & (frequencies["epsilon"] == epsilon))
    shown = shown.filter(shown["share"] > 0)
    if shown.is_empty():
        raise UsageError(f"no feature was picked with k {k_asked} at epsilon {epsilon:g}")
    panels = [most_picked(rows) for rows in shown.partition_by("method", maintain_order=True)]
    heading = f"{k_words(shown['k'][0], k_asked)}, epsilon = {epsilon:g}"
    with drawing(theme):
        figure, axes = _bar_frames(panels, dataset, heading, theme, stamp)
        for ax, rows in zip(axes, panels, strict=True):
            _draw_picked(ax, rows, styles[rows["method"][0]].colour, theme)
    return figure


def most_picked(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the features picked most often; of equal shares, the first columns."""
    return rows.sort(["share", "position"], descending=[True, False]).head(MOST)


def _labels(rows: pl.DataFrame) -> list[str]:
    """Return shortened names of features, with the position if two would look the same."""
    short = [fitted(name, _LONGEST_NAME) for name in rows["feature"]]
    labels = []
    for name, label, position in zip(rows["feature"], short, rows["position"], strict=True):
        number = f" #{position}"
        room = _LONGEST_NAME - text_width(number)
        labels.append(label if short.count(label) == 1 else fitted(name, room) + number)
    return labels


def _bar_look(colour: str, theme: Theme, *, true: bool) -> dict[str, Any]:
    """Return the style of a bar: solid for a true feature, else pale with an outline."""
    if true:
        return {"facecolor": colour, "edgecolor": colour, "linewidth": 0.6}
    surface = COLOURS[theme].surface
    edge = mixed(colour, surface, 0.65)
    return {"facecolor": mixed(colour, surface, 0.15), "edgecolor": edge, "linewidth": 0.6}


def _bar_frames(
    panels: Sequence[pl.DataFrame], dataset: str, heading: str, theme: Theme, stamp: str | None
) -> tuple[Figure, list[Axes]]:
    """Return a figure with an empty panel for every method."""
    columns = min(len(panels), WIDEST)
    label = max(text_width(name) for rows in panels for name in _labels(rows)) + 0.14
    bars = _BARS_WIDE if columns > 1 else 4.0
    deep = _BAR * max(rows.height for rows in panels)
    across, down = label + bars + 0.18, _HEAD + deep + _FOOT
    width = max(5.0, columns * across + 0.15)
    height = _TOP + ceil(len(panels) / columns) * down + 0.28
    figure = new_figure(width, height, theme, title="Features picked", stamp=stamp)
    name = fitted(dataset, width - 0.3 - text_width(heading, TEXT_SIZE + 1), TEXT_SIZE + 1)
    _heading(figure, f"{name}, {heading}", COLOURS[theme].ink, theme)
    names = fitted_apart((rows["method"][0] for rows in panels), across - 0.25, TEXT_SIZE + 0.5)
    axes = []
    for index, rows in enumerate(panels):
        row, column = divmod(index, columns)
        left, top = 0.05 + column * across + label, _TOP + row * down + _HEAD
        own = _BAR * rows.height
        box = (left / width, 1 - (top + own) / height, bars / width, own / height)
        ax = figure.add_axes(box)
        look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
        offset = (72 * (0.06 - label), 5)
        title = names[rows["method"][0]]
        ax.annotate(title, (0, 1), offset, size=TEXT_SIZE + 0.5, va="bottom", **look)
        axes.append(ax)
    return figure, axes


def _draw_picked(ax: Axes, rows: pl.DataFrame, colour: str, theme: Theme) -> None:
    """Draw one method's bars, the longest on top."""
    for index, (share, true) in enumerate(zip(rows["share"], rows["is_true"], strict=True)):
        ax.barh(index, share, height=0.72, **_bar_look(colour, theme, true=true))
    ax.set_ylim(rows.height - 0.5, -0.5)
    ax.set_yticks(range(rows.height), _labels(rows))
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_xlabel("share of trials", labelpad=1)
    ax.grid(visible=True, axis="x")
    ax.tick_params(length=0, pad=3)
    ax.spines["bottom"].set_visible(False)


def frequency_bars(
    panels: Sequence[tuple[str, Sequence[int]]],
    repetitions: int,
    true_positions: Sequence[int],
    title: str,
    theme: Theme = Theme.LIGHT,
    *,
    stamp: str | None = STAMP,
) -> Figure:
    """Return how often each feature was picked, one panel for every (title, counts).

    Args:
        panels: Titles with counts, one count per feature; two panels form a row.
        repetitions: How many runs were counted.
        true_positions: Positions of the true features, from 0; they are drawn as numbers from 1.
        title: The title of the figure.
        theme: Light or dark.
        stamp: The text in the corner, or None.
    """
    colour = COLOURS[theme].methods[0]
    columns = min(2, len(panels))
    wide, high, left, down = 3.6 if columns > 1 else 6.0, 1.7, 0.66, 2.35
    width = left + columns * (wide + 0.3)
    height = _TOP + ceil(len(panels) / columns) * down + 0.25
    with drawing(theme):
        figure = new_figure(width, height, theme, title="Occurrences", stamp=stamp)
        _heading(figure, fitted(title, width - 0.3, TEXT_SIZE + 1), colour, theme)
        for index, (name, counts) in enumerate(panels):
            row, column = divmod(index, columns)
            bottom = _TOP + row * down + 0.24 + high
            corner = ((left + column * (wide + 0.3)) / width, 1 - bottom / height)
            ax = figure.add_axes((*corner, wide / width, high / height))
            _draw_counts(ax, np.asarray(counts), true_positions, colour, theme)
            ax.set_title(fitted(name, wide), loc="left", pad=4, size=TEXT_SIZE + 0.5)
            ax.set_ylim(0, repetitions * 1.03)
            _label_left(ax, f"picked, of {repetitions}", first=column == 0)
    return figure


def _label_left(ax: Axes, words: str, *, first: bool) -> None:
    """Label the vertical axis of the first panel of a row only."""
    ax.set_ylabel(words if first else "")
    ax.tick_params(labelleft=first)


def _heading(figure: Figure, words: str, colour: str, theme: Theme) -> None:
    """Write the heading of a figure, and below it the legend of solid and pale bars."""
    width, height = figure.get_size_inches()
    figure.text(0.1 / width, 1 - 0.1 / height, words, size=TEXT_SIZE + 1, va="top")
    keys = [
        Key("in the truth", _bar_look(colour, theme, true=True)),
        Key("not in the truth", _bar_look(colour, theme, true=False)),
    ]
    draw_legend(figure, keys, left=0.1, top=0.34, make=patch_key)


def _draw_counts(
    ax: Axes, counts: Any, true_positions: Sequence[int], colour: str, theme: Theme
) -> None:
    """Draw the bars of one panel over the numbers of the features."""
    places = np.arange(len(counts))
    true = np.isin(places, np.asarray(true_positions, dtype=int))
    for which in (True, False):
        look = _bar_look(colour, theme, true=which)
        ax.bar(places[true == which] + 1, counts[true == which], width=0.8, **look)
    ax.set_xlim(0, len(counts) + 1)
    ax.set_xlabel("feature", labelpad=1)
    step = max(1, ceil(len(counts) / 50) * 10) if len(counts) > 10 else 1
    ax.set_xticks([1, *range(step, len(counts) + 1, step)] if step > 1 else places + 1)
    ax.grid(visible=True, axis="y")
    ax.tick_params(length=2.5, pad=2)
