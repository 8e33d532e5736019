"""The colours of both themes, and the style of each method; nothing here needs matplotlib."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dpsel.records import frozen

if TYPE_CHECKING:
    from dpsel.system.frames import pl

Rgb = tuple[float, float, float]


class Theme(StrEnum):
    """Dark lines on white, or light lines on a dark page."""

    LIGHT = "light"
    DARK = "dark"


@frozen
class Colours:
    """The colours of one theme.

    The colours in `methods` can be told apart by colour-blind readers too, and have a contrast of
    at least 3:1 to the surface. They come from a search with simulated colour blindness.
    """

    surface: str
    ink: str
    muted: str
    grid: str
    methods: tuple[str, ...]
    second_better: str
    even: str
    first_better: str


COLOURS = {
    Theme.LIGHT: Colours(
        surface="#FFFFFF",
        ink="#1B1F24",
        muted="#57606A",
        grid="#E3E7EB",
        methods=("#0072B2", "#D55E00", "#299E83", "#6F0349", "#8F7CF0", "#B61F84", "#12089B"),
        second_better="#C25400",
        even="#F6F7F8",
        first_better="#0067A3",
    ),
    Theme.DARK: Colours(
        surface="#16181C",
        ink="#E8EAED",
        muted="#A9B1BA",
        grid="#32373E",
        methods=("#66B2CC", "#F7A206", "#94FA7B", "#F24D77", "#EBBEFD", "#C935C9", "#6973F7"),
        second_better="#F7A206",
        even="#262A30",
        first_better="#66B2CC",
    ),
}
# 9 markers and 7 colours have no common factor, so there are 63 different pairs.
_MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">")
_DASHES = ((6.0, 3.0), (2.5, 2.0), (8.0, 2.0, 2.0, 2.0), (4.0, 1.5))
# The paper's two methods look the same in every figure, whatever else is drawn.
_FIXED = {"dp-sis": 0, "two-stage": 1}


@frozen
class MethodStyle:
    """How a method is drawn; one that is not private has dashes and no marker."""

    colour: str
    marker: str = ""
    dashes: tuple[float, ...] | None = None

    def line(self) -> dict[str, Any]:
        """Return matplotlib's arguments for a line of this method."""
        look: dict[str, Any] = {"color": self.colour, "linewidth": 1.4}
        if self.dashes is not None:
            return look | {"linestyle": (0, self.dashes)}
        return look | {"marker": self.marker, "markersize": 4.5, "markeredgewidth": 0}


def method_styles(results: "pl.DataFrame", theme: Theme) -> dict[str, MethodStyle]:
    """Return a colour and a marker for every method, in the order of the results.

    A frame without the column `private` holds private methods only.
    """
    names = results["method"].unique(maintain_order=True).to_list()
    private = names
    if "private" in results.columns:
        protected = set(results.filter(results["private"])["method"].to_list())
        private = [name for name in names if name in protected]
    styles = _private_styles(private, theme)
    others = [name for name in names if name not in styles]
    for place, name in enumerate(others):
        dashes = _DASHES[place % len(_DASHES)]
        styles[name] = MethodStyle(COLOURS[theme].ink, dashes=dashes)
    return styles


def _private_styles(names: Sequence[str], theme: Theme) -> dict[str, MethodStyle]:
    """Return fixed styles for the paper's methods, and the remaining styles for the others."""
    colours = COLOURS[theme].methods
    taken = {_FIXED[name] for name in names if name in _FIXED}
    free = (place for place in range(len(names) + len(_FIXED)) if place not in taken)
    styles = {}
    for name in names:
        place = _FIXED[name] if name in _FIXED else next(free)
        colour, marker = colours[place % len(colours)], _MARKERS[place % len(_MARKERS)]
        styles[name] = MethodStyle(colour, marker=marker)
    return styles


def rgb(colour: str) -> Rgb:
    """Return the parts of a colour such as `#0072B2`, each from 0 to 1."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue


def mixed(colour: str, ground: str, share: float) -> Rgb:
    """Return a mixture of a colour, with weight `share`, and the background."""
    pairs = zip(rgb(colour), rgb(ground), strict=True)
    red, green, blue = (share * strong + (1 - share) * weak for strong, weak in pairs)
    return red, green, blue


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast ratio of two colours, from 1 to 21, as WCAG 2 defines it."""
    lesser, greater = sorted((_luminance(one), _luminance(other)))
    return (greater + 0.05) / (lesser + 0.05)


def readable_on(colour: Rgb) -> str:
    """Return dark or light ink, whichever is easier to read on a colour."""
    inks = COLOURS[Theme.LIGHT].ink, COLOURS[Theme.LIGHT].surface
    return max(inks, key=lambda ink: contrast(rgb(ink), colour))


def _luminance(colour: Rgb) -> float:
    """Return a colour's relative luminance, as WCAG 2 defines it."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
