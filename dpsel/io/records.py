"""Records as text."""

from dpsel.core.selection import Selection
from dpsel.io.formats import OutputFormat
from dpsel.io.text import json_text, printable


def selection_text(selection: Selection, output_format: OutputFormat) -> str:
    """Return a selection as text: the whole record, or its names or indices, one a line."""
    if output_format is OutputFormat.NAMES:
        return "".join(f"{printable(name)}\n" for name in selection.selected_features)
    if output_format is OutputFormat.INDICES:
        return "".join(f"{index}\n" for index in selection.selected_indices)
    return json_text(selection.to_dict())
