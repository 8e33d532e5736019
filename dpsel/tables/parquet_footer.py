"""The shape of a Parquet file, read off its footer before any reader is.

Polars follows a schema that is nested thousands of levels deep until the stack is full, and takes
the process with it. And of a table with 10^5 columns, to read the footer takes as long as to read
the rest, so it should be read once. The footer is a Thrift struct in the compact protocol: a
version, the schema, which is a list of groups and columns with the number of each one's children,
the number of rows, and then all that is large.

Neither numpy nor polars here: this says which of the readers is imported.
"""

from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from dpsel.records import frozen

_LONG_FOOTER = 1 << 20
_FEW_ROWS = 1 << 16
_MOST_OF_SCHEMA = 1 << 26
_DEEPEST = 100
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_TYPE, _REPETITION, _NAME, _CHILDREN = 1, 3, 4, 5
_SINGLE, _DOUBLE = 4, 5
_REPEATED = 2


def wide_footer(path: Path) -> "WideFooter | None":
    """Return the footer of a file with few rows and thousands of columns; None for all others."""
    try:
        content = _long_footer(path)
    except OSError:
        return None  # The reader says what is wrong.
    shape = None if content is None else footer_shape(content)
    if content is None or shape is None or shape.deepest > _DEEPEST or shape.rows > _FEW_ROWS:
        return None
    return WideFooter(content, shape)


def _long_footer(path: Path) -> bytes | None:
    """Return the footer of a Parquet file, None if it is short, or there is none."""
    with path.open("rb") as file:
        size = _long_footer_size(file)
        if not size:
            return None
        file.seek(-8 - size, 2)
        return file.read(size)


def _long_footer_size(file: BinaryIO) -> int:
    """Return how many bytes a footer has, 0 if it is short, or there is none."""
    length = _footer_size(file)
    return length if length >= _LONG_FOOTER else 0


def _footer_size(file: BinaryIO) -> int:
    """Return how many bytes a footer has, 0 if there is none."""
    size = file.seek(0, 2)
    if size < 12:
        return 0
    file.seek(size - 8)
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    return length if tail[4:] == b"PAR1" and length <= size - 12 else 0


@frozen
class FooterShape:
    """How deep columns are nested, how many rows there are, and the columns if they are plain."""

    deepest: int
    """How many groups are around the deepest column."""
    rows: int
    floats: list[str] | None = field(repr=False)
    """The columns' names, if each is one of floats and nothing else."""


@frozen
class WideFooter:
    """The footer of a wide file, and the shape that it tells."""

    content: bytes = field(repr=False)
    shape: FooterShape


@frozen
class _Element:
    """A group or a column: its number of children, and where its name and itself end."""

    children: int
    name: range
    end: int
    is_float: bool


def footer_shape(footer: bytes) -> FooterShape | None:
    """Return the shape that a footer tells, None if it is an odd one."""
    try:
        return _shape(footer)
    except (IndexError, ValueError):
        return None


def _shape(footer: bytes) -> FooterShape:
    """Go through the schema once."""
    count, at = _schema(footer)
    deepest, open_groups = 0, [1]
    names: list[bytes] = []
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
        # Most columns are like the last one, but for the signs of the name.
        alike = _alike(footer, at, element, min(count - done, open_groups[-1]))
        if floats:
            names += _names(footer, at, element, 1 + alike)
        open_groups[-1] -= alike
        done += alike
        at += (1 + alike) * (element.end - at)
    if footer[at] != 0x16:  # The next field, a whole number.
        raise ValueError
    rows, _ = _varint(footer, at + 1)
    texts = [name.decode() for name in names] if floats else None
    return FooterShape(deepest - 1, rows >> 1, texts)


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns, of nested ones the outermost; none if it is odd."""
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
    """Return the names of what is right inside the schema."""
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
        inside = element.children
        while inside:
            within = _element(footer, at)
            inside += within.children - 1
            at = within.end
    return names


def _schema(footer: bytes) -> tuple[int, int]:
    """Return how many groups and columns a schema has, and where the first begins."""
    _, at = _varint(footer, 1)
    if footer[0] != 0x15 or footer[at] != 0x19:  # The version, and then the list of the schema.
        raise ValueError
    count = footer[at + 1] >> 4
    return _varint(footer, at + 2) if count == 15 else (count, at + 2)


def _alike(footer: bytes, at: int, element: _Element, most: int) -> int:
    """Return how many of the next elements have the same bytes as this one, but for their names."""
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
            same = min(same, look - len(others.lstrip(footer[place : place + 1])))
        found += same
        if same < look:
            break
        look *= 8
    return found


def _names(footer: bytes, at: int, element: _Element, count: int) -> list[bytes]:
    """Return the names of so many elements that are alike."""
    size, start, stop = element.end - at, element.name.start, element.name.stop
    return [footer[start + step : stop + step] for step in range(0, count * size, size)]


def _element(footer: bytes, at: int) -> _Element:
    """Return what the next group or column is."""
    number = children = 0
    kind_of_values = repetition = -1
    plain = True
    name = range(0)
    while head := footer[at]:
        kind = head & 15
        number += head >> 4
        at += 1
        if kind == _I32:
            value, at = _varint(footer, at)
            if number == _CHILDREN:
                children = value >> 1
            elif number == _TYPE:
                kind_of_values = value >> 1
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
        elif kind > 2:  # Truth values have no content of their own.
            raise ValueError
    if not name.stop:
        raise ValueError
    is_float = plain and kind_of_values in (_SINGLE, _DOUBLE) and repetition != _REPEATED
    return _Element(children, name, at + 1, is_float)


def _end_of_struct(footer: bytes, at: int) -> int:
    """Return where a struct inside an element ends; it holds small values and further structs."""
    depth = 1
    while depth:
        head = footer[at]
        at += 1
        kind = head & 15
        if not head:
            depth -= 1
        elif kind == _STRUCT:
            depth += 1
        elif kind == 3:
            at += 1
        elif kind in (_I32, _I64):
            _, at = _varint(footer, at)
        elif kind > 2:
            raise ValueError
    return at


def _varint(footer: bytes, at: int) -> tuple[int, int]:
    """Return a whole number, and where it ends."""
    value = footer[at]
    if value < 0x80:
        return value, at + 1
    value &= 0x7F
    shift = 7
    while True:
        at += 1
        sign = footer[at]
        value |= (sign & 0x7F) << shift
        if sign < 0x80:
            return value, at + 1
        shift += 7
