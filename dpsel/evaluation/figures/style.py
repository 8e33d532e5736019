"""What all figures share: settings of matplotlib, the stamp, texts that fit, reproducible files."""

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes as Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure as Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.textpath import text_to_path

from dpsel.display import printable
from dpsel.evaluation.figures.palette import COLOURS, Theme

FONT = "DejaVu Sans"
TEXT_SIZE = 8.0
_STAMP_ID = "stamp"


def _settings(theme: Theme) -> dict[str, Any]:
    """Return matplotlib's settings for a theme."""
    colours = COLOURS[theme]
    return {
        "font.family": FONT,
        "font.size": TEXT_SIZE,
        "axes.labelsize": TEXT_SIZE,
        "xtick.labelsize": TEXT_SIZE - 0.5,
        "ytick.labelsize": TEXT_SIZE - 0.5,
        "legend.fontsize": TEXT_SIZE,
        "text.color": colours.ink,
        "axes.labelcolor": colours.ink,
        "axes.edgecolor": colours.muted,
        "xtick.color": colours.muted,
        "ytick.color": colours.muted,
        "grid.color": colours.grid,
        "grid.linewidth": 0.7,
        "axes.linewidth": 0.7,
        "xtick.major.width": 0.7,
        "ytick.major.width": 0.7,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": colours.surface,
        "figure.facecolor": colours.surface,
        # Dollar signs in a name must not start a formula.
        "text.parse_math": False,
        # Text as outlines looks the same on machines without the font.
        "svg.fonttype": "path",
        "svg.hashsalt": "dpsel",
    }


@contextmanager
def drawing(theme: Theme) -> Iterator[None]:
    """Use the settings of a theme, whatever the user's own matplotlib settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = matplotlib.rcParams
        settings.update(_settings(theme))
        yield


def new_figure(
    width: float, height: float, theme: Theme, *, title: str, stamp: str | None
) -> Figure:
    """Return an empty figure, its size in inches, with the stamp in the lower right corner."""
    figure = Figure(figsize=(width, height))
    figure.set_label(title)
    if stamp is not None:
        place = (1 - 0.08 / width, 0.07 / height)
        look: dict[str, Any] = {"ha": "right", "va": "bottom", "size": 6.5, "gid": _STAMP_ID}
        figure.text(*place, stamp, color=COLOURS[theme].muted, **look)
    return figure


def stamp_of(figure: Figure) -> str | None:
    """Return the stamp of a figure, or None."""
    stamps = [text.get_text() for text in figure.texts if text.get_gid() == _STAMP_ID]
    return stamps[0] if stamps else None


def diverging_map(theme: Theme) -> Any:
    """Return the colour map from `second_better` through `even` to `first_better`."""
    colours = COLOURS[theme]
    steps = [colours.second_better, colours.even, colours.first_better]
    return LinearSegmentedColormap.from_list("dpsel", steps)


def line_key(look: Mapping[str, Any]) -> Any:
    """Return a line for a legend."""
    return Line2D([], [], **look)


def patch_key(look: Mapping[str, Any]) -> Any:
    """Return a filled box for a legend."""
    return Patch(**look)


@lru_cache(maxsize=1)
def letters() -> frozenset[int]:
    """Return the code points that the font can draw."""
    return frozenset(font_manager.get_font(font_manager.findfont(FONT)).get_charmap())


@lru_cache(maxsize=1 << 14)
def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """Return the width of a line of text in inches."""
    font = FontProperties(family=FONT, size=size)
    points: float = text_to_path.get_text_width_height_descent(text, font, False)[0]
    return points / 72


def svg_text(figure: Figure) -> str:
    """Return a figure as SVG, the same text for the same figure."""
    content = io.StringIO()
    metadata = {"Date": None, "Creator": "dpsel", **_description(figure, "Description")}
    with drawing(Theme.LIGHT):
        figure.savefig(content, format="svg", metadata=metadata)
    return content.getvalue()


def png_bytes(figure: Figure) -> bytes:
    """Return a figure as PNG, the same bytes for the same figure."""
    content = io.BytesIO()
    metadata = {"Software": None, **_description(figure, "Comment")}
    with drawing(Theme.LIGHT):
        figure.savefig(content, format="png", dpi=200, metadata=metadata)
    return content.getvalue()


def _description(figure: Figure, stamp_field: str) -> dict[str, str]:
    """Return the metadata of an image file: its title, and the stamp."""
    stamp = stamp_of(figure)
    title = {"Title": str(figure.get_label())}
    return title if stamp is None else {**title, stamp_field: stamp}


# Labels are cut to this length first, as measuring a name of a megabyte would take long.
_LONGEST = 200


def drawable(text: str) -> str:
    """Return a text with characters of the figures' font only; others are escaped."""
    known = letters()
    signs = printable(_cut(text, _LONGEST))
    return "".join(sign if ord(sign) in known else _spelled(sign) for sign in signs)


def fitted(text: str, inches: float, size: float = TEXT_SIZE) -> str:
    """Return a text no wider than some inches, shortened in the middle if needed."""
    signs = drawable(text)
    if text_width(signs, size) <= inches:
        return signs
    least, most = 0, len(signs)
    while most - least > 1:
        middle = (least + most) // 2
        if text_width(_cut(signs, middle), size) <= inches:
            least = middle
        else:
            most = middle
    return _cut(signs, max(1, least))


def fitted_apart(names: Iterable[str], inches: float, size: float = TEXT_SIZE) -> dict[str, str]:
    """Return names that fit, numbered if two of them would look the same."""
    names = list(dict.fromkeys(names))
    short = {name: fitted(name, inches, size) for name in names}
    if len(set(short.values())) == len(names):
        return short
    numbered = {name: f"{place}: " for place, name in enumerate(names, start=1)}
    return {
        name: number + fitted(name, inches - text_width(number, size), size)
        for name, number in numbered.items()
    }


def _cut(text: str, length: int) -> str:
    """Return a text of at most `length` characters that keeps both ends."""
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return text[: length - 1 - tail] + "…" + text[len(text) - tail :]


def _spelled(sign: str) -> str:
    """Return a character as an escape sequence."""
    return sign.encode("unicode_escape").decode()
