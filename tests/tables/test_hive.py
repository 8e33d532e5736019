"""Folders that name columns: the same as if the columns were in the files, and as pyarrow reads."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from dpsel.cluster.shards import Cluster
from dpsel.core.scores.registry import SCORES
from dpsel.errors import InputError
from dpsel.tables import parquet as parquet_table
from dpsel.tables import parquet_footer
from dpsel.tables.table_files import find_sources
from tests.cluster.test_shards import Tree
from tests.sample_tables import numbers, scored

HIVE = pa.schema([("year", pa.int64()), ("si te", pa.string())])
BOUNDS = {
    "default": {"lower": -1, "upper": 1},
    "columns": {"year": {"lower": 2020, "upper": 2026}},
}


def write_folder(folder: Path, schema: pa.Schema = HIVE) -> pl.DataFrame:
    """Write a folder as pyarrow does, and return it as pyarrow reads it."""
    rng = np.random.default_rng(2)
    rows = 80
    years = [None if year == 2020 else int(year) for year in rng.integers(2020, 2025, rows)]
    sites = [["A/b=c", "Ä", "100%", None, " 7"][i] for i in rng.integers(0, 5, rows)]
    frame = numbers(rows, 4, seed=5).with_columns(
        pl.Series("year", years), pl.Series("si te", sites)
    )
    partitioning = ds.partitioning(schema, flavor="hive")
    ds.write_dataset(frame.to_arrow(), folder, format="parquet", partitioning=partitioning)
    read = pl.from_arrow(ds.dataset(folder, partitioning="hive").to_table())
    assert isinstance(read, pl.DataFrame)
    assert sorted(read["year"].fill_null(0)) == sorted(frame["year"].fill_null(0))
    assert len(find_sources(folder)) == len(read.select(schema.names).unique())
    return read


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pl.DataFrame]:
    """A folder, and what pyarrow reads from it."""
    folder = tmp_path_factory.mktemp("hive") / "t"
    return folder, write_folder(folder)


@pytest.fixture(params=["plain", "wide", "cut"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each way of reading a Parquet file."""
    if request.param == "wide":
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    if request.param == "cut":
        monkeypatch.setattr(parquet_table, "_ROWS_AT_ONCE", 2)


CASES: dict[str, dict[str, Any]] = {
    "left out": {"exclude": ["year", "si te"]},
    "feature": {"exclude": ["si te"], "bounds": BOUNDS},
    "only feature": {"features": ["year"], "bounds": BOUNDS},
    "target": {"target": "year", "exclude": ["si te"], "bounds": BOUNDS},
    "label": {"target": "si te", "positive": "A/b=c", "exclude": ["year"]},
    "year as label": {"target": "year", "positive": "2023", "exclude": ["si te"]},
    "only feature and target": {
        "features": ["year"],
        "target": "si te",
        "positive": "Ä",
        "bounds": BOUNDS,
    },
    "person": {"person": "si te", "rows_per_person": 100, "exclude": ["year"]},
    "person and label": {
        "person": "si te",
        "rows_per_person": 100,
        "target": "year",
        "positive": "2022",
    },
}


@pytest.mark.parametrize("score", list(SCORES))
@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.usefixtures("reader")
def test_columns_of_folders_are_read_as_pyarrow_reads_them(
    case: str, score: str, written: tuple[Path, pl.DataFrame]
) -> None:
    folder, frame = written
    options = {**CASES[case], "score": score}
    if not SCORES[score].needs_bounds and "bounds" in options:
        del options["bounds"]
        if options.get("target") == "year" or case == "feature":
            options["features"] = ["x*", "year"]
    found = scored(folder, **options)
    assert found.values.any()
    assert found.values.tolist() == scored(frame, **options).values.tolist()


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("score", ["dot", "kendall"])
def test_splits_of_a_folder_have_its_columns(
    case: str, score: str, written: tuple[Path, pl.DataFrame]
) -> None:
    folder, _ = written
    options = {"seed": 3, "score": score, **CASES[case]}
    if options.get("person"):
        options["rows_per_person"] = 3
    if score == "kendall" and "bounds" in options:
        del options["bounds"]
        options["features"] = ["x*", "year"]
    here = scored(folder, **options)
    there = scored(folder, cluster=Cluster(Tree(np.random.default_rng(0)), 1500), **options)
    assert there.values.tolist() == here.values.tolist()


def test_the_first_rows_of_a_person_in_the_order_of_the_files_count(tmp_path: Path) -> None:
    for place, value in [("who=a/1", 1.0), ("who=b/2", 0.5), ("who=a/3", 0.25)]:
        folder = tmp_path / "t" / place.split("/")[0]
        folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"x": [value], "y": [1.0]}).write_parquet(tmp_path / "t" / f"{place}.parquet")
    assert scored(tmp_path / "t", person="who").values.tolist() == [int(1.5 * 2**32)]


def test_one_odd_folder_changes_no_type_and_fails_no_run(tmp_path: Path) -> None:
    write_folder(tmp_path / "t", pa.schema([("year", pa.int64())]))
    options: dict[str, Any] = {"exclude": ["si te"], "bounds": BOUNDS}
    expected = scored(tmp_path / "t", **options).values.tolist()
    odd = tmp_path / "t" / "year=neither%20year%20nor%20number"
    odd.mkdir()
    frame = pl.DataFrame({"x0": [0.0], "x1": [0.0], "x2": [0.0], "x3": [0.0], "y": [1.0]})
    frame.with_columns(pl.lit("A").alias("si te")).write_parquet(odd / "part-0.parquet")
    assert scored(tmp_path / "t", **options).values.tolist() == expected


def test_what_the_names_are_decides_no_refusal(tmp_path: Path) -> None:
    messages = set()
    for number, values in enumerate([["1", "2"], ["HIV+", "well"], ["1", "HIV+"]]):
        for value in values:
            folder = tmp_path / str(number) / "t" / f"state={value}"
            folder.mkdir(parents=True)
            numbers(3, 2).write_parquet(folder / "part-0.parquet")
        for target in ("y", "state"):
            with pytest.raises(InputError) as caught:
                scored(tmp_path / str(number) / "t", target=target, score="kendall")
            messages.add(str(caught.value))
    assert messages == {
        "part-0.parquet: column 'state' holds text from the names of folders, not numbers; leave "
        "it out with --exclude 'state', or if these are numbers, name it in --features or give it "
        "bounds of its own",
        "part-0.parquet: the target 'state' holds text from the names of folders; name one of its "
        "labels with --positive LABEL, or if these are numbers, name it in --features or give it "
        "bounds",
    }


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        (["a=1/p", "b=1/p"], "t: 'a' is named by the folders of some files and not of others"),
        (["a=1/p", "p"], "t: 'a' is named by the folders of some files and not of others"),
        (["a=1/p", "a=1/b=2/p"], "t: 'b' is named by the folders of some files and not of others"),
        (["a=1/a=2/p"], "t: 'a' is named by two folders of one path"),
        (["a=1/b=2/p", "a=1/a=2/p"], "t: '"),
    ],
)
def test_folders_that_do_not_agree_are_refused(
    paths: list[str], message: str, tmp_path: Path
) -> None:
    for path in paths:
        place = tmp_path / "t" / f"{path}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        numbers(3, 2).write_parquet(place)
    with pytest.raises(InputError) as caught:
        find_sources(tmp_path / "t")
    assert str(caught.value).startswith(message)


def test_folders_may_stand_in_another_order_and_between_others(tmp_path: Path) -> None:
    for path in ("a=1/b=2/p", "b=2/more/a=1/p"):
        place = tmp_path / "t" / f"{path}.parquet"
        place.parent.mkdir(parents=True)
        pl.DataFrame({"x": [1.0], "y": [1.0]}).write_parquet(place)
    bounds = {"default": {"lower": -4, "upper": 4}, "columns": {}}
    found = scored(tmp_path / "t", features=["a", "b"], bounds=bounds)
    assert found.values.tolist() == [2 * 2**32 // 16, 4 * 2**32 // 16]


def test_a_column_that_the_files_have_is_the_files(tmp_path: Path) -> None:
    place = tmp_path / "t" / "x=7" / "p.parquet"
    place.parent.mkdir(parents=True)
    frame = pl.DataFrame({"x": [0.5, 0.25], "y": [1.0, 1.0]})
    frame.write_parquet(place)
    assert scored(tmp_path / "t").values.tolist() == scored(frame).values.tolist()


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    for path in ("year=1/p", "_temporary/p", ".cache/p", "_x=2/year=1/p"):
        place = tmp_path / "t" / f"{path}.parquet"
        place.parent.mkdir(parents=True)
        numbers(3, 2).write_parquet(place)
    with pytest.raises(InputError, match="'_x' is named"):
        find_sources(tmp_path / "t")
    (tmp_path / "t" / "_x=2").rename(tmp_path / "t" / "_x")
    assert len(find_sources(tmp_path / "t")) == 1


def test_globs_and_single_files_name_no_columns(tmp_path: Path) -> None:
    write_folder(tmp_path / "t")
    pattern = f"{tmp_path}/t/*/*/*.parquet"
    assert scored(pattern).values.tolist() == (
        scored(tmp_path / "t", exclude=["year", "si te"]).values.tolist()
    )
