"""A card in Markdown: names in code spans, words of others with every sign escaped."""

import re

from dpsel.cards.words import Card, Name, Said, Section, Table, Words
from dpsel.display import printable

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Within a line these mean nothing, and neither does a point in a number.
_HARMLESS = re.compile(r"\\([,;'()/%!?=+-])|(?<=[0-9])\\(\.)(?=[0-9])")


def markdown_card(card: Card) -> str:
    """Return a card as a page in Markdown."""
    parts = [f"# {_text(card.title)}"]
    parts += [f"> **{_text(warning)}**" for warning in card.warnings]
    for section in card.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    """Return the parts of a section."""
    parts = [f"## {section.heading}", *map(_text, section.sentences)]
    if section.facts:
        lines = [f"- {name}: {_text(words)}" for name, words in section.facts]
        parts.append("\n".join(lines))
    if section.points:
        parts.append("\n".join(f"- {_text(words)}" for words in section.points))
    if section.table is not None:
        parts.append(_table(section.table))
    return parts


def _table(table: Table) -> str:
    """Return a table."""
    rows = [table.headings, tuple("---" for _ in table.headings)]
    lines = [*rows, *(tuple(map(escaped, row)) for row in table.rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(words: Words) -> str:
    """Return a sentence."""
    return "".join(_part(part) for part in words)


def _part(part: str | Name | Said) -> str:
    """Return our own words as they are, a name as code, and the words of others escaped."""
    if isinstance(part, Name):
        return code_span(part.text)
    return escaped(part.text) if isinstance(part, Said) else part


def escaped(text: str) -> str:
    """Return a text that Markdown shows as it is: no emphasis, link, address, tag or table."""
    return _HARMLESS.sub(r"\1\2", _PUNCTUATION.sub(r"\\\1", printable(text)))


def code_span(text: str) -> str:
    """Return a name as code, between more backticks than it has in a row."""
    shown = printable(text)
    if not shown.strip():
        return f"`{shown!r}`"
    runs = [len(run) for run in re.findall("`+", shown)]
    fence = "`" * (1 + max(runs, default=0))
    blank = " " if runs or shown != shown.strip() else ""
    return f"{fence}{blank}{shown}{blank}{fence}"
