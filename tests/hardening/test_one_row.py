"""What somebody can do who controls one row: nothing in it fails a run, or holds it up."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from dpsel.tables import parquet_footer
from dpsel.tables.arrow_cells import sound
from dpsel.tables.delimited_rows import cut_rows, rows_end
from tests.cli.conftest import ROOT, Dpsel
from tests.sample_tables import scored

ASK = ("--target", "y", "--k", "1", "--epsilon", "1")
DP_SIS = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")


def select(*arguments: object, seconds: float = 60) -> subprocess.CompletedProcess[bytes]:
    """Run `dpsel select` in a process of its own: it may hang, or die."""
    return subprocess.run(
        [sys.executable, "-m", "dpsel", "select", *map(str, arguments), *ASK, *DP_SIS],
        capture_output=True,
        timeout=seconds,
        cwd=ROOT,
    )


def test_a_long_label_is_read_in_no_time(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"x,y\n1,ill\n1,{'1' * 1_000_000}x\n1,{'1' * 1_000_000}.5e7\n")
    done = select(path, "--positive", "ill")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("feeds", [99, 100, 101, 500])
@pytest.mark.parametrize("cell", ["x", "y"])
def test_a_cell_with_many_line_breaks_stops_nothing(
    cell: str, feeds: int, tmp_path: Path, dpsel: Dpsel
) -> None:
    row = {"x": "1", "y": "1", cell: f'"{chr(10) * feeds}"'}
    path = tmp_path / "t.csv"
    path.write_text(f"x,y\n{row['x']},{row['y']}\n" + "1,1\n" * 10)
    result = dpsel("select", path, *ASK, *DP_SIS)
    assert (result.code, result.err) == (0, "")


def test_rows_are_counted_outside_of_quotes() -> None:
    text = b'a,"b\n""c\n"\n"",d\ne,"f\n'
    assert [text[: rows_end(text, count)] for count in (0, 1, 2, 3)] == [
        b"",
        b'a,"b\n""c\n"\n',
        b'a,"b\n""c\n"\n"",d\n',
        b'a,"b\n""c\n"\n"",d\n',
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x,"y\n' + "1,1\n" * 3_000_000, b"a quote is not closed"),
        ("\n" * 10_000_000 + "x,z\n1,1\n", b"--target: t.csv has no column 'y'"),
        (",".join(f'"{name}"' for name in range(300_000)) + "\n1\n", b"has no column 'y'"),
    ],
)
def test_an_odd_beginning_is_seen_through_in_no_time(
    text: str, message: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    done = select(path)
    assert done.returncode in (2, 3)
    assert message in done.stderr


@pytest.mark.parametrize("row", [b"\n", b"1\n", b'"\n",1\n', b"1,1,1\n"])
def test_short_rows_are_cut_into_blocks_that_fit_in_memory(
    row: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsel.tables.delimited_rows._CELLS_AT_ONCE", 30)
    for count in (1, 9, 10, 11, 20, 25):
        blocks = list(cut_rows(row * count, 3))
        assert b"".join(blocks) == row * count
        assert max(len(block) // len(row) for block in blocks) <= 10


NOT_UTF_8 = pa.array([b"M\xfcller", b"M\xf6ller", b"ok"])
EXTREMES = {
    "date": pa.array([2**31 - 1, -(2**31), 0], pa.int32()).view(pa.date32()),
    "milliseconds": pa.array([2**63 - 1, -(2**63), 0]).view(pa.date64()),
    "seconds": pa.array([2**63 - 1, -(2**63), 0]).view(pa.timestamp("s")),
    "instant": pa.array([2**63 - 1, -(2**63), 0]).view(pa.timestamp("us", "No/Where")),
    "time": pa.array([2**63 - 1, -(2**63), 0]).view(pa.time64("ns")),
    "duration": pa.array([2**63 - 1, -(2**63), 0]).view(pa.duration("ns")),
    "decimal": pa.array([10**60, -(10**60), 0], pa.decimal256(70, 2)),
    "half": pa.array([float("inf"), float("-inf"), 0.5], pa.float16()),
    "whole": pa.array([2**64 - 1, 2**63, 0], pa.uint64()),
    "text": pa.Array.from_buffers(pa.string(), 3, NOT_UTF_8.buffers()),
    "category": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.Array.from_buffers(pa.string(), 3, NOT_UTF_8.buffers())
    ),
    "bytes": NOT_UTF_8,
}


def write_tables(table: pa.Table, folder: Path) -> list[Path]:
    """Write a table in each format that can hold it, and return where."""
    with pa.OSFile(str(folder / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as a:
        a.write_table(table)
    with (
        pa.OSFile(str(folder / "t.arrows"), "wb") as file,
        pa.ipc.new_stream(file, table.schema) as a,
    ):
        a.write_table(table)
    places = [folder / "t.arrow", folder / "t.arrows"]
    with suppress(pa.ArrowInvalid):  # Parquet has no seconds.
        pq.write_table(table, folder / "t.parquet")
        places.append(folder / "t.parquet")
    return places


@pytest.mark.parametrize("kind", EXTREMES)
def test_no_person_is_too_odd_and_no_two_are_taken_for_one(
    kind: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    ones = pa.array([1.0] * 3)
    for path in write_tables(pa.table({"x": ones, "who": EXTREMES[kind], "y": ones}), tmp_path):
        result = dpsel("select", path, *ASK, *DP_SIS, "--person", "who")
        assert (result.code, result.err) == (0, "")
        assert scored(str(path), person="who").values.tolist() == [3 * 2**32]


@pytest.mark.parametrize("kind", ["decimal", "half", "whole", "text", "category"])
def test_no_label_is_too_odd(kind: str, tmp_path: Path, dpsel: Dpsel) -> None:
    ones = pa.array([1.0] * 3)
    for path in write_tables(pa.table({"x": ones, "y": EXTREMES[kind]}), tmp_path):
        result = dpsel("select", path, *ASK, *DP_SIS, "--positive", "ok", "--quiet")
        has_label = kind in ("text", "category")
        assert (result.code, "no row has the label" in result.err) == (0, not has_label)
        shift = -1 if has_label else -3
        assert scored(str(path), positive="ok").values.tolist() == [abs(shift) * 2**32]


@pytest.mark.parametrize("columns", [1, 600])
def test_persons_in_another_encoding_stay_distinct(columns: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    names = [f"x{place}" for place in range(columns)]
    cells = b",".join([b"1"] * columns)
    header = ",".join([*names, "who", "y"]).encode()
    rows = [cells + b"," + who + b",1" for who in (b"M\xfcller", b"M\xf6ller", b"M\xfcller")]
    path.write_bytes(b"\n".join([header, *rows]))
    assert scored(str(path), person="who").values.tolist() == [2 * 2**32] * columns


def test_a_person_is_one_in_files_of_whole_numbers_and_of_floats(tmp_path: Path) -> None:
    ones = pa.array([1.0, 1.0])
    for name, who in (("a", pa.array([1, 2])), ("b", pa.array([1.0, 3.0]))):
        pq.write_table(pa.table({"x": ones, "who": who, "y": ones}), tmp_path / f"{name}.parquet")
    assert scored(str(tmp_path), person="who").values.tolist() == [3 * 2**32]


def test_a_damaged_dictionary_is_refused() -> None:
    fine = pa.array(["a", "b"]).dictionary_encode()
    sound(fine)
    wrong = pa.DictionaryArray.from_arrays(pa.array([0, 7]), fine.dictionary, safe=False)
    with pytest.raises(pa.ArrowException):
        sound(wrong)


@pytest.mark.parametrize("whole_rows", [False, True])
def test_wide_parquet_files_may_hold_texts_in_another_encoding(
    whole_rows: bool, tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    ones, odd = pa.array([1.0] * 3), EXTREMES["text"]
    path = tmp_path / "t.parquet"
    for role, options in (("y", ("--positive", "ok")), ("who", ("--exclude", "who"))):
        table = pa.table({"x": ones, "y": ones}).drop_columns([role] if role == "y" else [])
        pq.write_table(table.append_column(role, odd), path)
        method = ("--method", "dpkendall") if whole_rows else DP_SIS
        command = "baseline" if whole_rows else "select"
        result = dpsel(command, path, *ASK, *options, *method)
        assert (result.code, result.err) == (0, "")


def nested(text: bytes) -> dict[str, pa.Array]:
    """Return columns of nested values and of categories, with a text in one row."""
    texts = pa.array([b"a", text, b"c"], pa.binary()).view(pa.string())
    ends = pa.array([0, 1, 2, 3], pa.int32())
    pairs = pa.StructArray.from_arrays([texts], ["text"])
    categories = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), texts)
    return {
        "list": pa.ListArray.from_arrays(ends, texts),
        "struct": pairs,
        "list of structs": pa.ListArray.from_arrays(ends, pairs),
        "map": pa.MapArray.from_arrays(ends, texts, texts),
        "fixed list": pa.FixedSizeListArray.from_arrays(texts, 1),
        "categories": categories,
        "struct of categories": pa.StructArray.from_arrays([categories], ["text"]),
    }


@pytest.mark.parametrize("kind", nested(b""))
@pytest.mark.parametrize("name", ["t.parquet", "wide.parquet", "t.arrow", "t.arrows"])
def test_no_text_inside_a_nested_value_or_a_category_fails_a_run(
    name: str, kind: str, tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1 if "wide" in name else 1 << 20)
    table = pa.table({"x": [1.0, 2.0, 3.0], "z": nested(b"\xff")[kind], "y": [0.0, 1.0, 0.0]})
    if name.endswith("parquet"):
        pq.write_table(table, tmp_path / name)
    else:
        make = pa.ipc.new_file if name == "t.arrow" else pa.ipc.new_stream
        with make(str(tmp_path / name), table.schema) as written:
            written.write_table(table)
    asked = (tmp_path / name, *ASK, "--input-format", "parquet" if "parq" in name else "arrow")
    for ranks in ((), ("--row-ranks",)):
        result = dpsel("select", *asked, *ranks)
        assert (result.code, "error" in result.err) == (0, False)


@pytest.mark.parametrize("role", ["x", "y", "id"])
@pytest.mark.parametrize("name", ["t.arrow", "t.arrows", "t.parquet"])
@pytest.mark.parametrize("kind", ["decimal", "category"])
def test_a_decimal_with_more_digits_than_its_type_allows_fails_no_run(
    kind: str, name: str, role: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    digits = b"".join(number.to_bytes(16, "little") for number in (1, 2, 12_345))
    cells = pa.Array.from_buffers(pa.decimal128(3, 0), 3, [None, pa.py_buffer(digits)])
    cells = cells.dictionary_encode() if kind == "category" else cells
    plain = pa.array([1.0, 0.0, 1.0])
    table = pa.table({"x": plain, "y": plain, "id": plain, role: cells})
    if name == "t.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        make = pa.ipc.new_file if name == "t.arrow" else pa.ipc.new_stream
        with make(str(tmp_path / name), table.schema) as written:
            written.write_table(table)
    asked = (tmp_path / name, *ASK, "--person", "id", "--input-format", name[2:].rstrip("s"))
    for method in ("stump", "kendall"):
        result = dpsel("select", *asked, "--method", method)
        assert (result.code, "error" in result.err) == (0, False)
