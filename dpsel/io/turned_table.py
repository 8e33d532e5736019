"""A table of one feature a row that does not fit in memory, read as one of a sample a row."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.blocks import Block
from dpsel.core.kept import KeptTable
from dpsel.io.arrow_values import kind_of, text_numbers
from dpsel.io.columns import Column, Kind, Layout
from dpsel.io.pieces import Piece, RowReader
from dpsel.io.provenance import Provenance
from dpsel.io.sources import Source


class TurnedTable:
    """Features, then the target; it can be read again and again.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/io/test_feature_rows.py
    """

    provenance: Provenance | None = None
    sources: tuple[Source, ...] = ()

    def __init__(
        self,
        label: str,
        kept: KeptTable,
        features: Sequence[tuple[int, str]],
        target: str,
        marks: Any,
    ) -> None:
        """Read the rows of `kept` that are `features`; `marks` is an Arrow array of the target."""
        self.label = label
        self._kept, self._marks = kept, marks
        self._places = np.array([place for place, _ in features], dtype=np.int64)
        self.columns = (
            *(Column(name, Kind.NUMBER) for _, name in features),
            Column(target, kind_of(marks.type)),
        )

    def numbered(self) -> "TurnedTable":
        """Let labels be numbers, if any of them is one."""
        values = text_numbers(self._marks)
        if not np.isnan(values).all():
            self._marks = pa.array(values)
            self.columns = (*self.columns[:-1], Column(self.columns[-1].name, Kind.NUMBER))
        return self

    def pieces(self, layout: Layout, rows: RowReader) -> Iterator[Piece]:
        """Yield pieces with all features of some samples."""
        places = self._places[list(layout.features)]
        for first, last in self._kept.column_groups():
            these = rows.rows(self._marks.slice(first, last - first), None)
            samples = self._kept.columns(first, last).T
            block: Block = these.block(0, np.asfortranarray(samples[:, places]))
            yield Piece(lambda block=block: block, last / len(self._marks))  # type: ignore[misc]

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all samples, in order."""
        if position == len(self._places):
            yield self._marks
            return
        for first, last in self._kept.column_groups():
            yield pa.array(self._kept.columns(first, last)[self._places[position]])

    def close(self) -> None:
        """Do nothing: it may be read again."""
