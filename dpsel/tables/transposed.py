"""Tables with one feature per row, such as genes x samples: they are transposed."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pyarrow as pa

from dpsel.core.arrays import FloatArray
from dpsel.core.matrix import TiledMatrix
from dpsel.core.words import without_words
from dpsel.errors import InputError
from dpsel.system.text import nearest
from dpsel.tables.arrow_cells import kind_of, numbers
from dpsel.tables.cells import pointed_texts, text_numbers
from dpsel.tables.column_names import refuse_repeated
from dpsel.tables.columns import Column, Kind, Layout, Use
from dpsel.tables.delimited_cells import cells_of, label_texts, numbers_of
from dpsel.tables.delimited_rows import TEXT_BYTES, TextRows, row_ends
from dpsel.tables.distinct import as_texts
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import FORMATS, SEPARATORS, FileFormat, InputFormat
from dpsel.tables.provenance import Provenance
from dpsel.tables.sources import ByteStream, Source
from dpsel.tables.spill import Spill
from dpsel.tables.table import PendingBatch, RowReader


class TransposedTable:
    """A transposed table: features, then the target. It can be read repeatedly.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/tables/test_transposed.py
    """

    provenance: Provenance | None = None
    sources: tuple[Source, ...] = ()

    def __init__(
        self,
        label: str,
        kept: TiledMatrix,
        features: Sequence[tuple[int, str]],
        target: str,
        labels: Any,
    ) -> None:
        """Read the rows of `kept` that are `features`; `labels` is the target as an Arrow array."""
        self.label = label
        self._kept, self._labels = kept, labels
        self._places = np.array([place for place, _ in features], dtype=np.int64)
        self.columns = (
            *(Column(name, Kind.NUMBER) for _, name in features),
            Column(target, kind_of(labels.type)),
        )

    def numbered(self) -> "TransposedTable":
        """Make the target numeric if any of its labels is a number, and return the table."""
        values = text_numbers(self._labels)
        if not np.isnan(values).all():
            self._labels = pa.array(values)
            self.columns = (*self.columns[:-1], Column(self.columns[-1].name, Kind.NUMBER))
        return self

    def pending_batches(self, layout: Layout, rows: RowReader) -> Iterator[PendingBatch]:
        """Yield batches with all features of some samples."""
        places = self._places[list(layout.features)]
        for first, last in self._kept.column_groups():
            rows_read = rows.rows(self._labels.slice(first, last - first), None)
            samples = self._kept.columns(first, last).T
            X = np.asfortranarray(samples[:, places])
            batch = rows_read.batch(0, without_words(X) if rows.words else X)
            yield PendingBatch.of(batch, last / len(self._labels))

    def persons(self, position: int) -> Iterator[Any]:
        """Yield one column of all samples, in order."""
        if position == len(self._places):
            yield self._labels
            return
        for first, last in self._kept.column_groups():
            yield pa.array(self._kept.columns(first, last)[self._places[position]])

    def close(self) -> None:
        """Do nothing: it may be read again."""


# The numbers, and the Arrow columns made from them.
_COPIES = 3
_BLANK_LINES = re.compile(rb"\n(?:\r?\n)+")


class FeatureRows:
    """The features of a file, one row each over its samples, and its row of labels, if any."""

    def __init__(self, label: str, samples: Sequence[str]) -> None:
        """Begin without any feature, for the samples of the file called `label`."""
        self.label = label
        self.samples = [name.strip() for name in samples]
        self.names: list[str] = []
        self.labels: list[str | None] = []
        self._kept = Spill(len(samples), copies=_COPIES)
        if not samples:
            raise InputError(f"{label}: has one column only; is the separator right?")
        _refuse_unclear(self.samples, "sample", label)

    def add_names(self, names: Sequence[str | None]) -> None:
        """Add the names of the next features."""
        self.names += [name or "" for name in names]

    def add_cells(self, first: int, matrix: FloatArray) -> None:
        """Add the cells of the next features, one row each, for the samples from `first` on."""
        self._kept.add(first, matrix)

    def table(self, labels: list[str | None] | None, target: str) -> "pa.Table | TransposedTable":
        """Return a table with one row per sample: all features, then the target.

        The target is `labels`, or without them the row `target`. The result is an Arrow table, or
        one in a temporary file if it does not fit in memory.

        Privacy:
            Guarantee: none; the result is private data, like the file.
            Tested by: tests/tables/test_transposed.py
        """
        _refuse_unclear(self.names, "feature", self.label)
        fields = {name: place for place, name in enumerate(self.names)}
        if labels is not None and target in fields:
            raise InputError(f"{self.label}: feature '{target}' is named like --target; rename one")
        if labels is None and fields.pop(target, None) is None:
            near = nearest(target, self.names)
            hint = "" if near is None else f" (did you mean '{near}'?)"
            raise InputError(f"{self.label}: no row '{target}' of labels{hint}; give --labels FILE")
        if not fields:
            raise InputError(f"{self.label}: has no feature; one a row is needed")
        texts = [(label or "").strip() or None for label in (labels or self.labels)]
        target_cells = pa.array(texts, pa.large_string())
        if not self._kept.fits_in_memory:
            features = [(place, name) for name, place in fields.items()]
            return TransposedTable(self.label, self._kept, features, target, target_cells)
        chunks = (np.ascontiguousarray(rows) for _, rows in self._kept.row_chunks())
        columns = [pa.array(row) for chunk in chunks for row in chunk]
        return pa.Table.from_arrays(
            [*(columns[place] for place in fields.values()), target_cells], names=[*fields, target]
        )


def read_feature_rows(
    source: Source,
    labels: Source | None,
    *,
    written: FileFormat,
    input_format: InputFormat,
    target: str,
) -> "pa.Table | TransposedTable":
    """Return a table with one feature per row as one with one sample per row and its label last.

    The first column holds the features' names, and every other column is a sample. A cell that is
    not a number is NaN. `labels` is a CSV or TSV of samples and labels, or of one label per line in
    the samples' order; without it, the row `target` holds the labels. The table is read some cells
    at a time, and what does not fit in memory is kept in a temporary file.

    Privacy:
        Guarantee: none; the result is private data, like the file.
        Tested by: tests/tables/test_transposed.py

    Raises:
        InputError: If a file cannot be read, or if its names are empty or repeated; never because
            of a value.
    """
    known = FORMATS[input_format]
    with plain_errors(source.label, known.kind):
        if known.open_groups is not None:
            with closing(known.open_groups(source, None)) as table:
                rows = _typed_rows(table, target)
        else:
            with closing(source.open_stream()) as stream:
                own = written.separated_by(known.separator)
                rows = text_rows(stream, own, source.label, target)
    if labels is None:
        return rows.table(None, target)
    found = _read_labels(labels, rows)
    if written.decimal != ".":
        found = pointed_texts(pa.array(found, pa.large_string())).to_pylist()
    return rows.table(found, target)


def text_rows(stream: ByteStream, written: FileFormat, label: str, target: str) -> FeatureRows:
    """Return the features of a delimited text; the cells of the row `target` are its labels."""
    text = TextRows(stream, written, label, TEXT_BYTES, digest=False)
    width = len(text.header)
    rows = FeatureRows(label, text.header[1:])
    for content in text.texts():
        lines = _BLANK_LINES.sub(b"\n", b"\n" + content)[1:]
        if not rows.names:
            further = cells_of(lines, text.dialect, width + 1).texts([width])[0]
            if 2 * further.null_count < len(further):
                raise InputError(f"{label}: the first line lacks a name, perhaps for the features")
        cells = cells_of(lines, text.dialect, width)
        names = cells.texts([0])[0].to_pylist()
        rows.add_names(names)
        rows.add_cells(0, numbers_of(cells, range(1, width)))
        if target in names:
            line = cells_of(_line(lines, names.index(target)), text.dialect, width)
            rows.labels = [cell[0].as_py() for cell in label_texts(line, range(1, width))]
    if text.has_long_rows:
        raise InputError(f"{label}: a row is far longer than the first line; this is no table")
    return rows


def _line(lines: bytes, number: int) -> bytes:
    """Return one row of a text; a line feed inside quotes does not end a row."""
    ends = row_ends(lines)
    return lines[ends[number - 1] if number else 0 : ends[number]]


def _typed_rows(table: Any, target: str) -> FeatureRows:
    """Return the features of a Parquet or Arrow table; the row `target` holds its labels."""
    columns = table.columns
    # A pandas index comes after all samples, and is not one.
    index = [place for place in range(1, len(columns)) if _is_index(columns[place])]
    last = min(index, default=len(columns))
    rows = FeatureRows(table.label, [column.name for column in columns[1:last]])
    names: list[str | None] = []
    for first, found in table.cells():
        samples = found[: max(0, last - first)]
        if not samples:
            continue
        if first == 0:
            names = _names_in(samples.pop(0), table)
            rows.add_names(names)
        place = max(0, first - 1)
        matrix = np.empty((len(names), len(samples)), order="F")
        for number, cells in enumerate(samples):
            kind = columns[1 + place + number].kind
            matrix[:, number] = _cell_numbers(cells, kind)
        rows.add_cells(place, matrix)
        if target in names:
            line = names.index(target)
            labels = [as_texts(cells.slice(line, 1))[0].as_py() for cells in samples]
            rows.labels = [*rows.labels[:place], *labels]
    return rows


def _is_index(column: Column) -> bool:
    """Return whether a column is a pandas index."""
    return column.unnamed_index or column.use is Use.NAMED


def _names_in(column: Any, table: Any) -> list[str | None]:
    """Return the names of features in the first column."""
    kind = kind_of(column.type)
    if kind is not Kind.TEXT and not pa.types.is_integer(column.type):
        # The column is not named: its name may be that of a sample, which is private.
        found = f"the first column holds {kind.value}; put the features' names first"
        raise InputError(f"{table.label}: {found}")
    names: list[str | None] = as_texts(column).to_pylist()
    return names


def _cell_numbers(column: Any, kind: Kind) -> FloatArray:
    """Return the cells of a sample as numbers; dates are NaN, whatever they look like."""
    if kind is Kind.TIME:
        return np.full(len(column), np.nan)
    return numbers(column) if kind is Kind.NUMBER else text_numbers(as_texts(column))


def _read_labels(labels: Source, rows: FeatureRows) -> list[str | None]:
    """Return the label of every sample, by its name if the file has two columns."""
    with plain_errors(labels.label, "a table of labels"):
        text = _all_bytes(labels).decode("utf-8-sig")
        separator = _label_separator(text, labels.label, rows.samples)
        cells = csv.reader(io.StringIO(text, ""), delimiter=separator, strict=True)
        try:
            lines = list(cells)
        except csv.Error:
            raise ValueError from None
    while lines and not lines[-1]:
        lines.pop()
    width = max(map(len, lines), default=0)
    if width == 1:
        # If there is one line more than samples, the first is a header.
        if len(lines) == len(rows.samples) + 1:
            lines.pop(0)
        # An empty line is a sample without a label.
        if len(lines) == len(rows.samples):
            return ["".join(line) or None for line in lines]
    if width != 2:
        raise InputError(
            f"{labels.label}: needs one label a line for each sample of {rows.label}, "
            "or two columns, samples and labels"
        )
    # Lines that name no sample of this table are ignored: a header, or samples of other tables.
    samples = set(rows.samples)
    pairs = [(line[0].strip(), "".join(line[1:])) for line in lines if line]
    known = [pair for pair in pairs if pair[0] in samples]
    if not known:
        raise InputError(f"{labels.label}: names no sample of {rows.label} in its first column")
    _refuse_unclear([name for name, _ in known], "sample", labels.label)
    return list(map(dict(known).get, rows.samples))


def _label_separator(text: str, label: str, samples: Sequence[str]) -> str:
    """Return the separator of a file of labels.

    It is a tab for a .tsv, and for any text with a tab except a .csv. Otherwise it is the character
    after the first known sample at the start of a line, so that no label decides it.
    """
    endings = label.lower().split(".")
    if "tsv" in endings or ("csv" not in endings and "\t" in text):
        return "\t"
    known = set(samples)
    for line in text.splitlines():
        for sign in SEPARATORS:
            name, found, _ = line.partition(sign)
            if found and name.strip(' "') in known:
                return sign
    return ","


def _all_bytes(source: Source) -> bytes:
    """Return all bytes of a source, decompressed."""
    with closing(source.open_stream()) as stream:
        return b"".join(iter(lambda: stream.read(TEXT_BYTES), b""))


def _refuse_unclear(names: Sequence[str], what: str, label: str) -> None:
    """Refuse names that are empty or occur more than once."""
    if not all(names):
        raise InputError(f"{label}: a {what} has no name; give it one")
    refuse_repeated(names, what, label)
