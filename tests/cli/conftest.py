"""Running the command as a user would, in this process or in one of its own."""

import os
import subprocess
import sys
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
