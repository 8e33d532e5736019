"""Completion in real shells: Tab is pressed, and what the program then gets is looked at."""

import os
import pty
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Dpsel

# A shell asks the real dpsel; whatever else it is told to run is printed, word by word.
STUB = f"""#!/bin/sh
if [ "$1" = --complete ]; then exec "{sys.executable}" -m dpsel "$@"; fi
printf 'got'; printf '|%s' "$@"; echo '|'
"""
TYPED = {
    "dpsel sel\tt.csv --neigh\tadd\t": ["select", "t.csv", "--neighbors", "add-remove"],
    "dpsel select t.csv --target ag\t": ["select", "t.csv", "--target", "age"],
    'dpsel select "my t.csv" --target my\t': ["select", "my t.csv", "--target", "my col"],
    'dpsel select t.csv --target "my\t': ["select", "t.csv", "--target", "my col"],
    "dpsel select t.csv --target=my\t": ["select", "t.csv", "--target=my col"],
    "dpsel select t.csv -t we\t": ["select", "t.csv", "-t", "we$ird:*"],
    "dpsel select t.c\t--features age,m\t": ["select", "t.csv", "--features", "age,my col"],
    "dpsel select t.csv --output=t.\t": ["select", "t.csv", "--output=t.csv"],
    "dpsel budget show --ledger-file l.sqlite3 pat\t": [
        *("budget", "show", "--ledger-file", "l.sqlite3", "patients"),
    ],
}


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
    process, terminal = pty.fork()
    if process == 0:
        os.execvpe(shell[0], shell, environment(home))
    os.write(terminal, "".join(f"{line}\r" for line in [*lines, "exit"]).encode())
    shown = b""
    # Linux says with an error that the other end is closed.
    with suppress(OSError):
        while more := os.read(terminal, 1 << 16):
            shown += more
    os.close(terminal)
    os.waitpid(process, 0)
    return shown.decode(errors="replace")


@pytest.mark.parametrize(
    "shell", [["bash", "--noprofile", "-i"], ["zsh", "-i"]], ids=lambda s: s[0]
)
def test_tab_completes_what_is_typed(shell: list[str], home: Path, dpsel: Dpsel) -> None:
    need(shell[0])
    assert dpsel("--install-completion", shell[0]).code == 0
    shown = typed(shell, home, list(TYPED))
    found = [line.strip("|\r").split("|")[1:] for line in shown.split("\n") if line[:4] == "got|"]
    assert found == list(TYPED.values())
    assert "secret" not in shown
    assert "rror" not in shown


def test_fish_completes_what_is_typed(home: Path, dpsel: Dpsel) -> None:
    need("fish")
    assert dpsel("--install-completion", "fish").code == 0
    lines = [line for line in TYPED if line.count("\t") == 1]
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
    assert found[:-1] == [TYPED[line][-1] for line in lines]
