"""The formats of tables and records, and how a table's is found out."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from dpsel.errors import InputError, UsageError
from dpsel.options import option

INPUT = "Input"


class InputFormat(StrEnum):
    """The formats of tables that can be read."""

    PARQUET = "parquet"
    CSV = "csv"
    TSV = "tsv"
    ARROW = "arrow"


class Orientation(StrEnum):
    """Where the features of a table are."""

    COLUMNS = "columns"
    ROWS = "rows"


class Compression(StrEnum):
    """How a delimited file may be compressed; the names are pyarrow's."""

    GZIP = "gzip"
    ZSTD = "zstd"


KINDS = {
    InputFormat.PARQUET: "a Parquet table",
    InputFormat.CSV: "a CSV table",
    InputFormat.TSV: "a TSV table",
    InputFormat.ARROW: "an Arrow table",
}

ENDINGS = {
    ".parquet": InputFormat.PARQUET,
    ".pq": InputFormat.PARQUET,
    ".csv": InputFormat.CSV,
    ".tsv": InputFormat.TSV,
    ".tab": InputFormat.TSV,
    ".arrow": InputFormat.ARROW,
    ".ipc": InputFormat.ARROW,
    ".feather": InputFormat.ARROW,
    ".arrows": InputFormat.ARROW,
}
_COMPRESSED_ENDINGS = {".gz": Compression.GZIP, ".zst": Compression.ZSTD}
_MAGIC = {b"PAR1": InputFormat.PARQUET, b"ARROW1": InputFormat.ARROW}
_COMPRESSED_MAGIC = {b"\x1f\x8b": Compression.GZIP, b"\x28\xb5\x2f\xfd": Compression.ZSTD}


def format_of(name: str, first_bytes: Callable[[], bytes]) -> InputFormat:
    """Return the format that a file's name tells, or else its first bytes, read if needed."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED_ENDINGS:
        suffixes.pop()
    if suffixes and suffixes[-1] in ENDINGS:
        return ENDINGS[suffixes[-1]]
    first = first_bytes()
    for magic, found in _MAGIC.items():
        if first.startswith(magic):
            return found
    raise InputError(
        f"{name}: cannot tell its format; say which with --input-format {'|'.join(InputFormat)}"
    )


def compression_of(first_bytes: bytes) -> Compression | None:
    """Return how a delimited file is compressed, by its first bytes."""
    for magic, found in _COMPRESSED_MAGIC.items():
        if first_bytes.startswith(magic):
            return found
    return None


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How the files of a table are written."""

    input_format: InputFormat | None = option(
        "--input-format", "The format of TABLE, if its name does not tell.", None, panel=INPUT
    )
    separator: str | None = option(
        "--separator CHAR",
        "What separates the cells of a CSV.",
        None,
        shown="comma",
        panel=INPUT,
    )

    def __post_init__(self) -> None:
        """Refuse a format that is none, and a separator that can be taken for something else."""
        if self.input_format is not None and self.input_format not in tuple(InputFormat):
            kinds = ", ".join(InputFormat)
            raise UsageError(f"input-format must be one of {kinds}, got {self.input_format}")
        if self.input_format is not None:  # Python may be given its name.
            object.__setattr__(self, "input_format", InputFormat(self.input_format))
        separator = self.separator
        if separator is not None and (
            len(separator) != 1 or separator in '"\r\n\0' or not separator.isascii()
        ):
            raise UsageError(
                "separator must be a single ASCII character other than a quote or a line end"
            )


@dataclass(frozen=True, kw_only=True)
class Reading(FileFormat):
    """How a table is read."""

    threads: int | None = option(
        "--threads N", "How many threads read and compute.", None, shown="all cores", panel=INPUT
    )
