"""Selections as text: JSON, names or indices."""

import json
import re
from datetime import UTC, date, datetime

from dpsel.core.release import Selection
from dpsel.display import printable
from dpsel.errors import UsageError
from dpsel.selection.options import OutputFormat
from dpsel.system.text import json_text


def selection_text(selection: Selection) -> str:
    """Return the whole record of a selection as JSON."""
    return json_text(selection.to_dict())


def stated_date(day: str | None) -> str | None:
    """Return the day that a record is to state, if any is asked for; the clock is public."""
    if day is None:
        return None
    if day == "today":
        return datetime.now(UTC).date().isoformat()
    try:
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day):
            return date.fromisoformat(day).isoformat()
    except ValueError:
        pass
    raise UsageError(f"--date must be a day such as 2024-05-01, or today, got {day}")


def record_text(record: str, output_format: OutputFormat) -> str:
    """Return a record in JSON as it is, or its names or indices, one a line."""
    if output_format is OutputFormat.JSON:
        return record
    fields = json.loads(record)
    if output_format is OutputFormat.NAMES:
        return "".join(f"{printable(name)}\n" for name in fields["selected_features"])
    return "".join(f"{index}\n" for index in fields["selected_indices"])
