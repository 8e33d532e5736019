"""The shape of a Parquet file, parsed from its footer before a reader is chosen.

There are two reasons to choose by the footer. A schema that is nested thousands of levels deep
overflows the stack of polars, which ends the process. And in a file with 10^5 columns, parsing the
footer takes a reader as long as reading the rest, so only one reader should do so.

The footer is a Thrift struct in the compact protocol. It holds a version, the schema, the number of
rows, and then everything that is large. The schema is a list of groups and columns, depth first,
each with its number of children.

This module decides which reader is imported, so it imports neither numpy nor polars.
"""

import threading
from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from dpsel.records import frozen

# A file is wide if its footer has at least this many bytes, and the table at most so many rows.
_LONG_FOOTER = 1 << 20
_FEW_ROWS = 1 << 16
# Files up to this size are read into memory as a whole.
_LARGEST_IN_MEMORY = 1 << 28
# How many bytes of a footer are read at most to find the names of columns.
_MOST_OF_SCHEMA = 1 << 26
# Schemas that are nested more deeply than this are not for polars.
_DEEPEST = 100
# Types of the Thrift compact protocol.
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
# Fields of a Parquet `SchemaElement`; then values of its type, and of its repetition.
_TYPE, _REPETITION, _NAME, _CHILDREN = 1, 3, 4, 5
_SINGLE, _DOUBLE = 4, 5
_REPEATED = 2


def wide_footer(path: Path) -> "WideFooter | None":
    """Return the footer of a file with few rows and thousands of columns; None for all others."""
    try:
        content = _long_footer(path)
    except OSError:
        return None  # The reader will say what is wrong.
    shape = None if content is None else footer_shape(content)
    if content is None or shape is None or shape.deepest > _DEEPEST or shape.rows > _FEW_ROWS:
        return None
    return WideFooter(content, shape, FileContent(path))


def _long_footer(path: Path) -> bytes | None:
    """Return the footer of a Parquet file, or None if it is short or there is none."""
    with path.open("rb") as file:
        size = _long_footer_size(file)
        if not size:
            return None
        file.seek(-8 - size, 2)
        return file.read(size)


def _long_footer_size(file: BinaryIO) -> int:
    """Return the size of the footer in bytes, or 0 if it is short or there is none."""
    length = _footer_size(file)
    return length if length >= _LONG_FOOTER else 0


def _footer_size(file: BinaryIO) -> int:
    """Return the size of the footer in bytes, or 0 if there is none."""
    size = file.seek(0, 2)
    if size < 12:
        return 0
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    return length if tail[4:] == b"PAR1" and length <= size - 12 else 0


class FileContent:
    """The content of a file of moderate size, read in a thread while polars is imported.

    No row is looked at before the run is charged; until then only the footer is parsed.
    """

    def __init__(self, path: Path) -> None:
        """Start reading the file."""
        self._path = path
        self._content: bytes | None = None
        self._error: OSError | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait(self) -> bytes | None:
        """Return the content, or None if the file is too large; raise what reading it raised."""
        self._reader.join()
        if self._error is not None:
            raise self._error
        return self._content

    def _read(self) -> None:
        """Read the whole file, and keep the error if this fails."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) <= _LARGEST_IN_MEMORY:
                    file.seek(0)
                    self._content = file.read()
        except OSError as error:
            self._error = error


@frozen
class FooterShape:
    """How deeply columns are nested, how many rows there are, and names if all are plain floats."""

    deepest: int
    """How many groups, including the schema itself, the most deeply nested column is in."""
    rows: int
    floats: "FloatNames | None" = field(repr=False)
    """The names of the columns, if all columns are floats that are not nested; else None."""


@frozen
class FloatNames:
    """The places of the columns' names in a footer.

    Reading 22,283 names takes 7 ms, so a caller can do it while polars parses the footer.
    """

    footer: bytes = field(repr=False)
    runs: "tuple[tuple[int, _Element, int], ...]"
    """For each run of alike elements: where it begins, its first element, and its length."""

    def read(self) -> list[str]:
        """Return the names, in order; raise UnicodeDecodeError if one is not UTF-8."""
        names = (_names(self.footer, *run) for run in self.runs)
        return [name.decode() for run in names for name in run]


@frozen
class WideFooter:
    """The footer of a wide file, the table's shape, and the content of the file."""

    content: bytes = field(repr=False)
    shape: FooterShape
    file: FileContent


@frozen
class _Element:
    """A group or a column of the schema."""

    children: int
    name: range
    """Where its name is in the footer."""
    end: int
    """Where the next element begins."""
    is_float: bool


def footer_shape(footer: bytes) -> FooterShape | None:
    """Return the shape of the table, or None if the footer is damaged or unusual."""
    try:
        return _shape(footer)
    except (IndexError, ValueError):
        return None


def _shape(footer: bytes) -> FooterShape:
    """Return the shape of the table in one pass over the schema."""
    count, at = _schema(footer)
    # For each group that the next element is in: how many of its children are still to come.
    deepest, open_groups = 0, [1]
    runs: list[tuple[int, _Element, int]] = []
    floats = True
    done = 0
    while done < count:
        while open_groups[-1] == 0:
            open_groups.pop()
        element = _element(footer, at)
        done += 1
        open_groups[-1] -= 1
        if element.children:
            open_groups.append(element.children)
            deepest = max(deepest, len(open_groups))
            floats = floats and done == 1
            at = element.end
            continue
        floats = floats and element.is_float
        # Most columns differ from the one before only in the letters of the name.
        alike = _alike(footer, at, element, min(count - done, open_groups[-1]))
        if floats:
            runs.append((at, element, 1 + alike))
        open_groups[-1] -= alike
        done += alike
        at += (1 + alike) * (element.end - at)
    if footer[at] != 0x16:  # The next field is a 64-bit integer, the number of rows.
        raise ValueError
    rows, _ = _varint(footer, at + 1)
    names = FloatNames(footer, tuple(runs)) if floats else None
    return FooterShape(deepest - 1, rows >> 1, names)


def footer_names(path: Path) -> list[str]:
    """Return the names of a file's outermost columns and groups; none if the footer is unusual."""
    with path.open("rb") as file:
        size = _footer_size(file)
        if not size:
            return []
        file.seek(-8 - size, 2)
        footer = file.read(min(size, _MOST_OF_SCHEMA))
    try:
        return [name.decode() for name in _outermost(footer)]
    except (IndexError, ValueError):
        return []


def _outermost(footer: bytes) -> list[bytes]:
    """Return the names of the root's own children."""
    _, at = _schema(footer)
    root = _element(footer, at)
    names: list[bytes] = []
    at = root.end
    while len(names) < root.children:
        element = _element(footer, at)
        alike = 0
        if not element.children:
            alike = _alike(footer, at, element, root.children - len(names) - 1)
        names += _names(footer, at, element, 1 + alike)
        at += (1 + alike) * (element.end - at)
        # Skip everything inside a group.
        to_skip = element.children
        while to_skip:
            inner = _element(footer, at)
            to_skip += inner.children - 1
            at = inner.end
    return names


def _schema(footer: bytes) -> tuple[int, int]:
    """Return the number of elements in the schema, and where the first one begins."""
    _, at = _varint(footer, 1)
    if footer[0] != 0x15 or footer[at] != 0x19:  # The version, then the schema, which is a list.
        raise ValueError
    # A list of 15 or more has its length in a field of its own.
    count = footer[at + 1] >> 4
    return _varint(footer, at + 2) if count == 15 else (count, at + 2)


def _alike(footer: bytes, at: int, element: _Element, most: int) -> int:
    """Return how many of the next elements, at most `most`, differ from this one only in the name.

    All these have the same size. This is for speed: each byte outside the name is compared in many
    elements at once, with one slice whose step is the size. The number of elements that are looked
    at grows as long as all of them are alike.
    """
    size = element.end - at
    places = [*range(at, element.name.start), *range(element.name.stop, element.end)]
    most = min(most, (len(footer) - element.end) // size)
    found, look = 0, 16
    while found < most:
        look = min(look, most - found)
        same = look
        for place in places:
            first = place + (1 + found) * size
            others = footer[first : first + look * size : size]
            # What `lstrip` takes away is the bytes that are equal.
            same = min(same, look - len(others.lstrip(footer[place : place + 1])))
        found += same
        if same < look:
            break
        look *= 8
    return found


def _names(footer: bytes, at: int, element: _Element, count: int) -> list[bytes]:
    """Return the names of a run of `count` alike elements, of which `element` at `at` is first."""
    size, start, stop = element.end - at, element.name.start, element.name.stop
    return [footer[start + step : stop + step] for step in range(0, count * size, size)]


def _element(footer: bytes, at: int) -> _Element:
    """Parse the group or column at `at`."""
    number = children = 0
    physical_type = repetition = -1
    plain = True
    name = range(0)
    # Each field begins with a byte: how much its number exceeds the last one's, then its type.
    # Integers are zigzag-encoded, so one that is not negative is stored as its double.
    while head := footer[at]:
        kind = head & 15
        number += head >> 4
        at += 1
        if kind == _I32:
            value, at = _varint(footer, at)
            if number == _CHILDREN:
                children = value >> 1
            elif number == _TYPE:
                physical_type = value >> 1
            elif number == _REPETITION:
                repetition = value >> 1
            else:
                plain = False
        elif kind == _BINARY:
            length, at = _varint(footer, at)
            if number == _NAME:
                name = range(at, at + length)
            at += length
        elif kind == _STRUCT:
            plain = False
            at = _end_of_struct(footer, at)
        elif kind > 2:  # A Boolean is stored in the type itself.
            raise ValueError
    if not name.stop:
        raise ValueError
    is_float = plain and physical_type in (_SINGLE, _DOUBLE) and repetition != _REPEATED
    return _Element(children, name, at + 1, is_float)


def _end_of_struct(footer: bytes, at: int) -> int:
    """Return where a struct inside an element ends; it may hold small values and other structs."""
    depth = 1
    while depth:
        head = footer[at]
        at += 1
        kind = head & 15
        if not head:
            depth -= 1
        elif kind == _STRUCT:
            depth += 1
        elif kind == 3:  # A single byte.
            at += 1
        elif kind in (_I32, _I64):
            _, at = _varint(footer, at)
        elif kind > 2:
            raise ValueError
    return at


def _varint(footer: bytes, at: int) -> tuple[int, int]:
    """Return an unsigned integer of variable length, and where it ends."""
    value = footer[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    shift = 7
    while True:
        at += 1
        byte = footer[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
