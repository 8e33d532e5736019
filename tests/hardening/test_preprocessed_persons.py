"""Persons in tables that `dpsel preprocess` wrote: as many as before, whatever the format."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from dpsel.core.bounds import ONE
from dpsel.errors import InputError
from dpsel.preprocessing import run as preprocessing
from dpsel.tables import parquet as parquet_table
from dpsel.tables import parquet_footer
from tests.cli.conftest import Dpsel
from tests.sample_tables import scored

BOUNDS = "[default]\nlower = -1\nupper = 1\n"
OUTPUTS = ["o.parquet", "o.arrow", "o.csv"]
_NOT_UTF_8 = pa.array([b"M\xfcller", b"M\xf6ller", b"M\xfcller", b"ok", b""])
# Each has three persons, and a last row that has none.
PERSONS: dict[str, pa.Array] = {
    "whole": pa.array([100, 2**53, 2**53 + 1, 100, None]),
    "float": pa.array([1.0, 2.5, 1.0, 3.0, float("nan")]),
    "single": pa.array([1.0, 2.5, 1.0, 3.0, None], pa.float32()),
    "decimal": pa.array([Decimal("1.10"), Decimal("2.00"), Decimal("1.1"), Decimal(0), None]),
    "text": pa.array(["7", "7.0", 'a,"b', " c\n", "  "]),
    "zeros": pa.array(["007", "7", "8", "9", ""]),
    "category": pa.array(["a", "b", "a", "c", None]).dictionary_encode(),
    "category of numbers": pa.array([5, 6, 5, 7, None]).dictionary_encode(),
    "bytes": pa.array([b"\x07", b"\x00\x07", b"\x07", b"\x10", b" "]),
    "fixed bytes": pa.array([b"07", b"7 ", b"07", b"10", None], pa.binary(2)),
    "view": pa.array(["a", "b", "a", "c", None], pa.string_view()),
    "other encoding": pa.Array.from_buffers(pa.string(), 5, _NOT_UTF_8.buffers()),
    "day": pa.array([dt.date(2020, 1, day) for day in (1, 2, 1, 3)] + [None]),
    "time": pa.array([dt.datetime(2020, 1, day) for day in (1, 2, 1, 3)] + [None]),
    "no day": pa.array([2**31 - 1, -(2**31), 0, 0, None], pa.int32()).view(pa.date32()),
    "uuid": pa.array([bytes([n] * 16) for n in (1, 2, 1, 3)] + [None], pa.uuid()),
}
UNTOUCHED = [kind for kind in PERSONS if kind not in ("other encoding", "view", "no day")]


def of(who: pa.Array) -> pa.Table:
    values = pa.array([0.5] * len(who))
    return pa.table({"x": values, "who": who, "y": pa.array([1.0] * len(who))})


def count(table: Any, **options: Any) -> float:
    """Return how many rows count, with one row a person."""
    return float(scored(table, person="who", **options).values[0]) / ONE / ONE * 2


@pytest.fixture
def preprocess(tmp_path: Path, dpsel: Dpsel) -> Any:
    """Return what writes the persons of a table into another, and returns where that is."""
    (tmp_path / "b.toml").write_text(BOUNDS)

    def run(table: Any, output: str, *options: str, code: int = 0) -> Path:
        bounds = ("--bounds", str(tmp_path / "b.toml"))
        asked = ("--target", "y", *bounds, "--person", "who", "--force", *options)
        result = dpsel("preprocess", table, tmp_path / output, *asked)
        assert result.code == code, result.err
        return tmp_path / output

    return run


@pytest.mark.parametrize("kind", PERSONS)
def test_as_many_persons_come_out_as_go_in_and_untouched(
    kind: str, tmp_path: Path, preprocess: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(of(PERSONS[kind]), path)
    assert count(str(path)) == 3
    for footer, output in ((1, "o.parquet"), (1 << 20, "o.parquet"), (1, "o.arrow"), (1, "o.csv")):
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
        found = preprocess(path, output)
        assert count(str(found)) == 3
        assert count(str(found), rows_per_person=2) == 4
        if kind in UNTOUCHED and output != "o.csv":
            assert str(persons_in(found)) == str(values_of(PERSONS[kind]))


def persons_in(path: Path) -> list[Any]:
    """Return the persons of a written table."""
    if path.suffix == ".parquet":
        return values_of(pq.read_table(path)["who"])
    return values_of(pa.ipc.open_file(str(path)).read_all()["who"])


def values_of(column: Any) -> list[Any]:
    """Return what is stored, whatever the type is called."""
    found: list[Any] = getattr(column, "storage", column).to_pylist()
    return found


def test_the_cells_of_a_csv_are_passed_on_untouched(tmp_path: Path, preprocess: Any) -> None:
    cells = ["7", "7.0", "007", "", '"a,b"', " c"]
    text = "".join(f"0.5,{cell},1\n" for cell in cells)
    (tmp_path / "t.csv").write_text(f"x,who,y\n{text}")
    assert count(str(tmp_path / "t.csv")) == 3
    for output in OUTPUTS:
        found = preprocess(tmp_path / "t.csv", output)
        assert count(str(found)) == 3
    lines = (tmp_path / "o.csv").read_text().splitlines()
    assert [line.split(",", 2)[2] for line in lines] == ["who", *cells]


def test_a_hundred_patients_stay_a_hundred(tmp_path: Path, preprocess: Any) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(of(pa.array(range(100, 200))), path)
    for output in OUTPUTS:
        assert count(str(preprocess(path, output))) == 100


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("cells", [0, 1 << 25])
def test_persons_stay_with_their_rows_however_a_table_is_read(
    output: str, cells: int, tmp_path: Path, preprocess: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preprocessing, "CELLS_IN_MEMORY", cells)
    monkeypatch.setattr(parquet_table, "_CELLS_AT_ONCE", 11)
    numbers = list(range(60))
    table = pa.table(
        {
            "x": pa.array([number / 60 for number in numbers]),
            "who": pa.array([f"p{number % 30}" for number in numbers]),
            "y": pa.array([1.0] * 60),
        }
    )
    (tmp_path / "in").mkdir()
    for part in range(3):
        name = tmp_path / "in" / f"{part}.parquet"
        pq.write_table(table.slice(20 * part, 20), name, row_group_size=7)
    # With the mean all rows are kept in memory, if they fit.
    found = preprocess(tmp_path / "in", output, "--missing", "mean")
    whole = scored(table, person="who").values.tolist()
    assert scored(str(found), person="who").values.tolist() == whole
    assert whole != scored(table, exclude=("who",)).values.tolist()


@pytest.mark.parametrize("output", OUTPUTS)
def test_a_person_in_several_files_of_other_types_stays_one(
    output: str, tmp_path: Path, preprocess: Any
) -> None:
    (tmp_path / "in").mkdir()
    for name, who in (
        ("a", pa.array([1, 2, None])),
        ("b", pa.array([1.0, 2.5, float("nan")])),
        ("c", pa.array([Decimal("2.50"), Decimal("3.00"), None])),
        ("d", pa.nulls(3)),
    ):
        pq.write_table(of(who), tmp_path / "in" / f"{name}.parquet")
    assert count(str(preprocess(tmp_path / "in", output))) == 4


def test_a_table_without_rows_has_no_persons(tmp_path: Path, preprocess: Any) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(of(pa.array([], pa.int64())), path)
    for output in OUTPUTS:
        assert count(str(preprocess(path, output))) == 0


def test_folders_may_name_the_persons(tmp_path: Path, preprocess: Any) -> None:
    for who in ("7", "7.0", "8"):
        (tmp_path / "in" / f"who={who}").mkdir(parents=True)
        table = of(pa.array([1, 1])).drop_columns("who")
        pq.write_table(table, tmp_path / "in" / f"who={who}" / "t.parquet")
    assert count(str(preprocess(tmp_path / "in", "o.parquet"))) == 2


@pytest.mark.parametrize("output", OUTPUTS)
def test_passed_on_persons_are_recorded_and_no_feature(
    output: str, tmp_path: Path, preprocess: Any, dpsel: Dpsel
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(of(pa.array([1, 2, 3])), path)
    found = preprocess(path, output)
    assert json.loads(dpsel("preprocess", "--show", found).out)["person"] == "who"
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--method", "dp-sis")
    for options in ((), ("--person", "who")):
        record = json.loads(dpsel("select", found, *ask, *options).out)
        assert record["n_features"] == 1
        assert record["guarantee"]["end_to_end"] is True
    assert json.loads(dpsel("select", found, *ask, "--features", "x,who").out)["n_features"] == 2
    again = preprocess(found, f"again_{output}")
    assert count(str(again)) == 3


@pytest.mark.parametrize("output", OUTPUTS)
def test_scaled_persons_are_refused(
    output: str, tmp_path: Path, preprocess: Any, dpsel: Dpsel
) -> None:
    path, scaled = tmp_path / "t.parquet", tmp_path / output
    pq.write_table(of(pa.array([100, 200, 300])), path)
    bounds = ("--bounds", tmp_path / "b.toml")
    assert dpsel("preprocess", path, scaled, "--target", "y", *bounds).code == 0
    expected = (
        f"error: {output}: --person: 'who' was scaled, so several persons may have become one; "
        "pass it on with `dpsel preprocess --person 'who'`\n"
    )
    ask = ("--target", "y", "--person", "who")
    selected = dpsel("select", scaled, *ask, "--k", "1", "--epsilon", "1", "--method", "dp-sis")
    assert (selected.code, selected.err) == (3, expected)
    again = dpsel("preprocess", scaled, tmp_path / f"again_{output}", *ask)
    assert (again.code, again.err) == (3, expected)


def test_scaled_persons_are_refused_in_any_file(
    tmp_path: Path, preprocess: Any, dpsel: Dpsel
) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "a.parquet"
    pq.write_table(of(pa.array([100.0, 200.0, 300.0])), path)
    result = dpsel("preprocess", path, tmp_path / "b.parquet", "--target", "y")
    assert result.code == 0
    (tmp_path / "b.parquet").rename(tmp_path / "in" / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: --person: 'who' was scaled"):
        count(str(tmp_path / "in"))


def test_persons_that_were_joined_to_a_scaled_table_are_taken(tmp_path: Path, dpsel: Dpsel) -> None:
    table = of(pa.array([1, 2, 2]))
    pq.write_table(table.drop_columns("who"), tmp_path / "t.parquet")
    dpsel("preprocess", tmp_path / "t.parquet", tmp_path / "o.parquet", "--target", "y")
    joined = pq.read_table(tmp_path / "o.parquet").append_column("who", table["who"])
    pq.write_table(joined, tmp_path / "joined.parquet")
    scored(str(tmp_path / "joined.parquet"), person="who")


def test_a_record_without_persons_is_read_as_before(tmp_path: Path, dpsel: Dpsel) -> None:
    path, old = tmp_path / "t.parquet", tmp_path / "old.parquet"
    pq.write_table(of(pa.array([1, 2, 3])), path)
    (tmp_path / "b.toml").write_text(BOUNDS)
    bounds = ("--bounds", tmp_path / "b.toml")
    dpsel("preprocess", path, tmp_path / "o.parquet", "--target", "y", *bounds)
    table = pq.read_table(tmp_path / "o.parquet")
    record = json.loads(table.schema.metadata[b"dpsel.provenance"])
    del record["person"]
    metadata = {"dpsel.provenance": json.dumps(record)}
    pq.write_table(table.replace_schema_metadata(metadata), old)
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--method", "dp-sis")
    result = dpsel("select", old, *ask)
    assert json.loads(result.out)["guarantee"]["end_to_end"] is True


def test_persons_go_with_a_sample_a_row(tmp_path: Path, preprocess: Any) -> None:
    (tmp_path / "t.csv").write_text("gene,s1,s2\ng,1,2\nwho,1,2\ny,1,0\n")
    preprocess(tmp_path / "t.csv", "o.parquet", "--features-in", "rows", code=2)


@pytest.mark.parametrize("change", ["left out", "renamed", "added"])
@pytest.mark.parametrize("scale", ["bounds", "max-abs"])
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("footer", [1, 1 << 20])
def test_what_may_be_scaled_persons_is_refused_when_other_columns_have_changed(
    *,
    footer: int,
    output: str,
    scale: str,
    change: str,
    tmp_path: Path,
    preprocess: Any,
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
    path, found = tmp_path / "t.parquet", tmp_path / output
    pq.write_table(of(pa.array([100, 200, 300])).append_column("z", pa.array([1, 2, 3])), path)
    (tmp_path / "b.toml").write_text(BOUNDS)
    bounds = ("--bounds", tmp_path / "b.toml") if scale == "bounds" else ()
    assert dpsel("preprocess", path, found, "--target", "y", *bounds).code == 0
    changes = {
        "left out": lambda table: table.drop_columns("z"),
        "renamed": lambda table: table.rename_columns({"z": "w"}),
        "added": lambda table: table.append_column("w", pa.array([1, 2, 3])),
    }
    rewrite(found, changes[change])
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--person", "who")
    result = dpsel("select", found, *ask)
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith(f"error: {output}: --person: by the record of ")
    assert "'who' may have been scaled before columns were changed" in result.err


def rewrite(path: Path, change: Any) -> None:
    """Change the columns of a file, and keep what it says of how it was made."""
    if path.suffix == ".csv":
        pyarrow.csv.write_csv(change(pyarrow.csv.read_csv(path)), path)
        return
    is_arrow = path.suffix == ".arrow"
    table = pa.ipc.open_file(str(path)).read_all() if is_arrow else pq.read_table(path)
    changed = change(table).replace_schema_metadata(table.schema.metadata)
    if is_arrow:
        with pa.ipc.new_file(str(path), changed.schema) as file:
            file.write_table(changed)
    else:
        pq.write_table(changed, path)


@pytest.mark.parametrize("output", OUTPUTS)
def test_persons_that_were_passed_on_are_taken_when_other_columns_have_changed(
    output: str, tmp_path: Path, preprocess: Any
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(of(pa.array([1.5, 7.5, 1.5])).append_column("z", pa.array([1, 2, 3])), path)
    found = preprocess(path, output)
    rewrite(found, lambda table: table.drop_columns("z"))
    assert count(str(found)) == 2


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.float64()), pa.decimal128(20, 15)])
def test_scaled_persons_are_refused_if_they_were_cast_when_other_columns_changed(
    kind: pa.DataType, tmp_path: Path, dpsel: Dpsel
) -> None:
    path, found = tmp_path / "t.parquet", tmp_path / "o.arrow"
    pq.write_table(of(pa.array([100, 200, 300])).append_column("z", pa.array([1, 2, 3])), path)
    (tmp_path / "b.toml").write_text(BOUNDS)
    asked = ("--target", "y", "--bounds", tmp_path / "b.toml")
    assert dpsel("preprocess", path, found, *asked).code == 0
    who = pa.ipc.open_file(str(found)).schema.get_field_index("who")

    def cast(table: Any) -> Any:
        column = table.column(who)
        column = column.dictionary_encode() if pa.types.is_dictionary(kind) else column.cast(kind)
        return table.set_column(who, "who", column).drop_columns("z")

    rewrite(found, cast)
    with pytest.raises(InputError, match="may have been scaled"):
        count(str(found))
