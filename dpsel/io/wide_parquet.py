"""Which Parquet files are wide ones: few rows, thousands of columns.

This is asked of every Parquet file, so it needs neither polars nor pyarrow.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from dpsel.core.errors import InputError
from dpsel.io.parquet_footer import footer_shape
from dpsel.io.provenance import KEY
from dpsel.io.sources import Source

if TYPE_CHECKING:
    from dpsel.io.wide_parquet_table import WideParquetTable

_LONG_FOOTER = 1 << 20
_FEW_ROWS = 1 << 16
_DEEPEST = 100


def open_wide_parquet(source: Source) -> "WideParquetTable | None":
    """Return a table if the file is a wide one, by its footer; None if it is not."""
    if source.path is None or not source.is_file:
        return None
    footer = _footer(source.path)
    shape = None if footer is None else footer_shape(footer)
    if footer is None or shape is None or shape.deepest > _DEEPEST or shape.rows > _FEW_ROWS:
        return None
    from dpsel.io.wide_parquet_table import WideParquetTable

    try:
        table = WideParquetTable(source, shape, recorded=KEY in footer)
    except InputError:
        return None  # The other reader finds out what is wrong, or which names are repeated.
    return None if table.has_decimals else table


def _footer(path: Path) -> bytes | None:
    """Return the footer of a Parquet file, None if it is short, or there is none."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        if size < 12:
            return None
        file.seek(size - 8)
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != b"PAR1" or not _LONG_FOOTER <= length <= size - 12:
            return None
        file.seek(size - 8 - length)
        return file.read(length)
