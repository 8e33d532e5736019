"""Folders that name columns, in every command that reads tables."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Dpsel, Result
from tests.tables.test_hive import BOUNDS, write_folder

COMMANDS = {
    "select": ["--method", "dp-sis", "--k", "2", "--epsilon", "1", "--seed", "1"],
    "baseline": ["--method", "lasso", "--k", "2"],
    "evaluate": ["--k", "2", "--epsilon", "1", "--trials", "2", "--seed", "1"],
}


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path, list[str]]:
    """A folder, the same table in one file of the same name, and options for both."""
    folder, flat = tmp_path / "a" / "t", tmp_path / "b" / "t.parquet"
    flat.parent.mkdir()
    write_folder(folder).write_parquet(flat)
    bounds = tmp_path / "bounds.json"
    bounds.write_text(json.dumps(BOUNDS))
    return folder, flat, ["--target", "si te", "--positive", "Ä", "--bounds", str(bounds)]


@pytest.mark.parametrize("command", list(COMMANDS))
def test_a_folder_s_columns_are_like_those_of_a_file(
    command: str, tables: tuple[Path, Path, list[str]], dpsel: Dpsel
) -> None:
    folder, flat, common = tables
    results = [dpsel(command, place, *common, *COMMANDS[command]) for place in (folder, flat)]
    assert [result.code for result in results] == [0, 0], results[0].err
    texts = [
        result.out.replace(str(place), "t")
        for result, place in zip(results, tables[:2], strict=True)
    ]
    assert texts[0] == texts[1]
    assert len(results[0].out) > 100


def test_a_folder_is_preprocessed_with_its_columns(
    tables: tuple[Path, Path, list[str]], tmp_path: Path, dpsel: Dpsel
) -> None:
    folder, flat, common = tables
    written = []
    for number, place in enumerate((folder, flat)):
        output = tmp_path / f"out{number}.parquet"
        result = dpsel("preprocess", place, output, *common)
        assert result.code == 0, result.err
        written.append(pl.read_parquet(output).sort(pl.all()))
    assert written[0].equals(written[1])
    assert "year" in written[0].columns


WRITING = {
    "select": ["--output"],
    "baseline": ["--method", "sis", "--lower", "-1", "--upper", "1", "--output"],
    "evaluate": ["--epsilon", "1", "--trials", "2", "--output"],
    "preprocess": ["--scale", "max-abs"],
}


def write_into(command: str, table: str, output: str, dpsel: Dpsel) -> Result:
    """Let a command read a table of numbers, and write to a place."""
    more = {"select": ["--k", 1, "--epsilon", 1], "preprocess": []}.get(command, ["--k", 1])
    if command == "preprocess":
        return dpsel(command, table, output, "--target", "y", *WRITING[command])
    return dpsel(command, table, "--target", "y", *more, *WRITING[command], output)


@pytest.mark.parametrize("command", list(WRITING))
@pytest.mark.parametrize(
    ("table", "output"),
    [
        ("parts", "parts/new.parquet"),
        ("parts", "parts/b/../deep/new.parquet"),
        ("elsewhere", "parts/new.parquet"),
        ("parts", "elsewhere/new.parquet"),
        ("parts/*.parquet", "parts/new.parquet"),
        ("./parts/**/*.parquet", "parts/deep/new.parquet"),
    ],
)
def test_nothing_is_written_that_would_be_part_of_the_table(
    command: str, table: str, output: str, parts: Path, dpsel: Dpsel
) -> None:
    before = sorted(parts.rglob("*"))
    result = write_into(command, table, output, dpsel)
    assert (result.code, result.out) == (5, "")
    assert result.err == f"error: {output}: would be a file of the table; name one elsewhere\n"
    assert sorted(parts.rglob("*")) == before


@pytest.mark.parametrize(
    ("table", "output"),
    [
        ("parts", "new.parquet"),
        ("parts", "parts/_old/new.parquet"),
        ("parts/a.parquet", "parts/new.parquet"),
        ("parts/*.parquet", "parts/deep/new.parquet"),
        ("parts/[a].parquet", "parts/b.parquet"),
    ],
)
def test_what_is_beside_the_table_can_be_written(
    table: str, output: str, parts: Path, dpsel: Dpsel
) -> None:
    result = write_into("preprocess", table, output, dpsel)
    assert result.code == 0, result.err
    assert Path(output).exists()


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of numbers, with folders in it, and another name for it."""
    monkeypatch.chdir(tmp_path)
    for folder in ("deep", "b", "_old"):
        (tmp_path / "parts" / folder).mkdir(parents=True)
    (tmp_path / "elsewhere").symlink_to("parts")
    frame = pl.DataFrame({"x": [1.0, 0.0], "z": [0.5, 0.5], "y": [1.0, -1.0]})
    frame.write_parquet("parts/a.parquet")
    frame.write_parquet("parts/deep/a.parquet")
    return tmp_path / "parts"
