"""The options of `dpsel dictionary`: each group is a record.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from dataclasses import dataclass
from enum import StrEnum

from dpsel.options import option


class DictionaryFormat(StrEnum):
    """The formats of dictionaries that can be imported."""

    REDCAP = "redcap"
    TABLE_SCHEMA = "table-schema"
    SMARTNOISE = "smartnoise"
    CSVW = "csvw-eo"


@dataclass(frozen=True, kw_only=True)
class Importing:
    """What is imported."""

    written_as: DictionaryFormat | None = option(
        "--from", "The format of FILE, if it is not to be recognised.", None
    )


class CheckFormat(StrEnum):
    """How a check is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, kw_only=True)
class Checking:
    """How a check is written."""

    check_format: CheckFormat = option("--format", "Text for people, or JSON.", CheckFormat.TEXT)
