"""Columns of Python objects, such as those of pandas frames: they have no type, as in a CSV.

pyarrow would look at the cells and find a type that fits all of them, or fail. Here types decide
what is read, never cells: each object becomes a text on its own, and the texts are read like those
of a CSV.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.batch import Batch, Unreadable
from dpsel.records import frozen
from dpsel.tables.arrow import ArrowStreamTable, usable_columns
from dpsel.tables.arrow_cells import is_text, kind_of
from dpsel.tables.columns import Column, Kind, Layout, Use, refuse_wordy
from dpsel.tables.table import PendingBatch, RowReader

# What pyarrow raises for arrays it cannot convert, such as texts that are not UTF-8.
REFUSED = (pa.ArrowException, UnicodeError, OverflowError, TypeError)
# Rows that are looked at for words, for the data holder.
_FIRST_ROWS = 100


@frozen
class Frame:
    """An Arrow table, and its columns; those of kind UNKNOWN are texts without a type."""

    table: pa.Table
    columns: tuple[Column, ...]


def cell_texts(cells: Iterable[Any]) -> pa.Array:
    """Return the texts of objects, each read on its own; null for a cell without a text.

    Privacy:
        Domain: any objects. What a cell becomes depends on that cell alone.
        Guarantee: none; cells are private input for a score.
        Tested by: tests/hardening/test_objects.py
    """
    return pa.array([_text(cell) for cell in cells], pa.large_string())


def _text(cell: Any) -> str | None:
    """Return the text of an object; one that has none is missing."""
    if cell is None or (isinstance(cell, bytes) and not cell.strip()):
        return None
    try:
        # Two persons whose ids are bytes must not become one, so bytes stay as Python prints them.
        return str(cell).encode("utf-8", "backslashreplace").decode()
    except Exception:  # A foreign object may raise anything: no cell may fail a run.
        return None


def pandas_column(cells: Any) -> tuple[Any, Kind]:
    """Return a column or index of pandas as an Arrow column, and its kind, by its type alone.

    Privacy:
        Domain: any column. Cells decide neither the kind nor whether there is an error.
        Guarantee: none; the column is private.
        Tested by: tests/hardening/test_objects.py
    """
    if _holds_objects(cells):
        return cell_texts(cells), Kind.UNKNOWN
    try:
        column = _arrow_column(cells)
    except REFUSED:
        return cell_texts(cells), _kind_of_type(cells)
    return column, kind_of(column.type)


def _arrow_column(cells: Any) -> Any:
    """Return a column or index of a type that Arrow knows as an Arrow column."""
    # Without its index: an object in the index may fail whatever is looked up there.
    return pa.array(sys.modules["pandas"].Series(cells.array), from_pandas=True)


def _holds_objects(cells: Any) -> bool:
    """Return whether a column or index of pandas has no type but that of Python objects."""
    categories = getattr(cells.dtype, "categories", None)
    if categories is not None:
        return _holds_objects(categories)
    # A foreign type that does not know Arrow would be converted as objects.
    foreign = cells.dtype.kind == "O" and not hasattr(cells.array, "__arrow_array__")
    return bool(cells.dtype == object) or foreign


def _kind_of_type(cells: Any) -> Kind:
    """Return the kind of a type of pandas, UNKNOWN for one that Arrow does not know."""
    categories = getattr(cells.dtype, "categories", None)
    if categories is not None:
        return _kind_of_type(categories)
    try:
        return kind_of(_arrow_column(cells[:0]).type)
    except REFUSED:
        return Kind.UNKNOWN


def is_pandas(frame: Any) -> bool:
    """Return whether this is a pandas frame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(frame, pandas.DataFrame)


def pandas_frame(frame: Any) -> Frame:
    """Return a pandas frame with its index, even one that only counts rows.

    A level of the index without a name, or with that of a column, is called as Arrow calls it.
    """
    names = [_name(name) for name in frame.columns]
    found = [(name, frame.iloc[:, at], Use.ANY) for at, name in enumerate(names)]
    for level, own in enumerate(frame.index.names):
        name = None if own is None else _name(own)
        unnamed = name is None or name in names
        cells = frame.index.get_level_values(level)
        found.append((f"__index_level_{level}__" if unnamed else str(name), cells, Use.NAMED))
    arrays, columns = [], []
    for name, cells, use in found:
        array, kind = pandas_column(cells)
        arrays.append(array)
        columns.append(Column(name, kind, use))
    return Frame(pa.Table.from_arrays(arrays, [c.name for c in columns]), tuple(columns))


def _name(name: Any) -> str:
    """Return the name of a column as text."""
    return name.decode() if isinstance(name, bytes) else str(name)


class FrameTable(ArrowStreamTable):
    """A frame in memory, some of whose columns may be texts without a type."""

    def __init__(self, frame: Frame) -> None:
        """Read a frame."""
        super().__init__(frame.table.to_reader(), "table")
        schema = frame.table.schema
        self.columns = usable_columns(frame.columns, schema, schema.metadata)
        self._first = frame.table.slice(0, _FIRST_ROWS)

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        batches = super().pending_batches(layout, rows)
        if rows.words or not any(self.columns[place].kind is Kind.UNKNOWN for place in layout.read):
            yield from batches
            return
        self._refuse_words(layout)
        for pending in batches:

            def read(pending: PendingBatch = pending) -> Batch:
                batch = pending.read()
                return replace(batch, unreadable=self._unreadable(batch, layout))

            yield PendingBatch(read, pending.done)

    def _refuse_words(self, layout: Layout) -> None:
        """Refuse untyped columns of words in the first rows, in commands that release nothing.

        Privacy:
            Guarantee: none; rows decide whether this is an error, and a single row can. What
                releases has a layout with types, for which nothing is refused.
            Tested by: tests/hardening/test_objects.py
        """
        if layout.typed:
            return
        from dpsel.tables.delimited_cells import wordy_texts

        features = () if layout.words else layout.features
        read = (*features, *(() if layout.labels else (layout.target,)))
        untyped = [place for place in read if self.columns[place].kind is Kind.UNKNOWN]
        wordy = [place for place in untyped if wordy_texts(self._first.column(place))]
        refuse_wordy(self.columns, sorted(set(wordy)), layout, self.label)

    def _unreadable(self, batch: Batch, layout: Layout) -> Unreadable:
        """Count the words in the first rows of untyped columns that are read as numbers."""
        from dpsel.tables.delimited_cells import unreadable_texts

        first, width = batch.first_feature, batch.X.shape[1]
        places = [*layout.features[first : first + width], layout.target]
        counts = Unreadable(*np.zeros((2, len(places)), dtype=np.int64))
        counts.rows[:] = self._first.num_rows
        texts = [
            at
            for at, place in enumerate(places)
            if is_text(self._first.schema.field(place).type)
            and not (place == layout.target and layout.labels)
        ]
        if texts:
            columns = [self._first.column(places[at]).combine_chunks() for at in texts]
            counts.cells[texts] = unreadable_texts(columns, ".")
        return counts
