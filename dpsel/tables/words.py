"""Cells of any type as numbers and words: see `dpsel.core.words`.

The same content gives the same cell in every format. A text that reads as a number is that number,
a truth value 0 or 1, and dates, times and durations are microseconds: also in a text, if that is
written by ISO 8601 with separators. What is empty, null or NaN is missing, and so is a nested
value. Every other text, category or sequence of bytes is a word. Blanks around it do not count.

Privacy:
    Domain: any Arrow column. What a cell becomes depends on that cell and its column's type alone.
    Guarantee: none; cells are private input for a score.
    Tested by: tests/tables/test_words.py
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Columns
from dpsel.core.words import boxed_words, without_words
from dpsel.system.frames import pl
from dpsel.tables.arrow_cells import kind_of, numbers
from dpsel.tables.cells import decoded, text_numbers
from dpsel.tables.columns import Kind

_SEED = 0
_MISSING_TEXTS = ("", "nan", "+nan", "-nan")
# The shortest is 12:30, and the longest has nanoseconds and an offset.
_SHORTEST_TIME, _LONGEST_TIME = 5, 35
_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_CLOCK = (
    r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:\.(?P<part>[0-9]{1,9}))?)?"
)
_OFFSET = r"(?:Z|(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3])(?::?(?P<minutes>[0-5][0-9]))?)?"
_TIME = rf"^(?:{_DATE}(?:[T ]{_CLOCK} ?{_OFFSET})?)$"
_CLOCK_ALONE = rf"^{_CLOCK}$"
_DAY = 86_400_000_000
_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def cell_columns(columns: Sequence[Any]) -> FloatArray | Columns:
    """Return Arrow columns of any types, each cell a number, a word or missing."""
    if not columns:
        return np.empty((0, 0))
    return Columns([column_cells(column) for column in columns])


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
        return column_cells(pc.run_end_decode(column))
    found = kind_of(kind)
    if found is Kind.NUMBER:
        return without_words(numbers(column))
    if found is Kind.TIME and not pa.types.is_interval(kind):
        return _time_cells(column)
    if found in (Kind.TEXT, Kind.BINARY):
        return text_cells(_decoded(column))
    return np.full(len(column), np.nan)


def text_cells(texts: "pl.Series") -> FloatArray:
    """Return texts, each a number, a word or missing."""
    texts = texts.str.strip_chars(" ")
    cells = without_words(text_numbers(texts))
    rest = np.flatnonzero(np.isnan(cells))
    if not len(rest):
        return cells
    words = texts.gather(rest)
    missing = words.is_null() | words.str.to_lowercase().is_in(_MISSING_TEXTS)
    rest, words = rest[~missing.fill_null(True).to_numpy()], words.filter(~missing)
    cells = cells if cells.flags.writeable else cells.copy()
    cells[rest] = boxed_words(words.hash(_SEED).to_numpy())
    lengths = words.str.len_bytes()
    short = ((lengths >= _SHORTEST_TIME) & (lengths <= _LONGEST_TIME)).to_numpy()
    if short.any():
        times = _written_times(words.filter(pl.Series(short)))
        known = ~np.isnan(times)
        cells[rest[short][known]] = times[known]
    return cells


def _decoded(column: Any) -> "pl.Series":
    """Return texts or bytes as texts, whatever the bytes are."""
    found = pl.Series(pl.from_arrow(column.cast(pa.large_binary())), dtype=pl.Binary)
    try:
        return found.cast(pl.String)
    except pl.exceptions.ComputeError:  # Some are no UTF-8, which polars does not say for each.
        cells = [None if cell is None else decoded(cell) for cell in found.to_list()]
        return pl.Series(cells, dtype=pl.String)


def _time_cells(column: Any) -> FloatArray:
    """Return dates, times or durations as microseconds."""
    kind = column.type
    counts = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    missing = counts.is_null().to_numpy(zero_copy_only=False)
    values: IntArray = counts.fill_null(0).to_numpy().astype(np.int64)
    if pa.types.is_date32(kind):
        cells = values.astype(np.float64) * _DAY
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


def _written_times(texts: "pl.Series") -> FloatArray:
    """Return texts that are dates or times as microseconds, NaN for others."""
    parts = texts.str.extract_groups(_TIME).struct.unnest()
    alone = texts.str.extract_groups(_CLOCK_ALONE).struct.unnest()
    days = parts["date"].str.strptime(pl.Date, "%Y-%m-%d", strict=False, exact=True)
    clock, alone_clock = _clock(parts), _clock(alone)
    sign = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -1, 1)
    offset = sign * (_whole(parts["hours"]) * 60 + _whole(parts["minutes"])) * 60_000_000
    # As whole numbers of microseconds first, and then what is finer, as a typed time is.
    whole = days.cast(pl.Int64).fill_null(0).to_numpy() * _DAY + (clock[0] - offset)
    found = np.where(days.is_null().to_numpy(), np.nan, whole.astype(np.float64) + clock[1] / 1000)
    lone = alone["hour"].is_not_null().to_numpy()
    return np.where(lone, alone_clock[0] + alone_clock[1] / 1000, found)


def _clock(parts: "pl.DataFrame") -> tuple[IntArray, IntArray]:
    """Return the microseconds since midnight, and the nanoseconds besides."""
    seconds = (_whole(parts["hour"]) * 60 + _whole(parts["minute"])) * 60 + _whole(parts["second"])
    finer = _whole(parts["part"].str.pad_end(9, "0"))
    return seconds * 1_000_000 + finer // 1000, finer % 1000


def _whole(digits: "pl.Series") -> IntArray:
    """Return digits as whole numbers, 0 for none."""
    return digits.cast(pl.Int64).fill_null(0).to_numpy()
