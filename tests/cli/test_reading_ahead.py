"""Small wide files are read while the command is still being imported, but not before a charge."""

import json
import os
import time
from pathlib import Path

import polars as pl
import pytest

from dpsel.tables import wide_parquet
from dpsel.tables import wide_parquet as wide_scan
from tests.cli.conftest import Dpsel
from tests.sample_tables import numbers

ASK = ("--target", "y", "--k", 2, "--epsilon", 1, "--seed", 3)


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Take every file for a wide one, and return those whose rows are read ahead."""
    monkeypatch.setattr(wide_parquet, "_LONG_FOOTER", 1)
    found: list[Path] = []
    read_rows = wide_scan.WideScan._read_rows

    def noted(scan: wide_scan.WideScan) -> None:
        found.append(scan.path)
        read_rows(scan)

    monkeypatch.setattr(wide_scan.WideScan, "_read_rows", noted)
    return found


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    numbers(30, 6).write_parquet(path)
    return path


def test_rows_are_read_ahead_once_and_are_the_same(
    dpsel: Dpsel, table: Path, ahead: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [(), ("--exclude", "x1"), ("--features", "x0,x3,x4"), ("--score", "kendall")]
    found = [json.loads(dpsel("select", table, *ASK, *more).out) for more in asked]
    assert ahead == [table] * 4
    monkeypatch.setattr(wide_scan, "_CELLS_AHEAD", 30 * 7 - 1)
    assert [json.loads(dpsel("select", table, *ASK, *more).out) for more in asked] == found
    assert len(ahead) == 4


def test_no_row_is_read_before_a_charge(
    dpsel: Dpsel,
    table: Path,
    ahead: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(tmp_path / "ledger.sqlite3"))
    assert dpsel("budget", "init", "l", "--epsilon", 3).code == 0
    unseeded = ASK[:-2]
    assert dpsel("select", table, *unseeded, "--ledger", "l").code == 0
    monkeypatch.setenv("DPSEL_LEDGER", "l")
    assert dpsel("select", table, *unseeded).code == 0
    assert dpsel("select", table, *unseeded, "--dry-run").code == 0
    assert ahead == []
    monkeypatch.delenv("DPSEL_LEDGER")
    assert dpsel("select", table, *unseeded).code == 0
    assert ahead == [table]


def test_a_file_that_is_overwritten_with_its_old_time_is_read_again(
    tmp_path: Path, ahead: list[Path]
) -> None:
    from dpsel.tables.sources import Source
    from dpsel.tables.wide_parquet import begin_reading, open_wide_parquet

    table, other = tmp_path / "t.parquet", tmp_path / "other"
    for value, path in ((1.0, table), (2.0, other)):
        frame = pl.DataFrame({"x": [value], "y": [value]})
        frame.write_parquet(path, compression="uncompressed", statistics=False)
    os.utime(table, (1, 1))
    begin_reading(str(table), rows_too=True)
    # One tick of the clock of a file system, which is coarse.
    time.sleep(0.02)
    assert table.stat().st_size == other.stat().st_size
    table.write_bytes(other.read_bytes())
    os.utime(table, (1, 1))
    found = open_wide_parquet(Source(table))
    assert found is not None
    assert found._read([0, 1])._frame.rows() == [(2.0, 2.0)]


def test_a_file_that_changes_meanwhile_is_read_again(
    table: Path, ahead: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpsel.tables.sources import Source
    from dpsel.tables.wide_parquet import begin_reading, open_wide_parquet

    begin_reading(str(table), rows_too=True)
    numbers(50, 6, seed=9).write_parquet(table)
    found = open_wide_parquet(Source(table))
    assert found is not None
    assert found._read(list(range(7)))._frame.height == 50
    assert ahead == [table]
