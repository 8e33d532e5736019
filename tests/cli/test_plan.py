"""`dpsel plan` as a user runs it: a table of 80 columns, JSON, and no file that was not named."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.cli.conftest import ROOT, Dpsel
from tests.cli.test_terminal import ENVIRONMENT
from tests.evaluation.test_report import Page

SCHEMA = json.loads((ROOT / "dpsel/planning/plan.schema.json").read_text())
SMALL = (
    "plan",
    "--rows",
    "60",
    "--features",
    "8",
    "--k",
    "2",
    "--epsilon",
    "1,4",
    "--share",
    "0.5",
)

WATCHED = """
import os, sys
opened = set()
def watch(event, arguments):
    if event in ("open", "sqlite3.connect", "os.listdir", "os.scandir"):
        opened.add(str(arguments[0]))
from dpsel.cli.app import run
words = sys.argv[1:]
sys.addaudithook(watch)
assert run(words) == 0
print(*sorted(opened), sep="\\n", file=sys.stderr)
heavy = ("polars", "pyarrow", "sklearn", "scipy", "matplotlib", "pydantic", "rich", "sqlite3")
print(*[name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def watched(*words: str, folder: Path) -> tuple[list[str], list[str]]:
    """Return the files that a plan opened, but for code, and the heavy modules it imported."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *words],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**ENVIRONMENT, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stderr
    *files, modules = done.stderr.splitlines()
    places = (*sys.path, sys.prefix, sys.base_prefix, str(ROOT / "dpsel"))
    code = tuple(place for place in places if place)
    return [file for file in files if not file.startswith(code)], modules.split()


def test_a_plan_opens_no_file_and_imports_little(tmp_path: Path) -> None:
    (tmp_path / "private.csv").write_text("y,x\n1,2\n")
    files, modules = watched(*SMALL, "--quiet", folder=tmp_path)
    assert files == []
    assert modules == []


def test_with_a_ledger_it_opens_that_ledger_alone(tmp_path: Path, dpsel: Dpsel) -> None:
    place = tmp_path / "l.sqlite3"
    dpsel("budget", "init", "study", "--epsilon", "3", "--ledger-file", place)
    ledger = ("--ledger", "study", "--ledger-file", str(place))
    files, modules = watched(*SMALL, "--quiet", *ledger, folder=tmp_path)
    assert {Path(file).name.split("?")[0] for file in files} == {"l.sqlite3"}
    assert modules == ["sqlite3"]


def test_the_ledger_says_what_is_left_and_is_not_charged(tmp_path: Path, dpsel: Dpsel) -> None:
    place = ("--ledger-file", tmp_path / "l.sqlite3")
    dpsel("budget", "init", "study", "--epsilon", "3", *place)
    record = json.loads(dpsel(*SMALL, "--format", "json", "--ledger", "study", *place).out)
    jsonschema.validate(record, SCHEMA)
    assert record["ledger"] == {
        "ledger": "study",
        "terms": "add-remove of rows",
        "limit": "3",
        "left": "3",
        "after": [{"epsilon": 1.0, "left": "2"}, {"epsilon": 4.0, "left": None}],
    }
    assert json.loads(dpsel("budget", "show", "study", *place).out)["charges"] == 0
    other = (*SMALL, "--neighbors", "replace-one", "--ledger", "study", *place)
    text = " ".join(dpsel(*other).out.split())
    assert "The ledger study has 3 of 3 left: 2 after 1. It does not cover epsilon 4." in text
    assert "It is for add-remove of rows, and pays for no selection under replace-one." in text
    missing = dpsel(*SMALL, "--ledger", "nobody", *place)
    assert (missing.code, missing.out) == (2, "")


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--up-to", "2"),
        ("--within", "1", "--matter", "3"),
    ],
)
def test_lines_fit_80_columns(more: tuple[str, ...], dpsel: Dpsel) -> None:
    words = list(SMALL)
    if "--up-to" in more:
        del words[words.index("--k") : words.index("--k") + 2]
    result = dpsel(*words, *more)
    assert (result.code, result.err) == (0, "")
    assert max(map(len, result.out.splitlines())) <= 80
    assert "No table was opened." in " ".join(result.out.split())


def test_a_plan_is_written_whole_and_replaces_nothing(tmp_path: Path, dpsel: Dpsel) -> None:
    place = tmp_path / "plan.json"
    place.write_text("old")
    refused = dpsel(*SMALL, "--format", "json", "--output", place)
    assert (refused.code, place.read_text()) == (5, "old")
    wrong = dpsel("plan", "--rows", "60", "--k", "2")
    assert wrong.code == 2
    assert wrong.err.startswith("error: give --rows N and --features D, or a stand-in with --like")


def test_the_report_is_one_public_page_with_a_figure(tmp_path: Path, dpsel: Dpsel) -> None:
    place = tmp_path / "plan.html"
    assert dpsel(*SMALL, "--quiet", "--report", place).code == 0
    page = Page(place.read_text())
    assert page.wrong == []
    assert page.names().isdisjoint({"script", "iframe", "object", "a"})
    assert "A plan, not a result" in page.text
    assert "Not private" not in page.text
    assert page.rows[0][:4] == ["epsilon", "stump", "kendall", "dp-sis"]
    assert [row[0] for row in page.rows[1:]] == ["1", "4"]
    assert [tag for tag, _ in page.tags].count("img") == 1
