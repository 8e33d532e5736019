"""Workers that are stopped in the middle of their work: told of, and others do it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
import pytest

from dpsel.cluster.connection import connected
from dpsel.cluster.place import Scheduler
from dpsel.errors import ClusterError
from tests.cluster import work
from tests.cluster.conftest import Processes, processes, send, wait_until

SHORT: dict[str, Any] = {"distributed.comm.timeouts.connect": "10s"}
QUICK = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s",
    # As long as a test may take: it is not Dask that notices.
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "1h",
}
TASKS = {str(number): number for number in range(20)}
SILENT = "a worker of the cluster is silent; if it stays so, others get its work"
GONE = "a worker of the cluster was silent for too long: its work is done elsewhere"


def run_and_stop(
    own: Processes, workers: int, folder: Path, note: Callable[[str], None]
) -> dict[str, Any]:
    """Stop a worker that is at work after five results, and return all results."""
    found: dict[str, Any] = {}

    def at_work() -> list[int]:
        begun = [place.name.split("-") for place in folder.glob("*-*") if place.is_file()]
        return [int(pid) for task, pid in begun if task not in found]

    where = Scheduler(own.address, workers)
    with connected(where, note):
        pass  # All workers are there: on a busy machine that takes longer than `SHORT`.
    with dask.config.set(SHORT), connected(where, note) as crew:
        for key, result in crew.run(work.slowly, str(folder), TASKS):
            found[key] = result
            if len(found) == 5:
                wait_until(lambda: at_work() != [])
                send(next(one for one in own.workers if one.pid == at_work()[0]), "SIGSTOP")
    return found


@pytest.mark.long
def test_the_work_of_a_stopped_worker_is_done_by_another(tmp_path: Path) -> None:
    notes: list[str] = []
    with processes(tmp_path, 2, **QUICK) as own:
        assert run_and_stop(own, 2, tmp_path, notes.append) == TASKS
    assert notes == [SILENT, GONE]


@pytest.mark.long
def test_a_cluster_whose_only_worker_is_stopped_is_given_up(tmp_path: Path) -> None:
    notes: list[str] = []
    with (
        processes(tmp_path, 1, **QUICK) as own,
        pytest.raises(ClusterError, match="the cluster has no workers left"),
    ):
        run_and_stop(own, 1, tmp_path, notes.append)
    assert notes == [SILENT, GONE]
