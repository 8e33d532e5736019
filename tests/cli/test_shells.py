"""Completion in real shells: Tab is pressed, and what the program then gets is looked at."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Dpsel

# A shell asks the real dpsel; whatever else it is told to run is printed, word by word.
STUB = f"""#!/bin/sh
if [ "$1" = --complete ]; then exec "{sys.executable}" -m dpsel "$@"; fi
printf 'got'; printf '|%s' "$@"; echo '|'
"""
FEW = {
    "dpsel sel\tt.csv --neigh\t": ["select", "t.csv", "--neighbors"],
    'dpsel select "my t.csv" --target my\t': ["select", "my t.csv", "--target", "my col"],
    "dpsel select t.csv --target=my\t": ["select", "t.csv", "--target=my col"],
}
MANY = FEW | {
    "dpsel select t.csv --sampler l\t": ["select", "t.csv", "--sampler", "lazy"],
    'dpsel select t.csv --target "my\t': ["select", "t.csv", "--target", "my col"],
    "dpsel select t.csv -t we\t": ["select", "t.csv", "-t", "we$ird:*"],
    "dpsel select t.c\t--features age,m\t": ["select", "t.csv", "--features", "age,my col"],
    "dpsel select t.csv --output=t.\t": ["select", "t.csv", "--output=t.csv"],
    "dpsel budget show --ledger-file l.sqlite3 pat\t": [
        *("budget", "show", "--ledger-file", "l.sqlite3", "patients"),
    ],
}
TERMINAL_SHELLS = pytest.mark.parametrize(
    "shell", [["bash", "--noprofile", "-i"], ["zsh", "-i"]], ids=lambda shell: shell[0]
)


@pytest.fixture
def home(tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with tables, a ledger and the stub."""
    for name in ("t.csv", "my t.csv"):
        (tmp_path / name).write_text("age,my col,we$ird:*,y\n1,2,3,secret\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(variable, raising=False)
    ledger = ("--epsilon", "1", "--ledger-file", "l.sqlite3")
    assert dpsel("budget", "init", "patients", *ledger).code == 0
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dpsel").write_text(STUB)
    (tmp_path / "bin" / "dpsel").chmod(0o755)
    return tmp_path


def environment(home: Path) -> dict[str, str]:
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "TERM": "dumb", "PS1": ""}


def need(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")


def typed(shell: list[str], home: Path, lines: list[str]) -> str:
    """Return all that a shell shows on a terminal on which these lines are typed."""
    # In a process without threads, which a fork might hang.
    on_a_terminal = [sys.executable, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", *shell]
    done = subprocess.run(
        on_a_terminal,
        input="".join(f"{line}\r" for line in [*lines, "exit"]).encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(home),
    )
    return done.stdout.decode(errors="replace")


def check_tab(shell: list[str], home: Path, dpsel: Dpsel, lines: dict[str, list[str]]) -> None:
    need(shell[0])
    assert dpsel("--install-completion", shell[0]).code == 0
    shown = typed(shell, home, list(lines))
    found = [line.strip("|\r").split("|")[1:] for line in shown.split("\n") if line[:4] == "got|"]
    assert found == list(lines.values())
    assert "secret" not in shown
    assert "rror" not in shown


@TERMINAL_SHELLS
def test_tab_completes_commands_options_and_columns(
    shell: list[str], home: Path, dpsel: Dpsel
) -> None:
    check_tab(shell, home, dpsel, FEW)


@pytest.mark.long
@TERMINAL_SHELLS
def test_tab_completes_all_that_is_known(shell: list[str], home: Path, dpsel: Dpsel) -> None:
    check_tab(shell, home, dpsel, MANY)


def test_fish_completes_what_is_typed(home: Path, dpsel: Dpsel) -> None:
    need("fish")
    assert dpsel("--install-completion", "fish").code == 0
    lines = [line for line in MANY if line.count("\t") == 1]
    code = "for line in $argv; complete -C $line; echo; end"
    done = subprocess.run(
        ["fish", "-c", code, *(line.removesuffix("\t") for line in lines)],
        capture_output=True,
        text=True,
        env=environment(home),
    )
    assert done.stderr == ""
    assert "secret" not in done.stdout
    found = [line.partition("\t")[0] for line in done.stdout.split("\n\n")]
    assert found[:-1] == [MANY[line][-1] for line in lines]
