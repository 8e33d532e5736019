"""How well the best scores were found: TOP, GREAT and GOOD against epsilon."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dpsel.core.errors import UsageError
from dpsel.io.figures.palette import COLOURS, MethodStyle, Theme
from dpsel.io.figures.panels import Key, Title, epsilon_panels, k_words
from dpsel.io.figures.style import STAMP, drawing, method_styles

if TYPE_CHECKING:
    from dpsel.io.figures.style import Axes, Figure
    from dpsel.io.frames import pl

_PANEL = ["dataset", "k_asked", "method"]
# GOOD is drawn first and largest, so that curves on top of each other can all be seen.
_LOOKS: dict[str, dict[str, Any]] = {
    "good": {"linestyle": (0, (1.2, 1.2)), "marker": "^", "markersize": 7},
    "great": {"linestyle": (0, (4, 1.6)), "marker": "s", "markersize": 5},
    "top": {"linestyle": "-", "marker": "o", "markersize": 3},
}


def order_figure(
    results: "pl.DataFrame",
    theme: Theme = Theme.LIGHT,
    *,
    styles: Mapping[str, MethodStyle] | None = None,
    stamp: str | None = STAMP,
) -> "Figure":
    """Return the shares of trials that were TOP, GREAT and GOOD, one panel a private method.

    Args:
        results: One row a cell; methods that are not private are left out.
        theme: Light or dark.
        styles: The look of every method, if other figures share it.
        stamp: The text in the corner, None for none.

    Raises:
        UsageError: If no method is private.
    """
    styles = styles or method_styles(results, theme)
    results = results.filter(results["private"])
    if results.is_empty():
        raise UsageError("order curves need a private method; there is none in the results")
    cells = results.partition_by(_PANEL, maintain_order=True)
    with drawing(theme):
        figure, axes = epsilon_panels(
            [_title(panel) for panel in cells],
            _keys(theme),
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


def _title(panel: "pl.DataFrame") -> Title:
    """Return what a panel shows."""
    first = panel.row(0, named=True)
    return Title(first["dataset"], f"{first['method']}, {k_words(first['k'], first['k_asked'])}")


def _keys(theme: Theme) -> list[Key]:
    """Return the legend of the three lines."""
    ink, surface = COLOURS[theme].ink, COLOURS[theme].surface
    return [Key(name.upper(), _look(name, ink, surface)) for name in reversed(_LOOKS)]


def _look(name: str, colour: str, surface: str) -> dict[str, Any]:
    """Return the arguments of one of the three lines; only TOP's markers are filled."""
    fill = colour if name == "top" else surface
    common = {"color": colour, "linewidth": 1.2, "markeredgewidth": 0.9, "markerfacecolor": fill}
    return _LOOKS[name] | common


def _draw(ax: "Axes", rows: "pl.DataFrame", colour: str, theme: Theme) -> None:
    """Draw the three curves of one panel."""
    epsilon = rows["epsilon"].to_numpy()
    for name in _LOOKS:
        look = _look(name, colour, COLOURS[theme].surface)
        ax.plot(epsilon, rows[name].to_numpy(), label=name.upper(), clip_on=False, **look)
