"""Texts as numbers and words: see `dpsel.core.words`.

The same content gives the same cell in every format. A text that reads as a number is that number.
A date or a time in ISO 8601, with separators, becomes microseconds, as in a typed column. An empty
text, NaN, and words such as NA are missing. Every other text is a word. Blanks around it are
ignored.

Privacy:
    Domain: any texts. What a cell becomes depends on that cell alone.
    Guarantee: none; cells are private input for a score.
    Tested by: tests/tables/test_words.py
"""

from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.words import boxed_words, without_words
from dpsel.system.frames import pl
from dpsel.tables.cells import DAY, WORDS_FOR_MISSING, decoded, text_numbers

_SEED = 0
_LONGEST_MISSING = max(map(len, WORDS_FOR_MISSING))
# With nanoseconds and an offset.
_LONGEST_TIME = 35
_DATE = r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
_CLOCK = (
    r"(?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])"
    r"(?::(?P<second>[0-5][0-9])(?:\.(?P<part>[0-9]{1,9}))?)?"
)
_OFFSET = r"(?:Z|(?P<sign>[+-])(?P<hours>[01][0-9]|2[0-3])(?::?(?P<minutes>[0-5][0-9]))?)?"
_TIME = rf"^(?:{_DATE}(?:[T ]{_CLOCK} ?{_OFFSET})?)$"
_CLOCK_ALONE = rf"^{_CLOCK}$"
_BEGINS_DATE, _BEGINS_CLOCK = "^[0-9]{4}-", "^[0-9]{2}:"


def decoded_texts(column: Any) -> "pl.Series":
    """Return an Arrow column of bytes as texts; the bytes need not be UTF-8."""
    found = pl.Series(pl.from_arrow(column), dtype=pl.Binary)
    try:
        return found.cast(pl.String)
    except pl.exceptions.ComputeError:  # Some are not UTF-8; polars does not say which.
        cells = [None if cell is None else decoded(cell) for cell in found.to_list()]
        return pl.Series(cells, dtype=pl.String)


def text_cells(texts: "pl.Series", decimal: str = ".") -> FloatArray:
    """Return the cell of each text: a number with this decimal sign, a time, a word or missing."""
    texts = texts.str.strip_chars(" ")
    cells = without_words(text_numbers(texts, decimal))
    rest = np.isnan(cells)
    if not rest.any():
        return cells
    words = texts if rest.all() else texts.filter(pl.Series(rest))
    cells = cells if cells.flags.writeable else cells.copy()
    cells[rest] = _word_cells(words)
    return cells


def _word_cells(texts: "pl.Series") -> FloatArray:
    """Return the cells of texts that are not numbers: each a time, a word or missing."""
    cells = boxed_words(texts.hash(_SEED).to_numpy())
    lengths = texts.str.len_bytes().fill_null(0).to_numpy()
    cells[lengths == 0] = np.nan
    for begins, read in ((_BEGINS_DATE, _dates), (_BEGINS_CLOCK, _clocks)):
        # Most words are not times; checking the first characters takes a tenth of parsing.
        like = texts.str.contains(begins).fill_null(False).to_numpy() & (lengths <= _LONGEST_TIME)
        if like.any():
            times = read(texts.filter(pl.Series(like)))
            known = ~np.isnan(times)
            cells[np.flatnonzero(like)[known]] = times[known]
    short = np.flatnonzero((lengths > 0) & (lengths <= _LONGEST_MISSING))
    if len(short):
        missing = texts.gather(short).str.to_lowercase().is_in(list(WORDS_FOR_MISSING))
        cells[short[missing.to_numpy()]] = np.nan
    return cells


def _dates(texts: "pl.Series") -> FloatArray:
    """Return dates, with or without a time of day, as microseconds; NaN for other texts."""
    parts = texts.str.extract_groups(_TIME).struct.unnest()
    days = parts["date"].str.strptime(pl.Date, "%Y-%m-%d", strict=False, exact=True)
    micros, nanos = _clock(parts)
    sign = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -1, 1)
    offset = sign * (_whole(parts["hours"]) * 60 + _whole(parts["minutes"])) * 60_000_000
    # Whole microseconds first, then the nanoseconds, to round like the time of a typed column.
    whole = days.cast(pl.Int64).fill_null(0).to_numpy() * DAY + (micros - offset)
    return np.where(days.is_null().to_numpy(), np.nan, whole + nanos / 1000)


def _clocks(texts: "pl.Series") -> FloatArray:
    """Return times of day as microseconds, NaN for other texts."""
    parts = texts.str.extract_groups(_CLOCK_ALONE).struct.unnest()
    micros, nanos = _clock(parts)
    return np.where(parts["hour"].is_null().to_numpy(), np.nan, micros + nanos / 1000)


def _clock(parts: "pl.DataFrame") -> tuple[IntArray, IntArray]:
    """Return the whole microseconds since midnight, and the remaining nanoseconds."""
    seconds = (_whole(parts["hour"]) * 60 + _whole(parts["minute"])) * 60 + _whole(parts["second"])
    finer = _whole(parts["part"].str.pad_end(9, "0"))
    return seconds * 1_000_000 + finer // 1000, finer % 1000


def _whole(digits: "pl.Series") -> IntArray:
    """Return digits as integers, 0 where there are none."""
    return digits.cast(pl.Int64).fill_null(0).to_numpy()
