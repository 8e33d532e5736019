"""`dpsel dictionary check`: exact shares, in every format; for the holder, and stamped."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dpsel.dictionary.check import STAMP, ColumnCheck, check_table, check_text
from dpsel.dictionary.facts import ColumnKind
from dpsel.dictionary.options import CheckFormat
from dpsel.dictionary.toml_file import parse_dictionary
from dpsel.errors import InputError
from dpsel.reporter import Reporter
from dpsel.tables import parquet_footer
from dpsel.tables.opening import open_table

FRAME = pl.DataFrame(
    {
        "age": [10.0, 130.0, -1.0, None, 120.0],
        "ward": ["north", "", "south", "SECRET", "north"],
        "code": [1, 2, 3, None, 0],
        "when": ["2020-01-01", "2020-01-02 10:00", "soon", None, "2020-01-05"],
        "dose": ["1", "2", "much", "9", "3"],
        "more": ["x", None, None, "y", "z"],
        "y": ["yes", "no", "perhaps", "no", "yes"],
    }
)
TOLD: dict[str, Any] = {
    "target": {"column": "y", "classes": ["no", "yes"]},
    "columns": {
        "age": {"range": [0, 120]},
        "ward": {"categories": ["north", "south"]},
        "code": {"categories": [0, 1, "2.0"]},
        "when": {"kind": "date"},
        "dose": {"range": [0, 5]},
    },
}
EXPECTED = [
    ColumnCheck("age", ColumnKind.NUMBER, 0.2, 0.4, None, 0.0),
    ColumnCheck("ward", ColumnKind.CATEGORY, 0.2, None, 0.2, None),
    ColumnCheck("code", ColumnKind.CATEGORY, 0.2, None, 0.2, None),
    ColumnCheck("when", ColumnKind.DATE, 0.2, None, None, 0.2),
    ColumnCheck("dose", ColumnKind.NUMBER, 0.0, 0.2, None, 0.2),
    ColumnCheck("more", None, 0.4, None, None, None),
    ColumnCheck("y", ColumnKind.CATEGORY, 0.0, None, 0.2, None),
]


def checked(place: Any, told: dict[str, Any] = TOLD) -> list[ColumnCheck]:
    with closing(open_table(place)) as table:
        return check_table(table, parse_dictionary(told, "d.toml"), Reporter(), 2)


@pytest.mark.parametrize("footer", [1, 1 << 20])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "frame", "parts"])
def test_shares_are_exact_in_every_format(
    ending: str, footer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", footer)
    place: Any = tmp_path / f"t.{ending}"
    if ending == "csv":
        FRAME.write_csv(place)
    elif ending == "parquet":
        FRAME.write_parquet(place, row_group_size=2)
    elif ending == "arrow":
        FRAME.write_ipc(place)
    elif ending == "parts":
        place.mkdir()
        FRAME[:2].write_parquet(place / "a.parquet")
        FRAME[2:].write_parquet(place / "b.parquet")
    else:
        place = FRAME
    assert checked(place) == EXPECTED


def test_a_table_without_rows_or_with_one_column_can_be_checked(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n")
    nothing = ColumnCheck("age", ColumnKind.NUMBER, 0.0, 0.0, None, 0.0)
    assert checked(tmp_path / "t.csv", {"columns": {"age": {"range": [0, 1]}}}) == [nothing]
    with pytest.raises(InputError, match="the table has no column 'aged'; did you mean 'age'"):
        checked(tmp_path / "t.csv", {"columns": {"aged": {}}})


def test_a_check_is_stamped_and_quotes_no_cell() -> None:
    text = check_text(EXPECTED, CheckFormat.TEXT)
    assert text == (
        f"{STAMP}\n"
        "column kind     missing clipped unknown unreadable\n"
        "age    number     20.0%   40.0%               0.0%\n"
        "ward   category   20.0%           20.0%\n"
        "code   category   20.0%           20.0%\n"
        "when   date       20.0%                      20.0%\n"
        "dose   number      0.0%   20.0%              20.0%\n"
        "more              40.0%\n"
        "y      category    0.0%           20.0%\n"
    )
    found = json.loads(check_text(EXPECTED, CheckFormat.JSON))
    assert found["not_for_release"] == STAMP
    assert found["columns"][0] == {
        "name": "age",
        "kind": "number",
        "missing": 0.2,
        "clipped": 0.4,
        "unknown": None,
        "unreadable": 0.0,
    }


def test_lines_fit_a_terminal_whatever_the_names(tmp_path: Path) -> None:
    hostile = ColumnCheck("\x1b[31m" + "n" * 200, ColumnKind.CATEGORY, 0.00001, 1.0, 1.0, 1.0)
    text = check_text([hostile], CheckFormat.TEXT)
    assert all(len(line) <= 80 and line.isprintable() for line in text.splitlines())
    assert "<0.1%" in text
