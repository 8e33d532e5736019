"""Columns of Arrow as the numbers of the core: NaN for what is missing or no number."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import FloatArray, NumberArray, RealArray
from dpsel.core.batch import Columns
from dpsel.tables.cells import text_numbers
from dpsel.tables.columns import Kind

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
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    found = [_array_of(chunk) for chunk in chunks]
    # One chunk, unlike several, need not be copied.
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.empty(0)


def _array_of(chunk: Any) -> NumberArray:
    """Return whole numbers or floats as an array, of floats if one is missing.

    Not by `to_numpy`, which first imports pandas if that is installed: 350 ms.
    """
    if chunk.null_count:
        if chunk.type not in (pa.float32(), pa.float64()):
            chunk = chunk.cast(pa.float64(), safe=False)
        chunk = chunk.fill_null(math.nan)
    return np.from_dlpack(chunk)


def repeated(value: Any, rows: int) -> Any:
    """Return an Arrow column that has one value in all its rows."""
    if is_text(value.type):
        return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), value)
    return pa.array(np.full(rows, value[0].as_py()))
