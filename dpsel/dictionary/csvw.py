"""Import CSVW-EO: the W3C's JSON metadata for tables (CSVW), with public facts for privacy.

A column has the name in the header of the CSV: the first of its titles, or else its name.
"""

from collections.abc import Mapping
from typing import Any

from dpsel.dictionary.facts import ColumnFacts, ColumnKind
from dpsel.dictionary.imported_facts import (
    TRUTH,
    Imported,
    categories_of,
    dictionary_from,
    facts_of,
    range_of,
    rows_note,
    table_in,
)
from dpsel.errors import InputError

_PREFIXES = ("csvw-eo:", "csvw-safe:", "csvw:")
_NUMBERS = (
    *("number", "integer", "int", "long", "short", "byte", "decimal", "double", "float"),
    *("nonNegativeInteger", "nonPositiveInteger", "positiveInteger", "negativeInteger"),
    *("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte", "gYear"),
)
_DATES = ("date", "dateTime", "datetime", "dateTimeStamp", "time")
_KINDS = {
    **dict.fromkeys(_NUMBERS, ColumnKind.NUMBER),
    **dict.fromkeys(_DATES, ColumnKind.DATE),
    "string": ColumnKind.TEXT,
    "boolean": ColumnKind.CATEGORY,
}


def read_csvw(content: Any, label: str) -> Imported:
    """Import the metadata of one table."""
    table = _plain(table_in(content, label, "the file"))
    if isinstance(table.get("tables"), list):
        if len(table["tables"]) != 1:
            raise InputError(f"{label}: has several tables; give the metadata of one")
        table = _plain(table_in(table["tables"][0], label, "a table"))
    schema = _plain(table_in(table.get("tableSchema"), label, "tableSchema"))
    columns = schema.get("columns")
    if not isinstance(columns, list):
        raise InputError(f"{label}: tableSchema has no list of columns")
    parts = [_plain(table_in(column, label, "a column")) for column in columns]
    parts = [part for part in parts if part.get("virtual") is not True]
    person = _person(table, parts, label)
    key = schema.get("primaryKey")
    named = [_column(part, key, label) for part in parts]
    dictionary = dictionary_from(label, named, person)
    return Imported(dictionary, rows_note(table.get("maxContributions")) if person else ())


def _person(table: Mapping[str, Any], columns: list[dict[str, Any]], label: str) -> str | None:
    """Return the header of the column that identifies persons; None if there is none."""
    unit = table.get("privacyUnit")
    for column in columns:
        if column.get("privacyId") is True or (unit is not None and column.get("name") == unit):
            return _header(column, label)
    return None


def _column(column: Mapping[str, Any], key: Any, label: str) -> tuple[str, ColumnFacts]:
    """Return the header of a column, and its facts."""
    header = _header(column, label)
    note = column.get("dc:description", column.get("description"))
    if column.get("privacyId") is True or key in (column.get("name", ""), header):
        return header, facts_of(ColumnKind.ID, note=note)
    given = column.get("datatype", "")
    datatype = given if isinstance(given, Mapping) else {"base": given}
    ends = [
        column.get(end, datatype.get(end, datatype.get(f"{end[:3]}Inclusive")))
        for end in ("minimum", "maximum")
    ]
    listed = column.get("keyValues", column.get("publicKeys"))
    labels = None if column.get("exhaustiveKeys") is False else categories_of(listed)
    base = datatype.get("base", "string")
    if base == "boolean":
        labels = TRUTH
    kind = _KINDS.get(base) if isinstance(base, str) else None
    return header, facts_of(kind, range_of(*ends), labels, note)


def _header(column: Mapping[str, Any], label: str) -> str:
    """Return the name of a column in the header of the CSV."""
    titles = column.get("titles")
    if isinstance(titles, Mapping):
        titles = next(iter(titles.values()), None)
    if isinstance(titles, list):
        titles = next(iter(titles), None)
    header = titles if isinstance(titles, str) else column.get("name")
    if not isinstance(header, str):
        raise InputError(f"{label}: a column has neither titles nor a name")
    return header


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping that also has its keys without namespace prefixes."""
    plain = dict(table)
    for key, value in table.items():
        for prefix in _PREFIXES:
            if key.startswith(prefix):
                plain.setdefault(key.removeprefix(prefix), value)
    return plain
