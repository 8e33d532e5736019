"""CSV and TSV tables: the cells of rows of text, as numbers or as texts."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.core.batch import Batch, Unreadable, rows_of
from dpsel.errors import InputError
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
from dpsel.tables.columns import Column, Kind, Layout, refuse_wordy
from dpsel.tables.delimited_rows import TEXT_BYTES, TextRows, cut_rows, rows_end
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import (
    FORMATS,
    Dialect,
    FileFormat,
    InputFormat,
    is_series_matrix,
    refuse_series_matrix,
)
from dpsel.tables.provenance import Provenance, beside, recorded_columns, sidecar
from dpsel.tables.sources import Source
from dpsel.tables.table import PendingBatch, RowReader
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
        import pyarrow as pa

        rows = np.arange(self._ends.shape[0])
        cut = [self._cut(rows, np.full_like(rows, position)) for position in positions]
        return [pa.array([cell or None for cell in cells], pa.large_string()) for cells in cut]

    def at(self, rows: IntArray, columns: IntArray) -> pl.Series:
        if len(rows) * _FEW_CELLS < self._ends.size:
            return pl.Series(self._cut(rows, columns), dtype=pl.String)
        texts = self._read(in_utf8(self.text), self.dialect.separator, pl.String)
        return texts.gather(rows * self._ends.shape[1] + columns).str.strip_suffix("\r")

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
    return _numbers(cells, cells.parsed(positions), positions)


def marks_of(cells: TextCells, positions: Sequence[int]) -> list[Any]:
    """Return columns of labels or persons as Arrow texts, with a decimal point in numbers."""
    columns = cells.texts(positions)
    if cells.dialect.decimal == ".":
        return columns
    return [pointed_texts(column) for column in columns]


def _numbers(cells: TextCells, matrix: FloatArray, positions: Sequence[int]) -> FloatArray:
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


def _words(cells: TextCells, matrix: FloatArray, positions: Sequence[int]) -> FloatArray:
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


_KIND = FORMATS[InputFormat.CSV].kind
_ROWS_LOOKED_AT = 100
_WITH_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
# How many rows, cells and columns of a batch are checked as texts, for the data's holder.
_FIRST_ROWS, _FIRST_CELLS, _FIRST_COLUMNS = 1 << 7, 1 << 17, 1 << 8


class DelimitedTable:
    """One CSV or TSV file, or stdin."""

    sources: tuple[Source, ...] = ()

    def __init__(self, source: Source, written: FileFormat, text_bytes: int = TEXT_BYTES) -> None:
        """Open it and read the column names."""
        self.label = source.label
        with plain_errors(self.label, _KIND), ExitStack() as opened:
            self._stream = source.open_stream()
            opened.callback(self._stream.close)
            recorded = source.path is not None and sidecar(source.path).exists()
            self._text = TextRows(self._stream, written, self.label, text_bytes, digest=recorded)
            if is_series_matrix(self._text.header[0].encode()):
                refuse_series_matrix(self.label)
            opened.pop_all()
        columns = tuple(Column(name, Kind.UNKNOWN) for name in self._text.header)
        self._claimed = beside(source.path, self._text.header)
        # Whether the record is about this very content is not known yet. It does not matter here,
        # since the record can only restrict the use of columns.
        self.columns = recorded_columns(columns, self._claimed and self._claimed[0])

    @property
    def provenance(self) -> Provenance | None:
        """Return the record beside the file, if it is about this very content.

        That is known once all of it was read. Until then, only a record that takes a guarantee away
        is returned.
        """
        if self._claimed is None:
            return None
        claimed, digest = self._claimed
        return claimed if claimed.data_dependent or self._text.digest() == digest else None

    @property
    def claimed_record(self) -> Provenance | None:
        """Return the record beside the file, whether it is about this content or not."""
        return self._claimed and self._claimed[0]

    def read_through(self) -> None:
        """Read everything, to find out whether the record beside the file is about it."""
        with plain_errors(self.label, _KIND):
            for _ in self._text.texts():
                pass

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        with plain_errors(self.label, _KIND):
            for number, text in enumerate(self._texts()):
                if number == 0:
                    longer = self._longer_rows(text)
                    rows.notes += [*longer, *self._decimal_commas(text, layout)]
                    if not rows.words:
                        first = text[: rows_end(text, _ROWS_LOOKED_AT)]
                        self._refuse_words(first, layout, longer)

                def read(text: bytes = text) -> Batch:
                    with plain_errors(self.label, _KIND):
                        found = _batch(self._cells(text), layout, rows)
                        if rows.words:
                            return found
                        return replace(found, unreadable=self._unreadable(text, layout, found))

                done = self._text.share_read
                if rows.ordered:
                    found = read()
                    yield PendingBatch.of(found, done)
                else:
                    yield PendingBatch(read, done)

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        with plain_errors(self.label, _KIND):
            for text in self._texts():
                yield marks_of(self._cells(text), [position])[0]

    def _texts(self) -> Iterator[bytes]:
        """Yield texts of whole rows."""
        for text in self._text.texts():
            yield from cut_rows(text, len(self.columns))

    def _cells(self, text: bytes) -> TextCells:
        """Return the cells of whole rows."""
        return cells_of(text, self._text.dialect, len(self.columns))

    def _unreadable(self, text: bytes, layout: Layout, found: Batch) -> Unreadable:
        """Count unreadable cells in the first rows, in columns that have a NaN there.

        The rows are so few that this takes hardly any time compared to reading, whatever the cells
        hold.
        """
        missing = np.isnan(np.asarray(rows_of(found.X, slice(_FIRST_ROWS)))).any(axis=0)
        no_target = not layout.labels and bool(np.isnan(found.y[:_FIRST_ROWS]).any())
        doubtful = np.flatnonzero([*missing, no_target])
        rows = max(1, min(_FIRST_ROWS, _FIRST_CELLS // len(self.columns)))
        counts = Unreadable(*np.zeros((2, len(missing) + 1), dtype=np.int64))
        counts.rows[:] = min(rows, len(found.y))
        counts.rows[doubtful] = 0
        # Of very many columns only some are checked, spread over the table.
        doubtful = doubtful[:: -(-len(doubtful) // _FIRST_COLUMNS) or 1]
        if len(doubtful):
            places = [*layout.features, layout.target]
            texts = self._cells(text[: rows_end(text, rows)]).texts([places[p] for p in doubtful])
            counts.rows[doubtful] = len(texts[0])
            counts.cells[doubtful] = unreadable_texts(texts, self._text.dialect.decimal)
        return counts

    def _longer_rows(self, text: bytes) -> list[str]:
        """Return a note if the first rows have one more cell than there are names.

        Privacy:
            Guarantee: none; it is for the data's holder, and decides nothing.
            Tested by: tests/cli/test_text_files.py
        """
        count, separator = len(self.columns) + 1, self._text.dialect.separator
        first = text[: rows_end(text, 1)]
        if b'"' not in first and first.count(separator.encode()) != count - 1:
            return []  # Found without a loop over perhaps a million cells.
        found = self._first_rows(text)
        if not found or any(len(row) != count or not row[-1] for row in found):
            return []
        return [
            f"{self.label}: rows have one cell more than the first line has names, as write.table "
            "of R writes them: every name stands over the wrong cells; write it with row.names = "
            "FALSE"
        ]

    def _decimal_commas(self, text: bytes, layout: Layout) -> list[str]:
        """Return a note if a column holds decimal commas in most of the first rows.

        Privacy:
            Guarantee: none; it is for the data's holder, and decides nothing.
            Tested by: tests/cli/test_text_files.py
        """
        if "," in (self._text.dialect.decimal, self._text.dialect.separator):
            return []
        rows = self._first_rows(text) if b"," in text[: rows_end(text, _FIRST_ROWS)] else []
        counts = Counter(
            place for row in rows for place, cell in enumerate(row) if _WITH_COMMA.fullmatch(cell)
        )
        used = [place for place in sorted(layout.read) if 2 * counts[place] > len(rows)]
        if not used:
            return []
        others = "" if len(used) == 1 else f" (and {len(used) - 1} more)"
        return [
            f"{self.label}: column '{self.columns[used[0]].name}'{others} seems to hold numbers "
            "with a decimal comma, which are read as words; give --decimal ,"
        ]

    def _first_rows(self, text: bytes) -> list[list[str]]:
        """Return the cells of some rows as texts, none if they cannot be split."""
        few = max(1, min(_FIRST_ROWS, _FIRST_CELLS // (len(self.columns) + 1)))
        some = io.StringIO(decoded(text[: rows_end(text, few)]), "")
        with suppress(csv.Error):
            return list(csv.reader(some, delimiter=self._text.dialect.separator))
        return []

    def _refuse_words(self, text: bytes, layout: Layout, longer: Sequence[str]) -> None:
        """Refuse columns with words in the first rows, in commands that release nothing.

        `longer` is the note of `_longer_rows`: then it says why there are words.

        Privacy:
            Guarantee: none; rows decide whether this is an error, and a single row can. What
                releases has a layout with types, for which nothing is refused.
            Tested by: tests/tables/test_delimited.py
        """
        if layout.typed:
            return
        features = () if layout.words else layout.all_features or layout.features
        wordy = _wordy(self._cells(text), features if layout.labels else (*features, layout.target))
        if wordy and longer:
            raise InputError(longer[0])
        refuse_wordy(self.columns, wordy, layout, self.label)


def _batch(cells: TextCells, layout: Layout, rows: RowReader) -> Batch:
    """Return the features and the target of all rows of a text."""
    fill_in = _words if rows.words else _numbers
    if layout.labels:
        X = fill_in(cells, cells.parsed(layout.features), layout.features)
        y: Any = marks_of(cells, [layout.target])[0]
    else:
        # In one go: wide rows are parsed as a whole, whichever columns are requested.
        matrix = cells.parsed((*layout.features, layout.target))
        X = fill_in(cells, matrix[:, :-1], layout.features)
        y = _numbers(cells, matrix[:, -1:], [layout.target])[:, 0]
    person = None if layout.person is None else marks_of(cells, [layout.person])[0]
    return rows.rows(y, person).batch(0, X)


def _wordy(cells: TextCells, positions: Sequence[int]) -> list[int]:
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
