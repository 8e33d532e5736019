"""From Arrow columns to the numbers of the core: NaN where a cell is missing or no number."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.io.columns import Kind


def kind_of(kind: pa.DataType) -> Kind:
    """Return what a column of an Arrow type holds."""
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type)
    # A column without any type is one without any value.
    numeric = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    if any(test(kind) for test in numeric):
        return Kind.NUMBER
    if pa.types.is_temporal(kind):
        return Kind.TIME
    return Kind.OTHER if pa.types.is_nested(kind) else Kind.TEXT


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
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        column = column.cast(pa.float64(), safe=False)
    if isinstance(column, pa.ChunkedArray):
        values = column.to_numpy()
    else:
        values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values, dtype=np.float64)


def target_values(column: Any, positive: str | None) -> FloatArray:
    """Return the target: its numbers, or 1 for the label `positive` and -1 for any other."""
    if positive is None:
        return numbers(column)
    texts = as_texts(column)
    equal = pc.equal(texts, positive)
    as_number = _number_of(positive)
    if as_number is not None:
        # 1, 1.0 and true are one label, whatever the format wrote.
        equal = pc.or_kleene(equal, pa.array(text_numbers(texts) == as_number))
    signs = pc.if_else(equal, 1.0, -1.0)
    return numbers(signs)


def as_texts(column: Any) -> Any:
    """Return any column of plain values as one array of texts."""
    import polars as pl

    series = pl.Series(pl.from_arrow(column)).cast(pl.String, strict=False)
    return series.rechunk().to_arrow().cast(pa.large_string())


def truth_values(texts: Any) -> FloatArray:
    """Return 1 for `true`, 0 for `false`, in any case, and NaN for anything else."""
    lowered = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    words = pc.if_else(
        pc.equal(lowered, "true"), 1.0, pc.if_else(pc.equal(lowered, "false"), 0.0, None)
    )
    return numbers(words.cast(pa.float64()))


def text_numbers(texts: Any) -> FloatArray:
    """Return texts as numbers, `true` and `false` as 1 and 0, and NaN for anything else."""
    import polars as pl

    series = pl.Series(pl.from_arrow(texts), dtype=pl.String)
    parsed = series.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
    return np.where(np.isnan(parsed), truth_values(texts), parsed)


def person_codes(column: Any) -> tuple[list[str], IntArray]:
    """Return the distinct persons, and for every row the place of its own, or -1."""
    encoded = as_texts(column).dictionary_encode()
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), codes.astype(np.int64)


def _number_of(label: str) -> float | None:
    """Return the number that a label is, if it is one."""
    found = text_numbers(pa.array([label], pa.large_string()))[0]
    return None if np.isnan(found) else float(found)
