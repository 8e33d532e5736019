"""Cells of Arrow columns as the numbers of the core, and for some scores as words.

`number_columns` reads numeric columns; what is missing or not a number is NaN. `cell_columns` reads
columns of any type as numbers and words (see `dpsel.core.words`): a truth value is 0 or 1; dates,
times and durations are microseconds; texts, categories and bytes are read as `dpsel.tables.words`
reads them. A null, a NaN and a nested value are missing.

Privacy:
    Domain: any Arrow column. What a cell becomes depends on that cell and its column's type alone.
    Guarantee: none; cells are private input for a score.
    Tested by: tests/tables/test_words.py
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray, RealArray
from dpsel.core.batch import Columns
from dpsel.core.words import without_words
from dpsel.tables.cells import DAY, text_numbers
from dpsel.tables.columns import Kind

_NUMBERS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    # A column of the null type has no value at all.
    pa.types.is_null,
)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES = {
    pa.string(): pa.binary(),
    pa.large_string(): pa.large_binary(),
    pa.string_view(): pa.binary_view(),
}
_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def kind_of(kind: pa.DataType) -> Kind:
    """Return the kind of a column of this Arrow type."""
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
    """Return whether an Arrow type is text."""
    return any(test(kind) for test in _TEXTS)


def sound(column: Any) -> Any:
    """Return a column after checking it: in a damaged one, reading past a buffer ends the process.

    A text that is not UTF-8 does no harm and may come from a single row, so it is not refused,
    neither by itself nor inside a nested value. Nothing reads what is inside a nested value.
    """
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        if isinstance(chunk, pa.ExtensionArray):
            sound(chunk.storage)
        elif pa.types.is_dictionary(chunk.type):
            chunk.validate()
            sound(chunk.dictionary)
            # With as many nulls in place of the entries, which may not be UTF-8.
            entries = pa.nulls(len(chunk.dictionary), pa.int8())
            pa.DictionaryArray.from_arrays(chunk.indices, entries, safe=True)
        elif is_text(chunk.type):
            chunk.view(_BYTES[chunk.type]).validate(full=True)
        else:
            # A full check of decimals would refuse one with more digits than its type allows.
            tests = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_nested)
            chunk.validate(full=not any(test(chunk.type) for test in tests))
    return column


def number_columns(columns: Sequence[Any]) -> RealArray | Columns:
    """Return numeric Arrow columns as floats, in single precision if all columns are."""
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
    # A single chunk need not be copied.
    if len(found) == 1:
        return found[0]
    return np.concatenate(found) if found else np.empty(0)


def _array_of(chunk: Any) -> NumberArray:
    """Return integers or floats as an array, which is of floats if any value is missing."""
    if chunk.null_count and chunk.type not in (pa.float32(), pa.float64()):
        chunk = chunk.cast(pa.float64(), safe=False)
    return filled(chunk, math.nan)


def filled(chunk: Any, value: float) -> NumberArray:
    """Return integers or floats as an array, with `value` in place of missing ones.

    pyarrow's own ways, `to_numpy` and `fill_null` with a Python value, first import pandas if that
    is installed: 200 ms of the 500 ms that a small table takes.
    """
    if chunk.null_count:
        one = np.full(1, value, dtype=chunk.type.to_pandas_dtype())
        chunk = chunk.fill_null(pa.Array.from_buffers(chunk.type, 1, [None, pa.py_buffer(one)])[0])
    return np.from_dlpack(chunk)


def cell_columns(columns: Sequence[Any]) -> FloatArray | Columns:
    """Return Arrow columns of any types; each cell is a number, a word or missing."""
    if not columns:
        return np.empty((0, 0))
    return Columns([column_cells(column) for column in columns])


def write_cells(column: Any, keep: BoolArray | None, cells: FloatArray) -> None:
    """Write the kept rows of one Arrow column to `cells`, as `column_cells` returns them."""
    if keep is not None or not pa.types.is_floating(column.type) or column.null_count:
        found = column_cells(column)
        cells[:] = found if keep is None else found[keep]
        return
    # Most columns are floats without nulls, and are converted and copied in one step.
    start = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        cells[start : start + len(chunk)] = np.from_dlpack(chunk)
        start += len(chunk)
    # The minimum is NaN if any cell is; finding it takes a third of the time of checking each.
    if np.isnan(cells.min(initial=0.0)):
        cells[np.isnan(cells)] = np.nan


def column_cells(column: Any) -> FloatArray:
    """Return one Arrow column of any type; each cell is a number, a word or missing."""
    kind = column.type
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            parts = [np.empty(0), *map(column_cells, column.chunks)]
            return np.concatenate(parts)
        column = column.chunk(0)
    if isinstance(column, pa.ExtensionArray):
        return column_cells(column.storage)
    if pa.types.is_dictionary(kind):
        entries = np.append(column_cells(column.dictionary), np.nan)
        indices = filled(column.indices.cast(pa.int64(), safe=False), -1)
        # In a damaged file an index may point anywhere: such a value is missing.
        inside = (indices >= 0) & (indices < len(entries))
        return entries[np.where(inside, indices, -1)]
    if pa.types.is_run_end_encoded(kind):
        from pyarrow.compute import run_end_decode

        return column_cells(run_end_decode(column))
    found = kind_of(kind)
    if found is Kind.NUMBER:
        return without_words(numbers(column))
    if found is Kind.TIME and not pa.types.is_interval(kind):
        return _time_cells(column)
    if found in (Kind.TEXT, Kind.BINARY):
        # Imported here because numbers and times do not need polars, which takes long to import.
        from dpsel.tables.words import decoded_texts, text_cells

        return text_cells(decoded_texts(column.cast(pa.large_binary())))
    return np.full(len(column), np.nan)


def _time_cells(column: Any) -> FloatArray:
    """Return dates, times or durations as microseconds."""
    kind = column.type
    counts = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    missing = np.from_dlpack(counts.is_null().cast(pa.int8())) == 1
    values: IntArray = filled(counts, 0).astype(np.int64)
    if pa.types.is_date32(kind):
        cells = values.astype(np.float64) * DAY
    else:
        # A date64 has no unit: it counts milliseconds.
        cells = _microseconds(values, _IN_A_SECOND[getattr(kind, "unit", "ms")])
    cells[missing] = np.nan
    return cells


def _microseconds(counts: IntArray, in_a_second: int) -> FloatArray:
    """Return integer counts of a unit of time as microseconds."""
    if in_a_second <= 10**6:
        return counts.astype(np.float64) * (10**6 // in_a_second)
    whole, rest = np.divmod(counts, in_a_second // 10**6)
    return whole.astype(np.float64) + rest / (in_a_second // 10**6)


def repeated(value: Any, rows: int) -> Any:
    """Return an Arrow column that has one value in all its rows."""
    if is_text(value.type):
        return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), value)
    return pa.array(np.full(rows, value[0].as_py()))
