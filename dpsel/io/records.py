"""Records as text."""

import json

from dpsel.core.selection import Selection
from dpsel.io.formats import OutputFormat
from dpsel.io.text import json_text, printable


def selection_text(selection: Selection, output_format: OutputFormat) -> str:
    """Return a selection as text: the whole record, or its names or indices, one a line."""
    return record_text(json_text(selection.to_dict()), output_format)


def record_text(record: str, output_format: OutputFormat) -> str:
    """Return a record in JSON as it is, or its names or indices, one a line."""
    if output_format is OutputFormat.JSON:
        return record
    fields = json.loads(record)
    if output_format is OutputFormat.NAMES:
        return "".join(f"{printable(name)}\n" for name in fields["selected_features"])
    return "".join(f"{index}\n" for index in fields["selected_indices"])
