"""Import SmartNoise metadata: a YAML of a collection, its schemas, their tables and columns.

Such a file consists of names and values, nested by indentation, and only this part of YAML is read
here. Anything else (lists, anchors, texts over several lines) is refused, with its line number.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from dpsel.dictionary.facts import ColumnFacts, ColumnKind
from dpsel.dictionary.imported_facts import (
    TRUTH,
    Imported,
    dictionary_from,
    facts_of,
    range_of,
    rows_note,
)
from dpsel.errors import InputError

_KINDS = {
    **dict.fromkeys(("int", "float"), ColumnKind.NUMBER),
    "string": ColumnKind.TEXT,
    "datetime": ColumnKind.DATE,
    "boolean": ColumnKind.CATEGORY,
}
_QUOTED = r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
_LINE = re.compile(rf"""( *)({_QUOTED}|[^\s"'#\[\]{{}}&*!|>%@`,-][^:#]*?) *:(?: +(.*))?""")
_WORDS = {"true": True, "false": False, "yes": True, "no": False, "null": None, "~": None, "": None}


def read_smartnoise(text: str, label: str) -> Imported:
    """Import the metadata of one table."""
    all_tables = [
        table
        for schemas in _tables(read_simple_yaml(text, label)).values()
        for tables in _tables(schemas).values()
        for table in _tables(tables).values()
    ]
    if len(all_tables) != 1:
        raise InputError(
            f"{label}: expected a collection, a schema in it and one table, "
            f"got {len(all_tables)} tables"
        )
    table = all_tables[0]
    columns = _tables(table)
    ids = [name for name, column in columns.items() if column.get("private_id") is True]
    by_rows = table.get("row_privacy") is True or not ids
    dictionary = dictionary_from(
        label,
        [(name, _facts(column)) for name, column in columns.items()],
        None if by_rows else ids[0],
    )
    return Imported(dictionary, () if by_rows else rows_note(table.get("max_ids")))


def _tables(value: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the values that are mappings themselves; the others are settings."""
    return {name: inner for name, inner in value.items() if isinstance(inner, Mapping)}


def _facts(column: Mapping[str, Any]) -> ColumnFacts:
    """Return the facts about one column."""
    if column.get("private_id") is True:
        return facts_of(ColumnKind.ID)
    kind = column.get("type")
    interval = range_of(column.get("lower"), column.get("upper"))
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    return facts_of(known, interval, TRUTH if kind == "boolean" else None)


def read_simple_yaml(text: str, label: str) -> dict[str, Any]:
    """Parse the nested names and values of a simple YAML."""
    root: dict[str, Any] = {}
    # The mappings that enclose the current line, each with the indentation of its names.
    opened: list[tuple[int, dict[str, Any]]] = [(0, root)]
    pending: tuple[int, dict[str, Any], str] | None = None
    for place, line in enumerate(text.splitlines(), start=1):
        if not line.split("#")[0].strip() or line.rstrip() in ("---", "..."):
            continue
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            raise InputError(f"{label}: line {place} is no name and value, as SmartNoise has them")
        indent, value = len(match[1]), _comment_free(match[4] or "")
        name = str(_scalar(match[2])) if match[3] else match[2]
        if pending is not None and indent > pending[0]:
            table: dict[str, Any] = {}
            pending[1][pending[2]] = table
            opened.append((indent, table))
        while len(opened) > 1 and opened[-1][0] > indent:
            opened.pop()
        if opened[-1][0] != indent or name in opened[-1][1]:
            raise InputError(f"{label}: line {place} is indented otherwise, or says a name twice")
        if value and value[0] in "[{&*!|>%@`":
            raise InputError(f"{label}: line {place} has a value that SmartNoise does not have")
        opened[-1][1][name] = _scalar(value)
        pending = None if value else (indent, opened[-1][1], name)
    return root


def _comment_free(value: str) -> str:
    """Return a value without its trailing comment."""
    quoted = re.fullmatch(rf"{_QUOTED}\s*(?:#.*)?", value)
    return quoted[1] if quoted else re.split(r"(?:^|\s)#", value)[0].strip()


def _scalar(text: str) -> Any:
    """Convert a scalar to a number, a boolean, None or a text."""
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text.startswith('"'):
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            return text[1:-1]
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
