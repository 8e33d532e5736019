"""A clock that is centuries off, as that of a machine without a battery may be."""

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None or sys.platform != "linux", reason="needs gcc, and Linux's loader"
)
CLOCK = """
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *found) {
    int failed = syscall(SYS_clock_gettime, clock, found);
    if (!failed && clock == CLOCK_REALTIME) found->tv_sec = atoll(getenv("SECONDS_SINCE_1970"));
    return failed;
}
"""


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that sets the clock of one process."""
    folder = tmp_path_factory.mktemp("clock")
    (folder / "clock.c").write_text(CLOCK)
    made = folder / "clock.so"
    build = ["gcc", "-shared", "-fPIC", "-o", str(made), str(folder / "clock.c")]
    subprocess.run(build, check=True)
    return made


@pytest.mark.parametrize(("year", "code"), [(1600, 2), (1969, 0), (2261, 0), (9998, 2)])
def test_a_wrong_clock_stops_no_run_or_is_named_as_the_error(
    year: int, code: int, clock: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("x,z,y\n1,0,1\n1,1,0\n")
    since = datetime(year, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LD_PRELOAD": str(clock)}
    environment["SECONDS_SINCE_1970"] = str(int(since.total_seconds()))
    ask = ["--target", "y", "--k", "1", "--epsilon", "1", "--format", "names"]
    ask += ["--method", "dp-sis", "--lower", "-1", "--upper", "1"]
    run = [sys.executable, "-m", "dpsel", "select", "t.csv", *ask]
    done = subprocess.run(run, capture_output=True, env=environment, cwd=tmp_path, timeout=120)
    message = (
        "error: the clock of this machine is not between the years 1678 and 2261; set it right\n"
    )
    assert (done.returncode, done.stderr.decode()) == (code, message if code else "")
    assert bool(done.stdout) == (code == 0)
