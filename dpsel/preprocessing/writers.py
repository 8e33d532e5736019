"""Writing bounded tables as Parquet, Arrow or CSV, batch by batch."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpsel.core.arrays import FloatArray
from dpsel.preprocessing.options import TableFormat, TableWriting
from dpsel.records import frozen
from dpsel.system.frames import pl
from dpsel.system.output import STDOUT, Output, is_plain
from dpsel.tables.distinct import persons_in_text
from dpsel.tables.provenance import Provenance, sidecar
from dpsel.tables.table_files import input_files, refuse_part


@frozen
class Outputs:
    """Where a bounded table is written, opened before anything is read."""

    place: str
    table: Output
    record: Output | None
    """Where the record of a CSV is written, because a CSV cannot contain it."""
    table_format: TableFormat
    single: bool
    """Whether numbers are written as float32."""


@contextmanager
def open_outputs(
    place: str, writing: TableWriting, table: Any, others: Sequence[Any]
) -> Iterator[Outputs]:
    """Open the outputs for a table; refuse to overwrite `table` or `others`, if these are files."""
    inputs = [Path(name) for name in others if isinstance(name, str | Path)]
    if isinstance(table, str | Path):
        refuse_part(table, place)
        inputs = [*input_files(table), *inputs]
    written = writing.format_of(place)
    with ExitStack() as opened:

        def opened_at(name: str) -> Output:
            output = Output(name, force=writing.force, inputs=inputs, owner_only=True)
            return opened.enter_context(output)

        main = opened_at(place)
        # The record has a digest of the table, which reveals whether a guess at all rows is right.
        beside = written is TableFormat.CSV and is_plain(place)
        record = opened_at(str(sidecar(Path(place)))) if beside else None
        yield Outputs(place, main, record, written, writing.float32)


# A few columns of a row group of this many cells can be read without much waste.
_CELLS_PER_GROUP = 1 << 23


class TableWriter(Protocol):
    """Writes rows of numbers, and after them a column that is passed on: persons or labels."""

    def write(self, rows: FloatArray, passed: Any | None = None) -> None:
        """Write some rows."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...

    def digest(self) -> str:
        """Return a digest of what was written, empty for formats that contain the record."""
        ...


def open_writer(
    outputs: Outputs,
    names: Sequence[str],
    provenance: Provenance,
    passed_type: pa.DataType | None = None,
) -> TableWriter:
    """Return a writer of columns `names`; with `passed_type`, the last is passed on unchanged."""
    stream = outputs.table.stream
    if outputs.table_format is TableFormat.CSV:
        return _CsvWriter(stream, names, outputs.single)
    schema = _schema(names, provenance, passed_type, single=outputs.single)
    if outputs.table_format is TableFormat.ARROW:
        return _ArrowWriter(stream, schema, seekable=outputs.place != STDOUT)
    return _ParquetWriter(stream, schema)


def _schema(
    names: Sequence[str], provenance: Provenance, passed_type: pa.DataType | None, *, single: bool
) -> pa.Schema:
    """Return the schema of a bounded table, with its record in the metadata."""
    kinds = [pa.float32() if single else pa.float64()] * len(names)
    if passed_type is not None:
        kinds[-1] = passed_type
    return pa.schema(zip(names, kinds, strict=True), metadata=provenance.metadata())


class MemoryWriter:
    """Keeps a bounded table in memory."""

    def __init__(
        self,
        names: Sequence[str],
        provenance: Provenance,
        passed_type: pa.DataType | None,
        *,
        single: bool,
    ) -> None:
        """Begin without a row."""
        self._schema = _schema(names, provenance, passed_type, single=single)
        self._batches: list[pa.RecordBatch] = []

    def write(self, rows: FloatArray, passed: Any | None = None) -> None:
        """Keep some rows."""
        self._batches.append(_batch(rows, passed, self._schema))

    def close(self) -> None:
        """Do nothing."""

    def digest(self) -> str:
        """Return nothing: the table contains its record."""
        return ""

    def table(self) -> pa.Table:
        """Return all rows."""
        return pa.Table.from_batches(self._batches, schema=self._schema)


def _batch(rows: FloatArray, passed: Any | None, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows as an Arrow batch."""
    single = schema.types[0] == pa.float32()
    columns = np.asarray(rows, dtype=np.float32 if single else np.float64, order="F")
    kind, count = pa.from_numpy_dtype(columns.dtype), len(columns)
    # Not by `pa.array`, which first imports pandas if that is installed: 200 ms.
    arrays = [pa.Array.from_buffers(kind, count, [None, pa.py_buffer(x)]) for x in columns.T]
    return pa.record_batch(arrays if passed is None else [*arrays, passed], schema=schema)


class _ParquetWriter:
    """Parquet with zstd, in row groups of a good size."""

    def __init__(self, stream: Any, schema: pa.Schema) -> None:
        self._schema = schema
        # Random-looking floats gain nothing from a dictionary.
        self._writer = pq.ParquetWriter(
            stream, schema, compression="zstd", use_dictionary=False, write_statistics=False
        )
        self._waiting: list[FloatArray] = []
        self._passed: list[Any] = []
        self._cells = 0

    def write(self, rows: FloatArray, passed: Any | None = None) -> None:
        self._waiting.append(rows)
        self._passed += [] if passed is None else [passed]
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
        """Write the waiting rows as one row group."""
        rows = np.concatenate(self._waiting)
        passed = pa.concat_arrays(self._passed) if self._passed else None
        self._waiting, self._passed, self._cells = [], [], 0
        table = pa.Table.from_batches([_batch(rows, passed, self._schema)])
        self._writer.write_table(table, row_group_size=max(1, len(rows)))


class _ArrowWriter:
    """An Arrow file, or a stream if the output is not seekable."""

    def __init__(self, stream: Any, schema: pa.Schema, seekable: bool) -> None:

        self._schema = schema
        make = pa.ipc.new_file if seekable else pa.ipc.new_stream
        self._writer = make(stream, schema)

    def write(self, rows: FloatArray, passed: Any | None = None) -> None:
        self._writer.write_batch(_batch(rows, passed, self._schema))

    def close(self) -> None:
        self._writer.close()

    def digest(self) -> str:
        return ""


class _CsvWriter:
    """Comma-separated text, with enough digits to read the same numbers back."""

    def __init__(self, stream: Any, names: Sequence[str], single: bool) -> None:
        self._stream = stream
        self._names = list(names)
        self._kind = np.float32 if single else np.float64
        self._header = True
        self._hash = hashlib.sha256()

    def write(self, rows: FloatArray, passed: Any | None = None) -> None:
        columns: list[Any] = list(np.asarray(rows, dtype=self._kind, order="F").T)
        if passed is not None:
            columns.append(pl.Series(pl.from_arrow(persons_in_text(passed))))
        self._put(pl.DataFrame(dict(zip(self._names, columns, strict=True))))

    def close(self) -> None:
        if self._header:
            self._put(pl.DataFrame({name: [] for name in self._names}))

    def digest(self) -> str:
        return self._hash.hexdigest()

    def _put(self, frame: Any) -> None:
        """Write a frame of all columns, the first time with a header."""
        text = frame.write_csv(include_header=self._header).encode()
        self._header = False
        self._hash.update(text)
        self._stream.write(text)
