"""`dpsel dictionary`: init from names only; import; check, for the data's holder."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

from dpsel.dictionary.facts import ColumnFacts
from dpsel.dictionary.toml_file import parse_dictionary
from tests.cli.conftest import Dpsel

HOSTILE = ['a"b', "x*y", "\x1b[31mred", "ä", "#", "two\nlines"]


def test_a_skeleton_is_a_dictionary_of_all_columns(tmp_path: Path, dpsel: Dpsel) -> None:
    pl.DataFrame({name: [1, 2] for name in HOSTILE}).write_parquet(tmp_path / "t.parquet")
    done = dpsel("dictionary", "init", tmp_path / "t.parquet")
    assert (done.code, done.err) == (0, "")
    found = parse_dictionary(tomllib.loads(done.out), "t.toml")
    assert found.columns == {name: ColumnFacts() for name in HOSTILE}
    assert all(sign.isprintable() or sign == "\n" for sign in done.out)
    assert all(len(line) <= 90 for line in done.out.splitlines())


@pytest.mark.parametrize("rows", ["", "1,2\n", "secret,2\n3,4\n", '"' + "x" * 100 + '",1\n'])
def test_no_cell_changes_a_skeleton(rows: str, tmp_path: Path, dpsel: Dpsel) -> None:
    table = tmp_path / "t.csv"
    table.write_text("a,b\n")
    header_alone = dpsel("dictionary", "init", table)
    table.write_text("a,b\n" + rows)
    assert dpsel("dictionary", "init", table) == header_alone
    assert header_alone.code == 0


def test_what_can_be_filled_in_is_said_and_true(tmp_path: Path, dpsel: Dpsel) -> None:
    (tmp_path / "t.csv").write_text("COLUMN,diet_a,age\n")
    text = dpsel("dictionary", "init", tmp_path / "t.csv").out
    filled = [
        line.removeprefix("# ")
        for line in text.partition("[columns]")[0].splitlines()
        if line.startswith(("# person =", "# [", "# column", "# classes =", "# positive ="))
    ]
    examples = [line.partition(": ")[2] for line in text.splitlines() if "= { kind" in line[:70]]
    found = parse_dictionary(tomllib.loads("\n".join(filled)), "t.toml")
    assert found.person == "COLUMN"
    assert found.target is not None
    assert found.target.label == "yes"
    assert found.groups == {"diet": ("diet_*",)}
    shown = "\n".join(example for example in examples if example)
    assert len(parse_dictionary({"columns": tomllib.loads(shown)}, "t.toml").columns) == 3
