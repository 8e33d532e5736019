"""Running the command as a user would, in this process or in one of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dpsel.cli.app import run

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


Dpsel = Callable[..., Result]


@pytest.fixture
def dpsel(capfd: pytest.CaptureFixture[str]) -> Dpsel:
    """Run a command line in this process."""

    def call(*arguments: object) -> Result:
        capfd.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Result(code, out, err)

    return call


def wait_until_asleep(process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    """Wait until a process has waited for a fifth of a second, for a pipe and not for a core.

    On a busy machine, one that has yet to do something may not be given a core for long.
    """
    status = Path(f"/proc/{process.pid}/stat")
    if not status.exists():
        time.sleep(0.5)
        return
    end, asleep = time.monotonic() + seconds, 0
    while asleep < 10:
        assert time.monotonic() < end, "waited in vain"
        state = status.read_text().rpartition(")")[2].split()[0]
        asleep = asleep + 1 if state == "S" else 0
        time.sleep(0.02)


@pytest.fixture
def dpsel_process() -> Dpsel:
    """Run a command line in a process of its own."""

    def call(*arguments: object, **options: Any) -> Result:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
        done = subprocess.run(
            [sys.executable, "-m", "dpsel", *map(str, arguments)],
            capture_output=True,
            timeout=120,
            env={key: value for key, value in environment.items() if value is not None},
            **options,
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call
