"""Who is a person: the same in every format and type, and nobody is one person with somebody else.

A row without a person is left out, by its own cell. If such rows were together one person, the
next of them would step in for the first, and one row would move a score by twice its share.
"""

import datetime as dt
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.core.bounds import ONE
from dpsel.tables import parquet_footer
from dpsel.tables.cells import exact_number
from dpsel.tables.distinct import distinct_persons
from tests.sample_tables import WRITERS, scored

NOBODY = [None, "", " ", "\t ", "nan", "NaN", "-nan", "NA", "null", "None", "<NA>"]
NOBODY += ["n/a", "#N/A", "NaT", "nil", "-", ".", "?"]


def persons(column: Any) -> list[int]:
    """Return the place of each row's person."""
    found: list[int] = distinct_persons(column)[1].tolist()
    return found


def count(table: Any, **options: Any) -> float:
    """Return how many rows count, with one row a person."""
    return float(scored(table, person="who", **options).values[0]) / ONE / ONE


def of(who: Any) -> pa.Table:
    ones = pa.array([1.0] * len(who))
    return pa.table({"x": ones, "who": who, "y": ones})


def csv_of(cells: list[str], folder: Path, width: int = 1) -> str:
    """Write a CSV with these cells as they are; wide rows are read in another way."""
    names = ",".join(f"x{place}" for place in range(width))
    ones = ",".join(["1"] * width)
    lines = "".join(f"{ones},{cell},1\n" for cell in cells)
    (folder / "t.csv").write_text(f"{names},who,y\n{lines}")
    return str(folder / "t.csv")


@pytest.mark.parametrize("name", WRITERS)
def test_rows_without_a_person_are_left_out_in_every_format(name: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": 1.0, "y": 1.0, "who": [*NOBODY, "p", "p", "q"]})
    WRITERS[name](frame, tmp_path / name)
    assert count(str(tmp_path / name)) == 2
    numbers = pl.DataFrame({"x": 1.0, "y": 1.0, "who": [None, float("nan"), float("nan"), 7.0]})
    WRITERS[name](numbers, tmp_path / name)
    assert count(str(tmp_path / name)) == 1


@pytest.mark.parametrize("width", [1, 600])
def test_empty_and_blank_cells_of_a_csv_are_nobody(width: int, tmp_path: Path) -> None:
    cells = ["", "  ", "NaN", "nan", "NA", "p"]
    assert count(csv_of(cells, tmp_path, width)) == 1
    assert count(csv_of(['""', '" "', "", '"nan"', '"p"'], tmp_path, width)) == 1


@pytest.mark.parametrize("width", [1, 600])
def test_equal_numbers_are_one_person_in_a_csv(width: int, tmp_path: Path) -> None:
    alike = ["7", "7.0", " 7", "+7", "07", "7.", "70e-1", "0.7E1"]
    assert count(csv_of(alike, tmp_path, width)) == 1
    assert count(csv_of([*alike, "-7", "70", "7.5", "7a"], tmp_path, width)) == 5
    assert count(csv_of(["true", "True", "TRUE", "false"], tmp_path, width)) == 2
    large = ["9007199254740992", "9007199254740993", "9007199254740993.0"]
    assert count(csv_of(large, tmp_path, width)) == 2


_SAME = [7, 7, 8, None]
SEVENS: dict[str, pa.Array] = {
    **{str(kind): pa.array(_SAME, kind) for kind in (pa.int8(), pa.uint64(), pa.float32())},
    "double": pa.array([7.0, 7.0, 8.0, float("nan")]),
    "decimal": pa.array([Decimal("7.00"), Decimal("7"), Decimal("8"), None], pa.decimal128(9, 2)),
    "decimal32": pa.array([Decimal(7), Decimal("7.0"), Decimal(8), None], pa.decimal32(9, 2)),
    "decimal64": pa.array([Decimal(7), Decimal("7.0"), Decimal(8), None], pa.decimal64(9, 2)),
    "text": pa.array(["7", "7.0", "8.00", "nan"]),
    "view": pa.array(["7", "7.0", "8.00", " "], pa.string_view()),
    "category": pa.array(["7", "7.0", "8.00", ""]).dictionary_encode(),
    "category of floats": pa.array([7.0, 7.0, 8.0, float("nan")]).dictionary_encode(),
    "bool": pa.array([True, True, False, None]),
    "bytes": pa.array([b"7", b"7", b"7.0", b" "]),
    "day": pa.array([7, 7, 8, None], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("kind", SEVENS)
def test_every_type_tells_persons_apart_alike(kind: str, tmp_path: Path) -> None:
    assert persons(SEVENS[kind]) == [0, 0, 1, -1]
    path = tmp_path / "t.parquet"
    pq.write_table(of(SEVENS[kind]), path)
    assert count(str(path)) == count(of(SEVENS[kind])) == 2


def test_a_category_may_be_nobody() -> None:
    who = pa.DictionaryArray.from_arrays(pa.array([1, 1, 2, 0, None]), pa.array([None, 7, 8]))
    assert persons(who) == [0, 0, 1, -1, -1]


def test_persons_who_are_bytes_are_no_numbers() -> None:
    assert persons(pa.array([b"\x07", b"\x00\x07", b"\x1e\x30", b"\x10", b"", b"  "])) == [
        *(0, 1, 2, 3, -1, -1)
    ]


_NUMBER_TYPES = ["int8", "uint64", "float", "double", "decimal"]


@pytest.mark.parametrize("first", _NUMBER_TYPES)
@pytest.mark.parametrize("second", _NUMBER_TYPES)
@pytest.mark.parametrize("footer", [1, 1 << 20])
def test_a_person_with_rows_in_several_files_is_one_whatever_their_types(
    first: str, second: str, footer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
    for number, kind in enumerate((first, second)):
        pq.write_table(of(SEVENS[kind]), tmp_path / f"{number}.parquet")
    assert count(str(tmp_path)) == 2
    assert count(str(tmp_path), rows_per_person=3) == 5


def test_a_person_with_rows_in_several_csv_files_is_one(tmp_path: Path) -> None:
    for name, cells in (("a", "7\n8\n"), ("b", "7.0\n\n"), ("c", "9\n8.0\n")):
        text = "".join(f"1,{cell},1\n" for cell in cells.split("\n")[:-1])
        (tmp_path / f"{name}.csv").write_text("x,who,y\n" + text)
    assert count(f"{tmp_path}/*.csv") == 3


def test_an_instant_is_one_person_in_whatever_unit_it_is_counted(tmp_path: Path) -> None:
    days = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None]
    kinds = [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns"))]
    for number, kind in enumerate(kinds):
        pq.write_table(of(pa.array(days, kind)), tmp_path / f"{number}.parquet")
    assert count(str(tmp_path)) == 2


@settings(max_examples=50)
@given(
    st.lists(
        st.sampled_from([None, "", " ", "nan", "7", "7.0", "07", "p", "p ", "q", "true", "1"]),
        max_size=12,
    ),
    st.integers(0, 11),
    st.integers(1, 3),
)
def test_removing_a_person_changes_no_row_of_anybody_else(
    cells: list[str | None], place: int, rows: int
) -> None:
    """A person is whoever the cells say is the same; each row of nobody is somebody's own."""
    names = {"7.0": "7", "07": "7", "p ": "p", "true": "1"}
    nobody = {None, "", " ", "nan"}
    if not cells:
        return
    gone = place % len(cells)

    def same(other: int) -> bool:
        if cells[gone] in nobody:
            return other == gone
        return names.get(cells[other] or "", cells[other]) == names.get(
            cells[gone] or "", cells[gone]
        )

    left = [cell for other, cell in enumerate(cells) if not same(other)]
    # Every row has a value of its own, so the score tells which rows count.
    values = [2.0**-other for other in range(len(cells))]
    kept = [value for other, value in enumerate(values) if not same(other)]

    def total(who: list[str | None], x: list[float]) -> float:
        table = pa.table({"x": x, "who": pa.array(who, pa.string()), "y": [1.0] * len(x)})
        found = scored(table, person="who", rows_per_person=rows)
        return float(found.values[0]) / ONE / ONE

    change = total(cells, values) - total(left, kept)
    mine = [value for other, value in enumerate(values) if same(other)]
    expected = 0.0 if cells[gone] in nobody else sum(mine[:rows])
    assert change == expected


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 5))
def test_a_number_has_one_way_to_be_written(number: Decimal, zeros: int) -> None:
    sign, digits, exponent = number.as_tuple()
    longer = Decimal((sign, digits + (0,) * zeros, int(exponent) - zeros))
    assert exact_number(str(number)) == exact_number(str(longer)) is not None
    assert exact_number(f"{number:f}") == exact_number(str(number))
    assert Decimal(exact_number(str(number)) or "nan") == number


@pytest.mark.parametrize("text", ["", ".", "+", "e5", "1e", "1e5.0", "0x7", "1_0", "7 ", "\u0667"])
def test_what_is_no_number_stays_as_it_is(text: str) -> None:
    assert exact_number(text) is None


def test_a_number_of_any_length_is_read_in_no_time() -> None:
    long = "1" * 1_000_000
    assert exact_number(long + "x") is None
    assert exact_number("0" * 1_000_000 + "7") == "7"
    assert exact_number("1e" + long) is None
    assert exact_number("0e" + long) == "0"
    assert exact_number("1e" + "0" * 1_000_000 + "1") == "10"
    assert exact_number("1e999999999999") == "1e999999999999"
    assert exact_number(long) != exact_number(long[:-1] + "2")


def test_a_frame_of_pandas_may_hold_persons_of_any_type() -> None:
    pandas = pytest.importorskip("pandas")
    for who in (
        [7, 7.0, 8, None],
        ["7", "7.0", "8", None],
        pandas.Categorical(["7", "7.0", "8", None]),
        pandas.Series([7, 7, 8, None], dtype="Int64"),
        pandas.Series(["7", "7.0", "8", ""], dtype="string"),
        pandas.to_datetime(["2020-01-07", "2020-01-07 00:00", "2020-01-08", None], format="mixed"),
    ):
        assert count(pandas.DataFrame({"x": 1.0, "y": 1.0, "who": who})) == 2


def test_a_stream_of_small_batches_tells_persons_apart_alike(tmp_path: Path) -> None:
    sink = io.BytesIO()
    table = of(pa.array(["7", "7.0", " ", None, "", "8"]))
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    (tmp_path / "t.arrows").write_bytes(sink.getvalue())
    assert count(str(tmp_path / "t.arrows")) == 2
