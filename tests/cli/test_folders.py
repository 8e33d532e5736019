"""Folders that name columns, in every command that reads tables."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Dpsel
from tests.io.test_hive import BOUNDS, write_folder

COMMANDS = {
    "select": ["--k", "2", "--epsilon", "1", "--seed", "1"],
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
