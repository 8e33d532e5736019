"""Raw tables for preprocessing: in either orientation, and readable again and again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsel.core.errors import UsageError
from dpsel.io.arrow_values import text_numbers
from dpsel.io.formats import InputFormat, Orientation
from dpsel.io.pieces import Table
from dpsel.io.sources import STDIN, Source, common_format, find_sources
from dpsel.io.tables import frame_table, open_sources, unchanged
from dpsel.io.turned_table import TurnedTable


@dataclass(frozen=True)
class RawTable:
    """Where a raw table is, and how it is laid out."""

    place: str
    target: str
    orientation: Orientation
    labels: str | None
    label_key: str | None
    input_format: InputFormat | None
    separator: str | None

    def opener(self, *, labels_are_numbers: bool) -> Callable[[], Table]:
        """Return what opens the table, each time from its start."""
        if self.place == self.labels == STDIN:
            raise UsageError("INPUT and --labels cannot both be stdin")
        sources = [source.kept() for source in find_sources(self.place)]
        if self._is_series_matrix(sources):
            from dpsel.io.series_matrix import read_series_matrix

            if self.labels is not None:
                raise UsageError("a GEO series matrix has its labels in it: leave out --labels")
            with unchanged(sources):
                matrix = read_series_matrix(
                    sources[0], label_key=self.label_key, target=self.target
                )
            return self._of_memory(matrix, sources[0], labels_are_numbers)
        if self.label_key is not None:
            raise UsageError("--label-key is for GEO series matrices, and this is none")
        found = common_format(sources, self.input_format)
        if self.orientation is Orientation.ROWS:
            table = self._feature_rows(sources, found)
            return self._of_memory(table, sources[0], labels_are_numbers)
        if self.labels is not None:
            raise UsageError("--labels goes with --features-in rows")
        return lambda: open_sources(sources, found, self.separator)

    def _feature_rows(self, sources: list[Source], found: InputFormat) -> Any:
        """Read a table with one feature a row."""
        from dpsel.io.feature_rows import read_feature_rows

        if len(sources) > 1:
            raise UsageError("--features-in rows reads one file")
        labels = None if self.labels is None else find_sources(self.labels)[0]
        with unchanged(sources if labels is None else [*sources, labels]):
            return read_feature_rows(
                sources[0],
                labels,
                separator=self.separator,
                input_format=found,
                target=self.target,
            )

    def _of_memory(
        self, table: Any, source: Source, labels_are_numbers: bool
    ) -> Callable[[], Table]:
        """Return what opens a table in memory, or in a file, under the name of its file."""
        if isinstance(table, TurnedTable):
            turned = table.numbered() if labels_are_numbers else table
            return lambda: turned
        if labels_are_numbers:
            table = _with_numbers(table, self.target)

        def opened() -> Table:
            found = frame_table(table)
            found.label = source.label
            return found

        return opened

    def _is_series_matrix(self, sources: list[Source]) -> bool:
        """Return whether this is one GEO series matrix, by its first line."""
        from dpsel.io.series_matrix import is_series_matrix

        if (
            len(sources) > 1
            or sources[0].remote
            or self.input_format in (InputFormat.PARQUET, InputFormat.ARROW)
        ):
            return False
        stream = sources[0].open_stream()
        try:
            return is_series_matrix(stream.read(64))
        except OSError:
            return False
        finally:
            stream.close()


def _with_numbers(table: Any, target: str) -> Any:
    """Return a table whose labels are numbers, if any of them is one."""
    import pyarrow as pa

    place = table.schema.names.index(target)
    values = text_numbers(table.column(place).combine_chunks())
    if np.isnan(values).all():
        return table
    return table.set_column(place, target, pa.array(values))
