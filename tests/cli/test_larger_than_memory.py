"""Every command on tables several times as large as the memory it may use."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import ROOT, Dpsel

ROWS, COLUMNS = 40_000, 24
# An eighth of the table, of which the work on it takes several copies.
MEMORY = "1MB"
DPSEL = """
import sys
from dpsel.cli.app import run
code = run(sys.argv[1:])
# Not ru_maxrss: that begins with what the parent had.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
sys.stderr.write(peak.split()[1])
sys.exit(code)
"""
ASK = ("--target", "y", "--k", 4, "--quiet")
UNIT = ("--lower", -1, "--upper", 1)
TWO_STAGE = (*UNIT, "--method", "two-stage", "--epsilon", 3, "--penalty", 0.02, "--seed", 5)
COMMANDS: dict[str, tuple[str, tuple[object, ...]]] = {
    "stump": ("select", ("--epsilon", 3, "--seed", 5)),
    "kendall": ("select", ("--epsilon", 3, "--score", "kendall", "--seed", 5)),
    "sis": ("baseline", ("--method", "sis", *UNIT)),
    "lasso": ("baseline", ("--method", "lasso", "--penalty", 0.01, *UNIT)),
    "two-stage": ("baseline", (*TWO_STAGE, "--blocks", 60)),
    "two-stage in order": (
        "baseline",
        (*TWO_STAGE, "--neighbors", "replace-one", "--contiguous", "--no-privacy"),
    ),
    "two-stage, huge blocks": ("baseline", (*TWO_STAGE, "--blocks", 2)),
    "dpkendall": ("baseline", ("--method", "dpkendall", "--epsilon", 3, "--seed", 5)),
}


def table(path: Path, rows: int, columns: int) -> Path:
    """Write a table whose first columns say something about the target, in raw numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(0, 0.4, (rows, columns))
    y = X[:, :4] @ np.array([0.6, -0.5, 0.4, 0.3]) + rng.normal(0, 0.4, rows)
    frame = pl.DataFrame(X, schema=[f"x{i}" for i in range(columns)]).with_columns(y=pl.Series(y))
    frame.write_parquet(path, compression="uncompressed", row_group_size=15_000)
    return path


@pytest.fixture(scope="module")
def tall(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return table(tmp_path_factory.mktemp("tall") / "tall.parquet", ROWS, COLUMNS)


class Ended:
    """What a command in a process of its own left behind, and the most memory it had."""

    def __init__(self, *arguments: object, memory: str, under: Sequence[str] = ()) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "DPSEL_MEMORY": memory}
        done = subprocess.run(
            [*under, sys.executable, "-c", DPSEL, *map(str, arguments)],
            capture_output=True,
            env=environment,
        )
        self.code, self.out = done.returncode, done.stdout
        *lines, peak = done.stderr.decode().split("\n")
        self.err, self.peak = "\n".join(lines), int(peak) * 1024


@pytest.mark.parametrize("name", COMMANDS)
def test_a_selection_is_the_same_with_much_and_with_little_memory(
    name: str, tall: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, options = COMMANDS[name]
    found = []
    for memory in ("10GB", MEMORY):
        monkeypatch.setenv("DPSEL_MEMORY", memory)
        found.append(dpsel(command, tall, *ASK, *options))
    assert found[0].code == 0, found[0].err
    assert found[0] == found[1]
    # The second time the rows were on a disk: without one there is no result.
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", "/nowhere")
        code = dpsel(command, tall, *ASK, *options).code
    # By stump the columns of a Parquet file are read a few at a time.
    assert code == (0 if name == "stump" else 3)


def test_stump_of_rows_in_text_is_the_same_with_much_and_with_little_memory(
    tall: Path, tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.read_parquet(tall).write_csv(text := tmp_path / "tall.csv")
    _, options = COMMANDS["stump"]
    found = [dpsel("select", tall, *ASK, *options)]
    for memory in ("10GB", MEMORY):
        monkeypatch.setenv("DPSEL_MEMORY", memory)
        found.append(dpsel("select", text, *ASK, *options))
    assert found[0].code == 0, found[0].err
    assert found[0] == found[1] == found[2]
    with monkeypatch.context() as patch:
        patch.setattr("tempfile.tempdir", "/nowhere")
        code = dpsel("select", text, *ASK, *options).code
    assert code == 3


SWEEP = ("--trials", 2, "--epsilon", "1,9", "--penalty", 0.02, "--output", "-", "--seed", 3)
FEW = ("--features", "x0,x1,x2,x5,x7,x9,x10,x11", "--truth", "sis")


@pytest.mark.parametrize(
    ("methods", "options"),
    [
        ("dp-sis,two-stage,sis,lasso,covariance/peeling@robust,kendall/peeling,stump", ()),
        ("dpkendall,dot/joint", FEW),
    ],
)
def test_an_evaluation_is_the_same_with_much_and_with_little_memory(
    methods: str,
    options: tuple[str, ...],
    tall: Path,
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    for memory in ("10GB", MEMORY):
        monkeypatch.setenv("DPSEL_MEMORY", memory)
        asked = (*ASK, *SWEEP, "--method", methods, "--scale", "max-abs", *options)
        done = dpsel("evaluate", tall, *asked)
        assert (done.code, done.err) == (0, "")
        found.append(json.loads(done.out))
    for ours, theirs in zip(found[0]["results"], found[1]["results"], strict=True):
        # Added up in another order.
        assert ours.pop("relative_correlation") == pytest.approx(
            theirs.pop("relative_correlation"), rel=1e-12
        )
    assert found[0] == found[1]


@pytest.mark.long
def test_an_evaluation_killed_on_disk_goes_on_in_memory(tall: Path, tmp_path: Path) -> None:
    place, other = tmp_path / "r.csv", tmp_path / "w.csv"
    few = ("--features", "x[0-9]", "--epsilon", 1, "--trials", 9, "--penalty", 0.02)
    asked = ("evaluate", tall, *ASK, *few, "--threads", 1, "--output")
    process = subprocess.Popen(
        [sys.executable, "-c", DPSEL, *map(str, asked), str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "DPSEL_MEMORY": MEMORY},
    )
    journal = Path(f"{place}.unfinished")
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 3):
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    kept = journal.read_bytes()
    assert Ended(*asked, place, "--resume", memory="10GB").code == 0
    assert Ended(*asked, other, memory="10GB").code == 0
    assert kept.count(b"\n") > 3
    assert place.read_bytes() == other.read_bytes()


def test_a_full_disk_is_a_plain_error_and_releases_nothing(tall: Path, tmp_path: Path) -> None:
    # No file may be larger than 1024 kB.
    little_room = ("bash", "-c", 'ulimit -f 1024; exec "$@"', "bash")
    output = tmp_path / "out.json"
    for options in (
        ("select", tall, *ASK, "--epsilon", 1, "--score", "kendall", "--output", output),
        ("evaluate", tall, *ASK, "--epsilon", 1, "--output", output),
    ):
        ended = Ended(*options, memory=MEMORY, under=little_room)
        assert ended.code == 3
        assert ended.err + "\n" == (
            "error: a temporary file for rows that do not fit in memory cannot be written: file "
            "too large; set TMPDIR to a folder with more room\n"
        )
        assert ended.out == b""
        assert not output.exists()


def test_a_size_that_is_none_is_refused_before_anything_is_charged(
    tall: Path, tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = ("--ledger-file", tmp_path / "ledger.sqlite")
    made = dpsel("budget", "init", "b", "--epsilon", 9, *ledger)
    assert made.code == 0, made.err
    monkeypatch.setenv("DPSEL_MEMORY", "a lot")
    charged = (*ASK, "--epsilon", 1, "--ledger", "b", *ledger)
    for command, *options in (
        ("select", "--score", "kendall", *charged),
        ("baseline", "--method", "dpkendall", *charged),
        ("baseline", "--method", "sis", *UNIT, *ASK),
        ("evaluate", "--epsilon", 1, *ASK),
    ):
        result = dpsel(command, tall, *options)
        assert result.code == 2
        assert "DPSEL_MEMORY must be a size such as 2GB or 500MB, got 'a lot'" in result.err
    shown = dpsel("budget", "show", "b", *ledger)
    assert json.loads(shown.out)["charges"] == 0


@pytest.mark.long
@pytest.mark.parametrize("name", [*COMMANDS, "evaluate", "preprocess"])
def test_memory_hardly_grows_with_the_table(name: str, tmp_path: Path) -> None:
    peaks = []
    for rows in (400_000, 2_400_000):
        path = table(tmp_path / f"{rows}.parquet", rows, COLUMNS)
        command, options = COMMANDS.get(name, (name, ()))
        asked: tuple[object, ...] = (path, *ASK, *options)
        if name == "evaluate":
            asked = (path, *ASK, *SWEEP, "--method", "dp-sis,two-stage@robust")
        if name == "preprocess":
            asked = (
                path,
                f"{path}.out",
                "--target",
                "y",
                "--scale",
                "robust",
                "--format",
                "parquet",
            )
        ended = Ended(command, *asked, memory="40MB")
        assert ended.code == 0, ended.err
        peaks.append(ended.peak)
    # The target, and for kendall and stump what belongs to a column a thread, stay in memory. All
    # columns would take 192 bytes a row besides, for each of their copies.
    most = {"kendall": 280, "stump": 160}
    bytes_a_row = next((most[score] for score in most if score in name), 120)
    assert peaks[1] - peaks[0] < 2_000_000 * bytes_a_row
