"""`dpsel budget`: ledgers made, shown and exported."""

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from dpsel.system.process import user_name
from tests.cli.conftest import Dpsel
from tests.ledgers import tamper

DP_SIS = ("--target", "y", "--k", 1, "--method", "dp-sis", "--epsilon", 2)
ASK = ("--lower", -1, "--upper", 1, *DP_SIS)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,z,y\n1,0.5,1\n0,0.25,0\n")
    place = tmp_path / "ledger.sqlite3"
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(place))
    return place


def made(dpsel: Dpsel, *arguments: object) -> dict[str, Any]:
    result = dpsel("budget", "init", *arguments)
    assert (result.code, result.err) == (0, "")
    found: dict[str, Any] = json.loads(result.out)
    return found


def without_time(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in ("created", "time")}


EMPTY = {
    "schema": "dpsel.budget/1",
    "ledger": "patients",
    "limit": {"epsilon": "10", "delta": "0.000001"},
    "spent": {"epsilon": "0", "delta": "0"},
    "reserved": {"epsilon": "0", "delta": "0"},
    "left": {"epsilon": "10", "delta": "0.000001"},
    "charges": 0,
    "neighbors": "add-remove",
    "unit": "row",
    "person": None,
}


def test_init_makes_a_ledger_and_show_shows_it(place: Path, dpsel: Dpsel) -> None:
    assert without_time(made(dpsel, "patients", "--epsilon", 10, "--delta", "1e-6")) == EMPTY
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert without_time(json.loads(dpsel("budget", "show", "patients").out)) == EMPTY
    made(dpsel, "b", "--epsilon", "0.5", "--neighbors", "replace-one", "--person", "who")
    shown = json.loads(dpsel("budget", "show").out)
    assert [ledger["ledger"] for ledger in shown["ledgers"]] == ["b", "patients"]
    assert shown["ledgers"][0]["person"] == "who"
    assert shown["ledgers"][0]["unit"] == "person"


def test_init_makes_the_usual_folder(
    tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    made(dpsel, "patients", "--epsilon", 1)
    assert (tmp_path / "data" / "dpsel" / "ledger.sqlite3").exists()


def test_an_existing_name_is_refused(place: Path, dpsel: Dpsel) -> None:
    made(dpsel, "patients", "--epsilon", 10)
    result = dpsel("budget", "init", "patients", "--epsilon", 100)
    assert (result.code, result.out) == (2, "")
    assert result.err == (f"error: {place} has a ledger 'patients' already; it stays as it is\n")


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("epsilon must be above 0, got 0", ("a", "--epsilon", "0")),
        ("epsilon must be a positive number such as 2 or 0.5, got -1", ("a", "--epsilon", "-1")),
        ("epsilon must be a positive number such as 2 or 0.5, got nan", ("a", "--epsilon", "nan")),
        ("epsilon must be a positive number such as 2 or 0.5, got inf", ("a", "--epsilon", "inf")),
        ("epsilon must be between 1e-100 and 1e+100 to be charged", ("a", "--epsilon", "1e-300")),
        ("epsilon must have at most 40 signs, got 100", ("a", "--epsilon", "1" * 100)),
        ("delta must be below 1, got 1", ("a", "--epsilon", "1", "--delta", "1")),
        ("the name of a ledger is up to 100 ASCII", ("", "--epsilon", "1")),
        ("the name of a ledger is up to 100 ASCII", ("pat ients", "--epsilon", "1")),
        ("--person must be the name of a column", ("a", "--epsilon", "1", "--person", "\udcff")),
        ("--person must be the name of a column", ("a", "--epsilon", "1", "--person", "")),
        ("--ledger-file: the name of the file is", ("a", "--epsilon", "1", "--ledger-file", "")),
    ],
)
def test_what_makes_no_sense_makes_no_ledger(
    message: str, arguments: tuple[str, ...], place: Path, dpsel: Dpsel
) -> None:
    result = dpsel("budget", "init", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: {message}")
    assert result.err.count("\n") == 1
    assert not place.exists()


@pytest.mark.parametrize("command", [("show",), ("show", "a"), ("log", "a"), ("export", "a")])
def test_without_a_file_every_command_says_how_to_make_one(
    command: tuple[str, ...], place: Path, dpsel: Dpsel
) -> None:
    result = dpsel("budget", *command)
    assert (result.code, result.out) == (2, "")
    name = command[1] if len(command) > 1 else "NAME"
    assert result.err.endswith(
        f"{place} does not exist; make it with `dpsel budget init {name} --epsilon E`\n"
    )
    assert not place.exists()


@pytest.fixture
def spent(place: Path, dpsel: Dpsel) -> str:
    """Charge twice: once with a run id, once without a release. Return the release."""
    made(dpsel, "patients", "--epsilon", 10)
    run = ("select", "t.csv", *ASK, "--ledger", "patients")
    release = dpsel(*run, "--run-id", "night-1", "--note", "every night").out
    Path("quote.csv").write_text('x,z,y\n1,"5" pipe,1\n')
    assert dpsel(run[0], "quote.csv", *run[2:-3], "0.1", *run[-2:]).code == 3
    return release


def test_log_lists_charges_in_order(spent: str, dpsel: Dpsel) -> None:
    log = json.loads(dpsel("budget", "log", "patients").out)
    assert (log["schema"], log["ledger"]) == ("dpsel.budget/1", "patients")
    common = {
        "delta": "0",
        "neighbors": "add-remove",
        "unit": "row",
        "person": None,
        "rows_per_unit": 1,
        "command": "select",
        "target": "y",
        "score": "dot",
        "mechanism": "canonical-lipschitz",
        "k": 1,
        "scope": "bounds were given as public inputs; bounding, scoring and selection are covered",
        "by": None,
        "user": user_name(),
    }
    first = {"number": 1, "epsilon": "2", "run_id": "night-1", "released": True}
    second = {"number": 2, "epsilon": "0.1", "run_id": None, "released": False}
    first |= {"table": str(Path("t.csv").absolute()), "end_to_end": True, "note": "every night"}
    second |= {"table": str(Path("quote.csv").absolute()), "end_to_end": None, "note": None}
    assert [without_time(entry) for entry in log["log"]] == [common | first, common | second]
    assert all(entry["time"].endswith("Z") for entry in log["log"])


def test_text_says_how_a_ledger_stands_and_what_was_charged(spent: str, dpsel: Dpsel) -> None:
    shown = dpsel("budget", "show", "--format", "text").out
    assert dpsel("budget", "show", "patients", "--format", "text").out == shown
    assert shown.split("\n")[:3] == [
        "patients: add-remove of rows",
        "  epsilon: 2.1 spent, 7.9 left of 10",
        "  delta:   0 spent, 0 left of 0",
    ]
    dpsel("budget", "reserve", "patients", "--epsilon", "0.5")
    lines = dpsel("budget", "show", "patients", "--format", "text").out.split("\n")
    assert lines[1] == "  epsilon: 2.1 spent, 0.5 reserved, 7.4 left of 10"
    first, second, held = dpsel("budget", "log", "patients", "--format", "text").out.split("\n\n")
    assert first.split("\n")[0].endswith("Z, epsilon 2, released")
    assert "   note: every night" in first.split("\n")
    assert "   guarantee: end to end: bounds were given" in first
    assert second.split("\n")[0].endswith("Z, epsilon 0.1, no release")
    assert held.split("\n")[0].startswith("reservation 1. ")
    assert held.split("\n")[0].endswith("Z, epsilon 0.5, reserved")


def test_text_fits_80_columns_whatever_the_names(place: Path, dpsel: Dpsel) -> None:
    long = "n" * 100
    made(dpsel, long, "--epsilon", "1" * 40, "--person", "column " + "w" * 200)
    name = "\u202e " + "long name " * 12 + "x" * 100
    Path("t.csv").write_text(f"{name},who\n1,1\n")
    booked = ("--epsilon", "0.5", "--by", "b" * 500, "--note", "a note " * 60)
    assert dpsel("budget", "charge", long, *booked).code == 0
    assert dpsel("budget", "reserve", long, "--epsilon", 1, "--note", "z" * 500).code == 0
    for command in (("show",), ("show", long), ("log", long)):
        out = dpsel("budget", *command, "--format", "text").out
        assert max(map(len, out.splitlines())) <= 80
        assert out.isascii()


def test_what_other_tools_spent_is_booked(place: Path, dpsel: Dpsel) -> None:
    made(dpsel, "patients", "--epsilon", 3, "--delta", "1e-6", "--person", "who")
    by = ("--by", "yearly report, tool X")
    result = dpsel("budget", "charge", "patients", "--epsilon", "0.5", *by, "--delta", "1e-7")
    assert (result.code, result.err) == (0, "")
    booked = json.loads(result.out)
    assert booked["left"] == {"epsilon": "2.5", "delta": "0.0000009"}
    entry = booked["charge"]
    assert (entry["command"], entry["by"], entry["note"]) == ("charge", by[1], None)
    assert (entry["person"], entry["released"], entry["user"]) == ("who", False, user_name())
    log = json.loads(dpsel("budget", "log", "patients").out)["log"]
    assert log == [entry]
    over = dpsel("budget", "charge", "patients", "--epsilon", 3, *by)
    assert (over.code, over.out) == (4, "")
    assert "epsilon 3 asked, 2.5 left (0.5 of 3 spent)" in over.err
    for wrong in ("", "two\nlines", "\u202e", "x" * 501):
        refused = dpsel("budget", "charge", "patients", "--epsilon", 1, "--by", wrong)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err == "error: --by is one line of 1 to 500 printable signs\n"
    assert json.loads(dpsel("budget", "log", "patients").out)["log"] == log


def test_what_is_reserved_cannot_be_spent_until_it_is_freed(place: Path, dpsel: Dpsel) -> None:
    made(dpsel, "patients", "--epsilon", 3)
    result = dpsel("budget", "reserve", "patients", "--epsilon", 2, "--note", "the last analysis")
    assert (result.code, result.err) == (0, "")
    held = json.loads(result.out)
    assert held["left"]["epsilon"] == "1"
    assert (held["reservation"]["number"], held["reservation"]["frees"]) == (1, None)
    run = ("select", "t.csv", *ASK, "--ledger", "patients")
    refused = dpsel(*run)
    assert (refused.code, refused.out) == (4, "")
    assert "epsilon 2 asked, 1 left (0 of 3 spent, 2 reserved)" in refused.err
    assert dpsel("budget", "reserve", "patients", "--epsilon", "1.5").code == 4
    quote = json.loads(dpsel(*run, "--dry-run").out)
    assert (quote["fits"], quote["left"]["epsilon"]) == (False, "1")
    freed = json.loads(dpsel("budget", "free", "patients", 1, "--note", "it is time").out)
    assert (freed["left"]["epsilon"], freed["reservation"]["frees"]) == ("3", 1)
    again = dpsel("budget", "free", "patients", 1)
    assert (again.code, again.out) == (2, "")
    assert again.err == "error: the ledger 'patients' holds no reservation 1\n"
    assert dpsel(*run).code == 0
    exported = json.loads(dpsel("budget", "export", "patients").out)
    assert [one["note"] for one in exported["reservations"]] == ["the last analysis", "it is time"]
    assert exported["reserved"]["epsilon"] == "0"
    # The limits, two reservations, the charge and its release.
    assert json.loads(dpsel("budget", "verify", "patients").out)["entries"] == 5


def test_a_note_is_no_part_of_what_a_run_id_stands_for(spent: str, dpsel: Dpsel) -> None:
    run = ("select", "t.csv", *ASK, "--ledger", "patients", "--run-id", "night-1")
    assert dpsel(*run, "--note", "another").out == spent
    assert dpsel(*run).out == spent
    first = json.loads(dpsel("budget", "log", "patients").out)["log"][0]
    assert first["note"] == "every night"
    assert "every night" not in spent
    alone = dpsel("select", "t.csv", *ASK, "--note", "for nobody")
    assert (alone.code, alone.err) == (
        2,
        "error: --note needs --ledger NAME, or DPSEL_LEDGER\n",
    )


def test_export_holds_all_and_csv_the_charges(spent: str, dpsel: Dpsel) -> None:
    exported = json.loads(dpsel("budget", "export", "patients").out)
    assert exported["spent"]["epsilon"] == "2.1"
    assert exported["log"][0]["release"] == json.loads(spent)
    assert exported["log"][0]["parameters"]["target"] == "y"
    assert exported["log"][1]["release"] is None
    text = dpsel("budget", "export", "patients", "--format", "csv").out
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["epsilon"] for line in lines] == ["2", "0.1"]
    assert [line["released"] for line in lines] == ["yes", "no"]
    assert lines[0]["ledger"] == "patients"
    assert (lines[0]["target"], lines[0]["end_to_end"]) == ("y", "yes")
    assert (lines[0]["note"], lines[0]["user"]) == ("every night", user_name())


@pytest.mark.parametrize("table_format", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("made", "end_to_end"), [(("--bounds", "b.toml"), True), (("--scale", "robust"), False)]
)
def test_an_export_states_the_scope_of_the_release(
    made: tuple[str, ...], end_to_end: bool, table_format: str, place: Path, dpsel: Dpsel
) -> None:
    Path("b.toml").write_text("[default]\nlower = 0\nupper = 1\n")
    table = f"p.{table_format}"
    assert dpsel("preprocess", "t.csv", table, "--target", "y", *made).code == 0
    assert dpsel("budget", "init", "patients", "--epsilon", 10).code == 0
    bounds = () if end_to_end else ("--lower", -1, "--upper", 1)
    run = ("select", table, *DP_SIS, *bounds, "--ledger", "patients", "--run-id", "a")
    release = dpsel(*run).out
    (entry,) = json.loads(dpsel("budget", "export", "patients").out)["log"]
    assert entry["release"] == json.loads(release)
    assert entry["release"]["guarantee"]["end_to_end"] is end_to_end
    assert entry["parameters"]["scope"] == entry["release"]["guarantee"]["why"]
    # The run id stands for the same run as before.
    assert dpsel(*run).out == release


def test_verify_prints_the_head_which_later_shows_that_nothing_was_taken_away(
    spent: str, place: Path, dpsel: Dpsel
) -> None:
    result = dpsel("budget", "verify", "patients")
    assert (result.code, result.err) == (0, "")
    found = json.loads(result.out)
    head = found.pop("head")
    assert found == {
        "schema": "dpsel.budget/1",
        "ledger": "patients",
        "verified": True,
        "entries": 4,
    }
    assert dpsel("select", "t.csv", *ASK, "--ledger", "patients").code == 0
    later = dpsel("budget", "verify", "patients", "--head", head)
    assert (later.code, json.loads(later.out)["entries"]) == (0, 6)
    tamper(place, "DELETE FROM entries WHERE entry > 3", "DELETE FROM charges WHERE number > 1")
    assert dpsel("budget", "verify", "patients").code == 0
    cut = dpsel("budget", "verify", "patients", "--head", head)
    assert (cut.code, cut.out) == (3, "")
    assert f"the ledger 'patients' does not verify: no entry has the SHA-256 {head};" in cut.err
    wrong = dpsel("budget", "verify", "patients", "--head", head[:-1])
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith("error: --head must be a SHA-256, 64 digits from 0 to f")


def test_verify_names_the_first_broken_entry(spent: str, place: Path, dpsel: Dpsel) -> None:
    tamper(place, "UPDATE charges SET epsilon = '0.01' WHERE number = 2")
    for command in (("verify",), ("show",), ("log",), ("export",)):
        result = dpsel("budget", *command, "patients")
        assert (result.code, result.out) == (3, "")
        assert result.err == (
            f"error: {place}: is damaged: the ledger 'patients' does not verify: entry 4 "
            "(charge 2) is not what was written; restore it from a backup\n"
        )


def test_help_has_an_example_for_every_command(dpsel: Dpsel) -> None:
    for name in ("init", "show", "log", "charge", "reserve", "free", "verify", "export"):
        result = dpsel("budget", name, "--help")
        assert (result.code, result.err) == (0, "")
        assert f"Example: dpsel budget {name} patients" in result.out
    for arguments in (("budget",), ("budget", "--help"), ("budget", "-h")):
        assert "Create a ledger." in dpsel(*arguments).out


@pytest.mark.parametrize(
    ("hint", "arguments"),
    [
        ("dpsel budget init --help", ("budget", "init")),
        ("dpsel budget init --help", ("budget", "init", "a")),
        ("dpsel budget show --help", ("budget", "show", "--format", "xml")),
        ("dpsel budget --help", ("budget", "shwo")),
        ("dpsel select --help", ("select", "--budget")),
    ],
)
def test_a_slip_is_answered_with_the_right_help(
    hint: str, arguments: tuple[str, ...], dpsel: Dpsel
) -> None:
    result = dpsel(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.endswith(f"\nhelp: {hint}\n")


def test_the_help_names_the_exit_code(dpsel: Dpsel) -> None:
    assert "4 budget" in dpsel("--help").out
