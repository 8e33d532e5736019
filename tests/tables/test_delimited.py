"""What a cell of a CSV means, alone and in whatever company."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpsel.core.scores.registry import SCORES
from dpsel.errors import InputError
from dpsel.tables import delimited_cells as cells_module
from dpsel.tables import delimited_rows as rows_of_text
from dpsel.tables.delimited import DelimitedTable
from dpsel.tables.delimited_cells import cells_of, numbers_of
from dpsel.tables.delimited_rows import rows_end
from dpsel.tables.formats import AS_NAMED, Dialect
from dpsel.tables.sources import Source
from dpsel.tables.words import text_cells
from tests.sample_tables import request_for, scored, scored_table

MEANINGS = {
    "0.5": 0.5,
    "-1e-3": -0.001,
    "+7": 7.0,
    ".5": 0.5,
    "5.": 5.0,
    "inf": math.inf,
    "-Infinity": -math.inf,
    "NaN": math.nan,
    "": math.nan,
    "NA": math.nan,
    "abc": math.nan,
    "1.5x": math.nan,
    "0x10": math.nan,
    "1e400": math.inf,
    "true": 1.0,
    "FALSE": 0.0,
    "True": 1.0,
    "truest": math.nan,
    "untrue": math.nan,
    "4.9e-324": 5e-324,
    "\ufffd": math.nan,
    "2020-02-29": math.nan,
    "23:59": math.nan,
    "nan": math.nan,
}
CELL = st.one_of(st.sampled_from(list(MEANINGS)), st.floats(-9, 9).map(repr))


def meaning(cell: str) -> float:
    return MEANINGS[cell] if cell in MEANINGS else float(cell)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1)
    ),
    st.sampled_from([",", "\t", ";"]),
    st.sampled_from(["\n", "\r\n"]),
)
@example([["true", "1"], ["0.5", "abc"]], ",", "\r\n")
def test_a_cell_means_the_same_in_a_wide_table_and_in_a_narrow_one(
    rows: list[list[str]], separator: str, line_end: str
) -> None:
    width = len(rows[0])
    text = "".join(separator.join(row) + line_end for row in rows).encode()
    expected = np.array([[meaning(cell) for cell in row] for row in rows])
    narrow_cells = cells_of(text, Dialect(separator), width)
    narrow = numbers_of(narrow_cells, range(width))
    limit = cells_module._MANY_COLUMNS
    cells_module._MANY_COLUMNS = 1
    try:
        wide_cells = cells_of(text, Dialect(separator), width)
    finally:
        cells_module._MANY_COLUMNS = limit
    wide = numbers_of(wide_cells, range(width))
    assert type(wide_cells).__name__ == "_WideCells"
    assert np.array_equal(narrow, expected, equal_nan=True)
    assert np.array_equal(wide, expected, equal_nan=True)
    words = [
        cells_module.fill_in_words(cells, cells.parsed(range(width)), range(width))
        for cells in (narrow_cells, wide_cells)
    ]
    assert words[0].tobytes() == np.asarray(words[1], order="F").tobytes()
    for column in range(width):
        texts = pl.Series([row[column] for row in rows], dtype=pl.String)
        assert words[0][:, column].tobytes() == text_cells(texts).tobytes()
    for position in range(width):
        cells = [row[position] or None for row in rows]
        assert wide_cells.texts([position])[0].to_pylist() == cells


def test_quoted_cells_and_ragged_rows_are_read_the_careful_way() -> None:
    header_width = 600
    long_row = ",".join(["1"] * (header_width + 5))
    short_row = ",".join(["2"] * 3)
    quoted = ",".join(['"3"'] * header_width)
    text = f"{long_row}\n{short_row}\n\n{quoted}\n".encode()
    found = numbers_of(cells_of(text, Dialect(","), header_width), range(header_width))
    assert found.shape == (4, header_width)
    assert np.all(found[0] == 1)
    assert np.all(found[1, :3] == 2)
    assert np.isnan(found[1, 3:]).all()
    assert np.isnan(found[2]).all()
    assert np.all(found[3] == 3)


@pytest.mark.parametrize("text_bytes", [1, 3, 16, 1 << 20])
def test_line_breaks_inside_quotes_end_no_row(text_bytes: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(
        b'\xef\xbb\xbf"x\n1",note,y\r\n0.5,"one\ntwo ""three""\n",1\r\n0.25,"a,b",1\r\n1,,0.5'
    )
    table = DelimitedTable(Source(path), AS_NAMED, text_bytes)
    assert [column.name for column in table.columns] == ["x\n1", "note", "y"]
    found = scored_table(table, request_for(exclude=("note",)))
    assert found.values.tolist() == [round(1.25 * 2**32)]


def test_a_row_does_not_change_what_another_one_means(tmp_path: Path) -> None:
    for cell in ("tRuE", "0.5 ", " 0.5", "0.5\x01", "\t0.5", "0.5\t", "truE ", "'1'", "1\v"):
        for neighbor in ("true", "FALSE ", "x ", "a\x01b", '"q"', '""'):
            path = tmp_path / "t.csv"
            path.write_text(f"x,y\n{cell},1\n")
            alone = scored(str(path), features=("x",)).values.tolist()
            path.write_text(f"x,y\n{cell},1\n{neighbor},0\n")
            assert scored(str(path), features=("x",)).values.tolist() == alone


def test_a_cell_with_odd_characters_means_the_same_in_a_wide_table(tmp_path: Path) -> None:
    width = 600
    names = ",".join(f"x{i}" for i in range(width))
    for cell in ("tRuE", "true", "0.5 ", " 0.5", "0.5\x01", "\t0.5", "0.5\t", "TRUE "):
        (tmp_path / "n.csv").write_text(f"x,y\n{cell},1\n")
        (tmp_path / "w.csv").write_text(f"{names},y\n{','.join([cell] * width)},1\n")
        narrow = scored(str(tmp_path / "n.csv"), features=("x",)).values.tolist()
        assert scored(str(tmp_path / "w.csv")).values.tolist() == narrow * width


@pytest.mark.parametrize("cell", ["5\r\r", "true\r\r", "x\r\r", "\r\r", "5\r", "2020-01-01\r\r\r"])
def test_carriage_returns_after_a_cell_mean_the_same_in_whatever_company(cell: str) -> None:
    """As in files with lines that end with CR CR LF. Wide rows are read in ways that depend on it.

    Which way depends on how many cells are no numbers, and on whether any other row has a quote.
    """
    width = 600
    plain = ["1"] * (width - 1)
    few = ",".join([*plain, cell]) + "\n"
    many = ",".join([*["word"] * (width - 1), cell]) + "\n"
    quoted = ",".join(['"1"', *plain]) + "\n"
    last = [width - 1]
    found = set()
    for text in (few, few + many, few + quoted):
        cells = cells_of(text.encode(), Dialect(","), width)
        matrix = cells.parsed(range(width))
        words = cells_module.fill_in_words(cells, matrix, range(width))
        number = numbers_of(cells, range(width))[0, -1]
        label = cells.texts(last)[0].to_pylist()[0]
        found.add((words[0, -1].tobytes(), str(number), label))
    assert len(found) == 1


def test_lines_without_anything_before_the_header_are_passed_over(tmp_path: Path) -> None:
    for text_bytes in (1, 100):
        path = tmp_path / "t.csv"
        path.write_bytes(b"\xef\xbb\xbf\r\n\n  \nx,y\n1,1\n")
        table = DelimitedTable(Source(path), AS_NAMED, text_bytes)
        assert scored_table(table, request_for()).values.tolist() == [2**32]


def test_an_open_quote_is_refused_without_reading_on_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsel.tables.delimited_rows.TEXT_BYTES", 1000)
    for start in ('"1', '5"'):
        path = tmp_path / "t.csv"
        path.write_text(f"x,y\n{start},1\n" + "1,1\n" * 100_000)
        table = DelimitedTable(Source(path), AS_NAMED, 500)
        with pytest.raises(InputError, match="a quote is not closed"):
            scored_table(table, request_for())
        assert len(table._text._rest) < 3000


LONG_CELLS = {
    "digits": b"1" * 2000,
    "quoted": b'"' + b"a" * 2000 + b'"',
    "line breaks": b'"' + b"\n1,1,1" * 400 + b'"',
    "doubled quotes": b'"' + b'""' * 1000 + b'"',
    "more cells": b"1," * 1000 + b"1",
    "quoted cells": b'"1",' * 500 + b'""',
}


@pytest.mark.parametrize("text_bytes", [7, 64, 999, 1000])
@pytest.mark.parametrize("kind", list(LONG_CELLS))
def test_a_row_that_is_too_long_is_one_of_missing_values(
    kind: str, text_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes before it: whether it is too long is a matter of that row alone."""
    monkeypatch.setattr("dpsel.tables.delimited_rows.TEXT_BYTES", 1000)
    row = b"1,1," + LONG_CELLS[kind] + b",1"
    for before, end in itertools.product((0, 1, 13, 40), (b"\n", b"\r\n", b"")):
        path = tmp_path / "t.csv"
        after = b"1,1,1,1\n" * (20 if end else 0)
        path.write_bytes(b"x,z,note,y\n" + b"1,0,1,1\n" * before + row + end + after)
        table = DelimitedTable(Source(path), AS_NAMED, text_bytes)
        found = scored_table(table, request_for(features=("x", "z")))
        rows = 20 if end else 0
        assert found.values.tolist() == [(before + rows) * 2**32, rows * 2**32]
        assert len(table._text._rest) <= 2000


@pytest.mark.parametrize("length", [996, 997, 998, 1200])
def test_the_longest_row_is_as_long_wherever_it_is(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsel.tables.delimited_rows.TEXT_BYTES", 1000)
    path = tmp_path / "t.csv"
    for before, text_bytes in itertools.product(range(0, 50, 7), (1, 10, 333, 1000)):
        path.write_bytes(b"x,y\n" + b"0,0\n" * before + b"1," + b"0" * (length - 3) + b"1\n")
        table = DelimitedTable(Source(path), AS_NAMED, text_bytes)
        found = scored_table(table, request_for(features=("x",), lower=-1.0, upper=1.0))
        assert found.values.tolist() == [2**32 if length < 1000 else 0]


def test_a_row_may_be_many_times_as_long_as_the_first_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsel.tables.delimited_rows.TEXT_BYTES", 1000)
    names = [f"x{place}" for place in range(400)]
    path = tmp_path / "t.csv"
    row = ",".join(["1.000000000000000000000"] * 401)
    path.write_text(f"{','.join(names)},y\n{row}\n")
    assert len(row) > 5000
    table = DelimitedTable(Source(path), AS_NAMED, 500)
    assert scored_table(table, request_for()).values.tolist() == [2**32] * 400


@pytest.mark.parametrize("length", range(7))
def test_the_end_of_a_long_row_is_where_that_of_a_short_one_is(length: int) -> None:
    """All texts of some signs, cut in two anywhere, against the check of whole rows."""
    quoted_cell = rows_of_text._quoted_cell(",")
    for signs in itertools.product(b'",\r\na', repeat=length):
        text = bytes(signs)
        found = {long_row(text[:cut], text[cut:]) for cut in range(length + 1)}
        (end,) = found
        if end is not None:
            assert b'"' not in quoted_cell.sub(b"", text[:end])
            assert rows_end(text, 1) in (0, end)
        else:
            whole = rows_end(text, 1) or length
            assert b'"' in quoted_cell.sub(b"", text[:whole])


def long_row(*blocks: bytes) -> int | None:
    """Return where a row ends in a text, its length if it does not, None for a wrong quote."""
    row, before = rows_of_text._LongRow(","), 0
    for block in blocks:
        end = row.end_in(block)
        if row.place is rows_of_text._Place.STRAY:
            return None
        if end:
            return before + end
        before += len(block)
    return None if row.place is rows_of_text._Place.QUOTED else before


def test_a_row_whose_quotes_are_accepted_can_be_read() -> None:
    """All texts of some signs: what is refused is refused for its quotes, before a cell is read."""
    quoted_cell = rows_of_text._quoted_cell(",")
    read = 0
    for signs in itertools.product(b'",\r\na', repeat=5):
        text = bytes(signs) + b"\n"
        if b'"' in text and b'"' not in quoted_cell.sub(b"", text):
            columns = cells_of(text, Dialect(","), 2).texts([0, 1])
            assert {len(column) for column in columns} == {len(rows_of_text.row_ends(text))}
            read += 1
    assert read > 100


def test_names_in_quotes_may_be_followed_by_two_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'"y","x"\r\r\n1,1\n')
    assert scored(str(path)).values.tolist() == [2**32]


def test_bytes_that_are_no_utf_8_are_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"x,y\n\xff\xfe,1\n1,1\n1,\xff\n")
    assert scored(str(path)).values.tolist() == [2**32]
    assert scored(str(path), positive="1").values.tolist() == [0]
    path.write_bytes(b"x,note,y\n1,caf\xe9,1\n1,b,1\n")
    assert scored(str(path), exclude=("note",)).values.tolist() == [2 * 2**32]
    assert scored(str(path), person="note").values.tolist() == [2 * 2**32]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv: is empty; a first line with column names is needed"),
        (b"\n\n", "t.csv: is empty; a first line with column names is needed"),
        (b"\xff\xfex\x00,\x00y\x00\n\x00", "t.csv: is text in UTF-16; save it as CSV in UTF-8"),
        ("x,y\n1,2".encode("utf-16-be"), "t.csv: its first line is not text in UTF-8; convert it"),
        (b"\xfe\xff" + "x,y\n".encode("utf-16-be"), "t.csv: is text in UTF-16; save it"),
        (b"gr\xf6\xdfe,y\n1,2\n", "t.csv: its first line is not text in UTF-8; convert it"),
        (b"PK\x03\x04\x14\0\6\0rest", "t.csv: is a spreadsheet or an archive (.xlsx, .ods, .zip)"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest", "t.csv: is a spreadsheet; save the sheet as CSV"),
        (bytes(range(256)), "t.csv: its first line is not text in UTF-8"),
        (b"\x1f\x8bnonsense", "t.csv: cannot be read as a CSV table; it is damaged, cut short or"),
        (b"\x28\xb5\x2f\xfdnonsense", "t.csv: cannot be read as a CSV table; it is damaged, cut"),
        (b"x,x,y\n1,2,3\n", "t.csv: columns 1 and 2 have the same name; rename one"),
    ],
)
def test_what_is_no_table_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as raised:
        scored(str(path))
    assert str(raised.value).startswith(message)


def write(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_text_column_counts_as_missing(tmp_path: Path) -> None:
    empty = scored(write(tmp_path, "ward,x,y", ",1,1", ",2,2"), score="kendall").values.tolist()
    path = write(tmp_path, "ward,x,y", "north,1,1", "south,2,2")
    assert scored(path, score="kendall").values.tolist() == empty
    path = write(tmp_path, "ward,x,y", "north,1,1", "south,1,1")
    assert scored(path, exclude=("ward",)).values.tolist() == [2 * 2**32]
    assert scored(path, features=("x",)).values.tolist() == [2 * 2**32]
    assert scored(path, features=("x,ward",)).values.tolist() == [0, 2 * 2**32]


def test_a_text_target_without_a_label_counts_as_missing(tmp_path: Path) -> None:
    empty = scored(write(tmp_path, "x,y", "1,", "2,"), score="kendall").values.tolist()
    path = write(tmp_path, "x,y", "1,ill", "2,well")
    assert scored(path, score="kendall").values.tolist() == empty
    path = write(tmp_path, "x,y", "1,ill", "1,well")
    assert scored(path, positive="ill").values.tolist() == [0]


def test_one_row_of_words_stops_nothing_whatever_else_there_is(tmp_path: Path) -> None:
    for others in ([], ["1,1,1"], [",,"], ["NA,NaN,null"]):
        lines = ["ward,x,y", *others, "north,abc,def", *others]
        for score in SCORES:
            assert len(scored(write(tmp_path, *lines), score=score).values) == 2


UNIT = {"lower": 0, "upper": 1}
TYPED: list[dict[str, Any]] = [
    {"features": ("ward", "x")},
    {"features": ("*",)},
    {"bounds": {"default": UNIT, "target": UNIT, "columns": {"ward": UNIT}}},
    {"bounds": {"default": UNIT}},
    {"lower": 0.0, "upper": 1.0},
]
WORDS = ("north,abc,ill", "south,def,well")


@pytest.mark.parametrize("options", TYPED)
@pytest.mark.parametrize("rows", [WORDS, WORDS[:1], (*WORDS, "1,1,1"), ("1,1,1",) * 99 + WORDS])
def test_no_cell_decides_where_the_user_says_what_is_numbers(
    rows: tuple[str, ...], options: dict[str, Any], tmp_path: Path
) -> None:
    numbers = [row for row in rows if row == "1,1,1"]
    found = scored(write(tmp_path, "ward,x,y", *rows), **options).values.tolist()
    assert found == scored(write(tmp_path, "ward,x,y", *numbers), **options).values.tolist()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A second row of words, the only number gone, and a number that is no longer in the window.
        (["a,1,1"], ["a,1,1", "b,0,0"]),
        (["a,1,1", "b,0,0", "5,1,1"], ["a,1,1", "b,0,0"]),
        (["a,1,1", "b,0,0", *[",1,1"] * 97, "5,1,1"], ["a,1,1", "b,0,0", *[",1,1"] * 98, "5,1,1"]),
    ],
)
def test_no_row_of_words_decides_either_where_the_user_says_nothing(
    before: list[str], after: list[str], tmp_path: Path
) -> None:
    assert abs(len(before) - len(after)) == 1
    for rows in (before, after):
        assert len(scored(write(tmp_path, "ward,x,y", *rows), score="kendall").values) == 2


def test_a_header_without_rows_has_scores(tmp_path: Path) -> None:
    assert scored(write(tmp_path, "x,z,y")).values.tolist() == [0, 0]
    (tmp_path / "bare.csv").write_text("x,z,y")
    assert scored(str(tmp_path / "bare.csv")).values.tolist() == [0, 0]
