"""`--ledger`, `--run-id` and `--dry-run`: what a run costs, and when."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dpsel as library
from dpsel.budget.account import LedgerAccount
from dpsel.budget.ledger import LedgerFile
from dpsel.core.guarantee import Unit
from dpsel.core.randomness import SystemRandomness
from dpsel.core.selection import Selection
from dpsel.errors import BudgetError, UsageError
from dpsel.selection.run import Scored, SelectJob
from tests.cli.conftest import ROOT, Dpsel, wait_until_asleep
from tests.cli.test_select import PUBLIC, record_of
from tests.ledgers import make_ledger, rows, tamper

TABLE = "x,z,y\n1,0.5,1\n0,0.25,0\n1,1,1\n"
ASKED = ("--target", "y", "--k", 1, "--epsilon", 2)
DP_SIS = ("--method", "dp-sis")
UNIT = ("--lower", -1, "--upper", 1)
ASK = (*ASKED, *DP_SIS, *UNIT)
IN_PYTHON: dict[str, Any] = {"method": "dp-sis", "lower": -1, "upper": 1}
LEDGER = ("--ledger", "patients")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger 'patients' with epsilon 5, and a table t.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(TABLE)
    place = tmp_path / "ledger.sqlite3"
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(place))
    make_ledger(place, "5")
    return place


def spent(place: Path) -> list[Any]:
    return [epsilon for epsilon, _ in rows(place)]


def test_a_run_is_charged_what_its_record_states_and_the_record_is_as_ever(
    place: Path, dpsel: Dpsel
) -> None:
    result = dpsel("select", "t.csv", *ASK, *LEDGER)
    assert (result.code, result.err) == (
        0,
        "note: charged epsilon 2 to the ledger 'patients'; epsilon 3 left\n",
    )
    record = record_of(result.out)
    assert record.keys() == PUBLIC
    assert record["guarantee"]["epsilon"] == 2.0
    assert rows(place) == [("2", result.out)]
    assert dpsel("select", "t.csv", *ASK, *LEDGER, "--quiet").err == ""


def test_what_does_not_fit_is_refused_with_the_numbers(place: Path, dpsel: Dpsel) -> None:
    for _ in range(2):
        assert dpsel("select", "t.csv", *ASK, *LEDGER).code == 0
    result = dpsel("select", "t.csv", *ASK, *LEDGER, "--output", "out.json")
    assert (result.code, result.out) == (4, "")
    assert result.err == (
        "error: the ledger 'patients' does not cover this: epsilon 2 asked, 1 left (4 of 5 spent)\n"
    )
    assert not Path("out.json").exists()
    assert spent(place) == ["2", "2"]
    # Not even the table is opened: nobody writes to this pipe.
    os.mkfifo("pipe")
    pipe = ("pipe", "--input-format", "csv")
    assert dpsel("select", *pipe, *ASK, *LEDGER).code == 4


def test_the_environment_can_name_the_ledger(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    assert dpsel("select", "t.csv", *ASK).code == 0
    assert spent(place) == ["2"]
    assert "has no ledger 'other'" in dpsel("select", "t.csv", *ASK, "--ledger", "other").err
    monkeypatch.setenv("DPSEL_LEDGER", "")
    assert dpsel("select", "t.csv", *ASK).err == ""
    assert spent(place) == ["2"]


def test_the_option_names_another_file(place: Path, dpsel: Dpsel, tmp_path: Path) -> None:
    other = tmp_path / "other"
    make_ledger(other)
    assert dpsel("select", "t.csv", *ASK, *LEDGER, "--ledger-file", other).code == 0
    assert (spent(place), spent(other)) == ([], ["2"])


@pytest.mark.parametrize(
    ("code", "message", "arguments"),
    [
        (2, "--target: t.csv has no column 'Y'", ("t.csv", "--target", "Y", *ASK[2:])),
        (2, "k must be between 1 and 2", ("t.csv", *ASK, "--k", 3)),
        (3, "no.csv: no such file", ("no.csv", *ASK)),
        (
            3,
            "b.toml: the table has no column 'w'",
            ("t.csv", *ASKED, *DP_SIS, "--bounds", "b.toml"),
        ),
        (5, "taken.json: exists already", ("t.csv", *ASK, "--output", "taken.json")),
        (
            2,
            "with --delta, oneshot-laplace needs",
            ("t.csv", *ASK, "--mechanism", "oneshot-laplace", "--delta", 0.01),
        ),
    ],
)
def test_a_slip_of_the_pen_costs_nothing(
    code: int, message: str, arguments: tuple[object, ...], place: Path, dpsel: Dpsel
) -> None:
    Path("b.toml").write_text("[columns.w]\nlower = 0\nupper = 1\n")
    Path("taken.json").touch()
    result = dpsel("select", *arguments, *LEDGER)
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(f"error: {message}")
    assert spent(place) == []


def test_what_fails_because_of_a_row_stays_charged(place: Path, dpsel: Dpsel) -> None:
    Path("quote.csv").write_text('x,z,y\n1,1,1\n1,"5" pipe,1\n')
    result = dpsel("select", "quote.csv", *ASK, *LEDGER)
    assert (result.code, result.out) == (3, "")
    note, error, rest = result.err.split("\n")
    assert note.startswith("note: charged epsilon 2")
    assert error.startswith("error: quote.csv: a quote is not closed")
    assert error.endswith("; epsilon 2 was charged to the ledger 'patients' and stays charged")
    assert rest == ""
    assert rows(place) == [("2", None)]


@pytest.mark.parametrize(
    "run",
    [
        ("select",),
        ("select", *DP_SIS, *UNIT),
        ("select", *DP_SIS, *UNIT, "--mechanism", "peeling"),
        ("baseline", "--method", "two-stage", "--blocks", 2, *UNIT),
        ("baseline", "--method", "dpkendall"),
    ],
)
def test_the_first_random_word_is_drawn_after_the_charge(
    run: tuple[object, ...], place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    charges_at_draws = []
    words = SystemRandomness.words

    def watched(self: SystemRandomness, count: int) -> Any:
        charges_at_draws.append(rows(place))
        return words(self, count)

    monkeypatch.setattr(SystemRandomness, "words", watched)
    assert dpsel(run[0], "t.csv", *ASKED, *LEDGER, *run[1:]).code == 0
    assert charges_at_draws
    assert all(charges == [("2", None)] for charges in charges_at_draws)


def test_persons_and_deltas_have_ledgers_of_their_own(place: Path, dpsel: Dpsel) -> None:
    persons = ("--person", "z", "--rows-per-person", 2)
    refused = dpsel("select", "t.csv", *ASK, *LEDGER, *persons)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "error: the ledger 'patients' is for add-remove of rows, this run for add-remove of "
        "persons by column 'z'; these do not add up, so use a ledger of its own\n"
    )
    assert dpsel("select", "t.csv", *ASK, *LEDGER, "--neighbors", "replace-one").code == 2
    delta = ("--mechanism", "peeling", "--delta", 1e-6)
    refused = dpsel("select", "t.csv", *ASK, *LEDGER, *delta)
    assert (refused.code, refused.out) == (4, "")
    assert refused.err.endswith("this: delta 0.000001 asked, 0 left (0 of 0 spent)\n")
    assert spent(place) == []
    options = ("--epsilon", 10, "--delta", "1e-6", "--person", "z")
    assert dpsel("budget", "init", "people", *options).code == 0
    paid = dpsel("select", "t.csv", *ASK, "--ledger", "people", *persons, *delta)
    assert paid.err.startswith(
        "note: charged epsilon 2 and delta 0.000001 to the ledger 'people'; epsilon 8 left\n"
    )
    assert record_of(paid.out)["guarantee"]["rows_per_unit"] == 2


def test_a_run_id_prints_the_same_bytes_and_costs_once(place: Path, dpsel: Dpsel) -> None:
    Path("t.csv").write_text(TABLE.replace("x,z", "ä\u202e,z"))
    run = ("select", "t.csv", *ASK, *LEDGER, "--run-id", "night/1")
    first = dpsel(*run)
    assert first.code == 0
    os.unlink("t.csv")
    for _ in range(3):
        again = dpsel(*run)
        assert (again.code, again.out) == (0, first.out)
        assert again.err.startswith("note: run id 'night/1' was released before (2")
        assert again.err.endswith("Z): this is that release, and costs nothing\n")
    assert dpsel(*run, "--output", "out.json").code == 0
    assert Path("out.json").read_text() == first.out
    names = dpsel(*run, "--format", "indices", "--threads", 1, "--quiet")
    assert names.out == f"{record_of(first.out)['selected_indices'][0]}\n"
    assert names.err == ""
    assert spent(place) == ["2"]


def test_a_spent_ledger_still_prints_what_it_paid_for(place: Path, dpsel: Dpsel) -> None:
    run = ("select", "t.csv", "--target", "y", "--k", 1, "--epsilon", 5, *LEDGER, "--run-id", "a")
    first = dpsel(*run)
    assert dpsel(*run).out == first.out
    assert spent(place) == ["5"]


def test_the_ledger_is_never_overwritten(place: Path, dpsel: Dpsel) -> None:
    before = place.read_bytes()
    Path("link").symlink_to(place)
    for output in (place, "ledger.sqlite3", "link", f"{place}-journal"):
        result = dpsel("select", "t.csv", *ASK, *LEDGER, "--output", output, "--force")
        assert (result.code, result.out) == (5, "")
        assert result.err == f"error: {output}: is the ledger itself; name another file\n"
    assert place.read_bytes() == before


def test_a_run_id_cannot_overwrite_the_table(place: Path, dpsel: Dpsel) -> None:
    run = ("select", "t.csv", *ASK, *LEDGER, "--run-id", "a")
    assert dpsel(*run).code == 0
    result = dpsel(*run, "--output", "t.csv", "--force")
    assert (result.code, result.err) == (
        5,
        "error: t.csv: is the table itself; name another file\n",
    )
    assert Path("t.csv").read_text() == TABLE


@pytest.mark.parametrize(
    ("differs", "arguments"),
    [
        ("k", ("t.csv", *ASK, "--k", 2)),
        ("epsilon", ("t.csv", *ASK, "--epsilon", 1)),
        ("target", ("t.csv", *ASK, "--target", "z")),
        ("table", ("sub/t.csv", *ASK)),
        ("exclude", ("t.csv", *ASK, "--exclude", "z")),
        ("gamma", ("t.csv", *ASK, "--gamma", 0.25)),
        ("score", ("t.csv", *ASK, "--score", "covariance")),
        ("bounds", ("t.csv", *ASK, "--lower", 0, "--upper", 1)),
        ("scope", ("t.csv", *ASKED, *DP_SIS)),
        ("input-format", ("t.csv", *ASK, "--input-format", "csv")),
    ],
)
def test_a_run_id_stands_for_all_public_parameters(
    differs: str, arguments: tuple[object, ...], place: Path, dpsel: Dpsel
) -> None:
    Path("sub").mkdir()
    Path("sub/t.csv").write_text(TABLE)
    assert dpsel("select", "t.csv", *ASK, *LEDGER, "--run-id", "a").code == 0
    result = dpsel("select", *arguments, *LEDGER, "--run-id", "a")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --run-id: 'a' stands for a run that differs in ")
    assert differs in result.err.split(" differs in ")[1].split(";")[0].split(", ")
    assert spent(place) == ["2"]


def test_a_run_id_belongs_to_one_command(place: Path, dpsel: Dpsel) -> None:
    assert dpsel("select", "t.csv", *ASK, *LEDGER, "--run-id", "a").code == 0
    result = dpsel("baseline", "t.csv", *ASKED, *LEDGER, "--run-id", "a", "--method", "dpkendall")
    assert (result.code, result.out) == (2, "")
    assert "command" in result.err
    assert spent(place) == ["2"]


def test_a_long_list_of_bounds_is_compared_by_its_digest(place: Path, dpsel: Dpsel) -> None:
    names = [f"x{i}" for i in range(100)]
    Path("wide.csv").write_text(",".join([*names, "y"]) + "\n")
    sections = [f"[columns.{name}]\nlower = 0\nupper = 1\n" for name in names]
    Path("b.toml").write_text("[target]\nlower = 0\nupper = 1\n" + "".join(sections))
    asked = (*ASKED, *DP_SIS, "--bounds", "b.toml")
    run = ("select", "wide.csv", *asked, *LEDGER, "--run-id", "a")
    first = dpsel(*run)
    assert (first.code, dpsel(*run).out) == (0, first.out)
    ((parameters,),) = rows(place, "SELECT parameters FROM charges")
    assert len(parameters) < 1000
    Path("b.toml").write_text(
        Path("b.toml").read_text().replace("[columns.x7]\nlower = 0", "[columns.x7]\nlower = 0.5")
    )
    assert "differs in bounds;" in dpsel(*run).err


def test_a_charged_run_id_without_a_release_is_charged_again(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    run = ("select", "t.csv", *ASK, *LEDGER, "--run-id", "a")
    with monkeypatch.context() as patch:
        patch.setattr("dpsel.selection.run.release", interrupted)
        result = dpsel(*run)
    assert (result.code, result.out) == (130, "")
    assert result.err.endswith(
        "note: epsilon 2 was charged to the ledger 'patients' and stays charged\n"
        "error: interrupted; nothing was released\n"
    )
    assert rows(place) == [("2", None)]
    result = dpsel(*run)
    assert result.code == 0
    assert result.err.startswith(
        "note: run id 'a' was charged before and has no release; a new draw is charged again\n"
    )
    assert rows(place) == [("2", None), ("2", result.out)]


SEED = "a draw with --seed is not private, so there is no budget to spend on it"
NOT_PRIVATE = "the method is not private, so there is no budget to spend on it"


@pytest.mark.parametrize(
    ("because", "run"),
    [
        (SEED, ("select", "t.csv", *ASK, "--seed", 1)),
        (SEED, ("baseline", "t.csv", *ASKED, "--method", "dpkendall", "--seed", 1)),
        (NOT_PRIVATE, ("baseline", "t.csv", *ASK, "--method", "sis")),
        (NOT_PRIVATE, ("baseline", "t.csv", *ASK, "--method", "lasso")),
        (NOT_PRIVATE, ("baseline", "t.csv", *ASK, "--method", "two-stage", "--no-privacy")),
    ],
)
def test_what_is_not_private_never_touches_a_ledger(
    because: str,
    run: tuple[object, ...],
    place: Path,
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = place.read_bytes()
    for options in (LEDGER, ("--run-id", "a"), ("--ledger-file", "x")):
        for dry in ((), ("--dry-run",)):
            result = dpsel(*run, *options, *dry)
            assert (result.code, result.out) == (2, "")
            assert result.err == f"error: {options[0]}: {because}; leave it out\n"
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    result = dpsel(*run)
    assert result.code == 0
    assert f"note: DPSEL_LEDGER is not charged: {because}\n" in result.err
    quoted = json.loads(dpsel(*run, "--dry-run").out)
    assert quoted["cost"] == {"epsilon": "0", "delta": "0"}
    assert quoted["free_because"] == because
    assert place.read_bytes() == before


@pytest.mark.parametrize("option", ["--run-id", "--ledger-file"])
def test_an_option_of_the_ledger_needs_a_ledger(option: str, place: Path, dpsel: Dpsel) -> None:
    result = dpsel("select", "t.csv", *ASK, option, "a")
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {option} needs --ledger NAME, or DPSEL_LEDGER\n"


@pytest.mark.parametrize(
    "command", [("select",), ("select", *DP_SIS, *UNIT), ("baseline", "--method", "dpkendall")]
)
def test_a_dry_run_prints_the_cost_and_reads_nothing(
    command: tuple[object, ...], place: Path, dpsel: Dpsel
) -> None:
    before = place.read_bytes()
    os.mkfifo("pipe")
    for table in ("no.csv", "pipe", "-", "no/*.parquet"):
        asked = (command[0], table, *ASKED, *LEDGER, *command[1:], "--dry-run")
        result = dpsel(*asked, "--output", "out.json")
        assert (result.code, result.err) == (0, "")
        quoted = json.loads(result.out)
        assert (quoted.pop("table"), quoted.pop("options")["ledger"]) == (table, "patients")
        assert quoted == {
            "schema": "dpsel.cost/1",
            "command": command[0],
            "cost": {"epsilon": "2", "delta": "0"},
            "free_because": None,
            "ledger": "patients",
            "left": {"epsilon": "5", "delta": "0"},
            "left_after": {"epsilon": "3", "delta": "0"},
            "fits": True,
        }
    assert not Path("out.json").exists()
    assert place.read_bytes() == before


def test_a_dry_run_says_if_a_run_would_be_refused_or_free(place: Path, dpsel: Dpsel) -> None:
    run = ("select", "t.csv", *ASK, *LEDGER)
    for _ in range(2):
        dpsel(*run, "--run-id", "a")
        dpsel(*run, "--run-id", "b")
    result = dpsel(*run, "--dry-run")
    assert result.code == 4
    assert result.err.endswith("epsilon 2 asked, 1 left (4 of 5 spent)\n")
    quoted = json.loads(result.out)
    assert (quoted["fits"], quoted["left_after"]["epsilon"]) == (False, "-1")
    free = dpsel(*run, "--dry-run", "--run-id", "a")
    assert free.code == 0
    assert json.loads(free.out)["cost"]["epsilon"] == "0"
    assert json.loads(free.out)["free_because"] == "run id 'a' has its release already"


def test_a_dry_run_without_a_ledger_prints_the_cost_alone(dpsel: Dpsel) -> None:
    result = dpsel("select", "no.csv", *ASK, "--dry-run")
    assert (result.code, result.err) == (0, "")
    quoted = json.loads(result.out)
    assert (quoted["cost"]["epsilon"], quoted["ledger"], quoted["fits"]) == ("2", None, None)


@pytest.mark.parametrize("epsilon", ["1e-101", "1e101", "1e-200"])
def test_an_epsilon_that_cannot_be_charged_is_refused(
    epsilon: str, place: Path, dpsel: Dpsel
) -> None:
    run = ("select", "t.csv", *ASK, "--epsilon", epsilon)
    result = dpsel(*run, *LEDGER)
    assert (result.code, result.out) == (2, "")
    assert "epsilon must be between 1e-100 and 1e+100 to be charged" in result.err
    assert spent(place) == []
    assert dpsel(*run).code == 0


def test_an_epsilon_too_small_for_any_step_is_refused_with_and_without_a_ledger(
    place: Path, dpsel: Dpsel
) -> None:
    run = ("select", "t.csv", *ASK, "--epsilon", "5e-324")
    for options in ((), LEDGER):
        result = dpsel(*run, *options)
        assert (result.code, result.out) == (2, "")
        assert result.err == "error: epsilon must be 1e-200 or more, got 4.94066e-324\n"
    assert spent(place) == []


def broken_file(place: Path) -> None:
    place.write_text("no ledger")


def empty_file(place: Path) -> None:
    place.write_bytes(b"")


def no_file(place: Path) -> None:
    place.unlink()


@pytest.mark.parametrize(
    ("spoil", "code", "message"),
    [
        (broken_file, 3, "is not a ledger file of dpsel; name another one"),
        (empty_file, 2, "holds no ledger yet; make one with `dpsel budget init`"),
        (no_file, 2, "does not exist; make it with `dpsel budget init patients --epsilon E`"),
    ],
)
def test_without_a_sound_ledger_nothing_is_released(
    spoil: Any, code: int, message: str, place: Path, dpsel: Dpsel
) -> None:
    spoil(place)
    for options in ((), ("--run-id", "a"), ("--dry-run",)):
        result = dpsel("select", "t.csv", *ASK, *LEDGER, *options)
        assert (result.code, result.out) == (code, "")
        assert message in result.err
        assert result.err.count("\n") == 1


def test_a_run_refuses_a_ledger_that_does_not_verify(place: Path, dpsel: Dpsel) -> None:
    run = ("select", "t.csv", *ASK, *LEDGER)
    assert dpsel(*run, "--run-id", "a").code == 0
    tamper(place, "UPDATE charges SET epsilon = '0.2'")
    for options in ((), ("--run-id", "a"), ("--dry-run",)):
        result = dpsel(*run, *options, "--output", "out.json")
        assert (result.code, result.out) == (3, "")
        assert "does not verify: entry 2 (charge 1) is not what was written" in result.err
        assert result.err.count("\n") == 1
    assert spent(place) == ["0.2"]
    assert not Path("out.json").exists()


def test_a_locked_ledger_ends_the_run_without_a_release(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpsel.budget.database.PATIENCE", 0.0)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = dpsel("select", "t.csv", *ASK, *LEDGER)
        assert (result.code, result.out) == (5, "")
        assert result.err == (
            f"error: {place}: cannot be written: another process keeps it locked; try again later\n"
        )
    assert spent(place) == []


def test_a_ledger_that_vanishes_before_the_release_is_stored_ends_the_run(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = SystemRandomness.words

    def vanish(self: SystemRandomness, count: int) -> Any:
        place.unlink(missing_ok=True)
        return words(self, count)

    monkeypatch.setattr(SystemRandomness, "words", vanish)
    result = dpsel("select", "t.csv", *ASK, *LEDGER)
    assert (result.code, result.out) == (2, "")
    assert "does not exist" in result.err


def test_a_release_that_was_not_charged_is_a_bug_and_not_released(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    charge, release = LedgerAccount.charge, SelectJob.release

    def forgetful(self: LedgerAccount) -> None:
        return None

    def twice(self: LedgerAccount) -> str | None:
        charge(self)
        return charge(self)

    def for_more_rows(self: SelectJob, private: Scored) -> Selection:
        selection = release(self, private)
        assert selection.guarantee is not None
        stated = replace(selection.guarantee, unit=Unit("row", 2))
        return replace(selection, guarantee=stated)

    spent = "note: epsilon 2 was charged to the ledger 'many' and stays charged\n"
    make_ledger(place, name="many")
    mutants: list[tuple[type, str, Any]] = [
        (LedgerAccount, "charge", forgetful),
        (LedgerAccount, "charge", twice),
        (SelectJob, "release", for_more_rows),
    ]
    for owner, name, wrong in mutants:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, wrong)
            result = dpsel("select", "t.csv", *ASK, "--ledger", "many")
        assert (result.code, result.out) == (70, "")
        assert (spent in result.err) is (wrong is not forgetful)
    # A second charge of one run is refused before it is made.
    assert rows(place) == [("2", None)] * 2


def process(
    place: Path, *arguments: object, redirection: str = "", **options: Any
) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DPSEL_LEDGER_FILE": str(place)}
    command = ["bash", "-c", f'exec "$0" -m dpsel "$@" {redirection}', sys.executable]
    command += map(str, arguments)
    return subprocess.run(command, env=environment, stderr=subprocess.PIPE, **options)


def started(place: Path, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DPSEL_LEDGER_FILE": str(place)}
    command = [sys.executable, "-m", "dpsel", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **options)


def interrupted(process: subprocess.Popen[bytes], place: Path, charges: list[Any]) -> str:
    """Interrupt a process once a ledger has these charges, and return what it says."""
    deadline = time.monotonic() + 60
    while [release is not None for _, release in rows(place)] != charges:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    wait_until_asleep(process)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    return said.decode()


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_ctrl_c_after_the_charge_says_what_was_charged(place: Path, quiet: tuple[str, ...]) -> None:
    # A table that never ends, after a block of it: the run surely waits for more.
    run = ("select", "-", "--input-format", "csv", *ASK, *LEDGER, *quiet)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with started(place, *run, **pipes) as process:
        assert process.stdin is not None
        process.stdin.write(b"x,z,y\n" + b"1,0.5,1\n" * 2_200_000)
        process.stdin.flush()
        said = interrupted(process, place, [False])
    receipt = "" if quiet else "note: charged epsilon 2 to the ledger 'patients'; epsilon 3 left\n"
    assert said == (
        f"{receipt}note: epsilon 2 was charged to the ledger 'patients' and stays charged\n"
        "error: interrupted; nothing was released\n"
    )


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ((), "`dpsel budget export patients` prints it"),
        (("--run-id", "a"), "run it again with --run-id a, at no cost"),
    ],
)
def test_ctrl_c_while_writing_says_where_the_release_is_and_writes_no_more(
    options: tuple[str, ...], how: str, place: Path
) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    full = 0
    with suppress(BlockingIOError):
        while True:
            full += os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    run = ("select", "t.csv", *ASK, *LEDGER, "--quiet", *options)
    with started(place, *run, stdout=writing) as process:
        os.close(writing)
        said = interrupted(process, place, [True])
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"x" * full
    assert said == (
        f"note: the release was charged and is kept: {how}\n"
        "error: interrupted; nothing was released\n"
    )


def test_an_interrupt_within_the_charge_says_that_it_may_have_been_made(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = LedgerFile.charge

    def charged(self: LedgerFile, *arguments: Any) -> Any:
        right(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(LedgerFile, "charge", charged)
    result = dpsel("select", "t.csv", *ASK, *LEDGER)
    assert (result.code, result.out) == (130, "")
    assert result.err == (
        "note: epsilon 2 may have been charged to the ledger 'patients', and then stays charged; "
        "`dpsel budget log patients` shows it\n"
        "error: interrupted; nothing was released\n"
    )


def test_a_closed_stdout_costs_nothing_and_a_full_one_loses_nothing(
    place: Path, dpsel: Dpsel
) -> None:
    run = ("select", "t.csv", *ASK, *LEDGER, "--run-id", "a")
    closed = process(place, *run, redirection=">&-")
    assert closed.returncode == 5
    assert spent(place) == []
    with open("/dev/full", "wb") as full:
        done = process(place, *run, stdout=full)
    assert done.returncode == 5
    assert done.stderr.decode().split("\n")[1:] == [
        "error: stdout: cannot be written: no space left on device; the release was charged and is "
        "kept: run it again with --run-id a, at no cost",
        "",
    ]
    ((epsilon, release),) = rows(place)
    assert (epsilon, dpsel(*run).out) == ("2", release)


def test_python_has_the_same_abilities(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 2, **IN_PYTHON}
    options = {**asked, "ledger": "patients"}
    first = library.select("t.csv", **options, run_id="a")
    assert first.guarantee is not None
    Path("t.csv").unlink()
    assert library.select("t.csv", **options, run_id="a") == first
    assert spent(place) == ["2"]
    Path("t.csv").write_text(TABLE)
    with pytest.raises(UsageError, match="'a' stands for a run that differs in k"):
        library.select("t.csv", **{**options, "k": 2}, run_id="a")
    library.select("t.csv", **options)
    with pytest.raises(BudgetError, match="epsilon 2 asked, 1 left"):
        library.select("t.csv", **options)
    with pytest.raises(UsageError, match="a draw with seed= is not private"):
        library.select("t.csv", **options, seed=1)
    other = place.with_name("other")
    make_ledger(other)
    library.select("t.csv", **options, ledger_file=other)
    assert (spent(place), spent(other)) == (["2", "2"], ["2"])
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    with pytest.raises(BudgetError):
        library.select("t.csv", **asked)
    with pytest.warns(UserWarning, match="DPSEL_LEDGER is not charged") as caught:
        library.select("t.csv", **asked, seed=1)
    assert caught[0].filename == __file__


def test_a_frame_can_be_charged_too(place: Path, dpsel: Dpsel) -> None:
    import polars as pl

    frame = pl.read_csv("t.csv")
    options: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 2, **IN_PYTHON}
    selection = library.select(frame, **options, ledger="patients", run_id="a")
    assert library.select(frame, **options, ledger="patients", run_id="a") == selection
    assert spent(place) == ["2"]


def test_python_and_the_command_share_a_run_id(place: Path, dpsel: Dpsel) -> None:
    first = dpsel("select", "t.csv", *ASKED, *LEDGER, "--run-id", "a")
    options: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 2, "ledger": "patients"}
    again = library.select(Path("t.csv"), **options, run_id="a")
    assert again.to_dict() == json.loads(first.out)


def test_a_stored_release_that_is_no_record_is_not_printed(place: Path, dpsel: Dpsel) -> None:
    run = ("select", "t.csv", *ASK, *LEDGER, "--run-id", "a")
    assert dpsel(*run).code == 0
    for wrong in ("{}", "[]", '{"selected_indices": [1]}'):
        tamper(place, f"UPDATE charges SET release = '{wrong}'")
        for options in ((), ("--format", "names")):
            result = dpsel(*run, *options)
            assert (result.code, result.out) == (3, "")
            assert "is damaged: the ledger 'patients' does not verify: entry 3" in result.err


def test_threads_of_one_process_take_turns(place: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def one(number: int) -> str:
        try:
            library.select("t.csv", target="y", k=1, epsilon=1, **IN_PYTHON, ledger="patients")
        except BudgetError:
            return "refused"
        return "released"

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(one, range(12)))
    assert sorted(outcomes) == ["refused"] * 7 + ["released"] * 5
    assert spent(place) == ["1"] * 5
