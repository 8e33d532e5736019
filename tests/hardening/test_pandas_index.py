"""Neighboring tables of pandas: whether its hidden index is there depends on the rows.

A frame counts its rows, and says so in its metadata, until a row is taken out of the middle: from
then on the numbers of the rows that are left are a column.
"""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.errors import InputError, UsageError
from dpsel.tables import parquet_footer
from tests.cli.conftest import Dpsel
from tests.sample_tables import scored

HIDDEN = "__index_level_0__"
COLUMNS = {"x": [1.0, 0.5, -1.0], "z": [0.5, 0.5, 0.5], "y": [1.0, 1.0, -1.0]}
NUMBERS = [0, 2, 3]
BOUNDED: dict[str, Any] = {"method": "dp-sis", "lower": -1, "upper": 1}
ASK: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 1.0, **BOUNDED}


def written_by_pandas(index: str | None) -> pa.Table:
    """Return a table as pandas hands it over: with an index that counts rows, or with a column."""
    counted = {"kind": "range", "name": None, "start": 0, "stop": 3, "step": 1}
    about = {"index_columns": [counted if index is None else index], "columns": []}
    columns = COLUMNS if index is None else {**COLUMNS, index: NUMBERS}
    return pa.table(columns).replace_schema_metadata({"pandas": json.dumps(about)})


def as_frame(table: pa.Table, folder: Path) -> Any:
    return table


def as_parquet(table: pa.Table, folder: Path) -> Any:
    pq.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def as_arrow(table: pa.Table, folder: Path) -> Any:
    with pa.ipc.new_file(str(folder / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    return folder / "t.arrow"


def as_stream(table: pa.Table, folder: Path) -> Any:
    with pa.ipc.new_stream(str(folder / "t.arrows"), table.schema) as writer:
        writer.write_table(table)
    return folder / "t.arrows"


PLACES = {
    "frame": as_frame,
    "tall parquet": as_parquet,
    "wide parquet": as_parquet,
    "arrow": as_arrow,
    "stream": as_stream,
}


@pytest.fixture(params=PLACES)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[pa.Table], Any]:
    """Return what brings a table to where `select` reads it."""
    if request.param == "wide parquet":
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    put = PLACES[request.param]
    return lambda table: put(table, tmp_path)


def test_neighbors_have_the_same_features_with_and_without_a_hidden_index(
    place: Callable[[pa.Table], Any],
) -> None:
    found = [
        dpsel.select(place(written_by_pandas(index)), **ASK, seed=5)
        for index in (None, HIDDEN, "id")
    ]
    assert [one.to_dict()["n_features"] for one in found] == [2, 2, 2]
    assert found[0] == found[1] == found[2]


def test_an_index_with_a_name_can_be_asked_for(place: Callable[[pa.Table], Any]) -> None:
    def values(**options: Any) -> list[int]:
        found: list[int] = scored(place(written_by_pandas("id")), **options).values.tolist()
        return found

    assert len(values()) == len(values(features=("*",))) == 2
    assert len(values(features=("*", "id"))) == 3
    assert len(values(target="id")) == 3
    assert values(person="id") == values()


@pytest.mark.parametrize(
    "asked",
    [
        {"target": HIDDEN},
        {"person": HIDDEN},
        {"features": (HIDDEN,)},
        {"exclude": ("__index*",)},
        {"bounds": {"default": {"lower": -1, "upper": 1}, "columns": {HIDDEN: [0, 1]}}},
    ],
)
def test_asking_for_a_hidden_index_fails_alike_whether_it_is_there_or_not(
    asked: dict[str, Any], place: Callable[[pa.Table], Any]
) -> None:
    messages = set()
    for index in (None, HIDDEN):
        with pytest.raises((UsageError, InputError)) as error:
            scored(place(written_by_pandas(index)), **asked)
        messages.add(str(error.value))
    assert len(messages) == 1


@pytest.mark.parametrize("odd", [b"", b"[", b"[]", b"{}", b'{"index_columns": 7}', b"\xff"])
def test_metadata_that_nobody_can_read_fails_nothing(odd: bytes) -> None:
    table = pa.table(COLUMNS).replace_schema_metadata({"pandas": odd})
    assert scored(table).values.tolist() == scored(pa.table(COLUMNS)).values.tolist()


def test_a_hidden_index_is_known_by_its_name_where_the_metadata_is_lost(tmp_path: Path) -> None:
    frame = pl.DataFrame({**COLUMNS, HIDDEN: NUMBERS})
    frame.write_csv(tmp_path / "t.csv")
    for table in (frame, str(tmp_path / "t.csv")):
        assert scored(table).values.tolist() == scored(pa.table(COLUMNS)).values.tolist()


@pytest.mark.parametrize("first", [None, HIDDEN, "id"])
@pytest.mark.parametrize("second", [None, HIDDEN, "id"])
def test_one_file_of_a_table_may_have_an_index_and_another_none(
    first: str | None, second: str | None, tmp_path: Path
) -> None:
    for number, index in enumerate((first, second)):
        pq.write_table(written_by_pandas(index), tmp_path / f"{number}.parquet")
    once = scored(pa.table(COLUMNS)).values
    assert scored(str(tmp_path)).values.tolist() == (2 * once).tolist()


@pytest.mark.parametrize("index", [None, HIDDEN, "id"])
def test_an_index_is_no_column_of_a_preprocessed_table(
    index: str | None, tmp_path: Path, dpsel: Dpsel
) -> None:
    as_parquet(written_by_pandas(index), tmp_path)
    result = dpsel("preprocess", tmp_path / "t.parquet", tmp_path / "o.parquet", "--target", "y")
    assert result.code == 0
    assert pq.read_schema(tmp_path / "o.parquet").names == ["x", "z", "y"]


def test_an_index_is_no_sample_of_a_table_with_a_feature_a_row(
    tmp_path: Path, dpsel: Dpsel
) -> None:
    genes = pa.table({"gene": ["g", "h", "y"], "s1": ["1", "2", "ill"], "s2": ["3", "4", "well"]})
    for index in (None, HIDDEN):
        about = {"index_columns": [] if index is None else [index]}
        table = genes if index is None else genes.append_column(index, [NUMBERS])
        as_parquet(table.replace_schema_metadata({"pandas": json.dumps(about)}), tmp_path)
        out = tmp_path / f"{index}.parquet"
        asked = ("--target", "y", "--features-in", "rows", "--positive", "ill")
        assert dpsel("preprocess", tmp_path / "t.parquet", out, *asked).code == 0
    assert pq.read_table(tmp_path / f"{HIDDEN}.parquet") == pq.read_table(tmp_path / "None.parquet")
    assert pq.read_metadata(out).num_rows == 2


def test_a_row_that_a_public_filter_drops_leaves_no_trace_in_a_frame_of_pandas(
    tmp_path: Path,
) -> None:
    pandas = pytest.importorskip("pandas")
    whole = pandas.DataFrame({**COLUMNS, "ward": ["a", "a", "a"]})
    odd = pandas.DataFrame({"x": [9.0], "z": [9.0], "y": [9.0], "ward": ["b"]})
    # The same rows pass the filter in all of these.
    neighbors = [whole] + [
        pandas.concat([whole[:place], odd, whole[place:]], ignore_index=True)
        for place in range(len(whole) + 1)
    ]
    found = []
    for number, neighbor in enumerate(neighbors):
        frame = neighbor[neighbor["ward"] == "a"].drop(columns="ward")
        frame.to_parquet(tmp_path / f"{number}.parquet")
        for table in (frame, tmp_path / f"{number}.parquet"):
            found.append(dpsel.select(table, **ASK, seed=3))
    assert len(found) == 10
    assert all(one == found[0] for one in found)
    assert found[0].to_dict()["n_features"] == 2


def test_an_index_of_pandas_with_a_name_is_there_even_while_it_counts_rows() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(COLUMNS).rename_axis("id")
    for table in (frame, frame.set_axis(pandas.Index([0, 1, 5], name="id"))):
        assert len(scored(table).values) == 2
        assert len(scored(table, features=("x", "id")).values) == 2
        assert scored(table, person="id").values.tolist() == scored(table).values.tolist()
    several = pandas.DataFrame(COLUMNS, index=pandas.MultiIndex.from_tuples([(1, 2)] * 3))
    assert len(scored(several).values) == 2


ODD_CELLS = ["a", "\ud800", 7, 2.5, True, None, b"b", ("c",), {"d": 1}, [1], object, 2**70]


@pytest.mark.parametrize("cell", ODD_CELLS, ids=str)
@pytest.mark.parametrize("usual", [[1.0, 0.5, -1.0], ["p", "q", "p"], [True, False, None]])
def test_no_object_in_a_cell_of_pandas_stops_a_run(cell: Any, usual: list[Any]) -> None:
    pandas = pytest.importorskip("pandas")
    objects = pandas.Index([usual[0], cell, usual[2]], dtype=object, tupleize_cols=False)
    frame = pandas.DataFrame({**COLUMNS, "it": pandas.Series(list(objects), dtype=object)})
    expected = scored(pa.table(COLUMNS)).values.tolist()
    assert scored(frame, exclude=("it",)).values.tolist() == expected
    assert scored(frame.set_axis(objects), exclude=("it",)).values.tolist() == expected
    assert len(scored(frame, person="it").values) == 2


def test_objects_of_several_types_are_read_cell_by_cell() -> None:
    pandas = pytest.importorskip("pandas")
    odd = pandas.Series([1.0, "x", True], dtype=object)
    frame = pandas.DataFrame({"x": odd, "who": [1, 2, 3], "y": [1.0, 1.0, 1.0]})
    read = pa.table({"x": [1.0, None, 1.0], "y": [1.0, 1.0, 1.0]})
    assert scored(frame, person="who").values.tolist() == scored(read).values.tolist()
    swapped = frame.rename(columns={"x": "y", "y": "x"})
    assert scored(swapped, person="who").values.tolist() == scored(read).values.tolist()
    labels = scored(swapped, person="who", positive="x").values.tolist()
    assert labels == [2**32]
    persons = frame.rename(columns={"x": "who", "who": "x"})
    persons["who"] = pandas.Series([7, "7.0", "p"], dtype=object)
    assert scored(persons, person="who", lower=0, upper=1, features="x").values.tolist() == [2**33]


def by_pandas(frame: Any, path: Path) -> None:
    frame.to_csv(path)


def by_r(frame: Any, path: Path) -> None:
    """As R's write.csv does: names in quotes, and rows are counted from 1, or have names."""
    frame.index += 1
    frame.to_csv(path, index_label="", quoting=csv.QUOTE_NONNUMERIC)


def by_polars_in_parquet(frame: Any, path: Path) -> None:
    """As a user would bring the same file into another format."""
    frame.to_csv(path)
    pl.read_csv(path).write_parquet(path)


@pytest.mark.parametrize(
    ("write", "name"),
    [(by_pandas, "t.csv"), (by_r, "t.csv"), (by_polars_in_parquet, "t.parquet")],
    ids=["pandas", "R", "polars"],
)
@pytest.mark.parametrize("method", ["stump", "kendall", "dp-sis"])
def test_row_numbers_without_a_name_are_no_feature(
    write: Callable[[Any, Path], None], name: str, method: str, tmp_path: Path, dpsel: Dpsel
) -> None:
    frame = pytest.importorskip("pandas").DataFrame(COLUMNS)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    write(frame, tmp_path / name)
    bounds = ("--lower", "-1", "--upper", "1") if method == "dp-sis" else ()
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--seed", "5", "--method", method)
    plain = dpsel("select", tmp_path / "plain.csv", *ask, *bounds)
    found = dpsel("select", tmp_path / name, *ask, *bounds)
    assert (found.code, found.out) == (0, plain.out)
    note = f"note: {name}: column 1 has no name, so it is left out\n"
    assert note in found.err
    assert note not in plain.err
    made = [tmp_path / f"{file}.out.csv" for file in ("plain", "other")]
    assert dpsel("preprocess", tmp_path / "plain.csv", made[0], "--target", "y").code == 0
    told = dpsel("preprocess", tmp_path / name, made[1], "--target", "y")
    assert told.code == 0
    assert note in told.err
    assert made[0].read_bytes() == made[1].read_bytes()
