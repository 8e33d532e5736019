"""Small files that claim, or expand to, very much: memory stays bounded, or they are refused."""

import gzip
import io
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from dpsel.tables import arrow as arrow_table
from dpsel.tables import parquet as parquet_table
from dpsel.tables import parquet_footer
from dpsel.tables.parquet_footer import footer_shape
from tests.cli.conftest import Dpsel
from tests.hardening import handmade_parquet as made
from tests.hardening.measured import BOUND_KB, Measured, check, measured
from tests.sample_tables import WRITERS, numbers, scored

DP_SIS = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")
ASK = ("--target", "y", "--k", "1", "--epsilon", "1", "--format", "names", *DP_SIS)
ONE = struct.pack("<d", 1.0)
LONG_FOOTER = "a" * parquet_footer._LONG_FOOTER
MEBIBYTE = struct.pack("<i", 1 << 20) + b"a" * (1 << 20)
MILLION = 10**6


def constant(name: str, rows: int) -> made.Column:
    return made.constant_column(name, ONE, rows)


def zstd(content: bytes) -> bytes:
    compressed: bytes = pa.compress(content, "zstd", asbytes=True)
    return compressed


def select(path: Path, *options: object) -> Measured:
    found = measured("select", path, *ASK, *options)
    check(found, path)
    return found


def test_the_measure_notices_memory_and_bad_ends() -> None:
    check(Measured(3, b"", b"error: no\n", BOUND_KB - 1), "it")
    for bad in (
        Measured(0, b"", b"", BOUND_KB),
        Measured(-11, b"", b"", 1),
        Measured(3, b"", b"thread panicked\nerror: no\n", 1),
    ):
        with pytest.raises(AssertionError):
            check(bad, "it")
    # Whatever this process has held.
    held = bytes(range(256)) * 2_000_000
    assert len(held) > 4 * 100_000_000
    assert 10_000 < measured("--version").peak_kb < 100_000


@pytest.mark.parametrize("maker", ["hand", LONG_FOOTER])
def test_a_parquet_file_made_by_hand_is_read(maker: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(made.parquet_file([constant("x", 1000), constant("y", 1000)], maker=maker))
    assert scored(str(path)).values.tolist() == [1000 * 2**32]


@pytest.mark.parametrize("maker", ["hand", LONG_FOOTER])
@pytest.mark.parametrize("role", ["label", "person"])
def test_long_labels_and_persons_are_not_held_for_every_row(
    role: str, maker: str, tmp_path: Path
) -> None:
    rows = 3000 if maker == LONG_FOOTER else 3 * MILLION
    texts = made.constant_column("text", MEBIBYTE, rows, made.BYTE_ARRAY)
    schema = [
        made.group("schema", 3),
        made.element("x", made.DOUBLE),
        made.text_element("text"),
        made.element("y", made.DOUBLE),
    ]
    path = tmp_path / "t.parquet"
    columns = [constant("x", rows), texts, constant("y", rows)]
    path.write_bytes(made.parquet_file(columns, schema=schema, maker=maker))
    if role == "person":
        assert select(path, "--person", "text").code == 0
    else:
        found = measured("select", path, *ASK[2:], "--target", "text", "--positive", "b")
        check(found, path)
        assert found.code == 0


@pytest.mark.parametrize("rows", [5 * MILLION, pytest.param(10**9, marks=pytest.mark.long)])
def test_a_row_group_of_very_many_rows_is_read_in_pieces(rows: int, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(made.parquet_file([constant("x", rows), constant("y", rows)]))
    assert path.stat().st_size < 400
    assert select(path).code == 0


@pytest.mark.parametrize("maker", ["hand", LONG_FOOTER])
@pytest.mark.parametrize("rows", [-1, 60_000, 2**62])
def test_a_footer_may_claim_any_number_of_rows(rows: int, maker: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = [constant("x", 1000), constant("y", 1000)]
    path.write_bytes(made.parquet_file(columns, rows=rows, maker=maker))
    select(path)


def test_what_a_library_prints_by_itself_is_shown_with_debug_only(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = [constant("x", 1000), constant("y", 1000)]
    path.write_bytes(made.parquet_file(columns, rows=60_000, maker=LONG_FOOTER))
    found = measured("select", path, *ASK, "--debug")
    assert found.code == 3
    assert b"panicked" in found.err
    message = (
        b"t.parquet: cannot be read as a Parquet table; it is damaged, cut short or in another"
    )
    assert select(path).err == b"error: " + message + b" format\n"


@pytest.mark.parametrize("maker", ["hand", LONG_FOOTER])
def test_a_page_may_claim_to_be_huge(maker: str, tmp_path: Path) -> None:
    page = made.data_page(b"abc", 1000, made.PLAIN, claimed_bytes=2**31 - 1)
    path = tmp_path / "t.parquet"
    columns = [made.Column("x", page, 1000, codec=made.ZSTD), constant("y", 1000)]
    path.write_bytes(made.parquet_file(columns, maker=maker))
    assert select(path).code == 3


def test_a_page_may_claim_more_bytes_than_the_file_has(tmp_path: Path) -> None:
    page = made.data_page(b"abc", 1000, made.PLAIN, claimed_in_file=2**31 - 1)
    path = tmp_path / "t.parquet"
    columns = [made.Column("x", page, 1000, codec=made.ZSTD), constant("y", 1000)]
    path.write_bytes(made.parquet_file(columns))
    assert select(path).code == 3


@pytest.mark.parametrize("rows_at_once", [1 << 21, 64])
@pytest.mark.parametrize("buffers", [0, 1 << 26])
def test_a_file_is_read_alike_with_buffers_and_without(
    buffers: int, rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "_BUFFERS_IN_ALL", buffers)
    monkeypatch.setattr(parquet_table, "_ROWS_AT_ONCE", rows_at_once)
    table = numbers(1000, 5)
    WRITERS["t.csv"](table, tmp_path / "t.csv")
    WRITERS["t.parquet"](table, tmp_path / "t.parquet")
    found = scored(str(tmp_path / "t.parquet")).values.tolist()
    assert found == scored(str(tmp_path / "t.csv")).values.tolist()


@pytest.mark.long
@pytest.mark.parametrize("maker", ["hand", LONG_FOOTER])
def test_a_page_that_expands_to_a_gigabyte_is_held_once(maker: str, tmp_path: Path) -> None:
    size, rows = 1 << 30, 10_000
    page = made.data_page(zstd(bytes(size)), rows, made.PLAIN, claimed_bytes=size)
    path = tmp_path / "t.parquet"
    columns = [made.Column("x", page, rows, codec=made.ZSTD), constant("y", rows)]
    path.write_bytes(made.parquet_file(columns, maker=maker))
    assert path.stat().st_size < 2 * MILLION
    select(path)


@pytest.mark.parametrize("depth", [50, 20_000])
def test_a_schema_may_be_nested_as_deep_as_it_likes(depth: int, tmp_path: Path) -> None:
    schema = [
        made.group("schema", 3),
        made.element("x", made.DOUBLE),
        made.element("y", made.DOUBLE),
        *[made.group("g", 1)] * depth,
        made.element("z", made.DOUBLE),
    ]
    columns = [constant("x", 10), constant("y", 10), constant("z", 10)]
    path = tmp_path / "t.parquet"
    path.write_bytes(made.parquet_file(columns, schema=schema, maker=LONG_FOOTER))
    assert select(path, "--exclude", "g").code == (0 if depth == 50 else 3)
    length = int.from_bytes(path.read_bytes()[-8:-4], "little")
    shape = footer_shape(path.read_bytes()[-8 - length : -8])
    assert shape is not None
    assert shape.deepest == depth + 1


def test_an_odd_footer_has_no_depth() -> None:
    for footer in (
        b"",
        b"\0",
        b"\x15\x02\x19\xfc",
        b"\x15\x02\x19\x1c\x19\x00",
        b"\x15" + b"\xff" * 9,
    ):
        assert footer_shape(footer) is None


@pytest.mark.parametrize("count", [50_000, pytest.param(400_000, marks=pytest.mark.long)])
def test_a_footer_may_name_very_many_columns(count: int, tmp_path: Path) -> None:
    names = [made.element(f"c{place}", made.DOUBLE) for place in range(count)]
    schema = [
        made.group("schema", count + 2),
        made.element("x", made.DOUBLE),
        made.element("y", made.DOUBLE),
        *names,
    ]
    path = tmp_path / "t.parquet"
    path.write_bytes(made.parquet_file([constant("x", 10), constant("y", 10)], schema=schema))
    select(path, "--features", "x")


NO_ROWS = "note: there are no rows, so the picks are no better than chance\n"


def arrow(batch: pa.RecordBatch, make: Any, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with make(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_an_arrow_buffer_may_claim_any_length(
    name: str, compression: str | None, tmp_path: Path, dpsel: Dpsel
) -> None:
    make = pa.ipc.new_file if name == "t.arrow" else pa.ipc.new_stream
    batch = pa.record_batch({"x": np.zeros(1000), "y": np.zeros(1000)})
    content = arrow(batch, make, compression)
    for true, claimed in itertools.product((1000, 8000), (7, 9000, 2**33, 2**40, 2**62, -1, -8)):
        before = struct.pack("<q", true)
        assert before in content
        (tmp_path / name).write_bytes(content.replace(before, struct.pack("<q", claimed)))
        result = dpsel("select", tmp_path / name, *ASK)
        assert result.code in (0, 3)
        # A stream of which nothing is left has no rows.
        assert result.err.startswith("error: ") if result.code else result.err in ("", NO_ROWS)


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
@pytest.mark.long
def test_columns_without_any_value_take_no_room(name: str, tmp_path: Path) -> None:
    rows = 1 << 28
    make = pa.ipc.new_file if name == "t.arrow" else pa.ipc.new_stream
    batch = pa.record_batch({"x": pa.nulls(rows), "y": pa.nulls(rows)})
    (tmp_path / name).write_bytes(arrow(batch, make))
    assert (tmp_path / name).stat().st_size < 600
    assert select(tmp_path / name).code == 0


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows", "t.feather"])
@pytest.mark.parametrize("options", [{}, {"person": "who", "rows_per_person": 2}])
def test_long_batches_are_cut_without_a_difference(
    name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = numbers(200, 5)
    who = [str(row % 70) for row in range(200)]
    table = table.insert_column(2, table.select(who=table["y"]).to_series().clone())
    table = table.with_columns(who=np.array(who))
    WRITERS[name](table, tmp_path / name)
    options = options or {"exclude": ("who",)}
    whole = scored(str(tmp_path / name), **options).values.tolist()
    for rows in (1, 3, 64):
        monkeypatch.setattr(arrow_table, "_ROWS_AT_ONCE", rows)
        assert scored(str(tmp_path / name), **options).values.tolist() == whole


def pieces(head: bytes, piece: bytes, count: int) -> Iterator[bytes]:
    yield head
    for _ in range(count):
        yield piece


@pytest.mark.parametrize(
    ("head", "piece", "message"),
    [
        pytest.param(
            b"", b"x," * (MILLION // 2), b"first line is longer than 256", marks=pytest.mark.long
        ),
        (b'x,y\n"', b"\n" * MILLION, b"a quote is not closed"),
        (b'x,y\n5"', b"1" * MILLION, b"a quote is not closed"),
    ],
)
def test_what_does_not_say_where_a_row_ends_is_refused(
    head: bytes, piece: bytes, message: bytes
) -> None:
    content = pieces(head, piece, 300)
    found = measured("select", "-", "--input-format", "csv", *ASK, content=content)
    check(found, "stdin")
    assert found.code == 3
    assert message in found.err


LONG_CELLS = {
    "digits": (b"", b"1" * MILLION, b""),
    "quoted": (b'"', b"a" * MILLION, b'"'),
    "line breaks": (b'"', b"1,1,1\n" * (MILLION // 6), b'"'),
    "doubled quotes": (b'"', b'""' * (MILLION // 2), b'"'),
    "many cells": (b"", b"1," * (MILLION // 2), b""),
    "no UTF-8": (b"", b"\xe9" * MILLION, b" "),
}


@pytest.mark.parametrize(
    ("kind", "millions"),
    [
        ("digits", 300),
        ("quoted", 90),
        *(pytest.param(kind, 300, marks=pytest.mark.long) for kind in LONG_CELLS),
        *(pytest.param(kind, 15, marks=pytest.mark.long) for kind in LONG_CELLS),
    ],
)
def test_a_cell_of_any_length_stops_nothing(kind: str, millions: int) -> None:
    before, piece, after = LONG_CELLS[kind]

    def content() -> Iterator[bytes]:
        yield from pieces(b"x,note,y\n1,a,1\n1," + before, piece, millions)
        yield after + b",1\n1,b,1\n"

    options = ("--exclude", "note", "--quiet")
    for roles in ((), ("--person", "note")) if millions == 15 else ((),):
        found = measured(
            "select", "-", "--input-format", "csv", *ASK, *options, *roles, content=content()
        )
        check(found, kind)
        assert (found.code, found.out, found.err) == (0, b"x\n", b"")


def compressed(text: bytes, ending: str) -> bytes:
    return gzip.compress(text, 1) if ending == "gz" else pa.compress(text, "zstd").to_pybytes()


@pytest.mark.parametrize("ending", ["gz", pytest.param("zst", marks=pytest.mark.long)])
def test_a_compressed_row_without_an_end_is_one_of_missing_values(
    ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"t.csv.{ending}"
    text = b"x,y\n" + b"1" * (300 * MILLION)
    path.write_bytes(compressed(text, ending))
    assert path.stat().st_size < 2 * MILLION
    assert select(path).code == 0


@pytest.mark.long
@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_small_file_may_hold_a_large_table(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.csv.{ending}"
    text = b"x,y\n" + b"0.5,0.5\n" * (60 * MILLION)
    path.write_bytes(compressed(text, ending))
    assert path.stat().st_size < 5 * MILLION
    assert select(path).code == 0


@pytest.mark.long
def test_blank_lines_under_very_many_names_are_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = ",".join(f"x{place}" for place in range(400))
    path.write_bytes(f"{names},y\n".encode() + b"\n" * 400_000)
    assert select(path).code == 0
