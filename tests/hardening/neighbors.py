"""Tables that differ in one row, whatever that row holds, in every format that can hold it."""

import gzip
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from tests.hardening.canaries import NUMBER, TEXT

# A number that is nowhere else in a record: whoever finds it there has found the number of rows.
ROWS = 137
SELECTED = ["x1", "x2"]
PLACES = (0, ROWS - 1)
Row = dict[str, Any]


def rows() -> list[Row]:
    """Return rows in which two features matter for the target, and the others do not at all."""
    rng = np.random.default_rng(5)
    x1, x2 = rng.choice([-1.0, 1.0], (2, ROWS))
    noise = rng.choice([-0.02, 0.02], (4, ROWS))
    return [
        {
            "x1": float(x1[row]),
            "z1": float(noise[0, row]),
            "x2": float(x2[row]),
            "z2": float(noise[1, row]),
            "z3": float(noise[2, row]),
            "count": int(rng.integers(0, 2)),
            "who": f"person{row}",
            "note": f"{TEXT} {NUMBER}",
            "label": "ill" if x1[row] + x2[row] > 0 else "well",
            "y": float(x1[row] + x2[row]) / 2,
        }
        for row in range(ROWS)
    ]


NAMES = list(rows()[0])


@dataclass(frozen=True)
class Raw:
    """A whole row of text, as it stands in the file."""

    text: bytes


def _everywhere(cell: bytes) -> Row:
    return dict.fromkeys(NAMES, cell)


_CANARY = TEXT.encode()
# What one row of a delimited file may hold: bytes stand in the file as they are.
IN_TEXT: dict[str, Row | Raw] = {
    "nan": _everywhere(b"NaN"),
    "outlier": {"x1": b"1e300", "y": b"-1e300", "count": b"%a" % NUMBER},
    "infinity": {"x1": b"inf", "x2": b"-Infinity", "y": b"-inf"},
    "too large": {"x1": b"1e999999999", "count": b"9" * 400, "y": b"-" + b"9" * 400},
    "empty": _everywhere(b""),
    "blank": _everywhere(b" "),
    "nothing": Raw(b""),
    "short": Raw(b"0.5"),
    "long": Raw(b",".join([b"1"] * 300)),
    "words": _everywhere(_CANARY),
    "new label": {"label": b"new " + _CANARY, "y": b"new"},
    "date": _everywhere(b"2024-02-30"),
    "truth": _everywhere(b"TRUE"),
    "very long": {"x1": b"9" * 70_000 + b"x", "note": b"a" * 300_000, "label": b"1" * 70_000},
    "quoted": _everywhere(b'"a,\t""b""\n' + _CANARY + b'\r\n"'),
    "quoted number": {"x1": b'"0.5"', "y": b'" -1 "'},
    "thousands": _everywhere(b'"1.234,5"'),
    "line breaks": {"note": b'"' + b"\n" * 300 + b'"'},
    "another encoding": _everywhere(b"M\xfcller \xff\xfe"),
    "halves": _everywhere(b"\xed\xa0\x80\xc3"),
    "zeros": _everywhere(b"\0"),
    "controls": _everywhere(b"\x1b]0;" + _CANARY + b"\x07\x01\x1a"),
    "mark": _everywhere(b"\xef\xbb\xbf1"),
    "lone return": _everywhere(b"1\r2"),
    "hash": Raw(b"# " + _CANARY),
    "formula": _everywhere(b"=1+1"),
    "digits of other scripts": _everywhere("\u0661\u00a0\u2028".encode()),
}
_NOT_UTF_8 = b"M\xfcller \xff\xfe\xed\xa0\x80"
# What one row of a typed table may hold: bytes stand for text that need not be UTF-8.
IN_TYPES: dict[str, Row] = {
    "null": dict.fromkeys(NAMES),
    "nan": {"x1": float("nan"), "y": float("nan")},
    "outlier": {"x1": NUMBER * 1e300, "y": -NUMBER, "count": 2**63 - 1},
    "infinity": {"x1": float("inf"), "y": float("-inf"), "count": -(2**63)},
    "words": dict.fromkeys(("who", "note", "label"), _CANARY),
    "empty": dict.fromkeys(("who", "note", "label"), b""),
    "very long": dict.fromkeys(("who", "note", "label"), b"1" * 300_000 + b"x"),
    "quoted": dict.fromkeys(("who", "note", "label"), b'"a",\n\r\t\\'),
    "zeros": dict.fromkeys(("who", "note", "label"), b"\0"),
    "another encoding": dict.fromkeys(("who", "note", "label"), _NOT_UTF_8),
}


def text_table(
    table: list[Row | Raw], separator: bytes, line_end: bytes = b"\n", decimal: bytes = b"."
) -> bytes:
    """Return a delimited file."""

    lines = [
        row.text.replace(b",", separator)
        if isinstance(row, Raw)
        else _line(tuple(row.values()), separator, decimal)
        for row in table
    ]
    return line_end.join([separator.join(name.encode() for name in NAMES), *lines, b""])


# Neighbors have all rows but one in common.
@cache
def _line(cells: tuple[Any, ...], separator: bytes, decimal: bytes) -> bytes:
    """Return one row of a delimited file."""

    def written(value: Any) -> bytes:
        text = value if isinstance(value, bytes) else str(value).encode()
        return text.replace(b".", decimal) if isinstance(value, float) else text

    return separator.join(map(written, cells))


def typed_table(table: list[Row]) -> pa.Table:
    """Return an Arrow table; its texts are not checked."""
    columns = {}
    for name in NAMES:
        values = [row[name] for row in table]
        if name in ("who", "note", "label"):
            cells = [value.encode() if isinstance(value, str) else value for value in values]
            columns[name] = pa.array(cells, pa.binary()).view(pa.string())
        else:
            columns[name] = pa.array(values, pa.int64() if name == "count" else pa.float64())
    return pa.table(columns)


def _parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _arrow(table: pa.Table, make: Any, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with make(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()


TEXT_FORMATS: dict[str, Callable[[list[Row | Raw]], bytes]] = {
    "t.csv": lambda table: text_table(table, b","),
    "crlf.csv": lambda table: text_table(table, b",", b"\r\n"),
    "t.tsv": lambda table: text_table(table, b"\t"),
    "t.csv.gz": lambda table: gzip.compress(text_table(table, b","), 1, mtime=0),
    "t.csv.zst": lambda table: pa.compress(text_table(table, b","), "zstd", asbytes=True),
}
EUROPEAN = "european.csv"
TEXT_FORMATS[EUROPEAN] = lambda table: b"\xef\xbb\xbf" + text_table(table, b";", b"\r\n", b",")
TYPED_FORMATS: dict[str, Callable[[pa.Table], bytes]] = {
    "t.parquet": _parquet,
    "groups.parquet": lambda table: _parquet(table, row_group_size=7, use_dictionary=False),
    "wide.parquet": lambda table: _parquet(table, compression="zstd"),
    "t.arrow": lambda table: _arrow(table, pa.ipc.new_file),
    "t.feather": lambda table: _arrow(table, pa.ipc.new_file, "lz4"),
    "t.arrows": lambda table: _arrow(table, pa.ipc.new_stream),
}


def neighbors(name: str, places: tuple[int, ...] = PLACES) -> Iterator[tuple[str, bytes]]:
    """Yield a table in one format, and then its neighbors, each with what is odd in it.

    At every place a row is taken away or replaced; at all but the last one is added as well.
    """
    text = name in TEXT_FORMATS
    base = rows()

    def written(table: list[Any]) -> bytes:
        return TEXT_FORMATS[name](table) if text else TYPED_FORMATS[name](typed_table(table))

    yield "as it is", written(base)
    for place in places:
        yield f"without row {place}", written(base[:place] + base[place + 1 :])
        odd_rows: dict[str, Row | Raw] = dict(IN_TEXT if text else IN_TYPES)
        for what, odd in odd_rows.items():
            row = odd if isinstance(odd, Raw) else {**base[place], **odd}
            yield f"{what} in row {place}", written([*base[:place], row, *base[place + 1 :]])
            if place != places[-1]:
                yield f"{what} added at {place}", written([*base[:place], row, *base[place:]])
