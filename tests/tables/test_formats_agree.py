"""One score vector for a table, whatever its format, its cut, its order and the threads."""

import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpsel
from dpsel.core.bounds import ONE
from dpsel.core.persons import PersonLimit
from dpsel.tables import arrow as arrow_table
from dpsel.tables import parquet as parquet_table
from dpsel.tables import parquet_footer
from dpsel.tables import wide_parquet as wide_parquet_table
from dpsel.tables.delimited import DelimitedTable
from dpsel.tables.formats import AS_NAMED
from dpsel.tables.sources import Source
from tests.sample_tables import WRITERS, numbers, request_for, scored, scored_table

FRAME = numbers(200, 11)


def exact(frame: pl.DataFrame) -> list[int]:
    """Return the scores in Python's own integers."""

    def whole(value: float | None) -> int:
        return 0 if value is None or np.isnan(value) else int(np.rint(np.clip(value, -1, 1) * ONE))

    y = [whole(value) for value in frame["y"]]
    return [
        abs(sum(whole(x) * t for x, t in zip(frame[name], y, strict=True)))
        for name in frame.columns
        if name != "y"
    ]


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_scores_of_exact_integer_arithmetic(
    name: str, tmp_path: Path
) -> None:
    WRITERS[name](FRAME, tmp_path / name)
    assert scored(str(tmp_path / name)).values.tolist() == exact(FRAME)


@pytest.mark.parametrize("name", WRITERS)
def test_the_order_of_rows_and_the_number_of_threads_do_not_matter(
    name: str, tmp_path: Path
) -> None:
    WRITERS[name](FRAME.sample(fraction=1, shuffle=True, seed=3), tmp_path / name)
    for threads in (1, 5):
        assert scored(str(tmp_path / name), threads=threads).values.tolist() == exact(FRAME)


def test_frames_in_memory_give_the_same_scores() -> None:
    for frame in (FRAME, FRAME.lazy(), FRAME.to_arrow(), FRAME.to_arrow().to_reader(13)):
        assert scored(frame).values.tolist() == exact(FRAME)


@pytest.mark.parametrize("text_bytes", [1, 7, 100, 4096])
def test_the_size_of_a_csv_s_blocks_does_not_matter(text_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    FRAME.write_csv(path)
    table = DelimitedTable(Source(path), AS_NAMED, text_bytes)
    assert scored_table(table, request_for()).values.tolist() == exact(FRAME)


@pytest.mark.parametrize("at_once", [1, 100, 1000])
def test_the_size_of_a_parquet_or_arrow_piece_does_not_matter(
    at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "_CELLS_AT_ONCE", at_once)
    monkeypatch.setattr(arrow_table, "_CELLS_AT_ONCE", at_once)
    for name in ("t.parquet", "small_groups.parquet", "t.arrow", "t.feather", "t.arrows"):
        WRITERS[name](FRAME, tmp_path / name)
        assert scored(str(tmp_path / name)).values.tolist() == exact(FRAME)


def test_a_very_long_row_group_is_cut_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "_ROWS_AT_ONCE", 17)
    monkeypatch.setattr(parquet_table, "_CELLS_AT_ONCE", 60)
    path = tmp_path / "t.parquet"
    frame = FRAME.with_columns(who=pl.Series([f"p{i % 60}" for i in range(len(FRAME))]))
    frame.write_parquet(path)
    assert scored(str(path), exclude=("who",)).values.tolist() == exact(FRAME)
    first_two = frame.filter(pl.int_range(pl.len()).over("who") < 2).drop("who")
    capped = scored(str(path), person="who", rows_per_person=2)
    assert capped.values.tolist() == exact(first_two)
    assert capped.sensitivity == 2 * ONE * ONE


def test_wide_tables_give_the_same_scores_in_every_format(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = numbers(12, 1500)
    opened = []
    real = wide_parquet_table.WideParquetTable
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1000)
    monkeypatch.setattr(
        wide_parquet_table,
        "WideParquetTable",
        lambda *a, **b: opened.append(1) or real(*a, **b),  # type: ignore[func-returns-value]
    )
    for at_once in (1 << 25, 999):
        monkeypatch.setattr(wide_parquet_table, "_CELLS_AT_ONCE", at_once)
        for name, write in WRITERS.items():
            write(frame, tmp_path / name)
            assert scored(str(tmp_path / name)).values.tolist() == exact(frame)
    assert len(opened) == 4


def test_all_numeric_types_count_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0, 1, -1, 1, None, 0, 1]
    table = pa.table(
        {
            "int8": pa.array(values, pa.int8()),
            "int64": pa.array(values, pa.int64()),
            "uint8": pa.array([v if v is None else abs(v) for v in values], pa.uint8()),
            "half": pa.array([None if v is None else np.float16(v) for v in values], pa.float16()),
            "single": pa.array(values, pa.float32()),
            "bool": pa.array([None if v is None else v == 1 for v in values], pa.bool_()),
            "decimal": pa.array(values, pa.decimal128(5, 2)),
            "dictionary": pa.array(values, pa.int64()).dictionary_encode(),
            "nothing": pa.nulls(len(values)),
            "y": pa.array([1.0, 0.5, -1.0, 0.25, 1.0, -0.5, None]),
        }
    )
    as_int = abs(round((0.5 + 1.0 + 0.25) * ONE * ONE))
    as_ones = abs(round((0.5 + 0.25) * ONE * ONE))
    as_abs = abs(round((0.5 - 1.0 + 0.25) * ONE * ONE))
    expected = [as_int, as_int, as_abs, as_int, as_int, as_ones, as_int, as_int, 0]
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    assert scored(table).values.tolist() == expected
    assert scored(str(path)).values.tolist() == expected
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 10)
    assert scored(str(path)).values.tolist() == expected
    text = ["bool,y", "false,1", "TRUE,0.5", "False,-1", "true,.25", ",1", "FALSE,-.5", "True,"]
    (tmp_path / "t.csv").write_text("\n".join(text))
    assert scored(str(tmp_path / "t.csv")).values.tolist() == [as_ones]


def test_whole_numbers_beyond_float_precision_agree_between_formats(tmp_path: Path) -> None:
    big = 2**53 + 1
    frame = pl.DataFrame({"x": [big, -big, 2**62], "y": [1.0, 0.5, 0.25]})
    found = []
    for name, write in WRITERS.items():
        write(frame, tmp_path / name)
        found.append(scored(str(tmp_path / name), lower=-(2.0**62), upper=2.0**62).values.tolist())
    assert all(values == found[0] for values in found)


def test_columns_whose_names_hold_dots_are_not_mixed_up(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.0], "a.b": [0.5], "a.b.c": [0.25], "y": [1.0]})
    path = tmp_path / "t.parquet"
    frame.write_parquet(path)
    assert scored(str(path)).values.tolist() == exact(frame)
    assert scored(str(path), features=("a.b",)).values.tolist() == [ONE * ONE // 2]


def test_several_files_are_one_table(tmp_path: Path) -> None:
    for name, rows in (("b", slice(0, 90)), ("a", slice(90, None))):
        FRAME[rows].select(sorted(FRAME.columns, reverse=name == "a")).write_parquet(
            tmp_path / f"{name}.parquet"
        )
    expected = sorted(exact(FRAME))
    for table in (str(tmp_path), tmp_path, f"{tmp_path}/*.parquet"):
        assert sorted(scored(table).values.tolist()) == expected


@pytest.mark.parametrize("width", [5, 700])
@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_columns_may_stand_in_another_order_in_another_file(
    width: int, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 20_000)
    frame = numbers(20, width)
    names = frame.columns
    moved = [names[0], *names[-3:0:-1], names[-2], names[-1]]
    WRITERS[f"t.{ending}"](frame[:10], tmp_path / f"a.{ending}")
    WRITERS[f"t.{ending}"](frame[10:].select(moved), tmp_path / f"b.{ending}")
    assert scored(f"{tmp_path}/*.{ending}").values.tolist() == exact(frame)


def test_names_that_look_like_patterns_are_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = numbers(5, 6)
    frame.columns = ["^x.*$", "*", "x", "xy", "a.b", "x[1]", "^y$"]
    expected = exact(frame.rename({"^y$": "y"}))
    for at_once in (1 << 25, 1):
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
        monkeypatch.setattr(wide_parquet_table, "_CELLS_AT_ONCE", at_once)
        for name, write in WRITERS.items():
            write(frame, tmp_path / name)
            assert scored(str(tmp_path / name), target="^y$").values.tolist() == expected


def test_decimals_are_rounded_like_the_text_they_print_as(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Values half way between two integers: the slightest error shows.
    values = [Decimal(2 * j + 1) / 131072 for j in range(500)]
    ones = [1.0] * len(values)
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{v},1\n" for v in values))
    expected = scored(str(tmp_path / "t.csv")).values.tolist()
    for kind in (pa.decimal128(38, 17), pa.decimal128(38, 30), pa.decimal256(60, 20)):
        table = pa.table({"x": pa.array(values, kind), "y": ones})
        assert scored(table).values.tolist() == expected
        pq.write_table(table, tmp_path / "t.parquet")
        for footer in (1 << 20, 1):
            monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
            assert scored(str(tmp_path / "t.parquet")).values.tolist() == expected


def test_persons_may_be_bytes_or_categories(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.0] * 3, "y": [1.0] * 3, "who": [b"\xff", b"\xfe", b"\xff"]})
    frame.write_parquet(tmp_path / "t.parquet")
    categories = frame.with_columns(who=pl.Series(["a", "b", "a"], dtype=pl.Categorical))
    for table in (frame, str(tmp_path / "t.parquet"), categories, categories.to_arrow()):
        assert scored(table, person="who").values.tolist() == [2 * ONE * ONE]


def test_persons_are_capped_alike_in_every_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    who = [None if p == 0 else int(p) for p in rng.integers(0, 25, len(FRAME))]
    frame = FRAME.with_columns(who=pl.Series(who))
    kept = frame.filter(
        (pl.int_range(pl.len()).over("who") < 3) & pl.col("who").is_not_null()
    ).drop("who")
    assert 0 < len(kept) < len(frame)
    for name, write in WRITERS.items():
        write(frame, tmp_path / name)
        found = scored(str(tmp_path / name), person="who", rows_per_person=3)
        assert found.values.tolist() == exact(kept)
        assert found.sensitivity == 3 * ONE * ONE


def test_a_person_s_cap_doubles_under_replace_one() -> None:
    frame = FRAME.with_columns(who=pl.lit("p"))
    found = scored(frame, person="who", rows_per_person=4, neighbors="replace-one")
    assert found.sensitivity == 8 * ONE * ONE


def test_a_label_makes_a_target_in_every_format(tmp_path: Path) -> None:
    labels = [["ill", "well", None, "other"][i % 4] for i in range(len(FRAME))]
    coded = FRAME.with_columns(
        y=pl.Series([{"ill": 1.0, None: None}.get(label, -1.0) for label in labels])
    )
    frame = FRAME.with_columns(y=pl.Series(labels))
    for name, write in WRITERS.items():
        write(frame, tmp_path / name)
        found = scored(str(tmp_path / name), positive="ill")
        assert found.values.tolist() == exact(coded)
    categories = frame.with_columns(pl.col("y").cast(pl.Categorical))
    assert scored(categories, positive="ill").values.tolist() == exact(coded)


def test_a_numeric_label_is_found_however_it_is_written(tmp_path: Path) -> None:
    frame = FRAME.with_columns(y=pl.Series([i % 3 for i in range(len(FRAME))]))
    coded = FRAME.with_columns(
        y=pl.Series([1.0 if i % 3 == 1 else -1.0 for i in range(len(FRAME))])
    )
    for name, write in WRITERS.items():
        write(frame, tmp_path / name)
        for label in ("1", "1.0"):
            assert scored(str(tmp_path / name), positive=label).values.tolist() == exact(coded)


def test_bounds_move_and_scale_each_column() -> None:
    frame = pl.DataFrame({"a": [0.0, 10.0, 7.5], "b": [5.0, 5.0, 9.0], "y": [3.0, 1.0, 2.0]})
    found = scored(
        frame,
        bounds={
            "default": {"lower": 4, "upper": 6},
            "target": {"lower": 1, "upper": 3},
            "columns": {"a": {"lower": 0, "upper": 10}},
        },
    )
    assert found.values.tolist() == [2 * ONE * ONE, 0]


def test_the_number_of_rows_is_never_held_in_memory_by_the_cap() -> None:
    limit = PersonLimit(2)
    for _ in range(50):
        limit.keep(["a"], np.zeros(1000, dtype=np.int64))
    assert limit._seen == {"a": 2}


@pytest.mark.parametrize("how", [{}, {"method": "dp-sis", "lower": -1, "upper": 1}])
@pytest.mark.filterwarnings("ignore:to select")
def test_the_same_seed_selects_the_same_from_every_format(
    how: dict[str, Any], tmp_path: Path
) -> None:
    found = set()
    for name, write in WRITERS.items():
        write(FRAME, tmp_path / name)
        selection = dpsel.select(tmp_path / name, target="y", k=3, epsilon=2, **how, seed=9)
        found.add(tuple(selection.selected_features))
    assert len(found) == 1


def test_a_spooled_stdin_reads_like_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, chosen in [
        ("t.csv", "csv"),
        ("t.csv.gz", "csv"),
        ("t.csv.zst", "csv"),
        ("t.tsv", "tsv"),
        ("t.parquet", "parquet"),
        ("t.arrows", "arrow"),
        ("t.arrow", "arrow"),
    ]:
        WRITERS[name](FRAME, tmp_path / name)
        with (tmp_path / name).open() as file:
            monkeypatch.setattr(sys, "stdin", file)
            assert scored("-", input_format=chosen).values.tolist() == exact(FRAME), name
