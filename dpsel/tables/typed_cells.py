"""Arrow columns of any types as numbers and words: see `dpsel.core.words`.

A truth value is 0 or 1, and dates, times and durations are microseconds. Texts, categories and
bytes are read as `dpsel.tables.words` reads them. What is null or NaN is missing, and so is a
nested value.

Privacy:
    Domain: any Arrow column. What a cell becomes depends on that cell and its column's type alone.
    Guarantee: none; cells are private input for a score.
    Tested by: tests/tables/test_words.py
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.core.batch import Columns
from dpsel.core.words import without_words
from dpsel.tables.arrow_cells import kind_of, numbers
from dpsel.tables.cells import DAY
from dpsel.tables.columns import Kind

_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def cell_columns(columns: Sequence[Any]) -> FloatArray | Columns:
    """Return Arrow columns of any types, each cell a number, a word or missing."""
    if not columns:
        return np.empty((0, 0))
    return Columns([column_cells(column) for column in columns])


def write_cells(column: Any, keep: BoolArray | None, cells: FloatArray) -> None:
    """Write the rows of one Arrow column that are kept, each cell a number, a word or missing."""
    if keep is not None or not pa.types.is_floating(column.type) or column.null_count:
        found = column_cells(column)
        cells[:] = found if keep is None else found[keep]
        return
    # Most columns: they are converted and copied in one step.
    start = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        cells[start : start + len(chunk)] = np.from_dlpack(chunk)
        start += len(chunk)
    # A smallest number takes a third of the time of a look at each.
    if np.isnan(cells.min(initial=0.0)):
        cells[np.isnan(cells)] = np.nan


def column_cells(column: Any) -> FloatArray:
    """Return one Arrow column of any type, each cell a number, a word or missing."""
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
        indices = column.indices.cast(pa.int64(), safe=False).fill_null(-1).to_numpy()
        # In a damaged file an index may lead anywhere: such a value is missing.
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
        # Not before it is needed: numbers and times need no polars, which takes long to import.
        from dpsel.tables.words import decoded_texts, text_cells

        return text_cells(decoded_texts(column.cast(pa.large_binary())))
    return np.full(len(column), np.nan)


def _time_cells(column: Any) -> FloatArray:
    """Return dates, times or durations as microseconds."""
    kind = column.type
    counts = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    missing = counts.is_null().to_numpy(zero_copy_only=False)
    values: IntArray = counts.fill_null(0).to_numpy().astype(np.int64)
    if pa.types.is_date32(kind):
        cells = values.astype(np.float64) * DAY
    else:
        # A date64 has no unit: it counts milliseconds.
        cells = _microseconds(values, _IN_A_SECOND[getattr(kind, "unit", "ms")])
    cells[missing] = np.nan
    return cells


def _microseconds(counts: IntArray, in_a_second: int) -> FloatArray:
    """Return whole numbers of a unit of time as microseconds."""
    if in_a_second <= 10**6:
        return counts.astype(np.float64) * (10**6 // in_a_second)
    whole, rest = np.divmod(counts, in_a_second // 10**6)
    return whole.astype(np.float64) + rest / (in_a_second // 10**6)
