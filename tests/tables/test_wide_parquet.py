"""Wide Parquet files: their footer is read ahead, and no row before a charge."""

import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from dpsel.budget.account import NoAccount
from dpsel.budget.place import Demands
from dpsel.selection.request import select_run
from dpsel.selection.run import SelectJob, carry_out
from dpsel.tables import parquet_footer
from dpsel.tables.opening import open_table
from dpsel.tables.parquet import ParquetTable
from dpsel.tables.wide_parquet import WideScan
from tests.sample_tables import Silent, numbers, request_for


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Take every file for a wide one, and return what is read of it, in order."""
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    found: list[str] = []
    footer, rows = WideScan._read_footer, WideScan.read

    def read_footer(scan: WideScan) -> None:
        found.append("footer")
        footer(scan)

    def read_rows(scan: WideScan, positions: list[int] | None) -> pl.DataFrame:
        found.append("rows")
        return rows(scan, positions)

    monkeypatch.setattr(WideScan, "_read_footer", read_footer)
    monkeypatch.setattr(WideScan, "read", read_rows)
    return found


def test_no_row_is_read_before_a_charge(steps: list[str], tmp_path: Path) -> None:
    class Charging(NoAccount):
        def charge(self) -> None:
            steps.append("charge")

    table = tmp_path / "t.parquet"
    numbers(30, 6).with_columns(who=pl.Series(range(30)), label=pl.lit("ill")).write_parquet(table)
    for options in (
        {"exclude": ("who", "label")},
        {"score": "kendall", "exclude": ("who", "label")},
        {"person": "who", "exclude": ("label",)},
        {"target": "label", "positive": "ill", "exclude": ("who",)},
    ):
        request = request_for(**options)
        account = Charging(select_run(table, request), Demands())
        carry_out(SelectJob(table, request, Silent()), account)
        assert steps[:3] == ["footer", "charge", "rows"]
        assert set(steps[3:]) <= {"rows"}
        steps.clear()


def test_files_of_many_rows_are_read_without_polars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    monkeypatch.setattr(parquet_footer, "_FEW_ROWS", 29)
    monkeypatch.setitem(sys.modules, "dpsel.tables.wide_parquet", None)  # no module can be imported
    numbers(30, 6).write_parquet(tmp_path / "t.parquet")
    with closing(open_table(tmp_path / "t.parquet")) as table:
        assert isinstance(table, ParquetTable)
    numbers(29, 6).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ModuleNotFoundError):
        open_table(tmp_path / "t.parquet")
