"""What is shown: texts that a terminal or a page can take, and records in notebooks."""

from collections.abc import Sequence

ALARM, ALARM_INK = "#b3261e", "#ffffff"
"""The colours of a stamp on what is not private: of pages, and in notebooks light and dark."""

Fact = tuple[str, str | list[str]]
"""What something is called, and what it is: words, or a list of names."""

_LONGEST_NAME, _LONGEST_TEXT = 80, 600

# Only inline styles, as notebooks take style sheets away from pages that they do not trust. Colours
# are those around the block, which may be light or dark.
_BLOCK = "max-width:60em;line-height:1.4;text-align:left"
_STAMP = f"background:{ALARM};color:{ALARM_INK};font-weight:bold;padding:3px 8px;margin:2px 0"
_PROMISE = "font-weight:bold;padding:3px 0"
_TABLE = "border-collapse:collapse;margin:4px 0 10px;width:auto"
_CELL = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;white-space:pre-wrap"
_NUMBERS = "text-align:right;padding:2px 14px 2px 0;white-space:nowrap"
_WRAPPED = "overflow-wrap:anywhere"
_SCROLLED = "overflow-x:auto"


def printable(text: str) -> str:
    """Return a text with its line breaks and control characters written as escapes."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def shortened(text: str, most: int = _LONGEST_NAME) -> str:
    """Return a text, or the start of a long one and how long it is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} signs)"


def safe(text: str) -> str:
    """Return any text as HTML, on one line."""
    # Most runs make no page.
    from html import escape

    return escape(printable(text))


def block_html(
    *,
    promise: str | None = None,
    stamps: Sequence[str] = (),
    facts: Sequence[Fact] = (),
    table: Sequence[Sequence[str]] = (),
) -> str:
    """Return a record as a few lines of HTML for a notebook, whatever its texts hold.

    Args:
        promise: What it promises, said first.
        stamps: Why it is not private, in red.
        facts: What else there is to say.
        table: Rows of short texts; the first one has the headings.
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
    """Return a line of a table."""
    name, words = fact
    shown = ", ".join(map(_name, words)) if isinstance(words, list) else _text(words)
    heading = f'<th scope="row" style="{_CELL};white-space:nowrap">{_text(name)}</th>'
    return f'<tr>{heading}<td style="{_CELL};{_WRAPPED}">{shown}</td></tr>'


def _name(name: str) -> str:
    """Return a name as code; letters that are written from right to left turn no others."""
    return f'<code dir="auto">{safe(shortened(name))}</code>'


def _row(tag: str, cells: Sequence[str]) -> str:
    """Return a line of numbers, or their headings."""
    shown = (f'<{tag} style="{_NUMBERS}">{safe(shortened(cell))}</{tag}>' for cell in cells)
    return f"<tr>{''.join(shown)}</tr>"


def _text(text: str) -> str:
    """Return words as HTML, of too many the first ones."""
    return safe(shortened(text, _LONGEST_TEXT))
