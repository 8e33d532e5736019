"""The options of `dpsel dictionary`: each group is a record.

Imports nothing heavy: the command line shows these, and `--help` is instant.
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
    """The dictionary of a table, for commands that read one."""

    dictionary: str | Path | Mapping[str, Any] | None = option(
        "--dictionary FILE",
        "Public facts about the columns, in TOML. See `dpsel dictionary`.",
        None,
        panel=COLUMNS,
    )


class DictionaryFormat(StrEnum):
    """The formats of dictionaries that can be imported."""

    REDCAP = "redcap"
    TABLE_SCHEMA = "table-schema"
    SMARTNOISE = "smartnoise"
    CSVW = "csvw-eo"


@frozen(kw_only=True)
class Importing:
    """What is imported."""

    written_as: DictionaryFormat | None = option(
        "--from FORMAT",
        "What FILE is: redcap, table-schema, smartnoise or csvw-eo.",
        None,
        shown="recognised",
    )


class CheckFormat(StrEnum):
    """How a check is written."""

    TEXT = "text"
    JSON = "json"


@frozen(kw_only=True)
class Checking:
    """How a check is written."""

    check_format: CheckFormat = option("--format", "Text for people, or JSON.", CheckFormat.TEXT)
