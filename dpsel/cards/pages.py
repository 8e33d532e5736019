"""Lay out a card as a page, in Markdown or in HTML.

Cards quote names and sentences that other people wrote. Both layouts show these literally: nothing
in them can become markup.
"""

import re
from importlib.resources import files

from dpsel.cards.content import Card, CardTable, Name, Quoted, Section, Words
from dpsel.display import printable, safe
from dpsel.system.text import page_html

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Backslashes that are not needed: before punctuation that is never markup inside a line, and before
# the point of a number.
_HARMLESS = re.compile(r"\\([,;'()/%!?=+-])|(?<=[0-9])\\(\.)(?=[0-9])")
_NUMBER_COLUMNS = ("charge", "epsilon", "delta")


def markdown_card(card: Card) -> str:
    """Return a card as a page in Markdown."""
    parts = [f"# {_markdown_text(card.title)}"]
    parts += [f"> **{_markdown_text(warning)}**" for warning in card.warnings]
    for section in card.sections:
        parts += _markdown_section(section)
    return "\n\n".join(parts) + "\n"


def _markdown_section(section: Section) -> list[str]:
    """Return a section as paragraphs, lists and a table."""
    parts = [f"## {section.heading}", *map(_markdown_text, section.sentences)]
    if section.facts:
        lines = [f"- {name}: {_markdown_text(words)}" for name, words in section.facts]
        parts.append("\n".join(lines))
    if section.points:
        parts.append("\n".join(f"- {_markdown_text(words)}" for words in section.points))
    if section.table is not None:
        parts.append(_markdown_table(section.table))
    return parts


def _markdown_table(table: CardTable) -> str:
    """Return a table with its cells escaped."""
    rows = [table.headings, tuple("---" for _ in table.headings)]
    lines = [*rows, *(tuple(map(escaped, row)) for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_text(words: Words) -> str:
    """Return a sentence: names as code, quoted text escaped, our own words unchanged."""
    return "".join(_markdown_part(part) for part in words)


def _markdown_part(part: str | Name | Quoted) -> str:
    """Return one part of a sentence."""
    if isinstance(part, Name):
        return code_span(part.text)
    return escaped(part.text) if isinstance(part, Quoted) else part


def escaped(text: str) -> str:
    """Escape a text so that Markdown shows it literally: no emphasis, link, tag or table."""
    return _HARMLESS.sub(r"\1\2", _PUNCTUATION.sub(r"\\\1", printable(text)))


def code_span(text: str) -> str:
    """Return a name as a code span, fenced by more backticks than it contains in a row."""
    shown = printable(text)
    if not shown.strip():
        return f"`{shown!r}`"
    runs = [len(run) for run in re.findall("`+", shown)]
    fence = "`" * (1 + max(runs, default=0))
    blank = " " if runs or shown != shown.strip() else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def html_card(card: Card) -> str:
    """Return a card as one HTML page to view or print, in light or dark colors."""
    style = files("dpsel.cards").joinpath("card.css").read_text("utf-8")
    parts = [*map(_html_warning, card.warnings), *map(_html_section, card.sections)]
    lines = ["<main>", f"<h1>{_html_text(card.title)}</h1>", *parts, "</main>"]
    plain = "".join(part if isinstance(part, str) else part.text for part in card.title)
    return page_html(plain, style, "\n".join(lines))


def _html_warning(words: Words) -> str:
    """Return a warning, shown above all sections."""
    return f'<p class="warning" role="note"><strong>{_html_text(words)}</strong></p>'


def _html_section(section: Section) -> str:
    """Return a section as paragraphs, lists and tables."""
    lines = ["<section>", f"<h2>{safe(section.heading)}</h2>"]
    lines += [f"<p>{_html_text(words)}</p>" for words in section.sentences]
    if section.facts:
        rows = [
            f'<tr><th scope="row">{safe(name)}</th><td>{_html_text(words)}</td></tr>'
            for name, words in section.facts
        ]
        lines += ['<table class="facts">', *rows, "</table>"]
    if section.points:
        lines += ["<ul>", *(f"<li>{_html_text(words)}</li>" for words in section.points), "</ul>"]
    if section.table is not None:
        lines += _html_table(section.table)
    return "\n".join([*lines, "</section>"])


def _html_table(table: CardTable) -> list[str]:
    """Return a table; a wide one scrolls sideways, with the keyboard too."""
    kinds = [' class="number"' if name in _NUMBER_COLUMNS else "" for name in table.headings]
    head = "".join(
        f'<th scope="col"{kind}>{safe(name)}</th>'
        for name, kind in zip(table.headings, kinds, strict=True)
    )
    lines = ['<div class="scroll" tabindex="0" role="region" aria-label="charges">']
    lines += ['<table class="charges">', f"<thead><tr>{head}</tr></thead>", "<tbody>"]
    for row in table.rows:
        cells = zip(row, kinds, strict=True)
        shown = "".join(f"<td{kind}>{safe(cell)}</td>" for cell, kind in cells)
        lines.append(f"<tr>{shown}</tr>")
    return [*lines, "</tbody>", "</table>", "</div>"]


def _html_text(words: Words) -> str:
    """Return a sentence: names as code, everything escaped."""
    return "".join(_html_part(part) for part in words)


def _html_part(part: str | Name | Quoted) -> str:
    """Return one part of a sentence."""
    if isinstance(part, Name):
        return f"<code>{safe(part.text)}</code>"
    return safe(part.text if isinstance(part, Quoted) else part)
