"""`dpsel dictionary`: init from names only; import; check, for the data's holder."""

import json
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


def test_an_imported_dictionary_is_printed_as_toml_and_can_be_used(
    tmp_path: Path, dpsel: Dpsel
) -> None:
    header = "field_name,field_type,field_label,select_choices_or_calculations\n"
    fields = "who,text,Who,\nage,calc,Age,\nill,yesno,Ill,\n"
    (tmp_path / "redcap.csv").write_text(header + fields)
    done = dpsel("dictionary", "import", tmp_path / "redcap.csv")
    assert done.code == 0
    assert done.err.startswith("note: 'who', the first field, is taken as the person")
    (tmp_path / "d.toml").write_text(done.out)
    (tmp_path / "t.csv").write_text("who,age,ill\n1,2,0\n2,3,1\n")
    asked = ("select", tmp_path / "t.csv", "--target", "ill", "--k", 1, "--epsilon", 1, "--quiet")
    record = json.loads(dpsel(*asked, "--dictionary", tmp_path / "d.toml").out)
    assert record["guarantee"]["unit"] == "person"
    assert record["positive"] == "1"
    assert dpsel("dictionary", "import", tmp_path / "redcap.csv", "--from", "csvw-eo").code == 3


def test_two_codes_are_bounded_by_themselves(tmp_path: Path, dpsel: Dpsel) -> None:
    (tmp_path / "t.csv").write_text("a,b,y\n0,2,1\n1,3,2\n")
    (tmp_path / "d.toml").write_text(
        "[columns]\na.categories = [0, 1]\nb.range = [0, 9]\ny.range = [0, 9]\n"
    )
    asked = ("select", tmp_path / "t.csv", "--target", "y", "--k", 1, "--epsilon", 1, "--quiet")
    done = dpsel(*asked, "--score", "dot", "--dictionary", tmp_path / "d.toml")
    assert (done.code, done.err) == (0, "")


def test_a_check_is_for_the_holder_and_no_cell_decides_how_it_ends(
    tmp_path: Path, dpsel: Dpsel
) -> None:
    (tmp_path / "d.toml").write_text("[columns]\na.range = [0, 1]\nb.categories = ['x', 'y']\n")
    for rows in ("", "0,x\n", "CANARY,CANARY\n9,\n"):
        (tmp_path / "t.csv").write_text("a,b\n" + rows)
        for options in ((), ("--quiet",), ("--format", "json")):
            asked = (tmp_path / "t.csv", tmp_path / "d.toml", *options)
            done = dpsel("dictionary", "check", *asked)
            assert done.code == 0
            assert done.err == (
                "note: a check reads the rows, without privacy: the result is not for release\n"
            )
            assert "not private: made from the rows" in done.out
            assert "CANARY" not in done.out
