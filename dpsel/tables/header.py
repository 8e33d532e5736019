"""The column names of a local table, for shell completion, which must be fast.

They are read from the first line of a text, or from the schema of a Parquet file, an Arrow file or
an Arrow stream. No row is looked at, and numpy, polars and pyarrow are not imported.
"""

import csv
import gzip
import os
import re
from collections.abc import Iterator
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
from dpsel.tables.parquet_footer import footer_names

_MOST_BYTES = 1 << 24


def header_names(place: str, written: FileFormat = AS_NAMED) -> list[str]:
    """Return the printable names of a local table's columns, or none if they cannot be found.

    Privacy:
        Domain: the first line of a text, or the schema of a Parquet or Arrow file: all are public.
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
        names = footer_names(path)
    elif found is InputFormat.ARROW:
        names = _arrow_names(path)
    else:
        names = _names(_first_line(path, first), written.separated_by(FORMATS[found].separator))
    return [name for name in names if name and name.isprintable()]


def _first_file(place: Path) -> Path | None:
    """Return a file, or one file of a folder or glob; never a pipe, which cannot be read twice."""
    if place.is_file():
        return place
    # Two levels of a folder are searched: going deeper may take any amount of time.
    inside = (os.path.join(escape(str(place)), below) for below in ("*", "*/*"))
    patterns = inside if place.is_dir() else [str(place)]
    found = (Path(path) for pattern in patterns for path in iglob(pattern))
    return next((path for path in found if path.suffix.lower() in ENDINGS and path.is_file()), None)


def _first_line(path: Path, first: bytes) -> bytes:
    """Return the first line that is not blank, up to a limit on its length."""
    compression = compression_of(first)
    if compression is Compression.ZSTD:
        return b""
    with gzip.open(path) if compression is Compression.GZIP else path.open("rb") as file:
        line = b"\n"
        while line and (not line.strip() or stated_separator(line)):
            line = file.readline(_MOST_BYTES).removeprefix(BOM)
    # What comes after any other line end is a row.
    return re.split(rb"[\r\n]", line, maxsplit=1)[0]


def _names(line: bytes, written: FileFormat) -> list[str]:
    """Return the names in a first line; a last name that is cut off is left out."""
    separator = written.separator or recognized_separator(line, written.decimal)
    names = next(csv.reader([line.decode(errors="replace")], delimiter=separator), [])
    cut = len(line) >= _MOST_BYTES - 1 or line.count(b'"') % 2
    return names[:-1] if cut else names


def _arrow_names(path: Path) -> list[str]:
    """Return the names in the schema of an Arrow file or stream; none if it is not one."""
    try:
        with path.open("rb") as file:
            if file.read(len(_ARROW_FILE)) == _ARROW_FILE:
                size = file.seek(-len(_ARROW_FILE) - 4, 2)
                length = int.from_bytes(file.read(4), "little")
                file.seek(size - length)
                return list(_Flatbuffer(file.read(length)).names_of_file())
            file.seek(0)
            length = int.from_bytes(file.read(4), "little")
            if length == _CONTINUATION:
                length = int.from_bytes(file.read(4), "little")
            return list(_Flatbuffer(file.read(min(length, _MOST_BYTES))).names_of_stream())
    except (OSError, IndexError, TypeError, ValueError):
        return []


_ARROW_FILE, _CONTINUATION = b"ARROW1", 0xFFFFFFFF
# The places of fields in the tables Footer, Message, Schema and Field of Arrow's format.
_SCHEMA_OF_FOOTER, _HEADER_TYPE, _HEADER, _FIELDS, _NAME = 1, 1, 2, 1, 0
_SCHEMA = 1


class _Flatbuffer:
    """An Arrow schema in the format of Flatbuffers: tables that refer to each other by offsets.

    A table begins with the distance back to its vtable, which says where in the table each field
    is. A field that is a string, a vector or another table holds the distance to it.
    """

    def __init__(self, content: bytes) -> None:
        self._bytes = content
        whole = memoryview(content)[: len(content) // 4 * 4]
        self._words: memoryview[int] = whole.cast("I")
        self._signed: memoryview[int] = whole.cast("i")
        self._halves: memoryview[int] = whole.cast("H")

    def names_of_file(self) -> Iterator[str]:
        """Yield the names of the columns, if this is the footer of a file."""
        return self._names(self._follow(self._field(self._words[0], _SCHEMA_OF_FOOTER)))

    def names_of_stream(self) -> Iterator[str]:
        """Yield the names of the columns, if this is the first message of a stream."""
        message = self._words[0]
        if self._bytes[self._field(message, _HEADER_TYPE)] != _SCHEMA:
            raise ValueError
        return self._names(self._follow(self._field(message, _HEADER)))

    def _names(self, schema: int) -> Iterator[str]:
        """Yield the names of the columns of a schema."""
        fields = self._follow(self._field(schema, _FIELDS))
        for place in range(fields + 4, fields + 4 + 4 * self._words[fields >> 2], 4):
            name = self._follow(self._field(self._follow(place), _NAME))
            yield self._bytes[name + 4 : name + 4 + self._words[name >> 2]].decode()

    def _follow(self, place: int) -> int:
        """Return the place that an offset refers to."""
        return place + self._words[place >> 2]

    def _field(self, table: int, number: int) -> int:
        """Return the place of a field in a table; ValueError if it is not there."""
        vtable = table - self._signed[table >> 2]
        within = 4 + 2 * number
        if vtable < 0 or within >= self._halves[vtable >> 1]:
            raise ValueError
        return table + self._halves[(vtable + within) >> 1]
