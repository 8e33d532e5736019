"""Import dictionaries of other tools; the format is recognized, or given."""

import csv
from pathlib import Path

from dpsel.dictionary.csvw import read_csvw
from dpsel.dictionary.imported_facts import Imported
from dpsel.dictionary.options import DictionaryFormat
from dpsel.dictionary.redcap import NAME, read_redcap
from dpsel.dictionary.smartnoise import read_smartnoise
from dpsel.dictionary.table_schema import read_table_schema
from dpsel.errors import InputError
from dpsel.system.text import parsed, text_of


def import_dictionary(path: str | Path, written_as: DictionaryFormat | None = None) -> Imported:
    """Import a file in the format of another tool; without a format, recognize it."""
    text, label = text_of(path, "FILE"), Path(path).name
    written_as = written_as or _recognize(text, label)
    if written_as is DictionaryFormat.REDCAP:
        return read_redcap(text, label)
    if written_as is DictionaryFormat.SMARTNOISE:
        return read_smartnoise(text, label)
    content = parsed(text, label, "JSON")
    if written_as is DictionaryFormat.CSVW:
        return read_csvw(content, label)
    return read_table_schema(content, label)


def _recognize(text: str, label: str) -> DictionaryFormat:
    """Recognize the format of a text by its header, its name, or its JSON keys."""
    first = next(iter(text.splitlines()), "")
    if any(name in NAME for name in next(csv.reader([first]), [])):
        return DictionaryFormat.REDCAP
    if not text.lstrip().startswith(("{", "[")):
        if label.lower().endswith((".yaml", ".yml")):
            return DictionaryFormat.SMARTNOISE
        formats = "|".join(DictionaryFormat)
        raise InputError(f"{label}: cannot tell its format; say which with --from {formats}")
    content = parsed(text, label, "JSON")
    if isinstance(content, dict) and ("tableSchema" in content or "tables" in content):
        return DictionaryFormat.CSVW
    return DictionaryFormat.TABLE_SCHEMA
