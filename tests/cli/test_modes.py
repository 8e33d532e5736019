"""Who may read what a command has written: records are public, numbers of a table are not."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Dpsel

TABLE = "x,z,y\n" + "".join(f"{i % 3},{i % 5},{i % 2}\n" for i in range(30))
ASK = ("--target", "y", "--k", 1, "--epsilon", 1)
SIS = ("--method", "sis", "--lower", 0, "--upper", 4)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A table, and a mask with which others may read whatever is not kept from them."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    before = os.umask(0o022)
    yield "t.csv"
    os.umask(before)


def modes(*known: str) -> dict[str, int]:
    """Return the modes of all files in the current folder, but for those that were there."""
    files = [file for file in Path().iterdir() if file.name not in known]
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in files}


@pytest.mark.parametrize("name", ["p.parquet", "p.arrow", "p.csv"])
def test_a_preprocessed_table_is_for_its_owner(name: str, table: str, dpsel: Dpsel) -> None:
    assert dpsel("preprocess", table, name, "--target", "y").code == 0
    beside = {"p.csv.dpsel.json": 0o600} if name == "p.csv" else {}
    assert modes(table) == {name: 0o600, **beside}


def test_results_and_reports_of_an_evaluation_are_for_their_owner(table: str, dpsel: Dpsel) -> None:
    options = ("--truth", "sis", "--method", "dot/canonical-lipschitz", "--trials", 2)
    places = ("--output", "r.json", "--report", "r.html", "--threads", 1)
    result = dpsel("evaluate", table, *ASK, *options, *places)
    assert result.code == 0, result.err
    assert modes(table) == {"r.json": 0o600, "r.html": 0o600}


def test_what_is_released_is_for_all(table: str, dpsel: Dpsel) -> None:
    assert dpsel("select", table, *ASK, "--output", "s.json").code == 0
    kendall = ("--method", "dpkendall")
    assert dpsel("baseline", table, *ASK, *kendall, "--output", "b.json").code == 0
    assert modes(table) == {"s.json": 0o644, "b.json": 0o644}


def test_a_selection_without_privacy_is_for_its_owner(table: str, dpsel: Dpsel) -> None:
    assert dpsel("select", table, *ASK, "--seed", 1, "--output", "s.json").code == 0
    assert dpsel("baseline", table, *ASK, *SIS, "--output", "b.json").code == 0
    assert modes(table) == {"s.json": 0o600, "b.json": 0o600}
