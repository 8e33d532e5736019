"""Cells of any type: one content is one cell in every format, and no cell depends on another."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsel.core.arrays import FloatArray
from dpsel.core.words import boxed_words, words_of
from dpsel.errors import InputError
from dpsel.tables import delimited, parquet_footer
from dpsel.tables.arrow_cells import column_cells
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.formats import FileFormat
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import open_table
from dpsel.tables.table import RowReader
from dpsel.tables.wide_parquet import WideParquetTable
from tests.sample_tables import WRITERS

MICROSECONDS = {"day": 86_400_000_000, "hour": 3_600_000_000, "second": 1_000_000}
DAY = dt.date(2021, 3, 4)
MOMENT = dt.datetime(2021, 3, 4, 5, 6, 7, 89)
UTC_ZONE = dt.UTC

TYPED = pl.DataFrame(
    {
        "whole": [1, None, -3, 2**60],
        "real": [0.5, float("nan"), None, float("inf")],
        "single": pl.Series([0.5, None, 1e30, 0.1], dtype=pl.Float32),
        "exact": pl.Series(
            [Decimal("1.25"), None, Decimal("-7.10"), Decimal("0.10")], dtype=pl.Decimal(20, 2)
        ),
        "truth": [True, False, None, True],
        "day": [DAY, None, dt.date(1969, 12, 31), dt.date(9999, 12, 31)],
        "moment": [MOMENT, None, dt.datetime(1901, 1, 1), dt.datetime(2021, 3, 4)],
        "zone": [
            MOMENT.replace(tzinfo=UTC_ZONE),
            None,
            dt.datetime(1901, 1, 1, tzinfo=UTC_ZONE),
            dt.datetime(2021, 3, 4, tzinfo=UTC_ZONE),
        ],
        "clock": [dt.time(12, 30), None, dt.time(0, 0, 0, 5), dt.time(23, 59, 59)],
        "text": ["red", "", None, " green "],
        "mixed": ["1e3", "red", "true", "2021-03-04"],
        "kind": pl.Series(["red", None, "blue", "red"], dtype=pl.Categorical),
        "empty": pl.Series([None] * 4, dtype=pl.Null),
        "y": [0.0, 1.0, 2.0, 3.0],
    }
)
FEATURES = [name for name in TYPED.columns if name != "y"]


def cells_of(table: Any, target: str = "y", **wanted: Any) -> FloatArray:
    """Return all cells of all features, row by row."""
    opened = open_table(str(table) if isinstance(table, Path) else table)
    layout = choose_columns(opened.columns, Wanted(target=target, words=True, **wanted), "table")
    found: dict[int, list[FloatArray]] = {}
    with closing(opened):
        for one in opened.pending_batches(layout, RowReader(TargetCoding(), words=True)):
            batch = one.read()
            X = np.asarray(batch.X)
            assert X.dtype == np.float64
            for place in range(X.shape[1]):
                found.setdefault(batch.first_feature + place, []).append(X[:, place])
    return np.stack([np.concatenate(found[place]) for place in sorted(found)], axis=1)


def same(found: FloatArray, expected: FloatArray) -> None:
    """Compare the bits of cells; 0.0 and -0.0 are one number."""
    np.testing.assert_array_equal((found + 0.0).view(np.int64), (expected + 0.0).view(np.int64))
    np.testing.assert_array_equal(words_of(found)[1], words_of(expected)[1])


def word(text: str) -> float:
    return float(boxed_words(pl.Series([text]).hash(0).to_numpy())[0])


EXPECTED = np.stack([column_cells(TYPED[name].to_arrow()) for name in FEATURES], axis=1)


def test_cells_are_numbers_words_or_missing() -> None:
    by_name = {name: EXPECTED[:, place] for place, name in enumerate(FEATURES)}
    nan, inf = np.nan, np.inf
    day = (DAY - dt.date(1970, 1, 1)).days * MICROSECONDS["day"]
    moment = day + 5 * MICROSECONDS["hour"] + 6 * 60_000_000 + 7_000_089
    expected = {
        "whole": [1, nan, -3, 2.0**60],
        "real": [0.5, nan, nan, inf],
        "single": [0.5, nan, float(np.float32(1e30)), float(np.float32(0.1))],
        "exact": [1.25, nan, -7.1, 0.1],
        "truth": [1, 0, nan, 1],
        "day": [day, nan, -MICROSECONDS["day"], float(2932896 * MICROSECONDS["day"])],
        "moment": [moment, nan, -25202 * 86_400e6, day],
        "zone": [moment, nan, -25202 * 86_400e6, day],
        "clock": [12.5 * MICROSECONDS["hour"], nan, 5, 86_399e6],
        "text": [word("red"), nan, nan, word("green")],
        "mixed": [1000, word("red"), 1, day],
        "kind": [word("red"), nan, word("blue"), word("red")],
        "empty": [nan] * 4,
    }
    for name, values in expected.items():
        same(by_name[name], np.array(values))


def _csv_content() -> pl.DataFrame:
    """Return the content as text: single precision is written with all its digits."""
    return TYPED.with_columns(pl.col("single").cast(pl.Float64))


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_a_text_has_the_cells_of_the_typed_table(name: str, tmp_path: Path) -> None:
    _csv_content().write_csv(tmp_path / name, separator="\t" if name == "t.tsv" else ",")
    same(cells_of(tmp_path / name), EXPECTED)


@pytest.mark.parametrize("name", [n for n in WRITERS if "csv" not in n and "tsv" not in n])
def test_every_typed_format_has_the_same_cells(name: str, tmp_path: Path) -> None:
    WRITERS[name](TYPED, tmp_path / name)
    same(cells_of(tmp_path / name), EXPECTED)


def test_frames_have_the_same_cells() -> None:
    for frame in (TYPED, TYPED.to_arrow(), TYPED.to_arrow().to_reader(3)):
        same(cells_of(frame), EXPECTED)
    # Pandas has no column without a type.
    found = cells_of(TYPED.drop("empty").to_pandas())
    same(found, np.delete(EXPECTED, FEATURES.index("empty"), axis=1))


def test_the_reader_of_wide_files_has_the_same_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 100)
    path = tmp_path / "t.parquet"
    others = ("exact", "moment", "zone", "clock")  # Which that reader leaves to the other one.
    TYPED.drop(others).write_parquet(path)
    opened = open_table(str(path))
    assert isinstance(opened, WideParquetTable)
    same(cells_of(path), np.delete(EXPECTED, [FEATURES.index(name) for name in others], axis=1))


HOSTILE = [
    *("1", "red", "", "04/03/2021", "2021-02-30", "2021-13-01", "2021-03-04T25:00", "1.5.2"),
    *("2021-03-04 05:06", "2021-03-04T05:06:07.123456789Z", "2021-03-04T05:06:07+01:30"),
    *("0x10", "1_000", "1,5", "NA", "null", "-", "?", "nan", "-NaN", "inf", "Infinity", "1e999"),
    *("TRUE", "False", "yes", " 7", "7 ", "é", "日本", "12:30", "24:00", "12:30:60", "a b"),
    *("2021-3-4", "20210304", "0000-01-01", "2021-03-04T", "2021-03-04Z", "99999-01-01", "1e-400"),
]


def _csv(tmp_path: Path, cells: list[str], *, wide: bool = False, ending: str = "\n") -> Path:
    """Write one column of cells, between others if the table is to be a wide one."""
    path = tmp_path / "hostile.csv"
    other = 600 if wide else 1
    names = ",".join(["x", *(f"o{place}" for place in range(other)), "y"])
    quoted = [f'"{cell}"' if "," in cell else cell for cell in cells]
    rows = [",".join([cell, *["1"] * other, "0"]) for cell in quoted]
    path.write_bytes((ending.join([names, *rows]) + ending).encode())
    return path


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("wide", [False, True])
def test_odd_cells_of_a_csv_are_those_of_a_column_of_text(
    wide: bool, ending: str, tmp_path: Path
) -> None:
    odd = HOSTILE if not wide else [cell for cell in HOSTILE if "," not in cell]
    expected = column_cells(pa.array(odd))
    same(cells_of(_csv(tmp_path, odd, wide=wide, ending=ending))[:, 0], expected)
    for kind in (pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()):
        same(
            column_cells(pa.array([cell.encode() for cell in odd], pa.binary()).cast(kind)),
            expected,
        )
    same(column_cells(pa.array(odd).dictionary_encode()), expected)
    same(column_cells(pa.chunked_array([odd[:3], odd[3:]])), expected)


def test_what_odd_cells_are() -> None:
    found = dict(zip(HOSTILE, column_cells(pa.array(HOSTILE)).tolist(), strict=True))
    words, _ = words_of(column_cells(pa.array(HOSTILE)))
    is_word = dict(zip(HOSTILE, words.tolist(), strict=True))
    for cell in (
        "04/03/2021",
        "2021-02-30",
        "2021-13-01",
        "1.5.2",
        "-",
        "?",
        "24:00",
    ):
        assert is_word[cell], cell
    for cell in ("", "nan", "-NaN", "NA", "null"):
        assert not is_word[cell], cell
        assert np.isnan(found[cell]), cell
    day = 18_690 * 86_400e6
    assert found["2021-03-04 05:06"] == day + 5 * 3600e6 + 360e6
    assert found["2021-03-04T05:06:07.123456789Z"] == day + 18_367_123_456 + 789 / 1000
    assert found["2021-03-04T05:06:07+01:30"] == day + 18_367e6 - 5_400e6
    assert found["12:30"] == 45_000e6
    assert found["TRUE"] == 1.0
    assert found["7 "] == found[" 7"] == 7.0
    assert found["1e999"] == np.inf


@pytest.mark.parametrize("odd", HOSTILE)
def test_one_row_more_changes_no_other_cell(odd: str, tmp_path: Path) -> None:
    for cells in (["1", "2", "3"], ["red", "green", "red"], ["2021-03-04", "true", " "]):
        before = cells_of(_csv(tmp_path, cells))
        after = cells_of(_csv(tmp_path, [*cells, odd]))
        same(after[: len(before)], before)
        first = cells_of(_csv(tmp_path, [odd, *cells]))
        same(first[1:], before)


def test_one_quote_more_in_a_wide_csv_changes_no_other_cell(tmp_path: Path) -> None:
    cells = [cell for cell in HOSTILE if "," not in cell]
    before = cells_of(_csv(tmp_path, cells, wide=True))
    same(cells_of(_csv(tmp_path, [*cells, "a,b"], wide=True))[: len(before)], before)


@pytest.mark.parametrize("text_bytes", [1, 30, 4096])
def test_the_size_of_blocks_does_not_matter(
    text_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = column_cells(pa.array(HOSTILE))
    path = _csv(tmp_path, HOSTILE)
    real = delimited.DelimitedTable.__init__

    def cut(self: Any, source: Any, written: FileFormat) -> None:
        real(self, source, written, text_bytes)

    monkeypatch.setattr(delimited.DelimitedTable, "__init__", cut)
    same(cells_of(path)[:, 0], expected)


def test_bytes_that_are_no_text_are_words_of_their_own(tmp_path: Path) -> None:
    odd = [b"\xff", b"\xfe", b"red", b"caf\xe9", b"\xff"]
    expected = column_cells(pa.array(odd))
    is_word, codes = words_of(expected)
    assert is_word.all()
    assert len(set(codes.tolist())) == 4
    assert expected[2:3].view(np.int64) == np.array([word("red")]).view(np.int64)
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,z,y\n" + b"".join(cell + b",1,0\n" for cell in odd))
    same(cells_of(path)[:, 0], expected)
    text = pa.array(odd).view(pa.string())
    same(column_cells(text), expected)
    same(column_cells(text.dictionary_encode()), expected)
    for name, writer in _damaged_writers():
        writer(pa.table({"x": text, "y": [0.0] * 5}), tmp_path / name)
        same(cells_of(tmp_path / name)[:, 0], expected)


def _damaged_writers() -> Iterator[tuple[str, Callable[[pa.Table, Path], None]]]:
    def feather(table: pa.Table, path: Path) -> None:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)

    yield "bad.parquet", lambda table, path: pq.write_table(table, path)
    yield "bad.arrow", feather


def test_types_that_say_nothing_are_missing_and_no_error() -> None:
    for column in (
        pa.array([[1], [], None]),
        pa.array([{"a": 1}, None, {}]),
        pa.array([None, None, None]),
        pa.array([(1, 2, 3), None, (0, 0, 0)], pa.month_day_nano_interval()),
        pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int8())),
    ):
        assert np.isnan(column_cells(column)).all()
        assert not words_of(column_cells(column))[0].any()


def test_units_of_time_do_not_matter() -> None:
    moment = dt.datetime(2021, 3, 4, 5, 6, 7)
    found = [
        column_cells(pa.array([moment, None], pa.timestamp(unit, zone)))
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC")
    ]
    for cells in found:
        same(cells, found[0])
    hour = [
        column_cells(pa.array([3600 * 10**digits], pa.int64()).view(pa.duration(unit)))
        for unit, digits in (("s", 0), ("ms", 3), ("us", 6), ("ns", 9))
    ]
    assert [cells.tolist() for cells in hour] == [[3600e6]] * 4
    same(column_cells(pa.array([DAY], pa.date64())), column_cells(pa.array([DAY], pa.date32())))
    fine = pa.array([1_614_834_367_123_456_789], pa.int64()).view(pa.timestamp("ns"))
    same(column_cells(fine), column_cells(pa.array(["2021-03-04T05:06:07.123456789"])))


def test_nan_with_bits_of_a_word_is_missing(tmp_path: Path) -> None:
    odd = boxed_words(np.array([5 << 20], dtype=np.uint64))
    table = pa.table({"x": pa.array(odd), "z": pa.array(odd), "y": [0.0]})
    for name, writer in _damaged_writers():
        writer(table, tmp_path / name)
        assert not words_of(cells_of(tmp_path / name))[0].any()
    assert not words_of(cells_of(table))[0].any()


def test_objects_of_pandas_are_read_cell_by_cell() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1, "red", True, DAY, None, 2.5], "y": range(6)})
    texts = pa.array(["1", "red", "1", "2021-03-04", None, "2.5"])
    same(cells_of(frame)[:, 0], column_cells(texts))


def test_folders_name_words_too(tmp_path: Path) -> None:
    for value in ("red", "7", "2021-03-04"):
        folder = tmp_path / "t" / f"key={value}"
        folder.mkdir(parents=True)
        pl.DataFrame({"x": [1.0], "y": [0.0]}).write_parquet(folder / "part.parquet")
    same(cells_of(tmp_path / "t")[:, 1], column_cells(pa.array(["2021-03-04", "7", "red"])))


def test_without_words_a_column_of_text_is_refused_as_ever() -> None:
    table = open_table(TYPED)
    with pytest.raises(InputError, match="dates or times"):
        choose_columns(table.columns, Wanted(target="y"), "table")


def test_a_target_that_is_no_number_is_missing_and_not_a_time(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,y\nred,2021-03-04\nred,1\nblue,word\n")
    opened = open_table(str(path))
    layout = choose_columns(opened.columns, Wanted(target="y", words=True), "table")
    rows = RowReader(TargetCoding(), words=True)
    with closing(opened):
        y = np.concatenate([one.read().y for one in opened.pending_batches(layout, rows)])
    np.testing.assert_array_equal(y, [np.nan, 1.0, np.nan])
