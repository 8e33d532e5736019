"""A scan of a wide Parquet file, which reads its footer at once, and once; and perhaps its rows."""

import threading
from contextlib import suppress
from pathlib import Path

from dpsel.core.errors import InputError
from dpsel.io.border import reading
from dpsel.io.formats import KINDS, InputFormat
from dpsel.io.frames import pl
from dpsel.io.parquet_footer import FooterShape

# As many as a piece may have: a larger file is read piece by piece, later.
_CELLS_AHEAD = 1 << 25


class WideScan:
    """To read its footer takes as long as to read such a file: it is begun in a thread."""

    def __init__(
        self, path: Path, shape: FooterShape, *, recorded: bool, rows_too: bool = False
    ) -> None:
        """Begin to read the footer of a file whose shape is known, or all of it if it is small."""
        self.path = path
        self.shape = shape
        self.recorded = recorded
        """Whether the footer may hold a record of how the table was made, by us or by pandas."""
        self._scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        self._whole: pl.DataFrame | None = None
        few = shape.floats is not None and shape.rows * len(shape.floats) <= _CELLS_AHEAD
        begin = self._read_rows if rows_too and few else self._read_footer
        self._reader = threading.Thread(target=begin, daemon=True)
        self._reader.start()

    def schema(self) -> pl.Schema:
        """Return names and types, once the footer is known."""
        self._reader.join()
        return self._scan.collect_schema()

    def read(self, positions: list[int] | None) -> pl.DataFrame:
        """Return columns by their positions, or all: polars takes some names for patterns."""
        self._reader.join()
        if self._whole is not None:
            return self._whole if positions is None else self._whole.select(pl.nth(*positions))
        return (
            self._scan if positions is None else self._scan.select(pl.nth(*positions))
        ).collect()

    def _read_footer(self) -> None:
        """Let the scan read the footer, which it keeps, and no row; errors come again later."""
        with suppress(InputError), reading(self.path.name, KINDS[InputFormat.PARQUET]):
            self._scan.select(pl.nth(0)).limit(0).collect()

    def _read_rows(self) -> None:
        """Read all columns, of which most will be wanted; errors come again later."""
        with suppress(InputError), reading(self.path.name, KINDS[InputFormat.PARQUET]):
            self._whole = self._scan.collect()
