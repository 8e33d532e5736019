"""The formats of tables, and how the format of a file is recognized."""

import re
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NoReturn

from dpsel.errors import InputError, UsageError
from dpsel.options import option
from dpsel.records import frozen
from dpsel.tables.parquet_footer import wide_footer

if TYPE_CHECKING:
    from dpsel.tables.sources import Source
    from dpsel.tables.table import Groups, Table

INPUT = "Input"
DECIMALS = (".", ",")


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


@frozen
class Dialect:
    """How the cells of a text file are written."""

    separator: str
    decimal: str = "."


@frozen
class Format:
    """What other modules need to know about a table format; its reader has a file of its own.

    A new format needs that file, a name in `InputFormat` and a record in `FORMATS`.
    """

    kind: str
    """What error messages call such a table."""
    endings: tuple[str, ...]
    open: Callable[["Source", "FileFormat"], "Table"]
    """Opens a file of this format."""
    magic: bytes | None = None
    """The first bytes of such a file."""
    open_groups: Callable[["Source", "Groups | None"], Any] | None = None
    """Opens some or all row groups, with a reader of typed `cells`; None for text formats."""
    separator: str | None = None
    """What separates the cells of a text; None if the first line decides."""

    @property
    def typed(self) -> bool:
        """Return whether the columns of this format have types."""
        return self.open_groups is not None


def _open_parquet(source: "Source", written: "FileFormat") -> "Table":
    """Open a Parquet file with the reader that is faster for its shape."""
    footer = wide_footer(source.path) if source.path is not None and source.is_file else None
    if footer is None:
        return _open_row_groups(source, None)
    from dpsel.tables.wide_parquet import open_wide_parquet

    wide = open_wide_parquet(source, footer)
    return _open_row_groups(source, None) if wide is None else wide


def _open_row_groups(source: "Source", groups: "Groups | None") -> "Table":
    """Open some row groups of a Parquet file."""
    from dpsel.tables.parquet import ParquetTable

    return ParquetTable(source, groups)


def _open_arrow(source: "Source", written: "FileFormat") -> "Table":
    """Open an Arrow file or stream."""
    return _open_record_batches(source, None)


def _open_record_batches(source: "Source", groups: "Groups | None") -> "Table":
    """Open some record batches of an Arrow file, or all of a file or stream."""
    from dpsel.tables.arrow import open_arrow

    return open_arrow(source, groups)


def _open_csv(source: "Source", written: "FileFormat") -> "Table":
    """Open a CSV."""
    from dpsel.tables.delimited import DelimitedTable

    return DelimitedTable(source, written)


def _open_tsv(source: "Source", written: "FileFormat") -> "Table":
    """Open a TSV."""
    return _open_csv(source, written.separated_by(_TAB))


_TAB = "\t"

# Readers are imported only when a file is opened, because every command imports this module for its
# options.
FORMATS = {
    InputFormat.PARQUET: Format(
        "a Parquet table", (".parquet", ".pq"), _open_parquet, b"PAR1", _open_row_groups
    ),
    InputFormat.CSV: Format("a CSV table", (".csv",), _open_csv),
    InputFormat.TSV: Format("a TSV table", (".tsv", ".tab"), _open_tsv, separator=_TAB),
    InputFormat.ARROW: Format(
        "an Arrow table",
        (".arrow", ".ipc", ".feather", ".arrows"),
        _open_arrow,
        b"ARROW1",
        _open_record_batches,
    ),
}

ENDINGS = {ending: name for name, found in FORMATS.items() for ending in found.endings}
SEPARATORS = ",;\t|"
"""The separators that are recognized by the first line, if none is given."""
_STATED = re.compile(rb'"?sep=([,;\t|])"?[\r\n]*')
_COMPRESSED_ENDINGS = {".gz": Compression.GZIP, ".zst": Compression.ZSTD}
_COMPRESSED_MAGIC = {b"\x1f\x8b": Compression.GZIP, b"\x28\xb5\x2f\xfd": Compression.ZSTD}


TEXT_ENDINGS = tuple(
    ending + packed
    for ending, name in ENDINGS.items()
    if not FORMATS[name].typed
    for packed in ("", *_COMPRESSED_ENDINGS)
)
"""The endings of the names of text files, also of compressed ones."""

_SPREADSHEET = "a spreadsheet; save the sheet as CSV (in Excel: Save As, CSV UTF-8)"
_ARCHIVE = "an archive; unpack it, and give the table that is in it"
_PACKED = "compressed in a way that is not read; unpack it, or compress it with gzip or zstd"
_R = 'an object of R; write it there: write.csv(table, "table.csv", row.names = FALSE)'
_FOREIGN = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), _SPREADSHEET),
    **dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".tgz"), _ARCHIVE),
    **dict.fromkeys((".bz2", ".xz", ".lz4", ".z"), _PACKED),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _R),
    ".sas7bdat": "a table of SAS; export it as CSV, or write it with pandas: read_sas, to_parquet",
    ".dta": "a table of Stata; export it as CSV, or write it with pandas: read_stata, to_parquet",
    ".sav": "a table of SPSS; save it as CSV, or write it with pandas: read_spss, to_parquet",
}
"""What files of other programs are, by the endings of their names, and what to do with them."""
_FOREIGN_MAGIC = {
    b"PK\x03\x04": "a spreadsheet or an archive (.xlsx, .ods, .zip), whatever it is called; save "
    "the sheet as CSV, or unzip it",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": _SPREADSHEET,
}


def refuse_foreign(label: str, first_bytes: bytes) -> None:
    """Refuse a file whose first bytes are those of a foreign format, and say what to do with it."""
    for magic, what in _FOREIGN_MAGIC.items():
        if first_bytes.startswith(magic):
            raise InputError(f"{label}: is {what}")


def format_of(name: str, first_bytes: Callable[[], bytes]) -> InputFormat:
    """Return a file's format, by its name or else by its first bytes, which are read if needed."""
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED_ENDINGS:
        suffixes.pop()
    if suffixes and suffixes[-1] in ENDINGS:
        return ENDINGS[suffixes[-1]]
    if suffixes and suffixes[-1] in _FOREIGN:
        raise InputError(f"{name}: is {_FOREIGN[suffixes[-1]]}")
    first = first_bytes()
    refuse_foreign(name, first)
    for found, known in FORMATS.items():
        if known.magic is not None and first.startswith(known.magic):
            return found
    raise InputError(
        f"{name}: cannot tell its format; say which with --input-format {'|'.join(InputFormat)}"
    )


BOM = b"\xef\xbb\xbf"


def is_series_matrix(first_bytes: bytes) -> bool:
    """Return whether a decompressed file begins like a GEO series matrix; 12 bytes are enough."""
    begin = first_bytes.removeprefix(BOM).removeprefix(b'"')
    return begin.lower().startswith(b"!series_")


def refuse_series_matrix(name: str) -> NoReturn:
    """Say what to do with a GEO series matrix where a table with one row per sample is needed."""
    raise InputError(
        f"{name}: is a GEO series matrix, with a feature in every row; transpose it first: "
        f"`dpsel preprocess {name} transposed.parquet --target LABEL --label-key KEY --as-is`"
    )


def compression_of(first_bytes: bytes) -> Compression | None:
    """Return how a delimited file is compressed, by its first bytes."""
    for magic, found in _COMPRESSED_MAGIC.items():
        if first_bytes.startswith(magic):
            return found
    return None


def stated_separator(line: bytes) -> str | None:
    """Return the separator given by a line for Excel above the names, such as `sep=;`, or None."""
    stated = _STATED.fullmatch(line)
    return None if stated is None else stated[1].decode()


def recognized_separator(line: bytes, decimal: str) -> str:
    """Return what separates the names in the first line: the most frequent of `SEPARATORS`.

    Signs in quotes do not count. If two are equally frequent, the first in `SEPARATORS` is chosen.
    If the comma is the decimal sign, it is chosen only if there is no other separator: then cells
    with a decimal sign are in quotes.

    Privacy:
        Domain: the first line alone, which is public; rows have no influence.
        Tested by: tests/tables/test_separators.py
    """
    plain = re.sub(rb'"[^"]*+"', b"", line) if b'"' in line else line
    counts = {sign: plain.count(sign.encode()) for sign in SEPARATORS if sign != decimal}
    most = max(counts, key=counts.__getitem__)
    return most if counts[most] else ","


@frozen(kw_only=True)
class FileFormat:
    """How the files of a table are written."""

    input_format: InputFormat | None = option(
        "--input-format FORMAT",
        "The format of TABLE, if its name does not show it: parquet, csv, tsv or arrow.",
        None,
        panel=INPUT,
    )
    separator: str | None = option(
        "--separator CHAR",
        "The separator of a CSV.",
        None,
        shown="detected from the first line: comma, semicolon, tab or |",
        panel=INPUT,
    )
    decimal: str = option(
        "--decimal SIGN", "The decimal sign of a CSV: a point or a comma.", ".", panel=INPUT
    )

    def __post_init__(self) -> None:
        """Refuse an unknown format or decimal sign, and a separator that is ambiguous."""
        if self.input_format is not None and self.input_format not in tuple(InputFormat):
            kinds = ", ".join(InputFormat)
            raise UsageError(f"input-format must be one of {kinds}, got {self.input_format}")
        if self.input_format is not None:  # In Python it may be a string.
            object.__setattr__(self, "input_format", InputFormat(self.input_format))
        separator = self.separator
        if separator is not None and (
            len(separator) != 1 or separator in '"\r\n\0' or not separator.isascii()
        ):
            raise UsageError(
                "separator must be a single ASCII character other than a quote or a line end"
            )
        if self.decimal not in DECIMALS:
            raise UsageError(f"decimal must be '.' or ',', got '{self.decimal}'")

    def separated_by(self, separator: str | None) -> "FileFormat":
        """Return a copy with this separator, unless one is already set."""
        return replace(self, separator=self.separator or separator)


AS_NAMED = FileFormat()
"""Files about which only their names are known."""


@frozen(kw_only=True)
class Reading(FileFormat):
    """How a table is read."""

    threads: int | None = option(
        "--threads N", "How many threads to use.", None, shown="all cores", panel=INPUT
    )
