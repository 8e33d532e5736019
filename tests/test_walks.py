"""What five users do first, each from a fresh environment: at most two commands to a result."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_distribution import ROOT, Environment

WALKS = sorted((ROOT / "tests" / "walks").glob("*.[sp][hy]"))
FIRST = "The first useful result."

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which dpsel was installed as the README says."""
    folder = tmp_path_factory.mktemp("fresh")
    Environment(folder).install(str(ROOT))
    return folder / "bin"


@pytest.mark.parametrize("walk", WALKS, ids=lambda path: path.stem)
def test_a_walk(walk: Path, programs: Path, tmp_path: Path) -> None:
    for tool in ("awk", "jq", "make"):
        if tool in walk.read_text() and shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    program = "python" if walk.suffix == ".py" else "sh"
    done = subprocess.run(
        [program, walk],
        cwd=tmp_path,
        env={"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_first_result_takes_at_most_two_commands() -> None:
    for walk in WALKS:
        before, _, after = walk.read_text().partition(FIRST)
        assert after, walk
        if walk.suffix == ".sh":
            lines = [*before.splitlines(), *after.splitlines()[1:2]]
            commands = [line for line in lines if line.startswith(("dpsel ", "env "))]
            assert 1 <= len(commands) <= 2, walk
