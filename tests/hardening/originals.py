"""Small, sound files of every kind that can be read, with canaries in their cells."""

import gzip
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from dpsel.tables.provenance import KEY, SCHEMA_ID, names_digest
from tests.hardening.canaries import NUMBER, TEXT

ASK = ("--target", "y", "--k", "2", "--epsilon", "1", "--threads", "1")
DP_SIS = ("--method", "dp-sis")
BOUNDED = (*DP_SIS, "--lower", "-1", "--upper", "1")
LABELS = ("--positive", "ill")
BOUNDS = {"default": {"lower": -1, "upper": 1}, "columns": {"x1": {"lower": 0, "upper": 9.5}}}
TOML = "[default]\nlower = -1\nupper = 1\n[columns.x1]\nlower = 0\nupper = 9.5\n"
ROWS = 12


@dataclass(frozen=True)
class Original:
    """Files by name, which of them to damage, and how they are read."""

    kind: str
    files: dict[str, bytes]
    damaged: str
    arguments: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    """Limits of modules to set for the run: a small file is then read as a large one is."""

    @property
    def by_default(self) -> tuple[str, ...]:
        """The arguments of a selection without the method that they name, and its bounds."""
        if "--bounds" in self.arguments:
            return self.arguments
        words = " ".join(self.arguments)
        return tuple(words.replace(" ".join(BOUNDED), "").replace(" ".join(DP_SIS), "").split())


def frame(*, labels: bool = False) -> pl.DataFrame:
    """Return a table with a canary in every column."""
    texts = [TEXT, "ill", "well"] * (ROWS // 3)
    numbers = [0.5, -0.25, NUMBER] * (ROWS // 3)
    return pl.DataFrame(
        {
            "x1": numbers,
            "x2": [1, 2, 31337] * (ROWS // 3),
            "x3": [NUMBER, None, 0.125] * (ROWS // 3),
            "who": [f"{TEXT}{row % 5}" for row in range(ROWS)],
            "y": texts if labels else numbers[::-1],
        }
    )


def provenance(names: list[str]) -> dict[str, Any]:
    """Return a record like those that `dpsel preprocess` writes.

    Whoever changes its length gives other damage to all cases, those that were found before too.
    """
    return {
        "schema": SCHEMA_ID,
        "data_dependent": True,
        "read_off_the_data": ["m"],
        "center": "mean",
        "scale": "max-abs",
        "clip": None,
        "missing": "zero",
        "positive": None,
        "classes": None,
        "bounds": None,
        "medians": None,
        "columns": names_digest(names),
        "version": "0.1.0",
        "person": "who",
    }


def parquet(table: pa.Table, **options: Any) -> bytes:
    """Return a Parquet file."""
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def arrow(table: pa.Table, make: Callable[..., Any], compression: str | None) -> bytes:
    """Return an Arrow file or stream."""
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with make(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=7)
    return sink.getvalue()


def _column(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return cells over and over as a column of Arrow.

    Not by `pa.array`, which would import pandas: for a worker, a third of the time of its start.
    """
    return pl.Series(list(cells) * (ROWS // len(cells))).to_arrow().cast(kind)


def _typed_table(*, labels: bool) -> pa.Table:
    """Return a table with columns of many types beside those that are read."""
    table = frame(labels=labels).to_arrow()
    odd = {
        "nested": _column([[TEXT], None, []], pa.list_(pa.string())),
        "price": pl.Series(range(ROWS), dtype=pl.Decimal(20, 3)).to_arrow(),
        "kind": _column([TEXT, "a", None], pa.string()).dictionary_encode(),
        "flag": _column([True, None, False], pa.bool_()),
    }
    for name, column in odd.items():
        table = table.append_column(name, column)
    return table.replace_schema_metadata({KEY: json.dumps(provenance(table.column_names))})


def _typed_originals() -> list[Original]:
    """Return Parquet and Arrow files."""
    found = []
    left_out = ("--exclude", "nested,kind")
    ways: dict[str, dict[str, Any]] = {
        "plain": {"compression": "none", "use_dictionary": False, "row_group_size": 5},
        "snappy": {"compression": "snappy"},
        "zstd": {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 7},
        "gzip": {"compression": "gzip", "write_page_index": True, "data_page_size": 64},
        "split": {"use_byte_stream_split": ["x1"], "use_dictionary": False},
    }
    for labels in (False, True):
        table = _typed_table(labels=labels)
        options = (*ASK, *BOUNDED, *left_out, *(LABELS if labels else ()), "--person", "who")
        for way, settings in ways.items():
            content = parquet(table, **settings)
            arguments = ("select", "t.parquet", *options)
            name = f"parquet-{way}"
            found.append(Original(name, {"t.parquet": content}, "t.parquet", arguments))
            wide = {"dpsel.tables.parquet_footer._LONG_FOOTER": 1}
            found.append(
                Original(f"{name}-wide", {"t.parquet": content}, "t.parquet", arguments, wide)
            )
        cut = {"dpsel.tables.parquet._ROWS_AT_ONCE": 4}
        content = parquet(table)
        found.append(Original("parquet-cut", {"t.parquet": content}, "t.parquet", arguments, cut))
        for make, name in ((pa.ipc.new_file, "t.arrow"), (pa.ipc.new_stream, "t.arrows")):
            for compression in (None, "lz4", "zstd"):
                content = arrow(table, make, compression)
                kind = f"{name[2:]}-{compression}"
                found.append(Original(kind, {name: content}, name, ("select", name, *options)))
    return found


def _text_originals() -> list[Original]:
    """Return delimited files, compressed or not, with labels or numbers as target."""
    found = []
    for labels in (False, True):
        table = frame(labels=labels)
        labelled = LABELS if labels else ()
        options = (*ASK, *BOUNDED, *labelled, "--person", "who")
        plain = table.write_csv().encode()
        quoted = table.write_csv(quote_style="always", line_terminator="\r\n").encode()
        contents = {
            "t.csv": plain,
            "q.csv": b"\xef\xbb\xbf" + quoted.replace(b"canary1", b'canary,""\r\n'),
            "t.tsv": table.write_csv(separator="\t").encode(),
            "t.csv.gz": gzip.compress(plain[:90], mtime=0) + gzip.compress(plain[90:], mtime=0),
            "t.csv.zst": pa.compress(plain, "zstd", asbytes=True),
        }
        for name, content in contents.items():
            found.append(Original(name, {name: content}, name, ("select", name, *options)))
        small = {"dpsel.tables.delimited_cells._MANY_COLUMNS": 2}
        arguments = ("select", "t.csv", *options)
        found.append(Original("wide.csv", {"t.csv": plain}, "t.csv", arguments, small))
        arguments = ("baseline", "t.csv", *ASK, *labelled, "--exclude", "who")
        method = ("--method", "dpkendall")
        found.append(Original("baseline", {"t.csv": plain}, "t.csv", (*arguments, *method)))
    return found


def european_originals() -> list[Original]:
    """Return files with semicolons and decimal commas, which the first line and an option tell."""
    found = []
    for labels in (False, True):
        plain = frame(labels=labels).write_csv().replace(",", ";").replace(".", ",").encode()
        options = (*ASK, *BOUNDED, *(LABELS if labels else ()), "--person", "who")
        arguments = ("select", "t.csv", *options, "--decimal", ",")
        for many in (2, 500):
            wide = {"dpsel.tables.delimited_cells._MANY_COLUMNS": many}
            found.append(Original("european", {"t.csv": plain}, "t.csv", arguments, wide))
    return found


def _beside_originals() -> list[Original]:
    """Return files that are read beside a table: bounds, records, labels, and odd layouts."""
    table = frame().write_csv().encode()
    record = json.dumps({**provenance(frame().columns), "sha256_of_the_table": "00"}).encode()
    genes = f"gene,s1,s2,s3\ng1,1,{NUMBER},\ng2,{TEXT},0.5,-1\n".encode()
    labels = f"s1,ill\ns2,well\ns3,{TEXT}\n".encode()
    series = (
        '!Series_title\t"t"\n!Sample_geo_accession\t"s1"\t"s2"\n'
        f'!Sample_characteristics_ch1\t"status: ill"\t"status: {TEXT}"\n'
        f'!series_matrix_table_begin\n"ID_REF"\t"s1"\t"s2"\n"g1"\t1\t{NUMBER}\n"g2"\t0.5\t-1\n'
        "!series_matrix_table_end\n"
    ).encode()
    options = (*ASK, *DP_SIS, "--exclude", "who")
    made = ("o.parquet", "--target", "y", "--threads", "1", "--force")
    rows = (*made, "--features-in", "rows", "--labels", "l.csv", *LABELS)
    both = {"g.csv": genes, "l.csv": labels}
    return [
        Original(
            f"bounds-{name}",
            {"t.csv": table, name: content},
            name,
            ("select", "t.csv", *options, "--bounds", name),
        )
        for name, content in (("b.toml", TOML.encode()), ("b.json", json.dumps(BOUNDS).encode()))
    ] + [
        Original(
            "sidecar",
            {"t.csv": table, "t.csv.dpsel.json": record},
            "t.csv.dpsel.json",
            ("select", "t.csv", *options),
        ),
        Original(
            "show",
            {"t.csv": table, "t.csv.dpsel.json": record},
            "t.csv.dpsel.json",
            ("preprocess", "--show", "t.csv"),
        ),
        Original("genes", both, "g.csv", ("preprocess", "g.csv", *rows)),
        Original("labels", both, "l.csv", ("preprocess", "g.csv", *rows)),
        Original(
            "series",
            {"s.txt": series},
            "s.txt",
            ("preprocess", "s.txt", *made, "--label-key", "status", *LABELS),
        ),
        Original(
            "scaled",
            {"t.csv": table},
            "t.csv",
            ("preprocess", "t.csv", *made, "--exclude", "who", "--scale", "robust"),
        ),
    ]


def all_originals() -> list[Original]:
    """Return all of them, in a fixed order."""
    return [*_typed_originals(), *_text_originals(), *_beside_originals()]
