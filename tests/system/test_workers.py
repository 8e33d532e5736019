"""Processes of a pool load what their tasks need, and no more."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.conftest import ROOT

pytest.importorskip("sklearn", reason="needs scikit-learn")


def loaded(*arguments: str) -> list[bool]:
    """Return which of the tasks ran where scikit-learn was loaded."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loaded", *arguments],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    found: list[bool] = json.loads(done.stdout)
    return found


def test_only_a_pool_that_fits_lassos_loads_the_solver() -> None:
    assert loaded() == [False] * 4
    assert loaded("lassos") == [True] * 4
