"""The shape of a Parquet file, read off its footer before any reader is.

Polars follows a schema that is nested thousands of levels deep until the stack is full, and takes
the process with it. The footer is a Thrift struct in the compact protocol: a version, the schema,
which is a list of groups and columns with the number of each one's children, the number of rows,
and then all that is large.
"""

from dataclasses import dataclass

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_NAME, _CHILDREN = 4, 5


@dataclass(frozen=True)
class FooterShape:
    """How many groups are around the deepest column, and how many rows there are."""

    deepest: int
    rows: int


def footer_shape(footer: bytes) -> FooterShape | None:
    """Return the shape that a footer tells, None if it is an odd one."""
    try:
        return _shape(footer)
    except (IndexError, ValueError):
        return None


def _shape(footer: bytes) -> FooterShape:
    """Go through the schema once."""
    _, at = _varint(footer, 1)
    if footer[0] != 0x15 or footer[at] != 0x19:  # The version, and then the list of the schema.
        raise ValueError
    count = footer[at + 1] >> 4
    at += 2
    if count == 15:
        count, at = _varint(footer, at)
    deepest, open_groups = 0, [1]
    # The bytes before and after the name of the last column: hundreds of thousands more are alike.
    before, after, length_at = b"", b"", 0
    for _ in range(count):
        while open_groups[-1] == 0:
            open_groups.pop()
        open_groups[-1] -= 1
        if before and footer.startswith(before, at):
            length = footer[at + length_at]
            end = at + length_at + 1 + length
            if length < 0x80 and footer.startswith(after, end):
                at = end + len(after)
                continue
        children, name, next_at = _element(footer, at)
        if children:
            open_groups.append(children)
            deepest = max(deepest, len(open_groups))
        elif name.start and footer[name.start - 1] < 0x80:
            before, after = footer[at : name.start - 1], footer[name.stop : next_at]
            length_at = len(before)
        at = next_at
    if footer[at] != 0x16:  # The next field, a whole number.
        raise ValueError
    rows, _ = _varint(footer, at + 1)
    return FooterShape(deepest - 1, rows >> 1)


def _element(footer: bytes, at: int) -> tuple[int, range, int]:
    """Return the number of children of a group or column, its name's place, and its end."""
    number = children = 0
    name = range(0)
    while head := footer[at]:
        kind = head & 15
        number += head >> 4
        at += 1
        if kind == _I32:
            value, at = _varint(footer, at)
            if number == _CHILDREN:
                children = value >> 1
        elif kind == _BINARY:
            length, at = _varint(footer, at)
            if number == _NAME:
                name = range(at, at + length)
            at += length
        elif kind == _STRUCT:
            at = _end_of_struct(footer, at)
        elif kind > 2:  # Truth values have no content of their own.
            raise ValueError
    return children, name, at + 1


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
