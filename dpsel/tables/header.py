"""The names of a local table's columns, for completion: quick, and quiet if there are none.

A text's are in its first line, those of Parquet in the footer; no row is looked at, and numpy,
polars and pyarrow are not imported.
"""

import csv
import gzip
import os
import re
from glob import escape, iglob
from pathlib import Path

from dpsel.tables.formats import (
    AS_NAMED,
    BOM,
    ENDINGS,
    FORMATS,
    Compression,
    FileFormat,
    InputFormat,
    compression_of,
    format_of,
    recognized_separator,
    stated_separator,
)
from dpsel.tables.parquet_footer import column_names

_MOST_BYTES = 1 << 24


def header_names(place: str, written: FileFormat = AS_NAMED) -> list[str]:
    """Return the printable names of a local table's columns, none if they cannot be told.

    Privacy:
        Domain: the first line of a text, or the schema of a Parquet file: both are public.
        Guarantee: none is needed; no cell is looked at.
        Tested by: tests/tables/test_header.py
    """
    path = _first_file(Path(place))
    if path is None:
        return []
    with path.open("rb") as file:
        first = file.read(8)
    found = written.input_format or format_of(path.name, lambda: first)
    if found is InputFormat.PARQUET:
        names = column_names(path)
    elif FORMATS[found].typed:
        return []
    else:
        names = _names(_first_line(path, first), written.separated_by(FORMATS[found].separator))
    return [name for name in names if name and name.isprintable()]


def _first_file(place: Path) -> Path | None:
    """Return a file, or one of those of a folder or glob; nothing that cannot be read twice."""
    if place.is_file():
        return place
    # Of a folder, what is right in it or in its folders: to look further may take any time.
    inside = (os.path.join(escape(str(place)), below) for below in ("*", "*/*"))
    patterns = inside if place.is_dir() else [str(place)]
    found = (Path(path) for pattern in patterns for path in iglob(pattern))
    return next((path for path in found if path.suffix.lower() in ENDINGS and path.is_file()), None)


def _first_line(path: Path, first: bytes) -> bytes:
    """Return the first line with anything in it; of a very long one the whole names."""
    compression = compression_of(first)
    if compression is Compression.ZSTD:
        return b""
    with gzip.open(path) if compression is Compression.GZIP else path.open("rb") as file:
        line = b"\n"
        while line and (not line.strip() or stated_separator(line)):
            line = file.readline(_MOST_BYTES).removeprefix(BOM)
    # Whatever is behind another line end is a row.
    return re.split(rb"[\r\n]", line, maxsplit=1)[0]


def _names(line: bytes, written: FileFormat) -> list[str]:
    """Return the names in a first line; one that goes on behind it is left out."""
    separator = written.separator or recognized_separator(line, written.decimal)
    names = next(csv.reader([line.decode(errors="replace")], delimiter=separator), [])
    cut = len(line) >= _MOST_BYTES - 1 or line.count(b'"') % 2
    return names[:-1] if cut else names
