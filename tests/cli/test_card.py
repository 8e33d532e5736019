"""`dpsel card`: a page of a record, from the record and the ledger alone."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cards.records import fields
from tests.cli.conftest import ROOT, Dpsel
from tests.ledgers import tamper

ASK = ("--target", "y", "--k", 1, "--epsilon", 2, "--quiet")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dpsel: Dpsel) -> Path:
    """A ledger, and a record in record.json that it was charged for; no table any more."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "ledger.sqlite3"
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(place))
    Path("t.csv").write_text("x,z,y\n1,0.5,1\n0,0.25,0\n")
    assert dpsel("budget", "init", "patients", "--epsilon", 10).code == 0
    run = ("select", "t.csv", *ASK, "--ledger", "patients", "--output", "record.json")
    assert dpsel(*run).code == 0
    Path("t.csv").unlink()
    return place


def test_a_card_is_made_from_record_and_ledger_alone(place: Path, dpsel: Dpsel) -> None:
    result = dpsel("card", "record.json", "--ledger", "patients")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("# Release card: 1 of 2 columns, for `y`\n")
    assert "This release is charge 1." in result.out
    assert dpsel("card", "record.json", "--ledger", "patients").out == result.out
    page = dpsel("card", "record.json", "--format", "html").out
    assert page.startswith("<!DOCTYPE html>\n")
    assert dpsel("card", "record.json", "--format", "yaml").out.startswith("url_slug: ")


def test_a_record_can_be_piped(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dpsel", "card", "-"],
        input=Path("record.json").read_bytes(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
    )
    assert done.stdout.startswith(b"# Release card: 1 of 2 columns")


def test_a_closed_stdin_is_refused_in_a_line() -> None:
    done = subprocess.run(
        ["bash", "-c", 'exec "$0" -m dpsel card - <&-', sys.executable],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found = (done.returncode, done.stdout, done.stderr)
    assert found == (3, b"", b"error: stdin: is closed\n")


@pytest.mark.parametrize("card_format", ["markdown", "html", "yaml"])
def test_no_library_of_arrays_is_imported(card_format: str, place: Path) -> None:
    code = (
        "import sys\n"
        "from dpsel.cli.app import run\n"
        f"assert run(['card', 'record.json', '--ledger', 'patients', '--format', '{card_format}'])"
        " == 0\n"
        "heavy = {'numpy', 'polars', 'pyarrow', 'scipy', 'pandas', 'pydantic', 'yaml'}\n"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")


def written(name: str, content: Any) -> str:
    Path(name).write_text(content if isinstance(content, str) else json.dumps(content))
    return name


NO_RECORD: dict[str, Any] = {
    "empty": "",
    "no_json": "{",
    "a_list": [],
    "nothing": {},
    "deep": "[" * 100_000,
    "another_schema": fields(schema="dpsel.audit/1"),
    "a_later_schema": fields(schema="dpsel.selection/3"),
    "no_features": fields(selected_features=[], k=0),
    "another_k": fields(k=3),
    "k_true": fields(selected_features=["a"], k=True),
    "features_no_texts": fields(selected_features=[1, 2]),
    "epsilon_nan": fields(guarantee={"epsilon": float("nan")}),
    "epsilon_a_text": fields(guarantee={"epsilon": "2"}),
    "epsilon_negative": fields(guarantee={"epsilon": -1.0}),
    "another_unit": fields(guarantee={"unit": "household"}),
    "another_relation": fields(guarantee={"neighbors": "any"}),
    "promises_and_does_not": fields(no_guarantee_because="no"),
    "neither": fields(guarantee=None, no_guarantee_because=None),
    "groups_a_list": fields(groups=["ward"]),
    "no_day": fields(date="<b>"),
}


@pytest.mark.parametrize("what", NO_RECORD)
def test_what_is_no_record_is_refused_in_a_line(what: str, place: Path, dpsel: Dpsel) -> None:
    result = dpsel("card", written("other.json", NO_RECORD[what]))
    assert (result.code, result.out) == (3, "")
    assert result.err == (
        "error: other.json: is not a record of `dpsel select` or `dpsel baseline`, in JSON\n"
    )


def test_what_is_not_there_is_refused(place: Path, dpsel: Dpsel) -> None:
    missing = dpsel("card", "missing.json")
    assert (missing.code, missing.err) == (
        3,
        "error: missing.json: cannot be opened: no such file or directory\n",
    )
    assert dpsel("card", ".").code == 3
    assert dpsel("card", "a\0b").code == 3
    other = dpsel("card", "record.json", "--ledger", "patient")
    assert other.code == 2
    assert "did you mean 'patients'?" in other.err


def test_a_ledger_that_was_changed_makes_no_card(place: Path, dpsel: Dpsel) -> None:
    tamper(place, "UPDATE charges SET epsilon = '0.1'")
    result = dpsel("card", "record.json", "--ledger", "patients")
    assert (result.code, result.out) == (3, ""), result.err
    assert "does not verify" in result.err


def test_a_file_is_written_whole_and_neither_record_nor_ledger_is_written_over(
    place: Path, dpsel: Dpsel
) -> None:
    assert dpsel("card", "record.json", "--output", "card.md").code == 0
    assert Path("card.md").read_text() == dpsel("card", "record.json").out
    assert dpsel("card", "record.json", "--output", "card.md").code == 5
    before = Path("record.json").read_bytes(), place.read_bytes()
    onto = dpsel("card", "record.json", "--output", "record.json", "--force")
    assert (onto.code, onto.err) == (
        5,
        "error: record.json: is the record itself; name another file\n",
    )
    ledger = ("--ledger", "patients", "--output", place, "--force")
    assert dpsel("card", "record.json", *ledger).code == 5
    assert (Path("record.json").read_bytes(), place.read_bytes()) == before


@pytest.mark.parametrize("name", ["card.html", "CARD.HTM"])
def test_markdown_is_not_written_to_a_file_that_a_browser_opens(
    name: str, place: Path, dpsel: Dpsel
) -> None:
    refused = dpsel("card", "record.json", "--output", name)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == f"error: {name}: is the name of an HTML page; give --format html\n"
    assert not Path(name).exists()
    assert dpsel("card", "record.json", "--output", name, "--format", "html").code == 0
    assert Path(name).read_text().lower().startswith("<!doctype html>")


def test_a_card_of_what_is_not_private_is_for_its_owner(place: Path, dpsel: Dpsel) -> None:
    written("seeded.json", fields(guarantee=None))
    assert dpsel("card", "seeded.json", "--output", "card.md").code == 0
    assert stat.S_IMODE(Path("card.md").stat().st_mode) == 0o600
    refused = dpsel("card", "seeded.json", "--format", "yaml")
    assert (refused.code, refused.out) == (2, "")
