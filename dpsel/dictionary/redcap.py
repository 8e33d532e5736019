"""Import a REDCap data dictionary: a CSV with one field per line.

Columns are those of REDCap's raw data export: choices by their codes, and a checkbox as one column
of 0 and 1 per choice, `name___code`. The first field is the record id.
"""

import csv
import io
from collections.abc import Iterator, Mapping

from dpsel.dictionary.facts import ColumnFacts, ColumnKind
from dpsel.dictionary.imported_facts import Imported, dictionary_from, facts_of, range_of
from dpsel.errors import InputError

NAME = ("Variable / Field Name", "field_name")
"""The header of the first column, in a downloaded file and in one from REDCap's API."""
_TYPE = ("Field Type", "field_type")
_LABEL = ("Field Label", "field_label")
_CHOICES = ("Choices, Calculations, OR Slider Labels", "select_choices_or_calculations")
_VALIDATION = (
    "Text Validation Type OR Show Slider Number",
    "text_validation_type_or_show_slider_number",
)
_LOWER = ("Text Validation Min", "text_validation_min")
_UPPER = ("Text Validation Max", "text_validation_max")
_IDENTIFIER = ("Identifier?", "identifier")

_YES_NO = ("0", "1")
_SLIDER = ("0", "100")
_NO_COLUMN = ("descriptive",)
_KINDS = {
    "text": ColumnKind.TEXT,
    "notes": ColumnKind.TEXT,
    "sql": ColumnKind.TEXT,
    "radio": ColumnKind.CATEGORY,
    "dropdown": ColumnKind.CATEGORY,
    "yesno": ColumnKind.CATEGORY,
    "truefalse": ColumnKind.CATEGORY,
    "checkbox": ColumnKind.CATEGORY,
    "slider": ColumnKind.NUMBER,
    "calc": ColumnKind.NUMBER,
    "file": ColumnKind.IGNORE,
}
Field = Mapping[str | None, str | list[str] | None]


def read_redcap(text: str, label: str) -> Imported:
    """Import a REDCap data dictionary."""
    try:
        fields = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error:
        raise InputError(f"{label}: is not a CSV") from None
    if not fields or not any(name in fields[0] for name in NAME):
        raise InputError(f"{label}: is no REDCap data dictionary: no column '{NAME[0]}'")
    first = _cell(fields[0], NAME)
    columns = [column for field in fields for column in _columns(field, label)]
    columns = [
        (name, ColumnFacts(ColumnKind.ID, note=facts.note) if name == first else facts)
        for name, facts in columns
    ]
    note = (
        f"'{first}', the first field, is taken as the person; edit `person` if a person can have "
        "several records, or if records are not about persons"
    )
    return Imported(dictionary_from(label, columns, first), (note,))


def _columns(field: Field, label: str) -> Iterator[tuple[str, ColumnFacts]]:
    """Yield the columns of one field in an export, each with its facts."""
    name, kind = _cell(field, NAME), _cell(field, _TYPE).lower()
    if not name or kind in _NO_COLUMN:
        return
    if kind not in _KINDS:
        raise InputError(f"{label}: field '{name}' has a type that REDCap does not have")
    note, choices = _cell(field, _LABEL), _choices(_cell(field, _CHOICES))
    columns = {name: _facts(field, kind, choices, note)}
    if kind == "checkbox":
        columns = {
            f"{name}___{code.lower().replace('-', '_')}": facts_of(
                _KINDS[kind], None, _YES_NO, f"{note}: {meaning}"
            )
            for code, meaning in choices.items()
        }
    identifies = _cell(field, _IDENTIFIER).lower() == "y"
    for column, facts in columns.items():
        yield column, ColumnFacts(ColumnKind.ID, note=facts.note) if identifies else facts


def _facts(field: Field, kind: str, choices: Mapping[str, str], note: str) -> ColumnFacts:
    """Return the facts about a field that is one column."""
    lower, upper = _cell(field, _LOWER), _cell(field, _UPPER)
    if kind == "text":
        validated = _validated(_cell(field, _VALIDATION).lower())
        return facts_of(validated, range_of(lower, upper), None, note)
    if kind == "slider":
        interval = range_of(lower or _SLIDER[0], upper or _SLIDER[1])
        return facts_of(_KINDS[kind], interval, None, note)
    if kind in ("yesno", "truefalse"):
        return facts_of(_KINDS[kind], None, _YES_NO, note)
    if kind in ("radio", "dropdown"):
        meanings = ", ".join(f"{code} = {meaning}" for code, meaning in choices.items())
        return facts_of(_KINDS[kind], None, tuple(choices) or None, f"{note} ({meanings})")
    return facts_of(_KINDS[kind], None, None, note)


def _validated(validation: str) -> ColumnKind:
    """Return the kind of a text field by its REDCap validation."""
    if validation.startswith(("integer", "number")):
        return ColumnKind.NUMBER
    return ColumnKind.DATE if validation.startswith(("date", "time")) else ColumnKind.TEXT


def _choices(text: str) -> dict[str, str]:
    """Parse choices such as `1, Female | 2, Male` into meanings by code."""
    pairs = (choice.partition(",") for choice in text.split("|"))
    return {code.strip(): meaning.strip() for code, _, meaning in pairs if code.strip()}


def _cell(field: Field, names: tuple[str, str]) -> str:
    """Return a cell; its column has one of two headers."""
    cell = next((field[name] for name in names if name in field), None)
    return cell.strip() if isinstance(cell, str) else ""
