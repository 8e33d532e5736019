"""All rows of a few features at a time: the same columns as all batches of the table have."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.persons import PersonLimit
from dpsel.core.row_ranks import row_ranks
from dpsel.core.scores.stump import Cells
from dpsel.reporter import Reporter
from dpsel.tables import parquet_footer, whole_columns, wide_parquet
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import open_table
from dpsel.tables.table import ReadsColumns, RowReader
from dpsel.tables.whole_columns import WholeColumns
from dpsel.tables.wide_parquet import WideParquetTable
from tests.sample_tables import WRITERS, numbers

ROWS = 50
FRAME = numbers(ROWS, 7).with_columns(
    color=pl.Series([("red", "blue", None, "7")[i % 4] for i in range(ROWS)]),
    kind=pl.Series([f"k{i % 3}" for i in range(ROWS)], dtype=pl.Categorical),
    day=pl.date(2021, 1, 1) + pl.duration(days=pl.int_range(pl.len())),
    who=pl.Series([f"p{i % 9}" if i % 5 else None for i in range(ROWS)]),
)

Place = str | Path | pl.DataFrame


def _opened(table: Any, person: str | None) -> tuple[Any, Any]:
    opened = open_table(str(table) if isinstance(table, Path) else table)
    wanted = Wanted(target="y", person=person, words=True)
    return opened, choose_columns(opened.columns, wanted, "table")


def in_pieces(table: Any, person: str | None = None, rows: int = 2) -> tuple[FloatArray, ...]:
    """Return the target and all columns as `pending_batches` has them."""
    opened, layout = _opened(table, person)
    limit = None if person is None else PersonLimit(rows)
    columns: list[list[FloatArray]] = [[] for _ in layout.names]
    targets = []
    with closing(opened):
        for one in opened.pending_batches(layout, RowReader(TargetCoding(), limit, words=True)):
            batch = one.read()
            for place, column in enumerate(np.asarray(batch.X).T, start=batch.first_feature):
                columns[place].append(column)
            if batch.first_feature == 0:
                targets.append(batch.y)
    return np.concatenate(targets), *(np.concatenate(parts) for parts in columns)


def whole(
    table: Any,
    person: str | None = None,
    rows: int = 2,
    threads: int = 2,
    *,
    row_ranks: bool = False,
) -> tuple[FloatArray, ...]:
    """Return the target and all columns as `WholeColumns` has them."""
    opened, layout = _opened(table, person)
    limit = None if person is None else PersonLimit(rows)
    with closing(opened):
        found = WholeColumns(
            opened, layout, TargetCoding(), limit, threads, Reporter(), row_ranks=row_ranks
        )
        y = found.target()
        columns: list[FloatArray] = []

        def columns_of(batch: Batch) -> tuple[int, FloatArray]:
            X = np.asarray(batch.X)
            assert X.dtype == np.float64
            assert X.T.flags.c_contiguous
            np.testing.assert_array_equal(batch.y, y)
            return batch.first_feature, X.copy()

        for first, X in found.reduce(columns_of):
            assert first == len(columns)
            columns += list(X.T)
    assert len(columns) == len(layout.names)
    return y, *columns


def same(found: tuple[FloatArray, ...], expected: tuple[FloatArray, ...]) -> None:
    """Compare bits."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(
            np.ascontiguousarray(one).view(np.int64), np.ascontiguousarray(other).view(np.int64)
        )


EXPECTED = in_pieces(FRAME)
EXPECTED_OF_PERSONS = in_pieces(FRAME, "who")


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", WRITERS)
def test_whole_columns_are_those_of_all_pieces(name: str, threads: int, tmp_path: Path) -> None:
    WRITERS[name](FRAME, tmp_path / name)
    same(whole(tmp_path / name, threads=threads), EXPECTED)
    same(whole(tmp_path / name, "who", threads=threads), EXPECTED_OF_PERSONS)


def test_the_same_rows_of_persons_count() -> None:
    with_persons = FRAME.filter(pl.col("who").is_not_null())
    first_two = with_persons.filter(pl.int_range(pl.len()).over("who") < 2)
    same(EXPECTED_OF_PERSONS, in_pieces(first_two.drop("who")))
    assert len(whole(FRAME, "who", rows=3)[0]) == 27


def test_frames_in_memory_have_the_same_columns() -> None:
    for make in _FRAMES:
        same(whole(make()), EXPECTED)
        same(whole(make(), "who"), EXPECTED_OF_PERSONS)


_FRAMES: list[Callable[[], Any]] = [
    lambda: FRAME,
    lambda: FRAME.lazy(),
    lambda: FRAME.to_arrow(),
    lambda: FRAME.to_arrow().to_reader(13),
    lambda: FRAME.to_pandas(),
]


@pytest.mark.parametrize("name", ["t.csv", "small_groups.parquet", "t.arrow", "t.arrows"])
def test_several_files_are_one_table(name: str, tmp_path: Path) -> None:
    for start in range(0, ROWS, 20):
        part = FRAME[start : start + 20]
        # The columns of files may stand in another order.
        part = part.select(reversed(part.columns)) if start == 20 else part
        WRITERS[name](part, tmp_path / f"{start:02d}_{name}")
    folder = tmp_path / f"*_{name}"
    same(whole(str(folder)), EXPECTED)
    same(whole(str(folder), "who"), EXPECTED_OF_PERSONS)


def test_folders_name_columns_too(tmp_path: Path) -> None:
    for color, part in FRAME.partition_by("kind", as_dict=True).items():
        folder = tmp_path / "t" / f"key={color[0]}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part.parquet")
    same(whole(tmp_path / "t"), in_pieces(tmp_path / "t"))


def ranks_of(columns: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
    """Return the target, and the ranks within rows of all columns."""
    return columns[0], *row_ranks(np.column_stack(columns[1:])).T


@pytest.mark.parametrize("memory", [None, "20k"])
@pytest.mark.parametrize("name", [*WRITERS])
def test_ranks_within_rows_are_the_same_in_all_formats_and_in_little_memory(
    name: str, memory: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if memory is not None:
        monkeypatch.setenv("DPSEL_MEMORY", memory)
    WRITERS[name](FRAME, tmp_path / name)
    same(whole(tmp_path / name, row_ranks=True), ranks_of(EXPECTED))
    found = whole(tmp_path / name, "who", threads=1, row_ranks=True)
    same(found, ranks_of(EXPECTED_OF_PERSONS))


@pytest.mark.parametrize("at_once", [1 << 25, 99])
def test_ranks_within_rows_of_wide_files_folders_and_frames_are_the_same(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    same(whole(FRAME, row_ranks=True), ranks_of(EXPECTED))
    for color, part in FRAME.partition_by("kind", as_dict=True).items():
        folder = tmp_path / "t" / f"key={color[0]}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part.parquet")
    for person in (None, "who", "key"):
        pieces = in_pieces(tmp_path / "t", person)
        same(whole(tmp_path / "t", person, row_ranks=True), ranks_of(pieces))
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 100)
    monkeypatch.setattr(wide_parquet, "_CELLS_AT_ONCE", at_once)
    path = tmp_path / "t.parquet"
    FRAME.write_parquet(path, row_group_size=20)
    assert isinstance(open_table(str(path)), WideParquetTable)
    same(whole(path, row_ranks=True), ranks_of(EXPECTED))
    same(whole(path, "who", row_ranks=True), ranks_of(EXPECTED_OF_PERSONS))


@pytest.mark.parametrize("memory", ["1", "20k"])
@pytest.mark.parametrize("name", ["t.csv", "small_groups.parquet", "t.arrow", "t.arrows"])
def test_little_memory_changes_no_bit(
    name: str, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", memory)
    WRITERS[name](FRAME, tmp_path / name)
    same(whole(tmp_path / name), EXPECTED)


@pytest.mark.parametrize("at_once", [1, 120, 1 << 22])
@pytest.mark.parametrize("name", ["t.csv", "small_groups.parquet", "t.arrow"])
def test_the_number_of_columns_at_once_does_not_matter(
    name: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_columns, "_CELLS_AT_ONCE", at_once)
    WRITERS[name](FRAME, tmp_path / name)
    same(whole(tmp_path / name), EXPECTED)


@pytest.mark.parametrize("at_once", [1 << 25, 99])
def test_the_reader_of_wide_files_has_the_same_columns(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 100)
    monkeypatch.setattr(wide_parquet, "_CELLS_AT_ONCE", at_once)
    path = tmp_path / "t.parquet"
    FRAME.write_parquet(path, row_group_size=20)
    assert isinstance(open_table(str(path)), WideParquetTable)
    same(whole(path), EXPECTED)
    same(whole(path, "who"), EXPECTED_OF_PERSONS)
    plain = FRAME.select("^x.*$", "y")
    plain.write_parquet(path)
    same(whole(path), in_pieces(plain))


def test_a_text_that_is_no_utf_8_takes_the_other_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 100)
    odd = pa.array([b"\xff", b"red", b"\xfe", b"red"]).view(pa.string())
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": odd, "y": [0.0, 1.0, 0.0, 1.0]}), path, row_group_size=2)
    assert isinstance(open_table(str(path)), WideParquetTable)
    same(whole(path), in_pieces(path))


@pytest.mark.parametrize("place", ["t.parquet", "two", "folders"])
@pytest.mark.parametrize("row_ranks", [False, True])
def test_a_nan_in_single_precision_is_missing_for_both_readers_whatever_its_bits(
    *, row_ranks: bool, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a double, the first of these has the bits of a word.
    odd = np.array([0x7FE00001, 0x7FC00000, 0x3F800000], dtype=np.uint32).view(np.float32)
    table = pa.table({"x": odd, "z": odd[::-1], "y": odd[::-1]})
    names = {"t.parquet": ["t.parquet"], "two": ["two/a.parquet", "two/b.parquet"]}
    for name in names.get(place, ["folders/key=1/part.parquet"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, tmp_path / name)
    found = []
    for footer in (1 << 20, 1):
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
        opened, layout = _opened(tmp_path / place, None)
        with closing(opened):
            columns = WholeColumns(
                opened, layout, TargetCoding(), None, 1, Reporter(), row_ranks=row_ranks
            )
            found.append(list(columns.reduce(lambda batch: Cells.of(np.asarray(batch.X)))))
    for tall, wide in zip(*found, strict=True):
        np.testing.assert_array_equal(tall.numbers, wide.numbers)
        assert tall.codes is wide.codes is None


def test_typed_files_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the rows were kept")

    monkeypatch.setattr(whole_columns, "Spill", refuse)
    for name in ("t.parquet", "small_groups.parquet", "t.arrow"):
        WRITERS[name](FRAME, tmp_path / name)
        assert isinstance(open_table(str(tmp_path / name)), ReadsColumns)
        same(whole(tmp_path / name), EXPECTED)


def test_cells_are_counted_once_and_words_are_there(tmp_path: Path) -> None:
    for name in ("t.csv", "small_groups.parquet"):
        WRITERS[name](FRAME, tmp_path / name)
        opened, layout = _opened(tmp_path / name, None)
        with closing(opened):
            found = WholeColumns(opened, layout, TargetCoding(), None, 2, Reporter())
            assert list(found.reduce(lambda batch: batch.X.shape[1]))
            missing = dict(zip(layout.names, found.cells.shares()[1], strict=False))
        assert missing["color"] == 0.24
        assert missing["kind"] == missing["day"] == 0.0
        assert missing["who"] == 0.2


def test_a_label_is_seen_in_the_target(tmp_path: Path) -> None:
    frame = FRAME.with_columns(y=pl.col("kind").cast(pl.String))
    for name in ("t.csv", "small_groups.parquet"):
        WRITERS[name](frame, tmp_path / name)
        for label in ("k1", "k9"):
            opened = open_table(str(tmp_path / name))
            wanted = Wanted(target="y", labels=True, words=True)
            layout = choose_columns(opened.columns, wanted, "table")
            with closing(opened):
                coding = TargetCoding(positive=label)
                found = WholeColumns(opened, layout, coding, None, 2, Reporter())
                y = found.target()
                assert found.label_seen == (label == "k1")
                np.testing.assert_array_equal(y == 1.0, frame["y"].to_numpy() == label)


def test_a_table_without_rows_has_columns_without_cells(tmp_path: Path) -> None:
    for name in ("t.csv", "t.parquet", "t.arrow"):
        WRITERS[name](FRAME[:0], tmp_path / name)
        assert {len(column) for column in whole(tmp_path / name)} == {0}
