"""The cells of a block of delimited text, as numbers or as texts.

Every cell is read for itself, so no row can change what another one means: it is a number if it
reads as one, 1 or 0 if it reads `true` or `false`, and missing otherwise.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl
import pyarrow as pa

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.io.arrow_values import truth_values

# From here on it is faster to read all cells as one long column than as so many short ones.
_MANY_COLUMNS = 500


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
    if columns >= _MANY_COLUMNS and b'"' not in text:
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
        matrix = np.array(frame.to_numpy(), dtype=np.float64, order="F")
        return _with_truth_words(self, self._text, matrix, positions)

    def texts(self, positions: Sequence[int]) -> list[Any]:
        frame = self._read(positions, pl.String)
        return [frame[str(position)].to_arrow() for position in positions]

    def _read(self, positions: Sequence[int], kind: Any) -> pl.DataFrame:
        """Read some columns as one type; a cell that does not fit is null."""
        wanted = list(map(str, positions))
        # A header of our own fixes the number of columns, whatever the first row looks like.
        frame = pl.read_csv(
            self._separator.join(self._names).encode() + b"\n" + self._text,
            columns=wanted,
            schema=dict.fromkeys(self._names, kind),
            separator=self._separator,
            encoding="utf8" if kind == pl.Float64 else "utf8-lossy",
            ignore_errors=True,
            truncate_ragged_lines=True,
            raise_if_empty=False,
            glob=False,
        )
        return frame.select(wanted)


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
            # No cell holds this: what is left are line feeds.
            separator="\x01",
            ignore_errors=True,
            truncate_ragged_lines=True,
            glob=False,
        )
        matrix = column.to_series().to_numpy().reshape(self._ends.shape)
        return _with_truth_words(self, self._text, matrix[:, _as_slice(positions)], positions)

    def texts(self, positions: Sequence[int]) -> list[Any]:
        return [self._texts(position) for position in positions]

    def _texts(self, position: int) -> Any:
        """Cut one column out of the text."""
        flat = self._ends.ravel()
        at = np.arange(self._ends.shape[0]) * self._ends.shape[1] + position
        starts = np.where(at > 0, flat[at - 1] + 1, 0).tolist()
        cells = [
            self._text[start:end].removesuffix(b"\r").decode("utf-8", "replace")
            for start, end in zip(starts, flat[at].tolist(), strict=True)
        ]
        return pa.array([cell or None for cell in cells], pa.large_string())


def _with_truth_words(
    cells: Cells, text: bytes, matrix: FloatArray, positions: Sequence[int]
) -> FloatArray:
    """Fill in 1 and 0 where a cell that is no number reads `true` or `false`."""
    if not any(word in text for word in (b"rue", b"RUE", b"alse", b"ALSE")):
        return matrix
    missing = np.isnan(matrix)
    places = np.flatnonzero(missing.any(axis=0)).tolist()
    columns = cells.texts([positions[place] for place in places]) if places else []
    matrix = matrix if matrix.flags.writeable else matrix.copy()
    for place, column in zip(places, columns, strict=True):
        rows = missing[:, place]
        matrix[rows, place] = truth_values(column)[rows]
    return matrix


def _as_slice(positions: Sequence[int]) -> slice | list[int]:
    """Return neighboring positions as a slice, which copies nothing."""
    first, last = positions[0], positions[-1] + 1
    return slice(first, last) if last - first == len(positions) else list(positions)
