"""Parquet files made by hand, so that they may say what no program would write.

Just enough of Thrift's compact protocol, and of https://github.com/apache/parquet-format.
"""

from collections.abc import Sequence
from dataclasses import dataclass

DOUBLE, BYTE_ARRAY = 5, 6
UNCOMPRESSED, ZSTD = 0, 6
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


def varint(value: int) -> bytes:
    """Return a whole number, seven bits a byte."""
    signs = bytearray()
    while value > 0x7F:
        signs.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*signs, value])


@dataclass(frozen=True)
class Field:
    """A value of a struct, with its number and kind."""

    number: int
    kind: int
    content: bytes


def i32(number: int, value: int) -> Field:
    return Field(number, _I32, varint(value * 2 if value >= 0 else -value * 2 - 1))


def i64(number: int, value: int) -> Field:
    return Field(number, _I64, varint(value * 2 if value >= 0 else -value * 2 - 1))


def text(number: int, value: str | bytes) -> Field:
    content = value.encode() if isinstance(value, str) else value
    return Field(number, _BINARY, varint(len(content)) + content)


def struct(*fields: Field) -> bytes:
    """Return a struct; fields in the order of their numbers."""
    content, before = b"", 0
    for field in fields:
        content += bytes([(field.number - before) << 4 | field.kind]) + field.content
        before = field.number
    return content + b"\0"


def inner(number: int, content: bytes) -> Field:
    return Field(number, _STRUCT, content)


def structs(number: int, items: Sequence[bytes], kind: int = _STRUCT) -> Field:
    head = (
        bytes([len(items) << 4 | kind])
        if len(items) < 15
        else bytes([0xF0 | kind]) + varint(len(items))
    )
    return Field(number, _LIST, head + b"".join(items))


def texts(number: int, values: Sequence[str]) -> Field:
    items = [varint(len(value.encode())) + value.encode() for value in values]
    return structs(number, items, _BINARY)


def whole_numbers(number: int, values: Sequence[int]) -> Field:
    return structs(number, [varint(value * 2) for value in values], _I32)


@dataclass(frozen=True)
class Column:
    """A column chunk: its pages, and what the footer says about them."""

    name: str
    pages: bytes
    rows: int
    kind: int = DOUBLE
    codec: int = UNCOMPRESSED
    dictionary: bytes = b""
    claimed_bytes: int = 100


def dictionary_page(entry: bytes, entries: int = 1) -> bytes:
    """Return a page with entries of a dictionary."""
    about = struct(i32(1, entries), i32(2, PLAIN))
    return struct(i32(1, 2), i32(2, len(entry)), i32(3, len(entry)), inner(7, about)) + entry


def constant_page(rows: int) -> bytes:
    """Return a page in which all rows have the first entry of the dictionary."""
    return data_page(b"\x01" + varint(rows << 1) + b"\0", rows, RLE_DICTIONARY)


def data_page(
    content: bytes,
    rows: int,
    encoding: int,
    claimed_bytes: int | None = None,
    claimed_in_file: int | None = None,
) -> bytes:
    """Return a page of values, which may claim to be larger than it is, decompressed or not."""
    about = struct(i32(1, rows), i32(2, encoding), i32(3, RLE), i32(4, RLE))
    size = len(content) if claimed_bytes is None else claimed_bytes
    in_file = len(content) if claimed_in_file is None else claimed_in_file
    return struct(i32(1, 0), i32(2, size), i32(3, in_file), inner(5, about)) + content


def constant_column(name: str, entry: bytes, rows: int, kind: int = DOUBLE) -> Column:
    """Return a column of one value, in a few bytes however many rows it has."""
    most = (1 << 31) - 1
    pages = [constant_page(min(most, rows - first)) for first in range(0, rows, most)]
    return Column(name, b"".join(pages), rows, kind, dictionary=dictionary_page(entry))


def element(name: str, kind: int) -> bytes:
    """Return a column in the schema, in which no value can be missing."""
    return struct(i32(1, kind), i32(3, 0), text(4, name))


def text_element(name: str) -> bytes:
    """Return a column of texts in the schema."""
    return struct(i32(1, BYTE_ARRAY), i32(3, 0), text(4, name), i32(6, 0))


def group(name: str, children: int) -> bytes:
    """Return a group of columns in the schema."""
    return struct(i32(3, 0), text(4, name), i32(5, children))


def parquet_file(
    columns: Sequence[Column],
    *,
    rows: int | None = None,
    schema: Sequence[bytes] | None = None,
    maker: str = "hand",
) -> bytes:
    """Return a file with one row group; a long name of its `maker` makes a long footer."""
    content, chunks = b"PAR1", []
    for column in columns:
        chunks.append(_chunk(column, len(content)))
        content += column.dictionary + column.pages
    if schema is None:
        elements = [element(column.name, column.kind) for column in columns]
        schema = [group("schema", len(columns)), *elements]
    count = rows if rows is not None else columns[0].rows
    row_group = struct(structs(1, chunks), i64(2, len(content)), i64(3, count))
    about = [i32(1, 1), structs(2, schema), i64(3, count), structs(4, [row_group]), text(6, maker)]
    footer = struct(*about)
    return content + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _chunk(column: Column, offset: int) -> bytes:
    """Return what the footer says about a column."""
    fields = [
        i32(1, column.kind),
        whole_numbers(2, [PLAIN, RLE, RLE_DICTIONARY]),
        texts(3, [column.name]),
        i32(4, column.codec),
        i64(5, column.rows),
        i64(6, column.claimed_bytes),
        i64(7, len(column.dictionary + column.pages)),
        i64(9, offset + len(column.dictionary)),
    ]
    if column.dictionary:
        fields.append(i64(11, offset))
    return struct(i64(2, offset), inner(3, struct(*fields)))
