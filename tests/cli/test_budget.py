"""`dpsel budget`: ledgers made, shown and exported."""

import csv
import io
import json
import stat
from pathlib import Path
from typing import Any

import pytest

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
    release = dpsel(*run, "--run-id", "night-1").out
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
        "score": "dot",
        "mechanism": "canonical-lipschitz",
        "k": 1,
    }
    first = {"number": 1, "epsilon": "2", "run_id": "night-1", "released": True}
    second = {"number": 2, "epsilon": "0.1", "run_id": None, "released": False}
    assert [without_time(entry) for entry in log["log"]] == [common | first, common | second]
    assert all(entry["time"].endswith("Z") for entry in log["log"])


def test_text_is_in_columns(spent: str, dpsel: Dpsel) -> None:
    shown = dpsel("budget", "show", "--format", "text").out.split("\n")
    assert shown[0].split()[:3] == ["ledger", "epsilon", "spent"]
    assert shown[1].split()[:4] == ["patients", "2.1", "7.9", "10"]
    assert dpsel("budget", "show", "patients", "--format", "text").out.split("\n") == shown
    logged = dpsel("budget", "log", "patients", "--format", "text").out.split("\n")
    assert logged[1].split()[2:] == [
        *("2", "0", "select", "dot", "canonical-lipschitz", "1", "night-1", "yes")
    ]
    assert logged[2].endswith("no")


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
    for name in ("init", "show", "log", "verify", "export"):
        result = dpsel("budget", name, "--help")
        assert (result.code, result.err) == (0, "")
        assert f"Example: dpsel budget {name} patients" in result.out
    for arguments in (("budget",), ("budget", "--help"), ("budget", "-h")):
        assert "Make a ledger." in dpsel(*arguments).out


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
