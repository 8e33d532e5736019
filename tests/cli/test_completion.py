"""What a shell is told when Tab is pressed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpsel.cli.app import COMMANDS
from dpsel.cli.completion import SHELLS, completions_of
from dpsel.cli.shells import this_shell
from dpsel.core.mechanisms import MECHANISM_NAMES
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.scores import SCORE_NAMES
from dpsel.core.scores.registry import SCORES
from tests.cli.conftest import ROOT, Dpsel
from tests.cli.test_help import NAMES

BREAKS = " \t\n\"'@><=;|&(:"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and two ledgers, to work in."""
    (tmp_path / "t.csv").write_text("age,my col,y\n1,2,secret\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(tmp_path / "ledgers.sqlite3"))
    return tmp_path


@pytest.fixture
def ledgers(folder: Path, dpsel: Dpsel) -> None:
    for name in ("visits", "patients"):
        assert dpsel("budget", "init", name, "--epsilon", "1").code == 0


def words(line: str) -> list[str]:
    """Return what fits at the end of a line behind `dpsel`."""
    found = completions_of(line.split(" "))
    assert not found.files
    return [word for word, _ in found.words]


def test_commands_come_first() -> None:
    assert words("") == list(COMMANDS)
    assert words("p") == ["plan", "preprocess"]
    assert words("budget v") == ["verify"]
    assert words("--v") == ["--version"]
    assert words("nonsense ") == list(COMMANDS)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_option_of_every_command_is_offered(dpsel: Dpsel, name: str) -> None:
    shown = dpsel(*name.split(), "--help").out
    offered = words(f"{name} --")
    if name in ("budget", "dictionary", "reproduce"):
        assert offered == []
        return
    assert "--help" in offered
    for flag in offered:
        assert f"{flag} " in shown
        assert completions_of([*name.split(), flag]).words[0][1]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("select t.csv --target ", ["age", "my col", "y"]),
        ("select --target ", []),
        ("select t.csv --target=a", ["--target=age"]),
        ("select t.csv -t a", ["age"]),
        ("select t.csv -qt a", ["age"]),
        ("select t.csv -q -t y --person ", ["age", "my col", "y"]),
        ("select --k 5 t.csv --exclude age,", ["age,my col", "age,y"]),
        ("select -- t.csv --tar", []),
        ("select ./t.csv --features m", ["my col"]),
        ("select t.csv --separator=m --target ", ["age,", "y col,y"]),
        ("select t.csv --input-format tsv --target a", ["age,my col,y"]),
        ("plan --like t.csv --target ", ["age", "my col", "y"]),
        ("plan --features ", []),
        ("evaluate no.csv t.csv --target ", []),
        ("evaluate t.csv no.csv --truth s", ["sis"]),
        ("evaluate t.csv --truth age,m", ["age,my col"]),
        ("preprocess t.csv o.csv --target a", ["age"]),
        ("select t.csv --neighbors ", ["add-remove", "replace-one"]),
        ("select t.csv --format n", ["names"]),
        ("select t.csv --input-format c", ["csv"]),
        ("select t.csv --sampler=l", ["--sampler=lazy"]),
        ("select t.csv --score ", list(SCORE_NAMES)),
        ("audit --mechanism ", list(MECHANISM_NAMES)),
        ("select t.csv --method ", ["stump", "dp-sis", "kendall", "dpkendall"]),
        ("baseline t.csv --method ", ["two-stage", "sis", "lasso", "dpkendall"]),
        ("evaluate t.csv --method dot/j", ["dot/joint"]),
        ("evaluate t.csv --method sis,two-s", ["sis,two-stage"]),
        ("select t.csv --cluster s", ["slurm"]),
        ("select t.csv --epsilon ", []),
        ("select t.csv --quiet --qui", []),
        ("select t.csv --features age --feat", ["--features"]),
        ("select t.csv --qui", ["--quiet"]),
        ("dictionary import x --from r", ["redcap"]),
        ("--show-completion ", list(SHELLS)),
        ("--show-completion z", ["zsh"]),
    ],
)
def test_what_an_option_takes_is_offered(line: str, expected: list[str]) -> None:
    assert words(line) == expected


@pytest.mark.usefixtures("ledgers")
def test_ledgers_are_offered_where_one_is_named(folder: Path) -> None:
    for line in ("select t.csv --ledger ", "plan --ledger ", "card r.json --ledger "):
        assert words(line) == ["patients", "visits"]
    for line in ("budget show ", "budget verify ", "budget free "):
        assert words(line) == ["patients", "visits"]
    assert words("budget free visits ")[:1] == []
    other = folder / "other.sqlite3"
    assert words(f"budget show --ledger-file {other} ") == []
    assert not other.exists()


def test_damaged_ledgers_are_none(folder: Path) -> None:
    (folder / "ledgers.sqlite3").write_bytes(b"no ledger" * 100)
    assert words("budget show ") == []


@pytest.mark.parametrize(
    "line",
    [
        *("select ", "select t", "select t.csv --bounds ", "select t.csv --output=", "card "),
        *("preprocess t.csv ", "evaluate t.csv ", "select --config ", "reproduce datasets "),
    ],
)
def test_files_are_left_to_the_shell(line: str) -> None:
    assert completions_of(line.split(" ")).files


def test_names_of_scores_and_mechanisms_are_those_of_the_registries() -> None:
    assert tuple(SCORES) == SCORE_NAMES
    assert tuple(MECHANISMS) == MECHANISM_NAMES


@pytest.mark.usefixtures("folder")
def test_answers_are_written_as_each_shell_takes_them(dpsel: Dpsel) -> None:
    line = ("select", "t.csv", "--target", "m")
    assert dpsel("--complete", "zsh", *line).out == "words\nmy col\n"
    assert dpsel("--complete", "fish", *line).out == "words\nmy col\n"
    assert dpsel("--complete", "fish", "budg").out.startswith("words\nbudget\tKeep a privacy")
    about = COMMANDS["budget"].replace(":", "\\:")
    assert dpsel("--complete", "zsh", "budg").out == f"words\nbudget:{about}\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("dpsel select t.csv --target m", "my\\ col"),
        ('dpsel select t.csv --target "m', "my col"),
        ("dpsel select t.csv --target 'my", "my col"),
        ("dpsel select t.csv --target my\\ ", "my\\ col"),
        ("dpsel select t.csv --target=m", "my\\ col"),
        ('dpsel select t.csv --target="m', "my col"),
        ('dpsel  select "t.csv"   --target ag', "age"),
        ("dpsel select t.csv --features age,m", "age,my\\ col"),
        ("dpsel selec", "select"),
    ],
)
def test_bash_gets_what_it_puts_behind_its_last_break(dpsel: Dpsel, line: str, answer: str) -> None:
    assert dpsel("--complete", "bash", line, BREAKS).out == f"words\n{answer}\n"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "asked",
    [
        *((), ("bash",), ("bash", "x"), ("nosuch", "select"), ("zsh",), ("bash", "dpsel", "", "")),
        ("zsh", "select", "/dev/null", "--target", ""),
        ("zsh", "select", "t.nosuch", "--target", ""),
        ("zsh", "select", "\0", "--target", ""),
        ("zsh", "select", "~nobody/t.csv", "--target", ""),
        ("zsh", "budget", "show", "--ledger-file", ".", ""),
        ("zsh", "select", "t.csv", "--ledger-file", "", "--ledger", ""),
        ("bash", "dpsel select \udcff 'a", BREAKS),
    ],
)
def test_a_completion_never_fails_loudly(dpsel: Dpsel, asked: tuple[str, ...]) -> None:
    result = dpsel("--complete", *asked)
    assert (result.code, result.err) == (0, "")
    assert "secret" not in result.out


def test_a_completion_waits_for_no_pipe(folder: Path, dpsel: Dpsel) -> None:
    os.mkfifo(folder / "pipe.csv")
    assert dpsel("--complete", "zsh", "select", "pipe.csv", "--target", "").out == "words\n"


def test_a_completion_imports_no_arrays(folder: Path) -> None:
    code = (
        "import sys; from dpsel.cli.app import run\n"
        "assert run(['--complete', 'zsh', 'select', 't.csv', '--target', '']) == 0\n"
        "assert run(['--complete', 'zsh', 'select', 't.csv', '--ledger', '']) == 0\n"
        "heavy = {'numpy', 'polars', 'pyarrow', 'scipy', 'rich', 'pydantic'}\n"
        "assert not heavy & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("words\nage\nmy col\ny\nwords\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_a_shell_is_shown_and_installed_once(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dpsel: Dpsel
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
        monkeypatch.delenv(variable, raising=False)
    shown = dpsel("--show-completion", shell)
    assert (shown.code, shown.err) == (0, "")
    start = {"bash": tmp_path / ".bashrc", "zsh": tmp_path / ".zshrc"}.get(shell)
    if start is not None:
        start.write_text("# mine")
    for _ in range(2):
        done = dpsel("--install-completion", shell)
        assert (done.code, done.out) == (0, "")
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != start]
    assert [path.read_text() for path in files] == [shown.out]
    assert str(files[0]) in done.err
    if start is not None:
        first, line, *more = start.read_text().splitlines()
        assert (first, more) == ("# mine", [])
        assert str(files[0].parent) in line


def test_a_shell_that_is_not_known_is_refused(
    dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = dpsel("--show-completion", "tcsh")
    assert (result.code, result.out) == (2, "")
    assert "bash, zsh, fish" in result.err
    monkeypatch.setattr(os, "getppid", lambda: 0)
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert this_shell() == "zsh"
    assert dpsel("--show-completion").out.startswith("#compdef dpsel\n")
    monkeypatch.delenv("SHELL")
    assert dpsel("--install-completion").code == 2
