"""Which Parquet files are wide ones: few rows, thousands of columns.

This is asked of every Parquet file, so it needs neither polars nor pyarrow.
"""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dpsel.core.errors import InputError
from dpsel.io.columns import PANDAS
from dpsel.io.identity import Identity, identity_of
from dpsel.io.parquet_footer import footer_shape
from dpsel.io.provenance import KEY
from dpsel.io.sources import Source, named_in_utf8

if TYPE_CHECKING:
    from dpsel.io.wide_parquet_table import WideParquetTable
    from dpsel.io.wide_scan import WideScan

_LONG_FOOTER = 1 << 20
_FEW_ROWS = 1 << 16
_DEEPEST = 100

_begun: "dict[tuple[Path, Identity | None], WideScan | None]" = {}


def begin_reading(table: str, *, rows_too: bool) -> None:
    """Begin to read the footer of a wide Parquet file, while the rest of the command is imported.

    `rows_too` lets it read rows as well, where none has to wait for a charge. Whatever is wrong
    with the name or the file is found out later.
    """
    path = Path(table)
    with suppress(OSError, ValueError):
        if table and path.is_file():
            _begun.clear()
            _begun[path, identity_of(path)] = _scan(path, rows_too=rows_too)


def open_wide_parquet(source: Source) -> "WideParquetTable | None":
    """Return a table if the file is a wide one, by its footer; None if it is not."""
    if source.path is None or not source.is_file:
        return None
    try:
        # The identity with which the file is compared at the end: what was read before is of it.
        this = source.path, source.identity
        scan = _begun.pop(this) if this in _begun else _scan(source.path)
    except OSError:
        return None  # The other reader says what is wrong.
    if scan is None:
        return None
    from dpsel.io.wide_parquet_table import WideParquetTable

    try:
        table = WideParquetTable(source, scan)
    except InputError:
        return None  # The other reader finds out what is wrong, or which names are repeated.
    return None if table.has_rare_types else table


def _scan(path: Path, *, rows_too: bool = False) -> "WideScan | None":
    """Begin to read a file if it is a wide one."""
    if not named_in_utf8(path):
        return None
    footer = _footer(path)
    shape = None if footer is None else footer_shape(footer)
    if footer is None or shape is None or shape.deepest > _DEEPEST or shape.rows > _FEW_ROWS:
        return None
    from dpsel.io.wide_scan import WideScan

    recorded = KEY in footer or PANDAS in footer
    return WideScan(path, shape, recorded=recorded, rows_too=rows_too)


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
