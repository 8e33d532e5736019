"""Grids of small panels with epsilon on the horizontal axis, and one legend above them."""

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

from dpsel.evaluation.figures.palette import COLOURS, Theme
from dpsel.evaluation.figures.style import (
    TEXT_SIZE,
    Axes,
    Figure,
    drawable,
    fitted,
    fitted_apart,
    line_key,
    new_figure,
    text_width,
)
from dpsel.records import frozen

WIDEST = 4
# Width and height of a panel in inches, by the number of columns.
_SIZES = {1: (5.4, 3.3), 2: (3.5, 2.3), 3: (2.9, 2.0), 4: (2.35, 1.65)}
_LEFT, _RIGHT, _BOTTOM, _HEAD, _TICKS, _BETWEEN = 0.6, 0.2, 0.68, 0.4, 0.24, 0.25
_LEGEND_LINE, _HANDLE, _SPACE = 0.174, 0.46, 0.24


@frozen
class Title:
    """The title of a panel: the data set, and details on a second line."""

    name: str
    detail: str


@frozen
class Key:
    """One entry of a legend: its label, and matplotlib's arguments for its line."""

    label: str
    look: dict[str, Any]


def k_words(k: int, asked: str) -> str:
    """Return a text such as `k = 5`, with the rule k was computed by, if any."""
    return f"k = {k}" if asked == str(k) else f"k = {k} ({asked})"


def columns_for(count: int, together: int) -> int:
    """Return how many panels form a row, so that those of one data set stay together."""
    if count <= 3:
        return max(1, count)
    fitting = [
        width
        for width in range(WIDEST, 1, -1)
        if (width % together == 0 or together % width == 0) and (width > 2 or count <= 6)
    ]
    full = [width for width in fitting if count % width == 0]
    return (full or fitting or [WIDEST])[0]


def epsilon_panels(
    titles: Sequence[Title],
    keys: Sequence[Key],
    epsilons: Sequence[float],
    *,
    together: int,
    y_label: str,
    theme: Theme,
    label: str,
    stamp: str | None,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with an empty panel per title: log epsilon across, 0 to 1 upwards."""
    columns = columns_for(len(titles), together)
    wide, high = _SIZES[columns]
    rows = ceil(len(titles) / columns)
    high = min(high, _SIZES[WIDEST][1]) if rows > 4 else high
    width = _LEFT + columns * wide + (columns - 1) * _BETWEEN + _RIGHT
    legend = legend_height(keys, width - _LEFT)
    height = 0.12 + legend + rows * (_HEAD + high + _TICKS) - _TICKS + _BOTTOM
    figure = new_figure(width, height, theme, title=label, stamp=stamp)
    draw_legend(figure, keys, left=_LEFT, top=0.1)
    names = fitted_apart((title.name for title in titles), wide, TEXT_SIZE + 1)
    axes = []
    for place, title in enumerate(titles):
        row, column = divmod(place, columns)
        left = _LEFT + column * (wide + _BETWEEN)
        top = 0.12 + legend + row * (_HEAD + high + _TICKS) + _HEAD
        box = (left / width, 1 - (top + high) / height, wide / width, high / height)
        ax = figure.add_axes(box)
        _dress(ax, epsilons, first=column == 0, large=columns <= 2)
        head(ax, names[title.name], fitted(title.detail, wide), theme)
        axes.append(ax)
    middle = (_LEFT + (width - _RIGHT)) / 2 / width
    figure.text(middle, 0.26 / height, "epsilon (log scale)", ha="center", va="bottom")
    centre = (_BOTTOM + (height - 0.12 - legend - _HEAD)) / 2 / height
    figure.text(0.08 / width, centre, y_label, rotation=90, ha="left", va="center")
    return figure, axes


def head(ax: Axes, name: str, detail: str, theme: Theme) -> None:
    """Write the two lines of the title above a panel."""
    place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points"}
    ax.annotate(name, (0, 1), (0, 15), size=TEXT_SIZE + 1, va="bottom", **place)
    ax.annotate(detail, (0, 1), (0, 5), color=COLOURS[theme].muted, va="bottom", **place)


def _dress(ax: Axes, epsilons: Sequence[float], *, first: bool, large: bool) -> None:
    """Set the scales, ticks and grid lines of a panel."""
    ax.set_xscale("log")
    low, high = min(epsilons), max(epsilons)
    margin = (high / low) ** 0.04 if high > low else 2.0
    ax.set_xlim(low / margin, high * margin)
    ticks = epsilon_ticks(epsilons)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_ylim(-0.03, 1.04)
    shares = [0, 0.2, 0.4, 0.6, 0.8, 1] if large else [0, 0.25, 0.5, 0.75, 1]
    ax.set_yticks(shares, [f"{share:g}" for share in shares] if first else [""] * len(shares))
    ax.grid(visible=True)
    ax.tick_params(length=2.5, pad=2)


def epsilon_ticks(epsilons: Sequence[float]) -> list[float]:
    """Return a few ticks: powers of ten if there are at least three, else some of the epsilons."""
    low, high = min(epsilons), max(epsilons)
    powers = [10.0**power for power in range(ceil(log10(low)), floor(log10(high)) + 1)]
    if len(powers) >= 3:
        step = ceil(len(powers) / 6)
        return powers[::step]
    apart = log10(high / low) / 6
    ticks: list[float] = []
    for epsilon in sorted(set(epsilons)):
        if not ticks or log10(epsilon / ticks[-1]) >= apart:
            ticks.append(epsilon)
    return ticks


def legend_height(keys: Sequence[Key], width: float) -> float:
    """Return the height of a legend in inches."""
    if not keys:
        return 0.0
    return ceil(len(keys) / _legend_columns(keys, width)) * _LEGEND_LINE + 0.04


def _legend_columns(keys: Sequence[Key], width: float) -> int:
    """Return how many entries of a legend fit next to each other."""
    widths = [text_width(drawable(key.label)) + _HANDLE + _SPACE for key in keys]
    for columns in range(len(keys), 1, -1):
        # Matplotlib fills a legend column by column; the first columns get one entry more.
        rows, longer = divmod(len(keys), columns)
        ends = [(place + 1) * rows + min(place + 1, longer) for place in range(columns)]
        starts = [0, *ends[:-1]]
        if sum(max(widths[a:b]) for a, b in zip(starts, ends, strict=True)) <= width:
            return columns
    return 1


def draw_legend(
    figure: Figure, keys: Sequence[Key], *, left: float, top: float, make: Any = line_key
) -> None:
    """Draw a legend; `left` and `top` place its upper left corner, in inches."""
    if not keys:
        return
    width, height = figure.get_size_inches()
    room = width - left
    labels = [fitted(key.label, room - _HANDLE - _SPACE) for key in keys]
    figure.legend(
        handles=[make(key.look) for key in keys],
        # Matplotlib leaves out a label that starts with an underscore.
        labels=[f" {label}" if label.startswith("_") else label for label in labels],
        loc="upper left",
        bbox_to_anchor=(left / width, 1 - top / height),
        ncols=_legend_columns(keys, room),
        frameon=False,
        borderpad=0,
        borderaxespad=0,
        handlelength=2.6,
        handletextpad=0.6,
        columnspacing=1.6,
        labelspacing=0.5,
    )
