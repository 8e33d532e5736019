"""No test may charge a ledger of whoever runs it; and where tests put their files."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# As the command says before numpy is loaded; without it, every run in this process looks for the
# matrix libraries once more.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

# Hundreds of processes are started: each would compile the package anew, a third of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_MEMORY = Path("/dev/shm")
_ROOM = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Let the quick tests, whose files are small, have them in memory if there is room.

    What is released is synced to the disk before anything else is done: tens of thousands of times
    in these tests.
    """
    quick = config.getoption("markexpr") == "not long"
    if quick and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


def pytest_collection_finish() -> None:
    """Look for garbage less often, and never among what all modules made: it saves 5 % of time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def pytest_xdist_auto_num_workers() -> int:
    """Return one more than there are cores: many tests wait for processes, or for a while."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.fixture(scope="session", autouse=True)
def no_ledger_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LEDGER", "LEDGER_FILE", "REQUIRE_LEDGER", "REQUIRE_END_TO_END"):
            patch.delenv(f"DPSEL_{name}", raising=False)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


# Properties are checked on the same examples every time, and however long one takes on a busy
# machine. `pytest --hypothesis-profile=explore` tries new ones.
settings.register_profile("fixed", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("fixed")
