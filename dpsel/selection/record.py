"""Selections as text: JSON, names or indices."""

import json

from dpsel.core.release import Selection
from dpsel.selection.options import OutputFormat
from dpsel.system.text import json_text, printable


def selection_text(selection: Selection) -> str:
    """Return the whole record of a selection as JSON."""
    return json_text(selection.to_dict())


def record_text(record: str, output_format: OutputFormat) -> str:
    """Return a record in JSON as it is, or its names or indices, one a line."""
    if output_format is OutputFormat.JSON:
        return record
    fields = json.loads(record)
    if output_format is OutputFormat.NAMES:
        return "".join(f"{printable(name)}\n" for name in fields["selected_features"])
    return "".join(f"{index}\n" for index in fields["selected_indices"])
