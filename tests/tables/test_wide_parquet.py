"""Wide Parquet files: their footer is read ahead, and no row before a charge."""

import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from dpsel.budget.account import Account
from dpsel.budget.payment import Demands
from dpsel.errors import InputError
from dpsel.selection.request import select_run
from dpsel.selection.run import SelectJob, carry_out
from dpsel.tables import parquet_footer
from dpsel.tables.opening import open_table
from dpsel.tables.parquet import ParquetTable
from dpsel.tables.sources import Source
from dpsel.tables.wide_parquet import WideScan, open_wide_parquet
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
    class Charging(Account):
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


def test_a_name_that_is_no_text_is_an_error_of_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    table = tmp_path / "t.parquet"
    numbers(30, 6).rename({"x1": "abcd"}).write_parquet(table)
    table.write_bytes(table.read_bytes().replace(b"abcd", b"ab\xff\xfe"))
    with pytest.raises(InputError, match="cannot be read as a Parquet table"):
        open_table(table)


def test_large_files_are_read_by_their_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    table, request = tmp_path / "t.parquet", request_for(seed=1)
    numbers(30, 6).write_parquet(table)
    records = []
    for largest, content in ((1 << 28, table.read_bytes()), (1, None)):
        monkeypatch.setattr(parquet_footer, "_LARGEST_IN_MEMORY", largest)
        footer = parquet_footer.wide_footer(table)
        assert footer is not None
        assert footer.file.wait() == content
        account = Account(select_run(table, request), Demands())
        records.append(carry_out(SelectJob(table, request, Silent()), account).record)
    assert records[0] == records[1]


def test_a_file_that_cannot_be_read_is_left_to_the_other_reader(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
    numbers(30, 6).write_parquet(tmp_path / "t.parquet")
    footer = parquet_footer.wide_footer(tmp_path / "t.parquet")
    assert footer is not None
    # A folder can be opened by no reader.
    failed = replace(footer, file=parquet_footer.FileContent(tmp_path))
    with pytest.raises(IsADirectoryError):
        failed.file.wait()
    assert open_wide_parquet(Source(tmp_path / "t.parquet"), footer) is not None
    assert open_wide_parquet(Source(tmp_path / "t.parquet"), failed) is None
