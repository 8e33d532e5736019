"""Writing bounded tables: Parquet, Arrow and CSV, batch by batch."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import FloatArray
from dpsel.io.formats import TableFormat
from dpsel.io.provenance import Provenance

# A row group of this many cells is read back a few columns at a time without much waste.
_CELLS_PER_GROUP = 1 << 23


class TableWriter(Protocol):
    """Takes rows, the target last."""

    def write(self, rows: FloatArray) -> None:
        """Write some rows."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...

    def digest(self) -> str:
        """Return a digest of what was written, for formats that cannot carry a record."""
        ...


def open_writer(
    stream: Any,
    names: Sequence[str],
    table_format: TableFormat,
    provenance: Provenance,
    *,
    single: bool,
    seekable: bool,
) -> TableWriter:
    """Return a writer of columns `names`; `single` writes float32."""
    if table_format is TableFormat.CSV:
        return _CsvWriter(stream, names, single)
    kind = pa.float32() if single else pa.float64()
    schema = pa.schema([(name, kind) for name in names], metadata=provenance.metadata())
    if table_format is TableFormat.ARROW:
        return _ArrowWriter(stream, schema, seekable)
    return _ParquetWriter(stream, schema)


def _batch(rows: FloatArray, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as an Arrow batch."""
    kind = np.float32 if schema.types[0] == pa.float32() else np.float64
    columns = np.asarray(rows, dtype=kind, order="F")
    return pa.record_batch([pa.array(column) for column in columns.T], schema=schema)


class _ParquetWriter:
    """Parquet with zstd, in row groups of a good size."""

    def __init__(self, stream: Any, schema: pa.Schema) -> None:
        import pyarrow.parquet as pq

        self._schema = schema
        # Random-looking floats gain nothing from a dictionary.
        self._writer = pq.ParquetWriter(
            stream, schema, compression="zstd", use_dictionary=False, write_statistics=False
        )
        self._waiting: list[FloatArray] = []
        self._cells = 0

    def write(self, rows: FloatArray) -> None:
        self._waiting.append(rows)
        self._cells += rows.size
        if self._cells >= _CELLS_PER_GROUP:
            self._flush()

    def close(self) -> None:
        if self._waiting:
            self._flush()
        self._writer.close()

    def digest(self) -> str:
        return ""

    def _flush(self) -> None:
        """Write what has been waiting as one row group."""
        rows = np.concatenate(self._waiting)
        self._waiting, self._cells = [], 0
        table = pa.Table.from_batches([_batch(rows, self._schema)])
        self._writer.write_table(table, row_group_size=max(1, len(rows)))


class _ArrowWriter:
    """An Arrow file, or a stream where one cannot go back."""

    def __init__(self, stream: Any, schema: pa.Schema, seekable: bool) -> None:

        self._schema = schema
        make = pa.ipc.new_file if seekable else pa.ipc.new_stream
        self._writer = make(stream, schema)

    def write(self, rows: FloatArray) -> None:
        self._writer.write_batch(_batch(rows, self._schema))

    def close(self) -> None:
        self._writer.close()

    def digest(self) -> str:
        return ""


class _CsvWriter:
    """Comma-separated text, with as many digits as it takes to read the same numbers back."""

    def __init__(self, stream: Any, names: Sequence[str], single: bool) -> None:
        self._stream = stream
        self._names = list(names)
        self._kind = np.float32 if single else np.float64
        self._header = True
        self._hash = hashlib.sha256()

    def write(self, rows: FloatArray) -> None:
        from dpsel.io.frames import pl

        columns = np.asarray(rows, dtype=self._kind, order="F")
        frame = pl.DataFrame(dict(zip(self._names, columns.T, strict=True)))
        text = frame.write_csv(include_header=self._header).encode()
        self._header = False
        self._hash.update(text)
        self._stream.write(text)

    def close(self) -> None:
        if self._header:
            self.write(np.empty((0, len(self._names))))

    def digest(self) -> str:
        return self._hash.hexdigest()
