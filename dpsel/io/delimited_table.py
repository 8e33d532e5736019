"""CSV and TSV tables, read block by block.

They do not say which columns are numbers. The user does, with features or bounds, and then no cell
decides anything. Otherwise the first rows are looked at, as a convenience: see `_refuse_words`.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from dpsel.core.arrays import BoolArray, IntArray
from dpsel.core.blocks import Block, Unreadable, rows_of
from dpsel.io.arrow_values import text_numbers
from dpsel.io.border import reading
from dpsel.io.cells import Cells, cells_of
from dpsel.io.columns import Column, Kind, Layout, refuse_target, refuse_text
from dpsel.io.formats import KINDS, InputFormat
from dpsel.io.frames import pl
from dpsel.io.pieces import Piece, RowReader
from dpsel.io.provenance import Provenance, beside, recorded_columns, sidecar
from dpsel.io.rows_of_text import BLOCK_BYTES, TextRows, cut_rows, rows_end
from dpsel.io.sources import Source
from dpsel.io.words import WORDS_FOR_MISSING

_KIND = KINDS[InputFormat.CSV]
_ROWS_LOOKED_AT = 100
# Of a block: how many rows, cells and columns are looked at as texts, for the data's holder.
_FIRST_ROWS, _FIRST_CELLS, _FIRST_COLUMNS = 1 << 7, 1 << 17, 1 << 8


class DelimitedTable:
    """One file, or stdin."""

    sources: tuple[Source, ...] = ()

    def __init__(self, source: Source, separator: str, block_bytes: int = BLOCK_BYTES) -> None:
        """Open it and read the column names."""
        self.label = source.label
        self._separator = separator
        with reading(self.label, _KIND), ExitStack() as opened:
            self._stream = source.open_stream()
            opened.callback(self._stream.close)
            recorded = source.path is not None and sidecar(source.path).exists()
            self._text = TextRows(self._stream, separator, self.label, block_bytes, digest=recorded)
            opened.pop_all()
        columns = tuple(Column(name, Kind.UNKNOWN) for name in self._text.header)
        self._claimed = beside(source.path, self._text.header)
        # Whether the record is about this very content is not known yet, and does not matter here:
        # it can only take columns away.
        self.columns = recorded_columns(columns, self._claimed and self._claimed[0])

    @property
    def provenance(self) -> Provenance | None:
        """Return what stands beside the file, if it is about this very content.

        That is known once all of it was read; before, only what takes a guarantee away counts.
        """
        if self._claimed is None:
            return None
        claimed, digest = self._claimed
        return claimed if claimed.data_dependent or self._text.digest() == digest else None

    def read_through(self) -> None:
        """Read everything, to know whether what stands beside the file is about it."""
        with reading(self.label, _KIND):
            for _ in self._text.blocks():
                pass

    def close(self) -> None:
        """Close the file."""
        self._stream.close()

    def pieces(self, layout: Layout, rows: RowReader) -> Iterator[Piece]:
        """Yield all pieces, in order."""
        with reading(self.label, _KIND):
            for number, block in enumerate(self._blocks()):
                if number == 0:
                    first = block[: rows_end(block, _ROWS_LOOKED_AT)]
                    self._refuse_words(first, layout)

                def read(block: bytes = block) -> Block:
                    with reading(self.label, _KIND):
                        found = _block(self._cells(block), layout, rows)
                        return replace(found, unreadable=self._unreadable(block, layout, found))

                done = self._text.share_read
                if rows.ordered:
                    found = read()
                    yield Piece(lambda found=found: found, done)  # type: ignore[misc]
                else:
                    yield Piece(read, done)

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        with reading(self.label, _KIND):
            for block in self._blocks():
                yield self._cells(block).texts([position])[0]

    def _blocks(self) -> Iterator[bytes]:
        """Yield blocks of whole rows."""
        for block in self._text.blocks():
            yield from cut_rows(block, len(self.columns))

    def _cells(self, text: bytes) -> Cells:
        """Return the cells of whole rows."""
        return cells_of(text, self._separator, len(self.columns))

    def _unreadable(self, text: bytes, layout: Layout, found: Block) -> Unreadable:
        """Look at the first texts of columns that have a cell without a number there.

        So few that it takes no time beside the reading, whatever the cells hold.
        """
        missing = np.isnan(np.asarray(rows_of(found.X, slice(_FIRST_ROWS)))).any(axis=0)
        no_target = not layout.labels and bool(np.isnan(found.y[:_FIRST_ROWS]).any())
        doubtful = np.flatnonzero([*missing, no_target])
        rows = max(1, min(_FIRST_ROWS, _FIRST_CELLS // len(self.columns)))
        counts = Unreadable(*np.zeros((2, len(missing) + 1), dtype=np.int64))
        counts.rows[:] = min(rows, len(found.y))
        counts.rows[doubtful] = 0
        # Some columns out of very many, all over the table.
        doubtful = doubtful[:: -(-len(doubtful) // _FIRST_COLUMNS) or 1]
        if len(doubtful):
            places = [*layout.features, layout.target]
            texts = self._cells(text[: rows_end(text, rows)]).texts([places[p] for p in doubtful])
            counts.rows[doubtful] = len(texts[0])
            counts.cells[doubtful] = _unreadable_texts(texts)
        return counts

    def _refuse_words(self, text: bytes, layout: Layout) -> None:
        """Refuse columns that hold words in the first rows, unless the user says what is numbers.

        Privacy:
            Guarantee: none; rows decide whether this is an error, and one more or less can. It
                is for the data's holder, and nothing is released.
            Tested by: tests/io/test_delimited.py
        """
        if layout.typed:
            return
        features = layout.all_features or layout.features
        wordy = _wordy(self._cells(text), features if layout.labels else (*features, layout.target))
        if layout.target in wordy:
            target = Column(self.columns[layout.target].name, Kind.TEXT)
            refuse_target(target, self.label, labels=False)
        if wordy:
            refuse_text([self.columns[position].name for position in wordy], self.label)


def _block(cells: Cells, layout: Layout, rows: RowReader) -> Block:
    """Return the features and the target of all rows of a block."""
    if layout.labels:
        X = cells.numbers(layout.features)
        y: Any = cells.texts([layout.target])[0]
    else:
        # At once: wide rows are parsed as a whole, whatever is asked for.
        numbers = cells.numbers((*layout.features, layout.target))
        X, y = numbers[:, :-1], numbers[:, -1]
    person = None if layout.person is None else cells.texts([layout.person])[0]
    return rows.rows(y, person).block(0, X)


def _wordy(cells: Cells, positions: Sequence[int]) -> list[int]:
    """Return the columns with words in two rows or more, and a number in none."""
    if not positions:
        return []
    no_number = np.asarray(np.isnan(cells.numbers(positions)).all(axis=0))
    empty = [positions[place] for place in np.flatnonzero(no_number).tolist()]
    texts = cells.texts(empty) if empty else []
    return [
        position for position, column in zip(empty, texts, strict=True) if _count_words(column) >= 2
    ]


def _unreadable_texts(columns: Sequence[Any]) -> IntArray:
    """Return how many cells of each column are no number, nor stand for a missing value."""
    texts = pl.concat([pl.Series(pl.from_arrow(column), dtype=pl.String) for column in columns])
    no_number = np.isnan(text_numbers(texts.to_arrow()))
    known = texts.str.strip_chars().str.to_lowercase().is_in(list(WORDS_FOR_MISSING))
    words: BoolArray = no_number & ~known.fill_null(True).to_numpy()
    return np.asarray(words.reshape(len(columns), -1).sum(axis=1))


def _count_words(column: Any) -> int:
    """Return how many cells hold a word that does not stand for a missing value."""
    series = pl.Series(pl.from_arrow(column), dtype=pl.String).drop_nulls().str.strip_chars()
    return int((~series.str.to_lowercase().is_in(list(WORDS_FOR_MISSING))).sum())
