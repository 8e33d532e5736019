"""Shells, pipes, cron and terminals: real processes."""

import datetime
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import ROOT, Dpsel, wait_until_asleep

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"
CSV = ROOT / "sample_data" / "synthetic_bounded.csv"
PAPER = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")
ASK = ("--target", "y", "--k", "8", "--epsilon", "20", *PAPER)
COMMAND = [sys.executable, "-m", "dpsel", "select"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys; from dpsel.cli.app import run\n"
        "assert run(sys.argv[1:]) == 0\n"
        "heavy = {'polars', 'scipy', 'pyarrow', 'numpy', 'sklearn', 'matplotlib'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    for arguments in (["--help"], ["select", "--help"], ["--version"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            env=ENVIRONMENT,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")


def raw_table(folder: Path) -> Path:
    """Write words, dates, truths and numbers with gaps, in types that Arrow converts."""
    columns = {
        "ward": ["north", None, "south"],
        "day": [datetime.date(2024, 2, 3), None, datetime.date(2024, 2, 1)],
        "smokes": [True, None, False],
        "visits": [3, None, 1],
        "label": ["ill", None, "well"],
    }
    frame = pl.DataFrame(columns).with_columns(kind=pl.col("ward").cast(pl.Categorical))
    frame.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def test_selecting_needs_neither_scipy_nor_pandas(tmp_path: Path) -> None:
    code = (
        "import sys; from dpsel.cli.app import run\n"
        "assert run(sys.argv[1:]) == 0\n"
        "heavy = {'scipy', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    labels = ("--positive", "yes", "--k", "2", "--epsilon", "1", "--target")
    for arguments in (
        (BOUNDED, *ASK),
        (ROOT / "sample_data" / "visits.csv", *labels, "came_back"),
        (raw_table(tmp_path), *labels, "label"),
        (raw_table(tmp_path), *labels, "label", "--person", "visits", "--rows-per-person", "1"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, "select", *map(str, arguments), "--quiet"],
            capture_output=True,
            env=ENVIRONMENT,
            text=True,
        )
        assert done.returncode == 0, done.stderr


def test_python_m_dpsel_prints_its_version(dpsel_process: Dpsel) -> None:
    result = dpsel_process("--version")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("dpsel 0.")


def test_cron_has_no_terminal_and_no_home(dpsel_process: Dpsel) -> None:
    done = subprocess.run(
        [*COMMAND, str(BOUNDED), *ASK],
        env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd="/",
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["k"] == 8


def test_stdin_takes_a_pipe(dpsel_process: Dpsel) -> None:
    for path, chosen in ((CSV, "csv"), (BOUNDED, "parquet")):
        result = dpsel_process(
            "select", "-", "--input-format", chosen, *ASK, input=path.read_bytes()
        )
        assert (result.code, result.err) == (0, "")
        assert json.loads(result.out)["selected_indices"] == [1, 3, 7, 8, 13, 15, 30, 33]


def shell(script: str) -> subprocess.CompletedProcess[str]:
    words = " ".join([*COMMAND, str(BOUNDED), *ASK])
    return subprocess.run(
        ["bash", "-c", script.replace("DPSEL", words)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
    )


def test_a_pipe_into_head_is_no_error() -> None:
    done = shell("set -o pipefail; DPSEL | head -1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("DPSEL >/dev/full", "no space left on device"),
        ("DPSEL >&-", "it is closed"),
    ],
)
def test_an_output_that_goes_nowhere_is_one_line_and_code_5(script: str, message: str) -> None:
    done = shell(script)
    assert (done.returncode, done.stdout) == (5, "")
    assert done.stderr == f"error: stdout: cannot be written: {message}\n"


def test_a_pipe_that_breaks_in_the_middle_of_a_run_is_one_line_and_code_5() -> None:
    process = subprocess.Popen(
        [*COMMAND, "-", "--input-format", "csv", *ASK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(CSV.read_bytes())
    process.stdin.flush()
    process.stdout.close()
    # Only now does the table end, and the result come.
    process.stdin.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b"error: stdout: cannot be written: broken pipe\n"
    assert process.wait(60) == 5


def test_a_closed_stderr_or_stdin_stops_nothing() -> None:
    for script in ("DPSEL 2>&-", "DPSEL <&-", f"{' '.join([*COMMAND, str(CSV), *ASK])} <&-"):
        done = shell(script)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["k"] == 8
    assert shell("DPSEL --seed 1 2>&-").returncode == 0


def test_names_in_any_script_survive_an_ascii_locale(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("größe,y\n1,1\n0.5,1\n", encoding="utf-8")
    done = subprocess.run(
        [*COMMAND, str(path), "--target", "y", "--k", "1", "--epsilon", "1"],
        env={**ENVIRONMENT, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
    )
    assert done.returncode == 0
    assert json.loads(done.stdout.decode("utf-8"))["selected_features"] == ["größe"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("rows", [1, 3_000_000])
def test_an_interrupt_ends_with_130_and_leaves_nothing(
    number: signal.Signals, rows: int, tmp_path: Path
) -> None:
    output = tmp_path / "out.json"
    asked = ("--target", "y", "--k", "1", "--epsilon", "1", *PAPER)
    # A pipe that never ends, at first or after some blocks: the command is surely still reading.
    process = subprocess.Popen(
        [*COMMAND, "-", "--input-format", "csv", *asked, "--output", str(output)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    process.stdin.write(b"x,y\n" + b"0.25,0.25\n" * rows)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(tmp_path.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    wait_until_asleep(process)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == b""
    assert err == b"error: interrupted; nothing was released\n"
    assert list(tmp_path.iterdir()) == []


def unread(*arguments: str) -> tuple[int, str]:
    """Run dpsel with a stdout that nobody reads; return its exit code and stderr."""
    reading, writing = os.pipe()
    os.close(reading)
    words = [sys.executable, "-m", "dpsel", *arguments]
    done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, env=ENVIRONMENT)
    os.close(writing)
    return done.returncode, done.stderr.decode()


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "select --help",
        "--version",
        "--show-completion bash",
        f"dictionary init {BOUNDED}",
        f"select {BOUNDED} {' '.join(ASK)} --dry-run",
    ],
)
def test_what_cost_nothing_ends_at_a_closed_pipe_without_a_message(words: str) -> None:
    assert unread(*words.split()) == (141, "")


def test_a_ledger_that_was_changed_says_so_at_a_closed_pipe(tmp_path: Path) -> None:
    place = ("--ledger-file", str(tmp_path / "ledger.sqlite3"))
    code, said = unread("budget", "init", "patients", "--epsilon", "3", *place)
    assert (code, said) == (
        5,
        "error: stdout: cannot be written: broken pipe; the ledger was changed all the same\n",
    )
    assert unread("budget", "show", "patients", *place) == (141, "")


def test_a_release_is_never_lost_at_a_closed_pipe_without_a_message(tmp_path: Path) -> None:
    place = ("--ledger-file", str(tmp_path / "ledger.sqlite3"))
    unread("budget", "init", "patients", "--epsilon", "30", *place)
    ask = ("select", str(BOUNDED), *ASK, "--quiet")
    assert unread(*ask) == (5, "error: stdout: cannot be written: broken pipe\n")
    code, said = unread(*ask, "--ledger", "patients", *place)
    assert code == 5
    assert said.startswith("error: stdout: cannot be written: broken pipe; ")


def test_whatever_else_leaves_the_command_is_a_bug_and_not_a_silent_exit(
    dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: object) -> None:
        sys.exit(0)

    monkeypatch.setattr("dpsel.selection.request.make_request", leave)
    result = dpsel("select", CSV, *ASK)
    assert (result.code, result.out) == (70, "")
    assert result.err.startswith("error: this is a bug in dpsel (SystemExit, leave in line ")


INTERRUPTED_IMPORTS = """
import os, signal, sys
from dpsel.__main__ import main

class Interrupt:
    left = int(sys.argv.pop(1))

    def find_spec(self, *asked):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
main()
"""


@pytest.mark.parametrize("imports", [1, 2, 10, 50, 100, 200])
def test_an_interrupt_while_the_command_is_still_imported_shows_no_traceback(
    imports: int, tmp_path: Path
) -> None:
    # Before main() Python itself would be the one that is interrupted: not ours to mend.
    asked = ["select", str(CSV), *ASK, "--output", str(tmp_path / "out.json")]
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORTS, str(imports), *asked],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=60,
    )
    assert done.returncode == 130
    assert done.stderr in ("", "error: interrupted; nothing was released\n")
    assert not list(tmp_path.iterdir())


def test_tables_may_come_from_pipes_with_names() -> None:
    for path, chosen in ((BOUNDED, "parquet"), (CSV, "csv")):
        words = " ".join([*COMMAND, f"<(cat {path})", "--input-format", chosen, *ASK])
        done = subprocess.run(
            ["bash", "-c", words], capture_output=True, text=True, env=ENVIRONMENT, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["selected_indices"] == [1, 3, 7, 8, 13, 15, 30, 33]


def test_a_help_text_on_a_full_device_ends_with_5() -> None:
    done = shell("DPSEL --help >/dev/full")
    assert done.returncode == 5
    assert done.stderr == "error: stdout: cannot be written: no space left on device\n"


def on_a_terminal(
    arguments: list[str], *, both: bool = False, command: list[str] = COMMAND, **environment: str
) -> tuple[str, str]:
    """Return stdout, and what a terminal on stderr, or on both, was shown."""
    mine, theirs = pty.openpty()
    process = subprocess.Popen(
        [*command, *arguments],
        stdout=theirs if both else subprocess.PIPE,
        stderr=theirs,
        env={**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "80", **environment},
    )
    os.close(theirs)
    shown = b""
    try:
        while more := os.read(mine, 65536):
            shown += more
    except OSError:
        pass  # The other side is gone.
    out, _ = process.communicate(timeout=60)
    os.close(mine)
    assert process.returncode == 0
    return (out or b"").decode(), shown.decode()


def test_progress_shows_on_a_terminal_only_and_counts_no_rows() -> None:
    out, shown = on_a_terminal([str(BOUNDED), *ASK])
    assert json.loads(out)["k"] == 8
    assert "reading" in shown
    assert "1000" not in shown
    assert "\x1b[3" in shown
    for option in ("--quiet", "--no-progress"):
        assert on_a_terminal([str(BOUNDED), *ASK, option])[1] == ""


def test_no_color_is_honoured() -> None:
    _, shown = on_a_terminal([str(BOUNDED), *ASK], NO_COLOR="1")
    assert "reading" in shown
    assert "\x1b[3" not in shown


def test_the_record_comes_after_the_bar_is_gone() -> None:
    _, shown = on_a_terminal([str(BOUNDED), *ASK], both=True)
    after_the_bar = shown[shown.rindex("\x1b[2K") + len("\x1b[2K") :]
    assert json.loads(after_the_bar)["k"] == 8


ROWS = 2_111_222


@pytest.fixture(scope="module")
def long_csv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of several blocks, with a number of rows that nothing else is likely to show."""
    path = tmp_path_factory.mktemp("long") / "t.csv"
    path.write_bytes(b"x,y\n" + b"-0.123456789012,0.123456789012\n" * ROWS)
    yield path
    path.unlink()


def lines_of(shown: str) -> list[str]:
    """Return what a bar showed, one text for each time it was drawn."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    return [line.rstrip() for line in re.split(r"[\r\n]+", plain) if line.strip()]


@pytest.mark.parametrize("columns", [80, 45, 32, 18])
def test_the_bar_shows_speed_and_time_left_and_no_rows(columns: int, long_csv: Path) -> None:
    asked = [str(long_csv), "--target", "y", "--k", "1", "--epsilon", "1", *PAPER]
    asked += ["--threads", "1"]
    out, shown = on_a_terminal(asked, COLUMNS=str(columns))
    assert json.loads(out)["k"] == 1
    lines = lines_of(shown)
    assert max(map(len, lines)) <= columns
    share = r"\d+% "
    speed = r"\d+(\.\d)? [kMG]B/s " if columns >= 45 else ""
    left = r"\d:\d\d:\d\d left$"
    bar = r"[━╸╺]+ +" if columns >= 60 else ""
    work = "reading +" if columns >= 30 else " *"
    assert any(re.fullmatch(f"{work}{bar}{share}{speed}{left}", line) for line in lines), lines
    digits = re.sub(r"\D", "", "".join(lines))
    assert str(ROWS) not in digits
    assert "row" not in shown


def test_a_pipe_has_no_share_and_no_time_left(long_csv: Path) -> None:
    words = [*COMMAND, "-", "--input-format", "csv", "--target", "y", "--k", "1", "--epsilon", "1"]
    words += PAPER
    _, shown = on_a_terminal(
        [" ".join(["cat", str(long_csv), "|", *words])], command=["bash", "-c"]
    )
    assert "reading" in shown
    assert " left" not in shown
    assert "B/s" not in shown


def test_a_sweep_shows_its_share_and_the_time_left() -> None:
    command = [sys.executable, "-m", "dpsel", "evaluate"]
    asked = ["--target", "y", "--k", "2,4", "--epsilon", "1", "--trials", "40", "--threads", "1"]
    asked += ["--unseen", "2", "--method", "dp-sis"]
    _, shown = on_a_terminal([str(BOUNDED), *asked], command=command)
    lines = lines_of(shown)
    plain = " ".join(" ".join(lines).split())
    conclusion = re.search(r"k = 4: (even )?at epsilon 1 [a-z0-9 ]+ of 4 picks are right", plain)
    assert conclusion is not None
    assert conclusion.start() < plain.index("k = 2: accuracy")
    assert plain.index("k = 4: accuracy") < plain.index("k = 4: R^2 of a model on unseen rows")
    assert "SIS, not private" in plain
    assert any(re.match(r"evaluating [━╸╺]+ +\d+%", line) for line in lines), lines
    assert "B/s" not in shown


def test_every_pass_over_a_table_has_a_bar_of_its_own() -> None:
    from tests.sample_tables import Silent, request_for, selected

    reporter = Silent()
    selected(str(CSV), request_for(), reporter)
    assert reporter.sizes == [CSV.stat().st_size]
    assert reporter.shares == sorted(reporter.shares)
    assert reporter.shares[-1] == 1.0
