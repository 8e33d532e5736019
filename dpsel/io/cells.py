"""The cells of a block of delimited text, as numbers or as texts.

Every cell is read for itself, so no row can change what another one means: it is a number if it
reads as one, 1 or 0 if it reads `true` or `false`, and missing otherwise. Blanks around it do not
count.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.io.frames import pl
from dpsel.io.words import TRUTH_WORDS, decoded, in_utf8

# From here on it is faster to read all cells as one long column than as so many short ones.
_MANY_COLUMNS = 500
# Stands for a separator where there is none; a text that holds it is read as a frame.
_NO_SEPARATOR = b"\x01"
# What truth words and cells with blanks at the end can end with, a line end included.
_LAST_SIGNS = b"eE \r"

_Found = tuple[IntArray, IntArray, pl.Series]


class Cells(Protocol):
    """Cells by their column's position."""

    def numbers(self, positions: Sequence[int]) -> FloatArray:
        """Return columns as numbers, NaN for what is none."""
        ...

    def texts(self, positions: Sequence[int]) -> list[Any]:
        """Return columns as Arrow texts, null where a cell is empty."""
        ...


def cells_of(text: bytes, separator: str, columns: int) -> Cells:
    """Return the cells of whole rows; of wide, complete ones without quotes the fast way."""
    if columns >= _MANY_COLUMNS and b'"' not in text and _NO_SEPARATOR not in text:
        codes = np.frombuffer(text, dtype=np.uint8)
        ends = np.flatnonzero((codes == ord(separator)) | (codes == ord("\n")))
        last_of_row: BoolArray = np.arange(1, len(ends) + 1) % columns == 0
        if len(ends) % columns == 0 and np.array_equal(codes[ends] == ord("\n"), last_of_row):
            return _WideCells(text, separator.encode(), ends.reshape(-1, columns))
    return _FrameCells(text, separator, columns)


class _FrameCells:
    """Any rows, read as a frame: short ones are filled up, long ones cut."""

    def __init__(self, text: bytes, separator: str, columns: int) -> None:
        self._text = text
        self._separator = separator
        self._names = list(map(str, range(columns)))

    def numbers(self, positions: Sequence[int]) -> FloatArray:
        frame = self._read(positions, pl.Float64)
        matrix = np.asarray(frame.to_numpy(), dtype=np.float64, order="F")
        if not any(frame.null_count().row(0)) or not _needs_second_look(
            self._text, self._separator
        ):
            return matrix
        return _second_look(matrix, *self._missing(np.isnan(matrix), positions))

    def texts(self, positions: Sequence[int]) -> list[Any]:
        frame = self._read(positions, pl.String)
        return [frame[str(position)].to_arrow() for position in positions]

    def _missing(self, missing: BoolArray, positions: Sequence[int]) -> _Found:
        """Return rows, places and texts of the missing cells."""
        rows, places = np.nonzero(missing)
        used, column = np.unique(places, return_inverse=True)
        frame = self._read([positions[place] for place in used.tolist()], pl.String)
        # As one column: there may be very many, and each has to be gone through.
        texts = pl.concat(frame.get_columns(), rechunk=True)
        return rows, places, texts.gather(column * frame.height + rows)

    def _read(self, positions: Sequence[int], kind: Any) -> pl.DataFrame:
        """Read some columns as one type; a cell that does not fit is null."""
        wanted = list(map(str, positions))
        text = self._text if kind == pl.Float64 else in_utf8(self._text)
        # A header of our own fixes the number of columns, whatever the first row looks like.
        frame = pl.read_csv(
            self._separator.join(self._names).encode() + b"\n" + text,
            # To choose among columns takes time, even if all are chosen.
            columns=None if len(wanted) == len(self._names) else wanted,
            schema=dict.fromkeys(self._names, kind),
            separator=self._separator,
            ignore_errors=True,
            truncate_ragged_lines=True,
            raise_if_empty=False,
            glob=False,
        )
        return frame if frame.columns == wanted else frame.select(wanted)


class _WideCells:
    """Very wide rows, read as one long column of cells."""

    def __init__(self, text: bytes, separator: bytes, ends: IntArray) -> None:
        self._text = text
        self._separator = separator
        self._ends = ends

    def numbers(self, positions: Sequence[int]) -> FloatArray:
        column = pl.read_csv(
            b"0\n" + self._text.replace(self._separator, b"\n"),
            schema={"0": pl.Float64},
            separator=_NO_SEPARATOR.decode(),
            ignore_errors=True,
            truncate_ragged_lines=True,
            glob=False,
        )
        matrix = column.to_series().to_numpy().reshape(self._ends.shape)[:, _as_slice(positions)]
        if not column.to_series().null_count() or not _needs_second_look(
            self._text, self._separator.decode()
        ):
            return matrix
        return _second_look(matrix, *self._missing(np.isnan(matrix), positions))

    def texts(self, positions: Sequence[int]) -> list[Any]:
        return [self._texts(position) for position in positions]

    def _texts(self, position: int) -> Any:
        """Cut one column out of the text."""
        import pyarrow as pa

        rows = np.arange(self._ends.shape[0])
        return pa.array([cell or None for cell in self._cut(rows, position)], pa.large_string())

    def _missing(self, missing: BoolArray, positions: Sequence[int]) -> _Found:
        """Return rows, places and texts of those missing cells whose last sign is in question."""
        rows, places = np.nonzero(missing)
        ends = self._ends[rows, np.asarray(positions)[places]]
        last = np.frombuffer(self._text, dtype=np.uint8)[ends - 1]
        asked = np.isin(last, np.frombuffer(_LAST_SIGNS, dtype=np.uint8))
        rows, places = rows[asked], places[asked]
        texts = self._cut(rows, np.asarray(positions)[places])
        return rows, places, pl.Series(texts, dtype=pl.String)

    def _cut(self, rows: IntArray, columns: IntArray | int) -> list[str]:
        """Cut cells out of the text."""
        flat = self._ends.ravel()
        at = rows * self._ends.shape[1] + columns
        starts = np.where(at > 0, flat[at - 1] + 1, 0).tolist()
        return [
            decoded(self._text[start:end].removesuffix(b"\r"))
            for start, end in zip(starts, flat[at].tolist(), strict=True)
        ]


def _needs_second_look(text: bytes, separator: str) -> bool:
    """Return whether a text may hold cells that the fast reader wrongly calls null.

    Which cells these are is a matter of each cell alone; whether the block has any is only asked
    to save the time.
    """
    return _has_blank_end(text, separator) or _has_truth_word(text)


def _second_look(
    matrix: FloatArray, rows: IntArray, places: IntArray, texts: pl.Series
) -> FloatArray:
    """Fill in cells that the fast reader calls null: truth words, and blanks at the end."""
    from dpsel.io.arrow_values import text_numbers

    words = texts.str.strip_chars(" ").is_in(list(TRUTH_WORDS))
    fit = (texts.str.ends_with(" ") | words).fill_null(False)
    found = fit.to_numpy()
    matrix = matrix if matrix.flags.writeable else matrix.copy()
    matrix[rows[found], places[found]] = text_numbers(texts.filter(fit).to_arrow())
    return matrix


def _has_blank_end(text: bytes, separator: str) -> bool:
    """Return whether a cell may end with a blank."""
    ends = (f" {separator}".encode(), b" \n", b" \r", b' "')
    return b" " in text and any(end in text for end in ends)


def _has_truth_word(text: bytes) -> bool:
    """Return whether a word for true or false may occur; few tables of numbers have the letters."""
    if not any(letter in text for letter in (b"t", b"T", b"f", b"F")):
        return False
    return any(word.encode() in text for word in TRUTH_WORDS)


def _as_slice(positions: Sequence[int]) -> slice | list[int]:
    """Return ascending neighbors as a slice, which copies nothing."""
    steps = range(positions[0], positions[0] + len(positions))
    return slice(steps.start, steps.stop) if list(positions) == list(steps) else list(positions)
