"""Columns from folder names, as in `year=2024/`: the same value in all rows of a file."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.batch import Batch
from dpsel.errors import InputError
from dpsel.tables.arrow_cells import column_cells, repeated
from dpsel.tables.cells import text_numbers
from dpsel.tables.columns import Column, Kind, Layout
from dpsel.tables.provenance import Provenance
from dpsel.tables.sources import Keys, Source
from dpsel.tables.table import Constants, PendingBatch, RowReader, Table


class KeyedTable:
    """One file, and after its own columns those from the names of its folders.

    Of a column that is in both, the file's is used: its type is known.
    """

    sources: tuple[Source, ...] = ()

    def __init__(self, table: Table, keys: Keys) -> None:
        """Add `keys` to the columns of a file."""
        own = {column.name for column in table.columns}
        self._table = table
        self._keys = tuple((name, value) for name, value in keys if name not in own)
        self.label = table.label
        self.columns = (*table.columns, *(Column(name, Kind.FOLDER) for name, _ in self._keys))

    @property
    def provenance(self) -> Provenance | None:
        """Return how the file was made, unless folders add columns that its record is not about.

        A record that takes a guarantee away is always returned.
        """
        found = self._table.provenance
        return found if found is None or found.data_dependent or not self._keys else None

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield all batches, in order."""
        count = len(self._table.columns)
        own = tuple(place for place in layout.features if place < count)
        more = self._cell if rows.words else self._number
        added = [more(place) for place in layout.features if place >= count]
        inner = replace(layout, features=own, names=layout.names[: len(own)])
        inner = replace(inner, target=self._inside(layout.target, own))
        if layout.person is not None:
            inner = replace(inner, person=self._inside(layout.person, own))
        constant = rows.with_constants(self._constants(layout))
        for pending in self._table.pending_batches(inner, constant):

            def read(pending: PendingBatch = pending) -> Batch:
                batch = pending.read()
                # These are the last features of some rows: those of the folders follow.
                if added and batch.first_feature + batch.X.shape[1] == len(own):
                    more = np.tile(np.array(added), (len(batch.y), 1))
                    return replace(batch, X=np.asfortranarray(np.hstack([batch.X, more])))
                return batch

            yield replace(pending, read=read)

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all rows, in order."""
        own = position < len(self._table.columns)
        for column in self._table.persons(self._inside(position, ())):
            yield column if own else repeated(self._text(position), len(column))

    def close(self) -> None:
        """Close the file."""
        self._table.close()

    def _inside(self, place: int, features: tuple[int, ...]) -> int:
        """Return the position of a column in the file; of a folder's column, any in its place.

        Only the number of rows of that column is used.
        """
        if place < len(self._table.columns):
            return place
        if not self._table.columns:
            raise InputError(f"{self.label}: has no column of its own")
        return features[0] if features else 0

    def _constants(self, layout: Layout) -> Constants:
        """Return the values of target and person that come from the folders."""
        count = len(self._table.columns)
        target = person = None
        if layout.target >= count:
            value = self._text(layout.target)
            if not layout.labels:
                value = pa.array([self._number(layout.target)])
            target = partial(repeated, value)
        if layout.person is not None and layout.person >= count:
            person = partial(repeated, self._text(layout.person))
        return Constants(target, person)

    def _value(self, place: int) -> str | None:
        """Return the value of a folder's column."""
        return self._keys[place - len(self._table.columns)][1]

    def _number(self, place: int) -> float:
        """Return the value as a number, NaN if it is not one."""
        return float(text_numbers(pa.array([self._value(place)], pa.string()))[0])

    def _cell(self, place: int) -> float:
        """Return the value as a number or a word, NaN if it is missing."""
        return float(column_cells(pa.array([self._value(place)], pa.string()))[0])

    def _text(self, place: int) -> Any:
        """Return the value as a text, in an array."""
        return pa.array([self._value(place)], pa.large_string())
