"""Raw tables of `preprocess` and `evaluate`: features in columns or rows, read more than once."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.tables.cells import text_numbers
from dpsel.tables.columns import Layout
from dpsel.tables.formats import AS_NAMED, FORMATS, FileFormat, InputFormat, Orientation
from dpsel.tables.labels import distinct_labels, sorted_labels
from dpsel.tables.opening import (
    frame_table,
    kept_frame,
    open_sources,
    unchanged,
    unchanged_table,
)
from dpsel.tables.provenance import Provenance
from dpsel.tables.sources import Source
from dpsel.tables.table import Table
from dpsel.tables.table_files import STDIN, common_format, find_sources
from dpsel.tables.transposed import TransposedTable, read_feature_rows


@frozen
class RawTable:
    """A raw table, given by its place or as a frame, and how it is laid out."""

    place: Any
    target: str
    orientation: Orientation
    labels: str | None
    label_key: str | None
    written: FileFormat = AS_NAMED

    @property
    def transposed(self) -> bool:
        """Return whether it has one feature per row; with a label key it is a GEO series matrix."""
        return self.orientation is Orientation.ROWS or self.label_key is not None

    def opener(self, *, labels_are_numbers: bool) -> Callable[[], Table]:
        """Return a function that opens the table, each time from its start."""
        if not isinstance(self.place, str | Path):
            return self._of_frame()
        if str(self.place) == self.labels == STDIN:
            raise UsageError("INPUT and --labels cannot both be stdin")
        sources = [source.kept() for source in find_sources(self.place)]
        if self._is_series_matrix(sources):
            from dpsel.tables.series_matrix import read_series_matrix

            if self.labels is not None:
                raise UsageError("a GEO series matrix has its labels in it: leave out --labels")
            with unchanged(sources):
                matrix = read_series_matrix(
                    sources[0], label_key=self.label_key, target=self.target
                )
            return self._of_memory(matrix, sources[0], None, labels_are_numbers)
        if self.label_key is not None:
            raise UsageError("--label-key is for GEO series matrices, and this is none")
        found = common_format(sources, self.written.input_format)
        if self.orientation is Orientation.ROWS:
            table = self._feature_rows(sources, found)
            before = self._record_before(sources, found)
            return self._of_memory(table, sources[0], before, labels_are_numbers)
        if self.labels is not None:
            raise UsageError("--labels goes with --features-in rows")
        return lambda: open_sources(sources, found, self.written)

    def _of_frame(self) -> Callable[[], Table]:
        """Return a function that opens a frame, repeatedly; one that can be read once is copied."""
        if self.orientation is Orientation.ROWS or self.labels is not None:
            raise UsageError("--features-in rows and --labels are for files, and this is a frame")
        if self.label_key is not None:
            raise UsageError("--label-key is for GEO series matrices, and this is none")
        frame = kept_frame(self.place)
        return lambda: frame_table(frame)

    def _feature_rows(self, sources: list[Source], found: InputFormat) -> Any:
        """Read a table with one feature per row."""
        if len(sources) > 1:
            raise UsageError("--features-in rows reads one file")
        labels = None if self.labels is None else find_sources(self.labels)[0]
        with unchanged(sources if labels is None else [*sources, labels]):
            return read_feature_rows(
                sources[0],
                labels,
                written=self.written,
                input_format=found,
                target=self.target,
            )

    def _record_before(self, sources: list[Source], found: InputFormat) -> Provenance | None:
        """Return the record of the file itself, if it takes a guarantee away."""
        with closing(open_sources(sources, found, self.written)) as table:
            made = table.provenance
        return made if made is not None and made.data_dependent else None

    def _of_memory(
        self, table: Any, source: Source, before: Provenance | None, labels_are_numbers: bool
    ) -> Callable[[], Table]:
        """Return a function that opens a table that was read already, under its file's name."""
        if isinstance(table, TransposedTable):
            transposed = table.numbered() if labels_are_numbers else table
            transposed.provenance = before
            return lambda: transposed
        if labels_are_numbers:
            table = _with_numbers(table, self.target)
        if before is not None:
            table = table.replace_schema_metadata(before.metadata())

        def opened() -> Table:
            found = frame_table(table)
            found.label = source.label
            return found

        return opened

    def _is_series_matrix(self, sources: list[Source]) -> bool:
        """Return whether this is a single GEO series matrix, by its first line."""
        wanted = self.written.input_format
        if len(sources) > 1 or (wanted is not None and FORMATS[wanted].typed):
            return False
        return sources[0].is_series_matrix()


def _with_numbers(table: Any, target: str) -> Any:
    """Return a table with a numeric target if any of its labels is a number, else unchanged."""
    place = table.schema.names.index(target)
    values = text_numbers(table.column(place).combine_chunks())
    if np.isnan(values).all():
        return table
    return table.set_column(place, target, pa.array(values))


_MOST_LABELS = 1000


def labels_of(open_again: Callable[[], Table], layout: Layout) -> tuple[str, ...]:
    """Return the distinct labels of the target, sorted."""
    labels: set[str] = set()
    with unchanged_table(open_again()) as table:
        for column in table.persons(layout.target):
            found, codes = distinct_labels(column)
            used = (found[code] for code in np.unique(codes[codes >= 0]).tolist())
            labels.update(label for label in used if label is not None)
            if len(labels) > _MOST_LABELS:
                name = table.columns[layout.target].name
                raise InputError(
                    f"{table.label}: the target '{name}' has more than {_MOST_LABELS} labels; "
                    "leave out --encode-target, or name them with --classes"
                )
    return sorted_labels(sorted(labels))
