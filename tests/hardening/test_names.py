"""Hostile names of files and columns, links, pipes and devices."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import ROOT, Dpsel

NAMES = [
    "new\nline.csv",
    "\x1b]0;title\x07.csv",
    "-dash.csv",
    "$(touch pwned).csv",
    "`touch pwned`.csv",
    "a b  c.csv",
    "\u202egnp.csv",
    "[x]*?.csv",
    "%s%n{0}.csv",
    "\x1b[31mred.csv",
    "x" * 200 + ".csv",
    "t\udcff.csv",
]
TABLE = "a,b,y\n" + "".join(f"{i % 2},{i % 3},{i % 2}\n" for i in range(60))
ASK = ("--target", "y", "--k", 1, "--epsilon", 1, "--lower", 0, "--upper", 1, "--method", "dp-sis")


def clean(text: str) -> bool:
    """Return whether a terminal can show a text without being told anything."""
    return all(sign == "\n" or sign.isprintable() for sign in text)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_table_may_have_any_name(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(TABLE)
    given = f"./{name}" if name.startswith("-") else name
    done = dpsel("select", given, *ASK)
    assert done.code == 0, done.err
    assert len(json.loads(done.out)["selected_features"]) == 1
    missed = dpsel("select", given, "--target", "typo", "--k", 1, "--epsilon", 1)
    assert missed.code == 2
    assert clean(missed.err)
    gone = dpsel("select", f"{given}.gone.csv", *ASK)
    assert gone.code == 3
    assert clean(gone.err)
    assert os.listdir() == [name]


@pytest.mark.parametrize("name", NAMES[:11], ids=range(11))
def test_an_output_may_have_any_name(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(TABLE)
    assert dpsel("select", "table.csv", *ASK, "--output", f"./{name}").code == 0
    assert json.loads((tmp_path / name).read_text())["k"] == 1
    again = dpsel("select", "table.csv", *ASK, "--output", f"./{name}")
    assert again.code == 5
    assert clean(again.err)
    assert sorted(os.listdir()) == sorted([name, "table.csv"])


HOSTILE = ["\x1b[2J", "new\nline", "--seed", "*", "<script>", '"quoted"', "\u202e", "\x00", "é"]
HOSTILE += ["\x7f", "\x9b31m", "\u2066a\u2069", "\u200f", "\u061c", "\u2028", "\U000e0041"]


def test_columns_may_have_any_name(dpsel: Dpsel, tmp_path: Path) -> None:
    table = tmp_path / "t.parquet"
    columns = {name: [0.0, 1.0] * 30 for name in HOSTILE}
    pl.DataFrame({**columns, "y": [0.0, 1.0] * 30}).write_parquet(table)
    options = ("--k", len(HOSTILE), *ASK[:2], *ASK[4:])
    done = dpsel("select", table, *options)
    assert done.code == 0, done.err
    assert json.loads(done.out)["selected_features"] == HOSTILE
    assert clean(done.out)
    lines = dpsel("select", table, *options, "--format", "names")
    assert clean(lines.out)
    assert len(lines.out.splitlines()) == len(HOSTILE)
    missed = dpsel("select", table, "--target", "\x1b[2K", "--k", 1, "--epsilon", 1)
    assert missed.code == 2
    assert clean(missed.err)


def test_no_json_passes_on_what_a_name_tells_a_terminal(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = "y\u202e\x9b"
    columns = {name: [0.0, 1.0, 2.0] * 10 for name in HOSTILE}
    pl.DataFrame({**columns, target: [0.0, 1.0] * 15}).write_parquet("\u202et\x7f.parquet")
    monkeypatch.setenv("DPSEL_LEDGER_FILE", "ledger.sqlite3")
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    assert dpsel("budget", "init", "patients", "--epsilon", 5).code == 0
    options = ("--target", target, "--k", len(HOSTILE), "--epsilon", 1)
    table = "\u202et\x7f.parquet"
    bounded = ("--lower", 0, "--upper", 2, "--method", "dp-sis")
    assert dpsel("select", table, *options, *bounded).code == 0
    for made in ("p.csv", "p.parquet"):
        assert dpsel("preprocess", table, made, "--target", target, "--positive", "\x9b").code == 0
    sweep = ("--trials", 1, "--method", "dp-sis", "--truth", "sis", "--threads", 1)
    evaluated = dpsel("evaluate", table, *options, *sweep, "--output", "-", "--quiet").out
    exported = dpsel("budget", "export", "patients").out
    beside = Path("p.csv.dpsel.json").read_text()
    shown = dpsel("preprocess", "--show", "p.parquet").out
    for text in (evaluated, exported, dpsel("budget", "log", "patients").out, beside, shown):
        assert json.loads(text)
        assert clean(text)
    log = json.loads(exported)["log"][0]
    assert log["parameters"]["target"] == target
    assert log["parameters"]["table"] == str(tmp_path / table)
    assert log["release"]["selected_features"] == HOSTILE
    assert {row["feature"] for row in json.loads(evaluated)["frequencies"]} <= {*HOSTILE}


def test_a_table_whose_name_is_no_text_can_be_exported(
    dpsel: Dpsel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t\udcff.csv").write_text(TABLE)
    ledger = ("--ledger-file", "ledger.sqlite3")
    assert dpsel("budget", "init", "patients", "--epsilon", 5, *ledger).code == 0
    assert dpsel("select", "t\udcff.csv", *ASK, "--ledger", "patients", *ledger).code == 0
    exported = dpsel("budget", "export", "patients", *ledger)
    assert exported.code == 0, exported.err
    (entry,) = json.loads(exported.out)["log"]
    assert entry["parameters"]["table"].endswith("t\udcff.csv")


@pytest.mark.parametrize("force", [False, True])
def test_a_linked_output_never_changes_what_it_leads_to(
    dpsel: Dpsel, tmp_path: Path, force: bool
) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "folder").mkdir()
    links = {"to_file": "precious", "dangling": "nowhere", "to_folder": "folder"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
        more = ("--force",) if force else ()
        done = dpsel("select", tmp_path / "t.csv", *ASK, "--output", tmp_path / name, *more)
        replaced = force and name != "to_folder"
        assert done.code == (0 if replaced else 5)
        assert (tmp_path / name).is_symlink() is not replaced
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("how", ["symlink", "hard link", "itself"])
def test_the_table_is_never_written_over(dpsel: Dpsel, tmp_path: Path, how: str) -> None:
    table, other = tmp_path / "t.csv", tmp_path / "other"
    table.write_text(TABLE)
    if how == "symlink":
        other.symlink_to(table)
    elif how == "hard link":
        other.hardlink_to(table)
    else:
        other = table
    done = dpsel("select", table, *ASK, "--output", other, "--force")
    assert done.code == 5
    assert "is the table itself" in done.err
    assert table.read_text() == TABLE


def test_linked_tables_are_read(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    (tmp_path / "link.csv").symlink_to("t.csv")
    assert dpsel("select", tmp_path / "link.csv", *ASK).code == 0
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    looped = dpsel("select", tmp_path / "loop.csv", *ASK)
    assert looped.code == 3
    assert looped.err.startswith("error: ")


def test_a_full_device_is_an_output_error(dpsel: Dpsel, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "t.csv").write_text(TABLE)
    done = dpsel("select", tmp_path / "t.csv", *ASK, "--output", "/dev/full")
    assert (done.code, done.out) == (5, "")
    assert "no space left" in done.err.lower()


def test_tables_and_records_go_through_pipes(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    script = (
        "mkfifo in.csv out; cat t.csv > in.csv & cat out > got & "
        f'"{sys.executable}" -m dpsel select in.csv --input-format csv --target y --k 1 '
        "--epsilon 1 --lower 0 --upper 1 --method dp-sis --output out; code=$?; wait; exit $code"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, timeout=60, env=environment)
    assert done.returncode == 0
    assert json.loads((tmp_path / "got").read_text())["k"] == 1
    assert stat.S_ISFIFO(os.stat(tmp_path / "out").st_mode)


def test_a_folder_that_cannot_be_written_is_an_output_error(dpsel: Dpsel, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    place = Path("/proc/dpsel") if os.geteuid() == 0 else tmp_path / "closed" / "r.json"
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o500)
    elif not Path("/proc").exists():
        pytest.skip("needs /proc, as root may write anywhere else")
    done = dpsel("select", tmp_path / "t.csv", *ASK, "--output", place)
    assert (done.code, done.out) == (5, "")
    assert done.err.startswith("error: ")
