"""What the first line of a text tells, and numbers with a decimal comma."""

import math
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from dpsel.errors import InputError, UsageError
from dpsel.tables import delimited_cells as cells_module
from dpsel.tables.cells import pointed_texts, text_numbers
from dpsel.tables.delimited_cells import cells_of, numbers_of
from dpsel.tables.formats import AS_NAMED, Dialect, FileFormat, recognized_separator
from dpsel.tables.opening import open_table
from dpsel.tables.words import text_cells
from tests.sample_tables import scored


@pytest.mark.parametrize(
    ("line", "decimal", "separator"),
    [
        ("a,b,c", ".", ","),
        ("a;b;c", ".", ";"),
        ("a\tb", ".", "\t"),
        ("a|b|c", ".", "|"),
        ("a", ".", ","),
        ("", ".", ","),
        ("weight, kg;height;y", ".", ";"),
        ("TP53|7157,EGFR|1956,y", ".", ","),
        ("a;b,c", ".", ","),
        ("a|b;c", ".", ";"),
        ('"a;b;c;d",y', ".", ","),
        ('"a,b,c";"say ""x,y,z""";y', ".", ";"),
        ("a, b, c;y", ",", ";"),
        ("a,b,y", ",", ","),
        ("a|b,c,d,e", ",", "|"),
    ],
)
def test_the_sign_that_separates_most_names_separates_cells(
    line: str, decimal: str, separator: str
) -> None:
    assert recognized_separator(line.encode(), decimal) == separator


def names_of(path: Path, written: FileFormat = AS_NAMED) -> list[str]:
    with closing(open_table(path, written)) as table:
        return [column.name for column in table.columns]


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("row", ["1;2;3", "1,2,3", "1\t2|3", '"a;b,c|d"', "", "x" * 99])
def test_no_row_has_a_part_in_it(separator: str, row: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(separator.join(["a", "b", "y"]) + f"\n{row}\n" * 20)
    assert names_of(path) == ["a", "b", "y"]


def test_a_separator_that_is_given_wins_and_a_tsv_has_tabs(tmp_path: Path) -> None:
    for name in ("t.csv", "t.tsv"):
        (tmp_path / name).write_text("a,b,c;d\te\n")
    for name, given, names in (
        ("t.csv", None, ["a", "b", "c;d\te"]),
        ("t.csv", ";", ["a,b,c", "d\te"]),
        ("t.csv", "\t", ["a,b,c;d", "e"]),
        ("t.tsv", None, ["a,b,c;d", "e"]),
        ("t.tsv", ";", ["a,b,c", "d\te"]),
    ):
        assert names_of(tmp_path / name, FileFormat(separator=given)) == names


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "\ufeffsep=;\n"])
def test_a_line_for_excel_above_the_names_is_passed_over(first: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(first + "a, b, c, d;x;y\n1;0,5;1\n", newline="")
    assert names_of(path) == ["a, b, c, d", "x", "y"]
    assert names_of(path, FileFormat(separator=",")) == ["a", " b", " c", " d;x;y"]
    assert scored(str(path), features=("x",), decimal=",").values.tolist() == [2**31]
    path.write_text("sep=;")
    with pytest.raises(InputError, match="is empty; a first line with column names is needed"):
        names_of(path)


def test_a_decimal_sign_is_a_point_or_a_comma() -> None:
    for sign in ("", ";", ".,", "point"):
        with pytest.raises(UsageError, match=r"decimal must be '\.' or ','"):
            FileFormat(decimal=sign)


@pytest.mark.parametrize(
    ("line", "shown"),
    [("weight, kg, a, b;y", "';'"), ("a;b;y,c", "','"), ("a,b,c\ty", "$'\\t'")],
)
def test_a_column_that_another_sign_would_separate_is_seen(
    line: str, shown: str, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text(f"{line}\n")
    with pytest.raises(UsageError) as raised:
        scored(str(tmp_path / "t.csv"))
    assert str(raised.value) == (
        "--target: t.csv has no column 'y', only as a part of a longer name; "
        f"try --separator {shown}"
    )


MEANINGS = {
    "3,14": 3.14,
    "-0,1": -0.1,
    "1,5e-7": 1.5e-7,
    ",5": 0.5,
    "5,": 5.0,
    " 2,5": 2.5,
    "2,5 ": 2.5,
    "7": 7.0,
    "0,1000000000000000055511151231257827": 0.1,
    "1,7976931348623157e308": 1.7976931348623157e308,
    "TRUE": 1.0,
    "-inf": -math.inf,
    "NA": math.nan,
    "": math.nan,
    "3.14": math.nan,
    "1.234,5": math.nan,
    "1.234": math.nan,
    "1,234,5": math.nan,
    "a,b": math.nan,
}


@pytest.mark.parametrize("many_columns", [1, 500])
@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_a_number_with_a_comma_is_the_number_with_a_point_to_the_bit(
    separator: str, many_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells_module, "_MANY_COLUMNS", many_columns)
    shown = [f'"{cell}"' if separator in cell else cell for cell in MEANINGS]
    text = (separator.join(shown) + "\n").encode()
    cells = cells_of(text, Dialect(separator, ","), len(shown))
    found = numbers_of(cells, range(len(shown)))[0]
    assert found.tobytes() == np.array(list(MEANINGS.values())).tobytes()


@pytest.mark.parametrize("many_columns", [1, 500])
def test_words_and_times_are_those_of_a_text_with_points(
    many_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cells_module, "_MANY_COLUMNS", many_columns)
    as_with_points = ["3.14", "red", "a.b", "a,b", "2021-03-04 05:06:07.5", "NA", "", "23:59"]
    here = ["3,14", *as_with_points[1:]]
    cells = cells_of(";".join(here).encode() + b"\n", Dialect(";", ","), len(here))
    found = cells_module.fill_in_words(cells, cells.parsed(range(len(here))), range(len(here)))[0]
    assert found.tobytes() == text_cells(pl.Series(as_with_points, dtype=pl.String)).tobytes()
    thousands = text_cells(pl.Series(["1.234"]), ",")
    assert np.isnan(thousands).all()


def test_equal_persons_and_labels_are_written_alike() -> None:
    column = pa.array(["1,50", "1,5", " 7,0", "1.5", "A,B", "1.234,5", None, "ä,1"])
    assert pointed_texts(column).to_pylist() == [
        *["1.50", "1.5", " 7.0", "1.5", "A,B", "1.234,5", None, "ä,1"]
    ]
    assert text_numbers(column, ",")[:3].tolist() == [1.5, 1.5, 7.0]


ROWS = 40
FRAME = pl.DataFrame(
    {
        "x1": (np.arange(ROWS) % 7 / 10).tolist(),
        "x2": (np.arange(ROWS) % 5 / 10 - 0.2).tolist(),
        "y": (np.arange(ROWS) % 3 / 10).tolist(),
        "who": (np.arange(ROWS) % 13 / 2).tolist(),
    }
)
AS: list[dict[str, Any]] = [
    {"score": "dot", "exclude": ("who",)},
    {"score": "covariance", "exclude": ("who",)},
    {"score": "kendall", "exclude": ("who",)},
    {"score": "dot", "person": "who"},
    {"score": "dot", "target": "who", "positive": "1.5"},
]


@pytest.mark.parametrize("asked", AS)
def test_scores_are_the_same_bits(asked: dict[str, Any], tmp_path: Path) -> None:
    text = FRAME.write_csv()
    (tmp_path / "p.csv").write_text(text)
    (tmp_path / "c.csv").write_text(text.replace(",", ";").replace(".", ","))
    cells = [line.replace(".", ",").split(";") for line in text.replace(",", ";").splitlines()]
    quoted = [",".join(f'"{cell}"' for cell in row) for row in cells]
    (tmp_path / "q.csv").write_text("\n".join(quoted))
    expected = scored(str(tmp_path / "p.csv"), **asked)
    assert expected.values.any()
    for name in ("c.csv", "q.csv"):
        found = scored(str(tmp_path / name), **asked, decimal=",")
        assert found.values.tobytes() == expected.values.tobytes()
