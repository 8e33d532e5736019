"""Names of columns without a look at a row."""

import gzip
import random
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from dpsel.tables.formats import FileFormat
from dpsel.tables.header import header_names
from dpsel.tables.parquet_footer import footer_names


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"a,b c,d\n1,2,3\n", ["a", "b c", "d"]),
        (b"\xef\xbb\xbf\n\r\na,b\r\n1,2\r\n", ["a", "b"]),
        (b'"a,b","say ""x""",c\n1,2,3\n', ["a,b", 'say "x"', "c"]),
        (b"a", ["a"]),
        (b"", []),
        (b"\n\n", []),
        # All of these would show a cell if a second line were taken for a part of the first.
        (b'a,"b\nsecret,1\n","secret"\n', ["a"]),
        (b"a,b\rsecret,1\rsecret,2\r", ["a", "b"]),
        (b'a,"b\rsecret"\n', ["a"]),
        (b"a,\x1b[31mred,,\xffb\n1,2,3,4\n", ["a", "\ufffdb"]),
    ],
)
def test_names_are_those_of_the_first_line_alone(
    tmp_path: Path, content: bytes, names: list[str]
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert header_names(str(path)) == names
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(content))
    assert header_names(str(packed)) == names


def test_names_are_split_where_the_first_line_the_user_or_the_format_says(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b,c\n1;2\n")
    (tmp_path / "t.tsv").write_text("a\tb,c\n1\t2\n")
    assert header_names(str(tmp_path / "t.csv"), FileFormat(separator=",")) == ["a;b", "c"]
    assert header_names(str(tmp_path / "t.csv")) == ["a;b", "c"]
    assert header_names(str(tmp_path / "t.csv"), FileFormat(decimal=",")) == ["a", "b,c"]
    assert header_names(str(tmp_path / "t.tsv")) == ["a", "b,c"]


@pytest.mark.parametrize("columns", [0, 1, 3, 300, 20_000])
@pytest.mark.parametrize("kind", ["file", "stream", "old stream"])
def test_names_of_arrow_are_those_of_its_schema(tmp_path: Path, columns: int, kind: str) -> None:
    path = tmp_path / "t.arrow"
    types = [pa.float32(), pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.list_(pa.int64())]
    schema = pa.schema([(f"spalte \u00e4{j}", types[j % 4]) for j in range(columns)], {"k": "v"})
    options = pa.ipc.IpcWriteOptions(use_legacy_format=kind == "old stream")
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(path, schema, options=options) as writer:
        writer.write_table(schema.empty_table())
    assert header_names(str(path)) == schema.names


def test_what_is_no_arrow_has_no_names(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    rng = random.Random(0)
    for make in (pa.ipc.new_stream, pa.ipc.new_file):
        with make(path, pa.schema([("abc", pa.int8()), ("d", pa.int8())])):
            pass
        whole = path.read_bytes()
        for place in range(len(whole)):
            damaged = bytearray(whole)
            damaged[place] = rng.randrange(256)
            for content in (whole[:place], bytes(damaged)):
                path.write_bytes(content)
                assert len(header_names(str(path))) <= len(whole)  # and no error


def test_names_of_an_arrow_file_of_polars_are_those_of_the_frame(tmp_path: Path) -> None:
    # Its first message is written in a way of its own; readers take the footer.
    frame = pl.DataFrame({"a b": [1], "c": ["x"], "d": [1.5]})
    frame.write_ipc(tmp_path / "t.arrow")
    frame.write_ipc_stream(tmp_path / "t.arrows")
    assert header_names(str(tmp_path / "t.arrow")) == frame.columns
    assert header_names(str(tmp_path / "t.arrows")) == frame.columns


@pytest.mark.parametrize("columns", [1, 3, 14, 15, 300, 20_000])
def test_names_of_parquet_are_those_of_its_schema(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({f"column {j}": [float(j), 1.0] for j in range(columns)})
    frame.write_parquet(path)
    assert footer_names(path) == frame.columns
    assert header_names(str(path)) == frame.columns


def test_of_nested_columns_the_outermost_is_named(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "n\u00fcmber": [1, 2],
            "who": [{"name": "a", "at": {"street": "b"}}, None],
            "many": [[[1.0]], []],
            "word": ["x", None],
            "flag": [True, False],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    assert footer_names(tmp_path / "t.parquet") == frame.columns


def test_damaged_parquet_has_no_names(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({f"c{j}": ["secret"] for j in range(9)}).write_parquet(path)
    whole = path.read_bytes()
    for content in (b"", b"PAR1", whole[:-1], whole[:-8] + b"\xff\xff\xff\x7fPAR1"):
        path.write_bytes(content)
        assert header_names(str(path)) == []
    size = int.from_bytes(whole[-8:-4], "little")
    known = {f"c{j}" for j in range(9)}
    for place in range(len(whole) - 8 - size, len(whole) - 8):
        path.write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        found = " ".join(set(header_names(str(path))) - known)
        assert "secret" not in found


def test_a_folder_or_glob_has_the_names_of_one_of_its_files(tmp_path: Path) -> None:
    inside = tmp_path / "parts" / "day=1"
    inside.mkdir(parents=True)
    (tmp_path / "parts" / "README").write_text("nothing\n")
    pl.DataFrame({"a": [1], "b": [2]}).write_parquet(inside / "0.parquet")
    assert header_names(str(tmp_path / "parts")) == ["a", "b"]
    assert header_names(str(tmp_path / "parts" / "*" / "*.parquet")) == ["a", "b"]
    assert header_names(str(tmp_path / "none" / "*.parquet")) == []


def test_names_are_found_without_arrays(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "t.parquet")
    code = (
        "import sys; from dpsel.tables.header import header_names\n"
        "assert header_names(sys.argv[1]) == ['a']\n"
        "assert not {'numpy', 'polars', 'pyarrow'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "t.parquet"], check=True)
