"""Columns in the names of folders, as Hive, Spark and pyarrow write them: `year=2024/site=A/`.

The names of these columns are public, like all names. The values are not: a row may be the only
one in its folder. So no message has a value in it, and no value decides what type a column has.
"""

import os
from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import unquote_to_bytes

from dpsel.core.errors import InputError

Keys = tuple[tuple[str, str | None], ...]
"""The name and the value of each column; None for a missing value."""

_MISSING = b"__HIVE_DEFAULT_PARTITION__"


def folder_keys(below: PurePath) -> Keys:
    """Return the columns in the folders of a path that starts below the table's own folder."""
    found = []
    for folder in below.parts[:-1]:
        name, sign, value = os.fsencode(folder).partition(b"=")
        if sign and name:
            found.append((_name(name), _value(value)))
    return tuple(found)


def is_hidden(folder: str) -> bool:
    """Return whether a folder is none of the table's, such as `_temporary` or `.cache`."""
    return folder.startswith(".") or (folder.startswith("_") and "=" not in folder)


def check_keys(all_keys: Sequence[Keys], label: str) -> None:
    """Refuse a table whose files do not all have the same columns in their folders."""
    names = [name for name, _ in all_keys[0]]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"{label}: '{repeated}' is named by two folders of one path")
    for keys in all_keys:
        other = [name for name, _ in keys]
        if sorted(other) != sorted(names):
            odd = sorted(set(names) ^ set(other)) or sorted(names)
            raise InputError(
                f"{label}: '{odd[0]}' is named by the folders of some files and not of others; "
                "every path must name the same columns"
            )


def _name(text: bytes) -> str:
    """Return the name of a column."""
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the name of a folder's column is not text in UTF-8") from None


def _value(text: bytes) -> str | None:
    """Return the value of a column, whatever its bytes are."""
    # Here: most tables have no such folders, and need not wait for polars.
    from dpsel.io.distinct import decoded

    return None if text == _MISSING else decoded(unquote_to_bytes(text))
