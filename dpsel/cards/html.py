"""A card as one page of HTML, with the style sheet `card.css`."""

from importlib.resources import files

from dpsel.cards.words import Card, Name, Said, Section, Table, Words
from dpsel.display import safe
from dpsel.system.page import page_html

_NUMBERS = ("charge", "epsilon", "delta")


def html_card(card: Card) -> str:
    """Return a card as a page that a browser shows and prints, in light or dark colours."""
    style = files("dpsel.cards").joinpath("card.css").read_text("utf-8")
    parts = [*map(_warning, card.warnings), *map(_section, card.sections)]
    lines = ["<main>", f"<h1>{_text(card.title)}</h1>", *parts, "</main>"]
    plain = "".join(part if isinstance(part, str) else part.text for part in card.title)
    return page_html(plain, style, "\n".join(lines))


def _warning(words: Words) -> str:
    """Return what must be read first."""
    return f'<p class="warning" role="note"><strong>{_text(words)}</strong></p>'


def _section(section: Section) -> str:
    """Return a part of the page."""
    lines = ["<section>", f"<h2>{safe(section.heading)}</h2>"]
    lines += [f"<p>{_text(words)}</p>" for words in section.sentences]
    if section.facts:
        rows = [
            f'<tr><th scope="row">{safe(name)}</th><td>{_text(words)}</td></tr>'
            for name, words in section.facts
        ]
        lines += ['<table class="facts">', *rows, "</table>"]
    if section.points:
        lines += ["<ul>", *(f"<li>{_text(words)}</li>" for words in section.points), "</ul>"]
    if section.table is not None:
        lines += _table(section.table)
    return "\n".join([*lines, "</section>"])


def _table(table: Table) -> list[str]:
    """Return a table; a wide one can be moved sideways, also by the keyboard."""
    kinds = [' class="number"' if name in _NUMBERS else "" for name in table.headings]
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


def _text(words: Words) -> str:
    """Return a sentence."""
    return "".join(_part(part) for part in words)


def _part(part: str | Name | Said) -> str:
    """Return a name as code, and any other words as they are."""
    if isinstance(part, Name):
        return f"<code>{safe(part.text)}</code>"
    return safe(part.text if isinstance(part, Said) else part)
