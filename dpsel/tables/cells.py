"""Cells as the numbers of the core: NaN where one is missing or no number, whatever its type."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import FloatArray, NumberArray, RealArray
from dpsel.core.batch import Columns
from dpsel.tables.columns import Kind

TRUTH_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}

WORDS_FOR_MISSING = frozenset(
    ("", "na", "n/a", "<na>", "nan", "+nan", "-nan", "nat", "null", "none", "nil", "-", ".", "?")
)
"""In small letters."""

# Written so that no text, however long, can be read in more than one way: that takes for ever.
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_LONGEST_EXPONENT = 18
# More digits than any type of whole numbers has.
_MOST_DIGITS = 80

# What Python makes of bytes that are no UTF-8, and what we do: each gets a mark and a sign of its
# own, and none of these can be a separator.
_MARK = "\ufffd".encode()
_ESCAPED = {b"\xed\xb2": _MARK + b"\xe2\xa2", b"\xed\xb3": _MARK + b"\xe2\xa3"}


def in_utf8(text: bytes) -> bytes:
    """Return a text in UTF-8. Bytes that are none get signs of their own.

    So two persons stay two, whose names in another encoding differ in such a byte only. It takes no
    step in Python for a byte: a cell may hold very many.
    """
    if text.isascii():
        return text
    text = text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
    for escaped, sign in _ESCAPED.items():
        text = text.replace(escaped, sign)
    return text


def exact_number(text: str) -> str | None:
    """Return the one way to write a number, with all of its digits; None for what is no number.

    Equal numbers are written alike: 7, 7.0, +7 and 70e-1. No two others are, however long.
    """
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) <= _MOST_DIGITS:
        return text  # Most are, and need not be taken apart.
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, fraction, exponent = found.groups(default="")
    if not whole and not fraction:
        return None
    digits = (whole + fraction).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return "0"
    if len(exponent.lstrip("+-0")) > _LONGEST_EXPONENT:
        return None
    power = _whole(exponent) - len(fraction) + len(digits) - len(short)
    sign = sign.strip("+")
    if power >= 0 and len(short) + power <= _MOST_DIGITS:
        return sign + short + "0" * power
    return f"{sign}{short}e{power}"


def _whole(exponent: str) -> int:
    """Return an exponent, whatever the number of its leading zeros."""
    size = int(exponent.lstrip("+-0") or 0)
    return -size if exponent.startswith("-") else size


def decoded(cell: bytes) -> str:
    """Return bytes as text, with signs for those that are no UTF-8."""
    return in_utf8(cell).decode()


_NUMBERS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    # A column without any type is one without any value.
    pa.types.is_null,
)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}


def kind_of(kind: pa.DataType) -> Kind:
    """Return what a column of an Arrow type holds."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return kind_of(kind.storage_type)
    if any(test(kind) for test in _NUMBERS):
        return Kind.NUMBER
    if pa.types.is_temporal(kind):
        return Kind.TIME
    if is_text(kind):
        return Kind.TEXT
    return Kind.OTHER if pa.types.is_nested(kind) else Kind.BINARY


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of texts."""
    return any(test(kind) for test in _TEXTS)


def sound(column: Any) -> Any:
    """Check a column whose bytes may be damaged: reading past its buffers would end the process.

    A text that is no UTF-8 does no harm, and may come from one row: it is not refused.
    """
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if isinstance(chunk, pa.ExtensionArray):
            sound(chunk.storage)
        elif pa.types.is_dictionary(chunk.type):
            chunk.validate()
            sound(chunk.dictionary)
            # With other entries, as many, in place of those that may be no UTF-8.
            entries = pa.nulls(len(chunk.dictionary), pa.int8())
            pa.DictionaryArray.from_arrays(chunk.indices, entries, safe=True)
        elif is_text(chunk.type):
            chunk.view(_BYTES[chunk.type]).validate(full=True)
        else:
            chunk.validate(full=not pa.types.is_primitive(chunk.type))
    return column


def number_columns(columns: Sequence[Any]) -> RealArray | Columns:
    """Return numeric Arrow columns as floats, in single precision if all are."""
    if not columns:
        return np.empty((0, 0))
    if all(column.type == pa.float32() for column in columns):
        return Columns([_raw_numbers(column) for column in columns])
    return Columns([numbers(column) for column in columns])


def numbers(column: Any) -> FloatArray:
    """Return one numeric Arrow column as floats."""
    return np.asarray(_raw_numbers(column), dtype=np.float64)


def _raw_numbers(column: Any) -> NumberArray:
    """Return one numeric Arrow column as an array of its own type, or of floats."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = column.cast(kind.storage_type)
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if is_text(column.type):
        return text_numbers(column)
    if pa.types.is_decimal(column.type):
        # Arrow's own cast is not correctly rounded; reading the digits is.
        column = column.cast(pa.string()).cast(pa.float64())
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        column = column.cast(pa.float64(), safe=False)
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            return np.asarray(column.to_numpy())
        column = column.chunk(0)  # Which, unlike the whole, need not be copied.
    return np.asarray(column.to_numpy(zero_copy_only=False))


def text_numbers(texts: Any) -> FloatArray:
    """Return texts as numbers, the words for true and false as 1 and 0, NaN for anything else.

    Blanks around them do not count.
    """
    from dpsel.system.frames import pl

    found = texts if isinstance(texts, pl.Series) else pl.from_arrow(texts)
    series = pl.Series(found, dtype=pl.String).str.strip_chars(" ")
    words = series.replace_strict(TRUTH_WORDS, default=None, return_dtype=pl.Float64)
    parsed = series.cast(pl.Float64, strict=False)
    return parsed.fill_null(words).fill_null(float("nan")).to_numpy()
