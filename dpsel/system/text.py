"""Text: as JSON, what a file holds, or the nearest spelling."""

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dpsel.errors import InputError

_MANY_NAMES = 5_000


def nearest(name: str, names: Sequence[str]) -> str | None:
    """Return the name that is spelled most like `name`, if any is."""
    folded = {other.casefold(): other for other in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    # Comparing spellings takes long: of very many names, look at those of a similar start.
    if len(names) > _MANY_NAMES:
        names = [other for other in names if other[:1] == name[:1]][:_MANY_NAMES]
    return next(iter(difflib.get_close_matches(name, names, n=1)), None)


_BEYOND_ASCII = re.compile("[^\n -~]")


def text_of(path: str | Path, option: str) -> str:
    """Return a small public file as text; `option` is what named it."""
    if not str(path):
        raise InputError(f"{option}: the name of the file is empty")
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, ValueError):
        raise InputError(f"{Path(path).name}: cannot be read as text") from None


def parsed(text: str, label: str, written_as: Literal["JSON", "TOML"]) -> Any:
    """Return what a text in JSON or TOML holds; `label` is what messages call it."""
    # Most runs have no such file, and are spared it.
    import tomllib

    try:
        return json.loads(text) if written_as == "JSON" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{label}: is not {written_as}: {error}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{label}: cannot be read as {written_as}") from None


def json_text(fields: Mapping[str, Any]) -> str:
    """Return a record as text that a terminal can show, and that is parsed to the same record.

    JSON lets names hold control characters from U+007F on, marks that turn the direction of
    writing, and more that is not seen; here all of that is written as escapes.
    """
    text = json.dumps(fields, indent=2, ensure_ascii=False)
    return _BEYOND_ASCII.sub(_escaped_if_unseen, text) + "\n"


def _escaped_if_unseen(found: re.Match[str]) -> str:
    """Return a sign as it is, or as JSON escapes it if it is not printable."""
    return found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1]
