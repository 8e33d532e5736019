"""Names in figures: data sets and columns may be called anything, and are never too long."""

from collections.abc import Iterable

from dpsel.io.figures.style import TEXT_SIZE, letters, text_width

# No label shows more than this; measuring a name of a megabyte would take long.
_LONGEST = 200


def printable(text: str) -> str:
    """Return a text on one line: line breaks, controls and turns of direction are spelled out."""
    return "".join(sign if sign.isprintable() else _spelled(sign) for sign in text)


def drawable(text: str) -> str:
    """Return a text of characters that the figures' font has; others are spelled out."""
    known = letters()
    signs = printable(_cut(text, _LONGEST))
    return "".join(sign if ord(sign) in known else _spelled(sign) for sign in signs)


def fitted(text: str, inches: float, size: float = TEXT_SIZE) -> str:
    """Return a text no wider than some inches, shortened in its middle if need be."""
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
    """Return names that fit, with numbers where two of them would look the same."""
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
    """Return a text of at most `length` characters, its two ends kept."""
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return text[: length - 1 - tail] + "…" + text[len(text) - tail :]


def _spelled(sign: str) -> str:
    """Return a character as its code."""
    return sign.encode("unicode_escape").decode()
