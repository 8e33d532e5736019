"""GEO series-matrix files: lines about the samples, then a table with one feature per row."""

import csv
import difflib
import re
from contextlib import closing
from typing import Any

from dpsel.errors import InputError
from dpsel.tables.errors import plain_errors
from dpsel.tables.formats import BOM, FileFormat
from dpsel.tables.sources import ByteStream, Source
from dpsel.tables.transposed import FeatureRows, text_rows

_BEGIN = re.compile(rb'^"?!series_matrix_table_begin\b.*\n', re.MULTILINE | re.IGNORECASE)
_END = re.compile(rb'\n"?!series_matrix_table_end\b', re.IGNORECASE)
_ACCESSION = "!sample_geo_accession"
_CHARACTERISTICS = "!sample_characteristics_ch1"
_HEAD_BYTES, _LONGEST_HEAD = 1 << 20, 1 << 28
# Longer than the line that marks the end of the table.
_HELD_BYTES = 64
_KEYS_SHOWN = 20
_WRITTEN = FileFormat(separator="\t")


def read_series_matrix(source: Source, *, label_key: str | None, target: str) -> Any:
    """Return a series matrix as a table with one sample per row, and the labels as last column.

    A label is the text after `label_key: ` in the sample's characteristics, ignoring the key's
    case; it is null for a sample without one. A cell of the matrix that is not a number is NaN. The
    file is read row by row, and a table that does not fit in memory is kept in a temporary file.

    Privacy:
        Guarantee: none; the result is private data, like the file.
        Tested by: tests/tables/test_series_matrix.py

    Raises:
        InputError: If it is not a series matrix, if its names are empty or repeated, or if it has
            no such key: then the message lists its keys, which are public. Never because of a
            value.
    """
    with plain_errors(source.label, "a series matrix"), closing(source.open_stream()) as stream:
        about, begun = _head(stream, source.label)
        labels = _labels(about, label_key, source.label)
        rows = _rows(_MatrixText(begun, stream), source.label, target)
    if not any(name in labels for name in rows.samples):
        raise InputError(
            f"{source.label}: the samples of its table are not those of !Sample_geo_accession"
        )
    return rows.table([labels.get(name) for name in rows.samples], target)


def _head(stream: ByteStream, label: str) -> tuple[str, bytes]:
    """Return the lines about the samples, and the bytes of the table that were read with them."""
    content, line = b"", 0
    while (begin := _BEGIN.search(content, line)) is None:
        line = content.rfind(b"\n") + 1
        more = stream.read(_HEAD_BYTES)
        if not more or len(content) > _LONGEST_HEAD:
            raise InputError(
                f"{label}: has no line !series_matrix_table_begin; "
                "give a series matrix of GEO, whole"
            )
        content += more
    about = content[: begin.start()].removeprefix(BOM).decode("utf-8", "replace")
    return about, content[begin.end() :]


def _rows(text: "_MatrixText", label: str, target: str) -> FeatureRows:
    """Return the features of the table."""
    try:
        rows = text_rows(ByteStream(text, text, 0), _WRITTEN, label, target)
        if not text.cut_short:
            return rows
    except InputError:
        if not text.cut_short:
            raise
    raise InputError(
        f"{label}: has no line !series_matrix_table_end, so it is cut short; get it again"
    )


class _MatrixText:
    """The text of the table, up to the line that ends it, without quotes.

    GEO quotes names, which contain no tab; without quotes the table is read a faster way.
    """

    def __init__(self, begun: bytes, stream: ByteStream) -> None:
        """Read `begun`, then the stream."""
        # With the line break before the table: `_END` needs one even if the table is empty.
        self._held = b"\n" + begun
        self._stream = stream
        self._done = False
        self.cut_short = False
        """Whether everything was read without finding the line that ends the table."""

    def read(self, count: int) -> bytes:
        """Return about `count` bytes, none at the end of the table."""
        text = b""
        while not text and not self._done:
            text = self._next(self._stream.read(count)).replace(b'"', b"")
        return text

    def _next(self, more: bytes) -> bytes:
        """Return what is certainly part of the table, and hold back the rest."""
        held = self._held + more
        # Searching for one character is fast, and few tables contain it.
        end = _END.search(held) if b"!" in held else None
        if end is not None and (end.end() < len(held) or not more):
            self._done = True
            return held[: end.start() + 1]
        if not more:
            self._done = self.cut_short = True
            return held
        self._held = held[-_HELD_BYTES:]
        return held[:-_HELD_BYTES]


def _labels(about: str, label_key: str | None, label: str) -> dict[str, str | None]:
    """Return the label of every sample, by the sample's name."""
    samples, characteristics = _sample_lines(about, label)
    wanted = None if label_key is None else label_key.strip().casefold()
    keys: dict[str, str] = {}
    labels: dict[str, str | None] = dict.fromkeys(samples)
    for line in characteristics:
        for sample, cell in zip(samples, line, strict=False):
            # A blank is added because a key may have nothing after its colon.
            key, colon, value = f"{cell.strip()} ".partition(": ")
            if colon:
                keys.setdefault(key.strip().casefold(), key.strip())
            if colon and key.strip().casefold() == wanted:
                labels[sample] = labels[sample] or value.strip() or None
    if not keys:
        raise InputError(f"{label}: has no characteristics of samples to take labels from")
    if wanted is None:
        raise InputError(
            f"{label}: say which characteristic is the label, with `dpsel preprocess --label-key "
            f"KEY`: {_shown(keys, '')}"
        )
    if wanted not in keys:
        raise InputError(
            f"{label}: has no characteristic '{label_key}'; it has {_shown(keys, wanted)}"
        )
    return labels


def _sample_lines(about: str, label: str) -> tuple[list[str], list[list[str]]]:
    """Return the samples' names, and their characteristics line by line."""
    samples: list[str] = []
    characteristics: list[list[str]] = []
    for line in about.replace("\r\n", "\n").split("\n"):
        if not line.lstrip('"').lower().startswith((_ACCESSION, _CHARACTERISTICS)):
            continue
        try:
            name, *cells = next(csv.reader([line], delimiter="\t"))
        except csv.Error:
            raise ValueError from None
        if name.strip().lower() == _ACCESSION:
            samples = [cell.strip() for cell in cells]
        elif name.strip().lower() == _CHARACTERISTICS:
            characteristics.append(cells)
    if not samples:
        raise InputError(f"{label}: has no line !Sample_geo_accession with the samples' names")
    return samples, characteristics


def _shown(keys: dict[str, str], wanted: str) -> str:
    """Return the keys for a message, beginning with those spelled like `wanted`."""
    near = difflib.get_close_matches(wanted, list(keys), n=_KEYS_SHOWN)
    ordered = [*near, *(key for key in keys if key not in near)]
    more = len(ordered) - _KEYS_SHOWN
    shown = ", ".join(f"'{keys[key]}'" for key in ordered[:_KEYS_SHOWN])
    return shown if more <= 0 else f"{shown} and {more} more"
