"""Text: safe to show on a terminal, or JSON."""

import json
from collections.abc import Mapping
from typing import Any


def printable(text: str) -> str:
    """Return a text with its line breaks and control characters written as escapes."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def json_text(fields: Mapping[str, Any]) -> str:
    """Return a record as text."""
    return json.dumps(fields, indent=2, ensure_ascii=False) + "\n"
