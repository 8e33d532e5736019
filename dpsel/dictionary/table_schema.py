"""Import a Frictionless Table Schema: JSON, also inside a resource or a data package."""

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
    table_in,
)
from dpsel.errors import InputError

_KINDS = {
    **dict.fromkeys(("number", "integer", "year"), ColumnKind.NUMBER),
    **dict.fromkeys(("date", "time", "datetime", "yearmonth"), ColumnKind.DATE),
    **dict.fromkeys(("string", "object", "array", "geopoint", "geojson", "list"), ColumnKind.TEXT),
    "boolean": ColumnKind.CATEGORY,
}
_ENDS = ("minimum", "maximum")


def read_table_schema(content: Any, label: str) -> Imported:
    """Import a table schema."""
    schema = schema_in(content, label)
    fields = schema["fields"]
    if not isinstance(fields, list):
        raise InputError(f"{label}: fields must be a list")
    key = schema.get("primaryKey")
    key = [key] if isinstance(key, str) else key
    id_field = key[0] if isinstance(key, list) and len(key) == 1 else None
    return Imported(dictionary_from(label, [_column(field, id_field, label) for field in fields]))


def schema_in(content: Any, label: str) -> Mapping[str, Any]:
    """Return the schema in a file: the file itself, or the schema of its only resource."""
    schema = table_in(content, label, "the file")
    if isinstance(schema.get("resources"), list):
        if len(schema["resources"]) != 1:
            raise InputError(f"{label}: has several tables; give the schema of one")
        schema = table_in(schema["resources"][0], label, "a resource")
    if "schema" in schema:
        schema = table_in(schema["schema"], label, "schema")
    if "fields" not in schema:
        raise InputError(f"{label}: is no table schema: it has no fields")
    return schema


def _column(field: Any, key: str | None, label: str) -> tuple[str, ColumnFacts]:
    """Return the name of a field, and its facts."""
    table = table_in(field, label, "a field")
    name, kind = table.get("name"), table.get("type", "any")
    if not isinstance(name, str):
        raise InputError(f"{label}: a field has no name")
    limits = table_in(table.get("constraints", {}), label, f"constraints of '{name}'")
    note = table.get("description") or table.get("title")
    if name == key or limits.get("unique") is True:
        return name, facts_of(ColumnKind.ID, note=note)
    ends = [limits.get(end, limits.get(f"exclusive{end.capitalize()}")) for end in _ENDS]
    labels = TRUTH if kind == "boolean" else _labels(table, limits)
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    return name, facts_of(known, range_of(*ends), labels, note)


def _labels(table: Mapping[str, Any], limits: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the values that a field can have, if they are listed."""
    values = table.get("categories", limits.get("enum"))
    if isinstance(values, list):
        values = [v.get("value", "") if isinstance(v, Mapping) else v for v in values]
    return categories_of(values)
