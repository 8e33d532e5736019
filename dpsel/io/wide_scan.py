"""A scan of a wide Parquet file, which reads its footer at once, and once."""

import threading
from contextlib import suppress
from pathlib import Path

from dpsel.core.errors import InputError
from dpsel.io.border import reading
from dpsel.io.formats import KINDS, InputFormat
from dpsel.io.frames import pl
from dpsel.io.parquet_footer import FooterShape


class WideScan:
    """To read its footer takes as long as to read such a file: it is begun in a thread."""

    def __init__(self, path: Path, shape: FooterShape, *, recorded: bool) -> None:
        """Begin to read the footer of a file whose shape is known."""
        self.path = path
        self.shape = shape
        self.recorded = recorded
        """Whether the footer holds a record of how the table was made."""
        self._scan = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        self._reader = threading.Thread(target=self._read_footer, daemon=True)
        self._reader.start()

    def frame(self) -> pl.LazyFrame:
        """Return the scan, once it knows its footer."""
        self._reader.join()
        return self._scan

    def _read_footer(self) -> None:
        """Let the scan read the footer, which it keeps, and no row; errors come again later."""
        with suppress(InputError), reading(self.path.name, KINDS[InputFormat.PARQUET]):
            self._scan.select(pl.nth(0)).limit(0).collect()
