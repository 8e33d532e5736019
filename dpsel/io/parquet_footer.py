"""How deep the columns of a Parquet file are nested, read off its footer before any reader is.

Polars follows a schema that is nested thousands of levels deep until the stack is full, and takes
the process with it. The footer is a Thrift struct in the compact protocol; its second field is the
schema, a list of groups and columns with the number of each one's children.
"""

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_CHILDREN = 5


def deepest_column(footer: bytes) -> int | None:
    """Return how many groups are around the deepest column, None if the footer is an odd one."""
    try:
        return _deepest(footer)
    except (IndexError, ValueError):
        return None


def _deepest(footer: bytes) -> int:
    """Go through the schema once."""
    _, at = _varint(footer, 1)
    if footer[0] != 0x15 or footer[at] != 0x19:  # The version, and then the list of the schema.
        raise ValueError
    count = footer[at + 1] >> 4
    at += 2
    if count == 15:
        count, at = _varint(footer, at)
    deepest, open_groups = 0, [1]
    for _ in range(count):
        while open_groups[-1] == 0:
            open_groups.pop()
        open_groups[-1] -= 1
        children, at = _element(footer, at)
        if children:
            open_groups.append(children)
            deepest = max(deepest, len(open_groups))
    return deepest - 1


def _element(footer: bytes, at: int) -> tuple[int, int]:
    """Return the number of children of a group or column, and where the next one begins."""
    number = children = 0
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
            at += length
        elif kind == _STRUCT:
            at = _end_of_struct(footer, at)
        elif kind > 2:  # Truth values have no content of their own.
            raise ValueError
    return children, at + 1


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
