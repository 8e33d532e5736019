"""Processes of a pool load what their tasks need, and no more; threads keep to their number."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpsel.core.scores.base import IN_TURN, Mapper
from dpsel.errors import UsageError
from dpsel.system.threads import Threads
from dpsel.system.workers import run_tasks
from tests.cli.conftest import ROOT


def loaded(*arguments: str, **environment: str) -> list[bool]:
    """Return which of the tasks ran where scikit-learn was loaded."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loaded", *arguments],
        capture_output=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    found: list[bool] = json.loads(done.stdout)
    return found


def test_a_program_that_was_not_told_to_is_kept_on_one_thread_of_the_matrix_library() -> None:
    code = (
        "import numpy, threadpoolctl; from dpsel.system.threads import one_blas_thread\n"
        "def most(): return max(one['num_threads'] for one in threadpoolctl.threadpool_info())\n"
        "before = most()\n"
        "with one_blas_thread(): print(before, most())\n"
    )
    told = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=told, cwd=ROOT
    )
    assert done.stdout == "2 1\n", done.stderr


def test_only_a_pool_that_fits_lassos_loads_the_solver() -> None:
    assert loaded() == [False] * 4
    assert loaded("lassos") == [True] * 4


def test_a_long_name_of_the_temporary_folder_is_no_matter(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    assert loaded(TMPDIR=str(long)) == [False] * 4


@pytest.mark.parametrize("mapper", [IN_TURN, Threads(1), Threads(4)], ids=["in turn", "1", "4"])
def test_pieces_come_in_order_and_at_most_so_many_are_worked_on_at_a_time(mapper: Mapper) -> None:
    lock, working, most = threading.Lock(), 0, 0

    def work(item: int) -> int:
        nonlocal working, most
        with lock:
            working += 1
            most = max(most, working)
        time.sleep(0.001)  # So that others can come, if they may.
        with lock:
            working -= 1
        return item * item

    assert list(mapper.map(work, range(200), 3)) == [item * item for item in range(200)]
    assert most <= min(3, mapper.at_once)


def test_who_stops_early_cancels_what_has_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    hold = threading.Event()

    class Pool(ThreadPoolExecutor):
        def shutdown(self, *arguments: Any, **options: Any) -> None:
            hold.set()  # By now, what has not begun is cancelled.
            super().shutdown(*arguments, **options)

    def work(item: int) -> int:
        begun.append(item)
        if item:
            hold.wait()
        return item

    monkeypatch.setattr("dpsel.system.threads.ThreadPoolExecutor", Pool)
    results = Threads(2).map(work, range(50), 50)
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    # One that is done, and one for each thread.
    assert len(begun) <= 3


def test_there_is_at_least_one_thread() -> None:
    with pytest.raises(UsageError, match="threads must be 1 or more, got 0"):
        Threads(0)


class Recorded:
    """A crew that does everything itself, the last task first."""

    def run(self, work: Any, state: Any, tasks: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for key in reversed(list(tasks)):
            yield key, work(state, tasks[key])


def test_any_crew_will_do() -> None:
    found = list(run_tasks(pow, 2, {"a": 3, "b": 4}, workers=Recorded()))
    assert found == [("b", 16), ("a", 8)]
    assert list(run_tasks(pow, 2, {}, workers=Recorded())) == []
