"""Curves against epsilon: accuracy, and the order statistics TOP, GREAT and GOOD."""

from collections.abc import Mapping
from typing import Any

from dpsel.errors import UsageError
from dpsel.evaluation import STAMP
from dpsel.evaluation.figures.palette import COLOURS, MethodStyle, Theme, method_styles
from dpsel.evaluation.figures.panels import Key, Title, epsilon_panels, k_words
from dpsel.evaluation.figures.style import Axes, Figure, drawing
from dpsel.system.frames import pl

BEST = "best that can be reached"
_PANEL = ["dataset", "k_asked"]


def accuracy_figure(
    results: pl.DataFrame,
    theme: Theme = Theme.LIGHT,
    *,
    y_label: str = "accuracy",
    styles: Mapping[str, MethodStyle] | None = None,
    stamp: str | None = STAMP,
) -> Figure:
    """Return accuracy with its 95 % interval against epsilon.

    A method that is not private is a horizontal dashed line. If fewer than k features are true, a
    dotted line shows the best accuracy that can be reached.

    Args:
        results: One row per cell.
        theme: Light or dark.
        y_label: The name of what the column `accuracy` holds.
        styles: The style of every method, if other figures share it.
        stamp: The text in the corner, or None.
    """
    styles = styles or method_styles(results, theme)
    cells = results.partition_by(_PANEL, maintain_order=True)
    with drawing(theme):
        figure, axes = epsilon_panels(
            [_title(panel) for panel in cells],
            _keys(results, styles, theme),
            results["epsilon"].unique().sort().to_list(),
            together=results["k_asked"].n_unique(),
            y_label=y_label,
            theme=theme,
            label="Accuracy against epsilon",
            stamp=stamp,
        )
        for ax, panel in zip(axes, cells, strict=True):
            _draw_best(ax, panel, theme)
            for rows in panel.partition_by("method", maintain_order=True):
                _draw_method(ax, rows, styles[rows["method"][0]])
    return figure


def _title(panel: pl.DataFrame) -> Title:
    """Return the title of a panel: data set, k, n and d."""
    first = panel.row(0, named=True)
    # A mean over several data sets has no n and d, and possibly no k.
    words = [
        f"k = {first['k_asked']}" if first["k"] is None else k_words(first["k"], first["k_asked"])
    ]
    words += [f"{name} = {first[name]:,}" for name in ("n", "d") if first[name] is not None]
    return Title(first["dataset"], ", ".join(words))


def _keys(results: pl.DataFrame, styles: Mapping[str, MethodStyle], theme: Theme) -> list[Key]:
    """Return the legend: every method, and the dotted line if there is one."""
    names = results["method"].unique(maintain_order=True)
    keys = [Key(name, styles[name].line()) for name in names]
    if (results["true_size"] < results["k"]).any():
        keys.append(Key(BEST, _dotted(theme)))
    return keys


def _dotted(theme: Theme) -> dict[str, Any]:
    """Return the style of the line for the best that can be reached."""
    return {"color": COLOURS[theme].muted, "linewidth": 1.0, "linestyle": ":"}


def _draw_best(ax: Axes, panel: pl.DataFrame, theme: Theme) -> None:
    """Draw the best that can be reached, if that is less than 1."""
    k, true_size = panel["k"][0], panel["true_size"][0]
    if k is not None and true_size < k:
        ax.axhline(true_size / k, label=BEST, **_dotted(theme))


def _draw_method(ax: Axes, rows: pl.DataFrame, style: MethodStyle) -> None:
    """Draw one method's curve and band."""
    name = rows["method"][0]
    if not rows["private"][0]:
        # Its accuracy is the same at every epsilon.
        ax.axhline(rows["accuracy"][0], label=name, **style.line())
        return
    rows = rows.sort("epsilon")
    epsilon = rows["epsilon"].to_numpy()
    low, high = rows["accuracy_low"].to_numpy(), rows["accuracy_high"].to_numpy()
    ax.fill_between(epsilon, low, high, color=style.colour, alpha=0.18, linewidth=0)
    ax.plot(epsilon, rows["accuracy"].to_numpy(), label=name, clip_on=False, **style.line())


_RANK_PANEL = ["dataset", "k_asked", "method"]
# GOOD is drawn first, with the largest markers, so that overlapping curves can all be seen.
_LOOKS: dict[str, dict[str, Any]] = {
    "good": {"linestyle": (0, (1.2, 1.2)), "marker": "^", "markersize": 7},
    "great": {"linestyle": (0, (4, 1.6)), "marker": "s", "markersize": 5},
    "top": {"linestyle": "-", "marker": "o", "markersize": 3},
}


def order_figure(
    results: pl.DataFrame,
    theme: Theme = Theme.LIGHT,
    *,
    styles: Mapping[str, MethodStyle] | None = None,
    stamp: str | None = STAMP,
) -> Figure:
    """Return the shares of trials that were TOP, GREAT and GOOD, one panel per private method.

    Args:
        results: One row per cell; methods that are not private are left out.
        theme: Light or dark.
        styles: The style of every method, if other figures share it.
        stamp: The text in the corner, or None.

    Raises:
        UsageError: If no method is private.
    """
    styles = styles or method_styles(results, theme)
    results = results.filter(results["private"])
    if results.is_empty():
        raise UsageError("order curves need a private method; there is none in the results")
    cells = results.partition_by(_RANK_PANEL, maintain_order=True)
    with drawing(theme):
        figure, axes = epsilon_panels(
            [_rank_title(panel) for panel in cells],
            _rank_keys(theme),
            results["epsilon"].unique().sort().to_list(),
            together=results["method"].n_unique(),
            y_label="share of trials",
            theme=theme,
            label="TOP, GREAT and GOOD against epsilon",
            stamp=stamp,
        )
        for ax, panel in zip(axes, cells, strict=True):
            _draw(ax, panel.sort("epsilon"), styles[panel["method"][0]].colour, theme)
    return figure


def _rank_title(panel: pl.DataFrame) -> Title:
    """Return the title of a panel: data set, method and k."""
    first = panel.row(0, named=True)
    return Title(first["dataset"], f"{first['method']}, {k_words(first['k'], first['k_asked'])}")


def _rank_keys(theme: Theme) -> list[Key]:
    """Return the legend of the three lines."""
    ink, surface = COLOURS[theme].ink, COLOURS[theme].surface
    return [Key(name.upper(), _look(name, ink, surface)) for name in reversed(_LOOKS)]


def _look(name: str, colour: str, surface: str) -> dict[str, Any]:
    """Return matplotlib's arguments for one of the three lines; only TOP has filled markers."""
    fill = colour if name == "top" else surface
    common = {"color": colour, "linewidth": 1.2, "markeredgewidth": 0.9, "markerfacecolor": fill}
    return _LOOKS[name] | common


def _draw(ax: Axes, rows: pl.DataFrame, colour: str, theme: Theme) -> None:
    """Draw the three curves of one panel."""
    epsilon = rows["epsilon"].to_numpy()
    for name in _LOOKS:
        look = _look(name, colour, COLOURS[theme].surface)
        ax.plot(epsilon, rows[name].to_numpy(), label=name.upper(), clip_on=False, **look)
