"""The cells of whole rows of a CSV or TSV, as numbers, words or texts."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.system.frames import pl
from dpsel.tables.cells import (
    TRUTH_WORDS,
    WORDS_FOR_NOTHING,
    decoded,
    in_utf8,
    pointed_texts,
    text_numbers,
    with_decimal_points,
)
from dpsel.tables.formats import Dialect
from dpsel.tables.words import text_cells

# From this many columns on, it is faster to read all cells as one long column.
_MANY_COLUMNS = 500
# Used as the separator where there is none; a text that contains it is read as a frame.
_NO_SEPARATOR = b"\x01"
# Up to one cell in so many is cut out of the text one by one; for more, all cells are read.
_FEW_CELLS = 50


class TextCells(Protocol):
    """The cells of some rows, by the position of their column."""

    text: bytes
    dialect: Dialect

    def parsed(self, positions: Sequence[int]) -> FloatArray:
        """Return columns as the fast reader parses them; it takes some numbers for NaN, too."""
        ...

    def texts(self, positions: Sequence[int]) -> list[Any]:
        """Return columns as Arrow texts, null where a cell is empty."""
        ...

    def at(self, rows: IntArray, columns: IntArray) -> pl.Series:
        """Return the texts of single cells, which are given column by column."""
        ...


def cells_of(text: bytes, dialect: Dialect, columns: int) -> TextCells:
    """Return the cells of whole rows; wide, complete ones without quotes are read a faster way."""
    if columns >= _MANY_COLUMNS and b'"' not in text and _NO_SEPARATOR not in text:
        codes = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero((codes == ord(dialect.separator)) | (codes == ord("\n")))
        last_of_row: BoolArray = np.arange(1, len(ends) + 1) % columns == 0
        if len(ends) % columns == 0 and np.array_equal(codes[ends] == ord("\n"), last_of_row):
            return _WideCells(text, dialect, ends.reshape(-1, columns))
    return _FrameCells(text, dialect, columns)


class _FrameCells:
    """Any rows, read as a frame: short rows are filled with nulls, long ones are cut."""

    def __init__(self, text: bytes, dialect: Dialect, columns: int) -> None:
        self.text = text
        self.dialect = dialect
        self._names = list(map(str, range(columns)))

    def parsed(self, positions: Sequence[int]) -> FloatArray:
        frame = self._read(positions, pl.Float64)
        return np.asarray(frame.to_numpy(), dtype=np.float64, order="F")

    def texts(self, positions: Sequence[int]) -> list[Any]:
        frame = self._read(positions, pl.String)
        return [frame[str(position)].to_arrow() for position in positions]

    def at(self, rows: IntArray, columns: IntArray) -> pl.Series:
        starts = np.diff(columns, prepend=-1) != 0
        frame = self._read(columns[starts].tolist(), pl.String)
        # As one column, because there may be very many.
        texts = pl.concat(frame.get_columns(), rechunk=True)
        if len(rows) == len(texts):
            return texts
        return texts.gather((np.cumsum(starts) - 1) * frame.height + rows)

    def _read(self, positions: Sequence[int], kind: Any) -> pl.DataFrame:
        """Read some columns as one type; a cell that does not fit is null."""
        wanted = list(map(str, positions))
        if kind == pl.Float64:
            text, separator = with_decimal_points(self.text, self.dialect)
        else:
            text, separator = in_utf8(self.text), self.dialect.separator
        # A header of our own fixes the number of columns, whatever the first row looks like.
        frame = pl.read_csv(
            separator.join(self._names).encode() + b"\n" + text,
            # Choosing columns takes time, even if all are chosen.
            columns=None if len(wanted) == len(self._names) else wanted,
            schema=dict.fromkeys(self._names, kind),
            separator=separator,
            ignore_errors=True,
            truncate_ragged_lines=True,
            raise_if_empty=False,
            glob=False,
        )
        return frame if frame.columns == wanted else frame.select(wanted)


class _WideCells:
    """Very wide rows, read as one long column of cells."""

    def __init__(self, text: bytes, dialect: Dialect, ends: IntArray) -> None:
        self.text = text
        self.dialect = dialect
        self._ends = ends

    def parsed(self, positions: Sequence[int]) -> FloatArray:
        text, separator = with_decimal_points(self.text, self.dialect)
        matrix = self._read(text, separator, pl.Float64).to_numpy().reshape(self._ends.shape)
        return matrix[:, _as_slice(positions)]

    def texts(self, positions: Sequence[int]) -> list[Any]:
        rows = np.arange(self._ends.shape[0])
        cut = [self._cut(rows, np.full_like(rows, position)) for position in positions]
        texts = [pl.Series([cell or None for cell in cells], dtype=pl.String) for cells in cut]
        return [column.to_arrow() for column in texts]

    def at(self, rows: IntArray, columns: IntArray) -> pl.Series:
        if len(rows) * _FEW_CELLS < self._ends.size:
            return pl.Series(self._cut(rows, columns), dtype=pl.String)
        # Of carriage returns at the end of a cell, polars takes one off, as `_cut` does.
        texts = self._read(in_utf8(self.text), self.dialect.separator, pl.String)
        return texts.gather(rows * self._ends.shape[1] + columns)

    def _read(self, text: bytes, separator: str, kind: Any) -> pl.Series:
        """Read all cells as one type; a cell that does not fit is null."""
        return pl.read_csv(
            b"0\n" + text.replace(separator.encode(), b"\n"),
            schema={"0": kind},
            separator=_NO_SEPARATOR.decode(),
            ignore_errors=True,
            truncate_ragged_lines=True,
            glob=False,
        ).to_series()

    def _cut(self, rows: IntArray, columns: IntArray) -> list[str]:
        """Cut cells out of the text."""
        flat = self._ends.ravel()
        at = rows * self._ends.shape[1] + columns
        starts = np.where(at > 0, flat[at - 1] + 1, 0).tolist()
        return [
            decoded(self.text[start:end].removesuffix(b"\r"))
            for start, end in zip(starts, flat[at].tolist(), strict=True)
        ]


def numbers_of(cells: TextCells, positions: Sequence[int]) -> FloatArray:
    """Return columns as numbers, NaN for cells that are not numbers."""
    return fill_in_numbers(cells, cells.parsed(positions), positions)


def label_texts(cells: TextCells, positions: Sequence[int]) -> list[Any]:
    """Return columns of labels or persons as Arrow texts, with a decimal point in numbers."""
    columns = cells.texts(positions)
    if cells.dialect.decimal == ".":
        return columns
    return [pointed_texts(column) for column in columns]


def fill_in_numbers(cells: TextCells, matrix: FloatArray, positions: Sequence[int]) -> FloatArray:
    """Fill in numbers that the fast reader misses: truth words, and numbers followed by blanks.

    Which cells these are depends on each cell alone. Whether the text has any is checked first
    only to save time.
    """
    missing = np.isnan(matrix)
    # The positions of the cells take more room than the cells, so they are found only if needed.
    if not missing.any() or not _may_have_more_numbers(cells.text, cells.dialect.separator):
        return matrix
    places, rows = np.nonzero(missing.T)
    texts = cells.at(rows, np.asarray(positions)[places])
    words = texts.str.strip_chars(" ").is_in(list(TRUTH_WORDS))
    fit = (texts.str.ends_with(" ") | words).fill_null(False)
    found = fit.to_numpy()
    matrix = matrix if matrix.flags.writeable else matrix.copy(order="A")
    matrix[rows[found], places[found]] = text_numbers(texts.filter(fit), cells.dialect.decimal)
    return matrix


def fill_in_words(cells: TextCells, matrix: FloatArray, positions: Sequence[int]) -> FloatArray:
    """Fill in the cells that the fast reader takes for NaN: words, times and some numbers."""
    missing = np.isnan(matrix)
    if not missing.any():
        return matrix
    places, rows = np.nonzero(missing.T)
    matrix = matrix if matrix.flags.writeable else matrix.copy(order="A")
    texts = cells.at(rows, np.asarray(positions)[places])
    matrix[rows, places] = text_cells(texts, cells.dialect.decimal)
    return matrix


def _may_have_more_numbers(text: bytes, separator: str) -> bool:
    """Return whether a text may hold numbers that the fast reader misses."""
    return _has_blank_end(text, separator) or _has_truth_word(text)


def _has_blank_end(text: bytes, separator: str) -> bool:
    """Return whether a cell may end with a blank."""
    ends = (f" {separator}".encode(), b" \n", b" \r", b' "')
    return b" " in text and any(end in text for end in ends)


def _has_truth_word(text: bytes) -> bool:
    """Return whether a word for true or false may occur; most tables lack even the letters."""
    if not any(letter in text for letter in (b"t", b"T", b"f", b"F")):
        return False
    return any(word.encode() in text for word in TRUTH_WORDS)


def _as_slice(positions: Sequence[int]) -> slice | list[int]:
    """Return consecutive positions as a slice, which copies nothing, and others as a list."""
    steps = range(positions[0], positions[0] + len(positions))
    return slice(steps.start, steps.stop) if list(positions) == list(steps) else list(positions)


def wordy_columns(cells: TextCells, positions: Sequence[int]) -> list[int]:
    """Return the columns with a word in two rows or more and a number in none."""
    if not positions:
        return []
    no_number = np.asarray(np.isnan(numbers_of(cells, positions)).all(axis=0))
    empty = [positions[place] for place in np.flatnonzero(no_number).tolist()]
    texts = cells.texts(empty) if empty else []
    return [
        position for position, column in zip(empty, texts, strict=True) if _count_words(column) >= 2
    ]


def unreadable_texts(columns: Sequence[Any], decimal: str) -> IntArray:
    """Return how many cells of each column are neither numbers nor missing."""
    texts = pl.concat([pl.Series(pl.from_arrow(column), dtype=pl.String) for column in columns])
    no_number = np.isnan(text_numbers(texts, decimal))
    known = texts.str.strip_chars().str.to_lowercase().is_in(list(WORDS_FOR_NOTHING))
    words: BoolArray = no_number & ~known.fill_null(True).to_numpy()
    return np.asarray(words.reshape(len(columns), -1).sum(axis=1))


def wordy_texts(column: Any) -> bool:
    """Return whether a column of texts has a word in two rows or more and a number in none."""
    return bool(np.isnan(text_numbers(column)).all()) and _count_words(column) >= 2


def _count_words(column: Any) -> int:
    """Return how many cells hold a word that does not mean a missing value."""
    series = pl.Series(pl.from_arrow(column), dtype=pl.String).drop_nulls().str.strip_chars()
    return int((~series.str.to_lowercase().is_in(list(WORDS_FOR_NOTHING))).sum())
