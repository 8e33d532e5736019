"""The options of `dpsel dictionary`, one record per group.

This module imports nothing heavy, so that `--help` is instant.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpsel.options import option
from dpsel.records import frozen

COLUMNS = "Columns"


@frozen(kw_only=True)
class DictionaryFile:
    """The dictionary of a table, for commands that use one."""

    dictionary: str | Path | Mapping[str, Any] | None = option(
        "--dictionary FILE",
        "Public facts about the columns, in TOML. See `dpsel dictionary`.",
        None,
        panel=COLUMNS,
    )


class DictionaryFormat(StrEnum):
    """The formats that can be imported."""

    REDCAP = "redcap"
    TABLE_SCHEMA = "table-schema"
    SMARTNOISE = "smartnoise"
    CSVW = "csvw-eo"


@frozen(kw_only=True)
class Importing:
    """The format of the imported file."""

    written_as: DictionaryFormat | None = option(
        "--from FORMAT",
        "The format of FILE: redcap, table-schema, smartnoise or csvw-eo.",
        None,
        shown="detected",
    )


class CheckFormat(StrEnum):
    """How a check is written."""

    TEXT = "text"
    JSON = "json"


@frozen(kw_only=True)
class Checking:
    """How a check is written."""

    check_format: CheckFormat = option("--format", "Plain text, or JSON.", CheckFormat.TEXT)
