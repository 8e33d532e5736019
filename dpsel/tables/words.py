"""Texts as numbers and words: see `dpsel.core.words`.

The same content gives the same cell in every format. A text that reads as a number is that number,
and one that is a date or a time by ISO 8601, with separators, is microseconds, as in a typed
column. What is empty or NaN is missing. Every other text is a word. Blanks around it do not count.

Privacy:
    Domain: any texts. What a cell becomes depends on that cell alone.
    Guarantee: none; cells are private input for a score.
    Tested by: tests/tables/test_words.py
"""

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.words import boxed_words, without_words
from dpsel.system.frames import pl
from dpsel.tables.cells import text_numbers

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
DAY = 86_400_000_000
"""Its microseconds."""


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


def _written_times(texts: "pl.Series") -> FloatArray:
    """Return texts that are dates or times as microseconds, NaN for others."""
    parts = texts.str.extract_groups(_TIME).struct.unnest()
    alone = texts.str.extract_groups(_CLOCK_ALONE).struct.unnest()
    days = parts["date"].str.strptime(pl.Date, "%Y-%m-%d", strict=False, exact=True)
    clock, alone_clock = _clock(parts), _clock(alone)
    sign = np.where((parts["sign"] == "-").fill_null(False).to_numpy(), -1, 1)
    offset = sign * (_whole(parts["hours"]) * 60 + _whole(parts["minutes"])) * 60_000_000
    # As whole numbers of microseconds first, and then what is finer, as a typed time is.
    whole = days.cast(pl.Int64).fill_null(0).to_numpy() * DAY + (clock[0] - offset)
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
