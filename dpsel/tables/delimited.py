"""CSV and TSV tables: batches of rows of text, and what is noted or refused about their text."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dpsel.core.batch import Batch, Unreadable, rows_of
from dpsel.errors import InputError
from dpsel.tables.cells import decoded
from dpsel.tables.columns import Column, Kind, Layout, refuse_wordy
from dpsel.tables.delimited_cells import (
    TextCells,
    cells_of,
    fill_in_numbers,
    fill_in_words,
    label_texts,
    unreadable_texts,
    wordy_columns,
)
from dpsel.tables.delimited_rows import TEXT_BYTES, TextRows, cut_rows, rows_end
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import (
    FORMATS,
    FileFormat,
    InputFormat,
    is_series_matrix,
    refuse_series_matrix,
)
from dpsel.tables.provenance import (
    Provenance,
    believed,
    recorded_columns,
    records_beside,
)
from dpsel.tables.sources import Source
from dpsel.tables.table import PendingBatch, RowReader

_KIND = FORMATS[InputFormat.CSV].kind
_ROWS_LOOKED_AT = 100
_WITH_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_LOCAL_DATE = re.compile(r"[0-9]{1,2}([./-])[0-9]{1,2}\1(?:[0-9]{2}){1,2}(?: [0-9: ]+(?:[AP]M)?)?")
# Where there is no such text, there is no local date either. Wide rows are not searched to the end.
_LIKE_A_DATE, _SEARCHED = re.compile(rb"[0-9]([./-])[0-9]{1,2}\1[0-9]{2}"), 1 << 16
# How many rows, cells and columns of a batch are checked as texts, for the data holder.
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
            records = records_beside(source.path)
            recorded = bool(records)
            self._text = TextRows(self._stream, written, self.label, text_bytes, digest=recorded)
            if is_series_matrix(self._text.header[0].encode()):
                refuse_series_matrix(self.label)
            opened.pop_all()
        columns = tuple(Column(name, Kind.UNKNOWN) for name in self._text.header)
        self._claimed = believed(records, self._text.header)
        # Whether a record is about this very content is not known yet. It does not matter here,
        # since a record can only restrict the use of columns.
        for made in records if self._claimed is None else [self._claimed]:
            columns = recorded_columns(columns, made[0])
        self.columns = columns

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
                    rows.notes += self._local_dates(text, layout) if rows.words else []
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
                yield label_texts(self._cells(text), [position])[0]

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
            Guarantee: none; it is for the data holder, and decides nothing.
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
            Guarantee: none; it is for the data holder, and decides nothing.
            Tested by: tests/cli/test_text_files.py
        """
        if "," in (self._text.dialect.decimal, self._text.dialect.separator):
            return []
        if b"," not in text[: rows_end(text, _FIRST_ROWS)]:
            return []
        return [
            f"{column} seems to hold numbers with a decimal comma, which are read as words; give "
            "--decimal ,"
            for column in self._mostly(_WITH_COMMA, text, layout)
        ]

    def _local_dates(self, text: bytes, layout: Layout) -> list[str]:
        """Return a note if a column holds dates like 31.12.2024 in most of the first rows.

        Privacy:
            Guarantee: none; it is for the data holder, and decides nothing.
            Tested by: tests/cli/test_text_files.py
        """
        if not _LIKE_A_DATE.search(text, 0, _SEARCHED):
            return []
        return [
            f"{column} seems to hold dates that are not written as 2024-12-31, which are read as "
            "words, without an order"
            for column in self._mostly(_LOCAL_DATE, text, layout)
        ]

    def _mostly(self, written: re.Pattern[str], text: bytes, layout: Layout) -> list[str]:
        """Return in words which columns are written so in most of the first rows, if any."""
        rows = self._first_rows(text)
        counts = Counter(
            place for row in rows for place, cell in enumerate(row) if written.fullmatch(cell)
        )
        used = [place for place in sorted(layout.read) if 2 * counts[place] > len(rows)]
        others = f" (and {len(used) - 1} more)" if len(used) > 1 else ""
        return [f"{self.label}: column '{self.columns[place].name}'{others}" for place in used[:1]]

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
        wordy = wordy_columns(
            self._cells(text), features if layout.labels else (*features, layout.target)
        )
        if wordy and longer:
            raise InputError(longer[0])
        refuse_wordy(self.columns, wordy, layout, self.label)


def _batch(cells: TextCells, layout: Layout, rows: RowReader) -> Batch:
    """Return the features and the target of all rows of a text."""
    fill_in = fill_in_words if rows.words else fill_in_numbers
    if layout.labels:
        X = fill_in(cells, cells.parsed(layout.features), layout.features)
        y: Any = label_texts(cells, [layout.target])[0]
    else:
        # In one go: wide rows are parsed as a whole, whichever columns are requested.
        matrix = cells.parsed((*layout.features, layout.target))
        X = fill_in(cells, matrix[:, :-1], layout.features)
        y = fill_in_numbers(cells, matrix[:, -1:], [layout.target])[:, 0]
    person = None if layout.person is None else label_texts(cells, [layout.person])[0]
    return rows.rows(y, person).batch(0, X)
