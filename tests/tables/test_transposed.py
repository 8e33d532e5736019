"""Tables of one feature a row become tables of one sample a row, with their labels."""

import gzip
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsel.core.words import words_of
from dpsel.errors import InputError
from dpsel.tables import arrow as arrow_table
from dpsel.tables import parquet as parquet_table
from dpsel.tables import transposed as feature_rows
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.formats import FileFormat, InputFormat, Orientation
from dpsel.tables.labels import TargetCoding
from dpsel.tables.raw import RawTable
from dpsel.tables.sources import Source
from dpsel.tables.table import RowReader
from dpsel.tables.transposed import TransposedTable, read_feature_rows

TABLE = "gene,s1,s2,s3\na,1,2,3\nb,-0.5,,x\n"
LABELS = "s1,ill\ns2,well\ns3,ill\n"


def read(
    path: Path,
    labels: Path | None = None,
    *,
    input_format: InputFormat = InputFormat.CSV,
    separator: str | None = None,
) -> Any:
    return read_feature_rows(
        Source(path),
        None if labels is None else Source(labels),
        written=FileFormat(separator=separator),
        input_format=input_format,
        target="y",
    )


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    data = content.encode() if isinstance(content, str) else content
    if name.endswith(".gz"):
        data = gzip.compress(data)
    if name.endswith(".zst"):
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)
    return path


def cells(table: Any) -> dict[str, list[Any]]:
    """Return the columns, with None for NaN."""
    return {
        name: [None if isinstance(x, float) and math.isnan(x) else x for x in column]
        for name, column in table.to_pydict().items()
    }


EXPECTED = {"a": [1.0, 2.0, 3.0], "b": [-0.5, None, None], "y": ["ill", "well", "ill"]}


def check(table: Any) -> None:
    """Check the cells of the small table, the order of its columns, and their types."""
    assert cells(table) == EXPECTED
    assert table.column_names == ["a", "b", "y"]
    assert table.schema.types == [pa.float64(), pa.float64(), pa.large_string()]


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_delimited_table_is_turned_round(ending: str, line_end: str, tmp_path: Path) -> None:
    text = TABLE.replace("\n", line_end)
    labels = write(tmp_path, f"labels.csv{ending}", LABELS.replace("\n", line_end))
    check(read(write(tmp_path, f"t.csv{ending}", text), labels))
    tabs = write(tmp_path, f"t.tsv{ending}", text.replace(",", "\t"))
    check(read(tabs, labels, input_format=InputFormat.TSV))
    other = write(tmp_path, f"t.txt{ending}", text.replace(",", ";"))
    check(read(other, labels, separator=";"))


def test_parquet_and_arrow_tables_are_turned_round(tmp_path: Path) -> None:
    labels = write(tmp_path, "labels.csv", LABELS)
    frame = pl.DataFrame(
        {"gene": ["a", "b"], "s1": [1.0, -0.5], "s2": [2, None], "s3": ["3", "x"]},
    )
    frame.write_parquet(tmp_path / "t.parquet")
    check(read(tmp_path / "t.parquet", labels, input_format=InputFormat.PARQUET))
    frame.write_ipc(tmp_path / "t.arrow")
    check(read(tmp_path / "t.arrow", labels, input_format=InputFormat.ARROW))
    frame.write_ipc_stream(tmp_path / "t.arrows")
    check(read(tmp_path / "t.arrows", labels, input_format=InputFormat.ARROW))
    numbered = frame.with_columns(gene=pl.Series([7, 8]))
    numbered.write_parquet(tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet", labels, input_format=InputFormat.PARQUET)
    assert found.column_names == ["7", "8", "y"]


def typed(path: Path, kind: str, frame: pl.DataFrame) -> tuple[Path, InputFormat]:
    """Write a frame in parts of a few rows, so that its cells come in many batches."""
    place = path / f"t.{kind}"
    if kind == "parquet":
        frame.write_parquet(place, row_group_size=100)
        return place, InputFormat.PARQUET
    table = frame.to_arrow()
    make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
    with make(str(place), table.schema) as file:
        file.write_table(table, max_chunksize=100)
    return place, InputFormat.ARROW


@pytest.mark.parametrize("kind", ["parquet", "arrow", "arrows"])
@pytest.mark.parametrize("rows_at_once", [20, 1 << 21])
def test_typed_tables_may_come_in_pieces_and_not_fit_in_memory(
    kind: str, rows_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(950, 200))
    matrix[5, ::3] = np.nan
    labels = rng.integers(0, 2, 200).astype(float)
    names = [*(f"g{i}" for i in range(700)), "y", *(f"g{i}" for i in range(700, 950))]
    everything = np.insert(matrix, 700, labels, axis=0)
    frame = pl.DataFrame({"gene": names, **{f"s{i}": everything[:, i] for i in range(200)}})
    frame = frame.with_columns(pl.col("s7").cast(pl.String))
    path, input_format = typed(tmp_path, kind, frame)
    for module in (parquet_table, arrow_table):
        monkeypatch.setattr(module, "_CELLS_AT_ONCE", 1700)
        monkeypatch.setattr(module, "_ROWS_AT_ONCE", rows_at_once)
    found = read(path, input_format=input_format)
    assert found.column_names == [*(f"g{i}" for i in range(950)), "y"]
    assert found["y"].to_pylist() == [
        str(label) if sample == 7 else f"{label:g}" for sample, label in enumerate(labels)
    ]
    columns = np.stack([found.column(place).to_numpy() for place in range(950)])
    assert np.array_equal(columns, matrix, equal_nan=True)
    monkeypatch.setenv("DPSEL_MEMORY", "100KB")
    kept = read(path, input_format=input_format)
    assert isinstance(kept, TransposedTable)
    layout = choose_columns(kept.columns, Wanted("y", labels=True), "t")
    batches = [one.read() for one in kept.pending_batches(layout, RowReader(TargetCoding("1")))]
    assert len(batches) > 1
    again = np.concatenate([batch.X for batch in batches])
    assert np.array_equal(again, matrix.T, equal_nan=True)


def test_a_parquet_table_may_hold_its_labels_in_a_row(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = {"gene": ["a", "y", "b"], "s1": ["1", "ill", "2"], "s2": ["3", None, "x"]}
    pq.write_table(pa.table(table), path)
    found = cells(read(path, input_format=InputFormat.PARQUET))
    assert found == {"a": [1.0, 3.0], "b": [2.0, None], "y": ["ill", None]}
    pq.write_table(pa.table({"gene": ["a", "y"], "s1": [0.5, 1.0], "s2": [1.5, 0.0]}), path)
    found = cells(read(path, input_format=InputFormat.PARQUET))
    assert found == {"a": [0.5, 1.5], "y": ["1", "0"]}


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_row_named_like_the_target_holds_the_labels(place: int, tmp_path: Path) -> None:
    rows = ['"a",1,2,3', '"b\nb",4,"5",6']
    rows.insert(place, 'y,"ill, very",, well ')
    found = read(write(tmp_path, "t.csv", "\n".join(["gene,s1,s2,s3", *rows])))
    assert cells(found) == {
        "a": [1.0, 2.0, 3.0],
        "b\nb": [4.0, 5.0, 6.0],
        "y": ["ill, very", None, "well"],
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.csv", "s3,ill\ns1,ill\ns2,well\n"),
        ("labels.csv", "sample,label\r\ns1,ill\r\ns2,well\r\ns3,ill\r\n"),
        ("labels.csv", '"","x"\n"s1","ill"\n"s2","well"\n"s3","ill"\n"s9","odd"\n'),
        ("labels.csv.gz", "\ufeffs1,ill\ns2,well\n\ns3,ill"),
        ("labels.tsv", "s1\till\ns2\twell\ns3\till\n"),
        ("labels.tsv.zst", "s1\till\ns2\twell\ns3\till\n"),
        ("labels.txt", "s1\till\ns2\twell\ns3\till\n"),
        ("labels.txt", " s1 , ill\ns2,well \ns3,ill\n"),
        ("labels.csv", "ill\nwell\nill\n"),
        ("labels.txt", "diagnosis\nill\nwell\nill\n\n"),
        ("labels.tsv", '"ill"\r\n"well"\r\n"ill"\r\n'),
    ],
)
def test_labels_come_by_name_or_in_order(name: str, content: str, tmp_path: Path) -> None:
    check(read(write(tmp_path, "t.csv", TABLE), write(tmp_path, name, content)))


def test_a_label_may_be_missing(tmp_path: Path) -> None:
    table = write(tmp_path, "t.csv", TABLE)
    for content in ("s2,well\n", "s2,well\ns1\ns3,\n", '""\nwell\n""\n', '"x"\n""\nwell\n" "\n'):
        found = read(table, write(tmp_path, "labels.csv", content))
        assert found["y"].to_pylist() == [None, "well", None]
    commas = write(tmp_path, "labels.tsv", "a,b\nc\nd,e\n")
    assert read(table, commas)["y"].to_pylist() == ["a,b", "c", "d,e"]


def test_quotes_ragged_rows_and_blank_lines_are_read(tmp_path: Path) -> None:
    text = (
        '\ufeff\n"gene"," s1 ","s2",s3\n"a ""x"", 1","1","2",3\n\nshort,4\n\r\nlong,5,6,7,8,9\n\n'
    )
    labels = write(tmp_path, "labels.csv", LABELS)
    assert cells(read(write(tmp_path, "t.csv", text), labels)) == {
        'a "x", 1': [1.0, 2.0, 3.0],
        "short": [4.0, None, None],
        "long": [5.0, 6.0, 7.0],
        "y": ["ill", "well", "ill"],
    }


@pytest.mark.parametrize("text_bytes", [1, 7, 64])
def test_the_cut_into_blocks_does_not_matter(
    text_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_rows, "TEXT_BYTES", text_bytes)
    check(read(write(tmp_path, "t.csv", TABLE + "y,ill,well,ill\n")))
    check(read(write(tmp_path, "t.csv", TABLE), write(tmp_path, "labels.csv", LABELS)))


@pytest.mark.parametrize("samples", [20, 600])
@pytest.mark.parametrize("quoted", [False, True])
def test_a_wide_array_round_trips_bit_by_bit(samples: int, quoted: bool, tmp_path: Path) -> None:
    features = 22_283 if samples == 20 else 300
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, (features, samples), dtype=np.uint64)
    X = np.where(rng.random(bits.shape) < 0.5, bits.view(np.float64), rng.normal(size=bits.shape))
    X = np.where(np.isfinite(X), X, -0.0)
    names = [f"{place}_at" for place in range(features)]
    signs = rng.choice(["ill", "well"], samples).tolist()
    quote = '"' if quoted else ""
    head = "\t".join(f"{quote}s{place}{quote}" for place in range(samples))
    body = "".join(
        f"{quote}{name}{quote}\t" + "\t".join(map(repr, row)) + "\n"
        for name, row in zip(names, X.tolist(), strict=True)
    )
    text = f"gene\t{head}\n{body}y\t" + "\t".join(signs)
    found = read(write(tmp_path, "t.tsv.gz", text), input_format=InputFormat.TSV)
    assert found.column_names == [*names, "y"]
    assert found["y"].to_pylist() == signs
    back = np.stack([found.column(place).to_numpy() for place in range(features)])
    assert np.array_equal(back.view(np.uint64), X.view(np.uint64))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "t.csv: is empty; a first line with column names is needed"),
        ("gene\na\n", "t.csv: has one column only; is the separator right?"),
        ("gene,s1,\na,1,2\n", "t.csv: a sample has no name; give it one"),
        ("gene,s1,s1\na,1,2\n", "t.csv: samples 1 and 2 have the same name; rename one"),
        ("gene,s1,s1 \na,1,2\n", "t.csv: samples 1 and 2 have the same name; rename one"),
        ("gene,s1\na,1\na,2\n", "t.csv: features 1 and 2 have the same name; rename one"),
        ("gene,s1\na,1\n,2\n", "t.csv: a feature has no name; give it one"),
        ('gene,s1\na,1\n"",2\n', "t.csv: a feature has no name; give it one"),
        ("gene,s1\n", "t.csv: has no feature; one a row is needed"),
        ("gene,s1\n\n\n", "t.csv: has no feature; one a row is needed"),
        ("gene,s1\na,1\ny,1\n", "t.csv: feature 'y' is named like --target; rename one"),
        (
            "s1,s2\na,1,2\nb,3,\nc,5,6\n",
            "t.csv: the first line lacks a name, perhaps for the features",
        ),
        (
            b"\x1f\x8bnonsense",
            "t.csv: cannot be read as a CSV table; it is damaged, cut short or in another format",
        ),
    ],
)
def test_what_is_no_such_table_is_refused(
    content: str | bytes, message: str, tmp_path: Path
) -> None:
    labels = write(tmp_path, "labels.csv", "s1,ill\n")
    with pytest.raises(InputError) as raised:
        read(write(tmp_path, "t.csv", content), labels)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gene,s1\na,1\n", "t.csv: no row 'y' of labels; give --labels FILE"),
        (
            "gene,s1\na,1\nY,1\n",
            "t.csv: no row 'y' of labels (did you mean 'Y'?); give --labels FILE",
        ),
        ("gene,s1\ny,1\n", "t.csv: has no feature; one a row is needed"),
        ("gene,s1\ny,1\na,1\ny,1\n", "t.csv: features 1 and 3 have the same name; rename one"),
    ],
)
def test_a_table_without_one_row_of_labels_is_refused(
    content: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        read(write(tmp_path, "t.csv", content))
    assert str(raised.value) == message


SHAPE = (
    "labels.csv: needs one label a line for each sample of t.csv, "
    "or two columns, samples and labels"
)
DAMAGED = (
    "labels.csv: cannot be read as a table of labels; it is damaged, cut short or in another format"
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", SHAPE),
        ("\n\n", SHAPE),
        ("ill\nwell\n", SHAPE),
        ("ill\nwell\nill\nwell\nill\n", SHAPE),
        ("s1,ill,1\ns2,well,2\n", SHAPE),
        ("x1,ill\nx2,well\n", "labels.csv: names no sample of t.csv in its first column"),
        ("s1,ill\ns1,well\n", "labels.csv: samples 1 and 2 have the same name; rename one"),
        ('s1,"ill\ns2,well\n', DAMAGED),
        (b"s1,\xff\n", DAMAGED),
        (b"\x1f\x8bnonsense", DAMAGED),
    ],
)
def test_what_are_no_labels_is_refused(content: str | bytes, message: str, tmp_path: Path) -> None:
    labels = write(tmp_path, "labels.csv", content)
    with pytest.raises(InputError) as raised:
        read(write(tmp_path, "t.csv", TABLE), labels)
    assert str(raised.value) == message


def test_a_parquet_table_without_names_first_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"s1": [0.5], "s2": [1.5], "gene": ["a"]}), path)
    with pytest.raises(InputError) as raised:
        read(path, input_format=InputFormat.PARQUET)
    assert str(raised.value) == (
        "t.parquet: the first column holds numbers; put the features' names first"
    )


@pytest.mark.parametrize(
    ("input_format", "kind"),
    [(InputFormat.PARQUET, "a Parquet table"), (InputFormat.ARROW, "an Arrow table")],
)
@pytest.mark.parametrize("content", [b"", b"PAR1 not", b"ARROW1 not", b"gene,s1\na,1\n"])
def test_damaged_parquet_and_arrow_files_are_refused(
    input_format: InputFormat, kind: str, content: bytes, tmp_path: Path
) -> None:
    path = write(tmp_path, "t", content)
    with pytest.raises(InputError) as raised:
        read(path, input_format=input_format)
    assert str(raised.value) == (
        f"t: cannot be read as {kind}; it is damaged, cut short or in another format"
    )


def test_a_table_that_does_not_fit_in_memory_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    samples = [f"s{i}" for i in range(300)]
    matrix = rng.normal(0, 1, (900, 300)).round(6)
    lines = [f"g{i}," + ",".join(map(str, row)) for i, row in enumerate(matrix.tolist())]
    lines.insert(70, "y," + ",".join(map(str, rng.integers(0, 3, 300).tolist())))
    lines[5] = "g5," + ",".join(["", "x"] * 150)
    path = write(tmp_path, "t.csv", "\n".join([",".join(["gene", *samples]), *lines]) + "\n")
    monkeypatch.setattr(feature_rows, "TEXT_BYTES", 1 << 18)
    found = []
    for memory in ("1GB", "100KB"):
        monkeypatch.setenv("DPSEL_MEMORY", memory)
        raw = RawTable(str(path), "y", Orientation.ROWS, None, None)
        for as_numbers in (True, False):
            opener = raw.opener(labels_are_numbers=as_numbers)
            wanted = Wanted("y", exclude=("g7",), labels=not as_numbers)
            coding = TargetCoding(None if as_numbers else "2")
            for words in (False, True):
                table = opener()
                layout = replace(
                    choose_columns(table.columns, wanted, table.label), whole_rows=True
                )
                reader = RowReader(coding, words=words)
                pending = list(table.pending_batches(layout, reader))
                batches = [one.read() for one in pending]
                rows = np.concatenate([np.column_stack([b.X, b.y]) for b in batches])
                found.append((type(table).__name__, table.label, table.columns, rows))
    assert [one[0] for one in found] == ["ArrowStreamTable"] * 4 + ["TransposedTable"] * 4
    for ours, theirs in zip(found[:4], found[4:], strict=True):
        assert ours[1:3] == theirs[1:3]
        # By their bits: a word is a NaN of its own, and there is none in either.
        assert np.array_equal(ours[3].view(np.int64), theirs[3].view(np.int64))
        assert not words_of(ours[3])[0].any()
    assert np.array_equal(found[0][3][:, :5], matrix.T[:, :5])
    assert np.isnan(found[0][3][:, 5]).all()
