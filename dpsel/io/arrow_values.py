"""From Arrow columns to the numbers of the core: NaN where a cell is missing or no number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.io.columns import Kind

_NUMBERS = (
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_boolean,
    pa.types.is_decimal,
    # A column without any type is one without any value.
    pa.types.is_null,
)
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
TRUTH_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def kind_of(kind: pa.DataType) -> Kind:
    """Return what a column of an Arrow type holds."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    if any(test(kind) for test in _NUMBERS):
        return Kind.NUMBER
    if pa.types.is_temporal(kind):
        return Kind.TIME
    if any(test(kind) for test in _TEXTS):
        return Kind.TEXT
    return Kind.OTHER if pa.types.is_nested(kind) else Kind.BINARY


def number_matrix(columns: Sequence[Any]) -> FloatArray:
    """Return numeric Arrow columns as one matrix, a column each."""
    rows = len(columns[0]) if columns else 0
    matrix = np.empty((rows, len(columns)), order="F")
    for place, column in enumerate(columns):
        matrix[:, place] = numbers(column)
    return matrix


def numbers(column: Any) -> FloatArray:
    """Return one numeric Arrow column as floats."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_decimal(column.type):
        # Arrow's own cast is not correctly rounded; reading the digits is.
        column = column.cast(pa.string()).cast(pa.float64())
    elif not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        column = column.cast(pa.float64(), safe=False)
    if isinstance(column, pa.ChunkedArray):
        values = column.to_numpy()
    else:
        values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def as_texts(column: Any) -> Any:
    """Return any column of plain values as one array of texts."""
    import polars as pl

    series = pl.Series(pl.from_arrow(column))
    if series.dtype == pl.Binary:
        series = series.bin.encode("hex")
    return series.cast(pl.String, strict=False).rechunk().to_arrow().cast(pa.large_string())


def text_numbers(texts: Any) -> FloatArray:
    """Return texts as numbers, the words for true and false as 1 and 0, NaN for anything else.

    Blanks around them do not count.
    """
    import polars as pl

    series = pl.Series(pl.from_arrow(texts), dtype=pl.String).str.strip_chars(" ")
    words = series.replace_strict(TRUTH_WORDS, default=None, return_dtype=pl.Float64)
    parsed = series.cast(pl.Float64, strict=False)
    return parsed.fill_null(words).fill_null(float("nan")).to_numpy()


def person_codes(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct persons, and for every row the place of its own, or -1."""
    encoded = as_texts(column).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), codes.astype(np.int64)
