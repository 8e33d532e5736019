"""Text that is safe to show in a terminal or on a page, and records shown in notebooks."""

from collections.abc import Sequence

ALARM, ALARM_INK = "#b3261e", "#ffffff"
"""Colors of the stamp "not private", on pages and in notebooks, in light and dark themes."""

Fact = tuple[str, str | list[str]]
"""A name and its value: a text, or a list of names."""

_LONGEST_NAME, _LONGEST_TEXT = 80, 600

# Inline styles only: notebooks strip style sheets from pages that they do not trust. Colors are
# inherited, since the theme may be light or dark.
_BLOCK = "max-width:60em;line-height:1.4;text-align:left"
_STAMP = f"background:{ALARM};color:{ALARM_INK};font-weight:bold;padding:3px 8px;margin:2px 0"
_PROMISE = "font-weight:bold;padding:3px 0"
_TABLE = "border-collapse:collapse;margin:4px 0 10px;width:auto"
_CELL = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;white-space:pre-wrap"
_NUMBERS = "text-align:right;padding:2px 14px 2px 0;white-space:nowrap"
_WRAPPED = "overflow-wrap:anywhere"
_SCROLLED = "overflow-x:auto"


def printable(text: str) -> str:
    """Return a text with line breaks and control characters written as escapes."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def shortened(text: str, most: int = _LONGEST_NAME) -> str:
    """Return a text; of a long one its start, with its length."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} signs)"


def safe(text: str) -> str:
    """Escape any text for HTML, on one line."""
    # Imported here because most runs make no page.
    from html import escape

    return escape(printable(text))


def block_html(
    *,
    promise: str | None = None,
    stamps: Sequence[str] = (),
    facts: Sequence[Fact] = (),
    table: Sequence[Sequence[str]] = (),
) -> str:
    """Return a record as a short HTML block for a notebook; all texts are escaped.

    Args:
        promise: The guarantee, shown first.
        stamps: Reasons why it is not private, shown in red.
        facts: Other names and values.
        table: Rows of short texts, the headings first.
    """
    lines = [f'<div style="{_BLOCK}">']
    if promise is not None:
        lines.append(f'<div style="{_PROMISE};{_WRAPPED}">{_text(promise)}</div>')
    lines += [f'<div style="{_STAMP};{_WRAPPED}">{_text(stamp)}</div>' for stamp in stamps]
    if facts:
        lines += [f'<table style="{_TABLE}">', *map(_fact, facts), "</table>"]
    if table:
        head, *rows = table
        lines += [f'<div style="{_SCROLLED}"><table style="{_TABLE}">', _row("th", head)]
        lines += [*(_row("td", row) for row in rows), "</table></div>"]
    return "\n".join([*lines, "</div>"])


def _fact(fact: Fact) -> str:
    """Return a fact as a table row."""
    name, words = fact
    shown = ", ".join(map(_name, words)) if isinstance(words, list) else _text(words)
    heading = f'<th scope="row" style="{_CELL};white-space:nowrap">{_text(name)}</th>'
    return f'<tr>{heading}<td style="{_CELL};{_WRAPPED}">{shown}</td></tr>'


def _name(name: str) -> str:
    """Return a name as code; right-to-left letters do not reorder the text around it."""
    return f'<code dir="auto">{safe(shortened(name))}</code>'


def _row(tag: str, cells: Sequence[str]) -> str:
    """Return a row of numbers, or of headings."""
    shown = (f'<{tag} style="{_NUMBERS}">{safe(shortened(cell))}</{tag}>' for cell in cells)
    return f"<tr>{''.join(shown)}</tr>"


def _text(text: str) -> str:
    """Return a text as HTML, cut short if it is long."""
    return safe(shortened(text, _LONGEST_TEXT))
