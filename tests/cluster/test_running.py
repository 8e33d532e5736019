"""Tasks on real workers: their results, and every way in which a cluster can fail."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dpsel import __version__
from dpsel.cluster.connection import connected
from dpsel.cluster.dask import DaskCrew
from dpsel.cluster.place import Scheduler
from dpsel.cluster.tasks import TaskError, do_task
from dpsel.errors import ClusterError
from tests.cluster import work
from tests.cluster.conftest import Processes, processes, send, wait_until

# A worker asks a dead one for data for as long as it may take to connect.
QUICK = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "2s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1",
}
SHORT: dict[str, Any] = {"distributed.comm.timeouts.connect": "2s"}
LONG: dict[str, Any] = {"distributed.comm.timeouts.connect": "10h"}


@contextmanager
def cluster_at(address: str, workers: int = 1, **settings: Any) -> Iterator[DaskCrew]:
    import dask

    notes: list[str] = []
    with dask.config.set(settings), connected(Scheduler(address, workers), notes.append) as found:
        yield found
    assert notes == []


@contextmanager
def started(folder: Path) -> Iterator[Processes]:
    """Start a cluster whose worker is there: on a busy machine that takes longer than `SHORT`."""
    with processes(folder, 1) as own:
        with cluster_at(own.address):
            pass
        yield own


def test_every_task_is_done_once_whatever_the_order(local_cluster: Any) -> None:
    tasks = {f"task {number}": number for number in range(50)}
    with cluster_at(local_cluster.scheduler_address, 2) as cluster:
        found = list(cluster.run(work.added, 1000, tasks))
    assert len(found) == 50
    assert dict(found) == {key: 1000 + number for key, number in tasks.items()}


def test_workers_leave_each_other_the_cores(local_cluster: Any) -> None:
    with cluster_at(local_cluster.scheduler_address) as cluster:
        (found,) = dict(cluster.run(work.blas_threads, None, {"threads": None})).values()
    assert found
    assert set(found) == {1}


def test_a_bug_is_told_without_its_message(local_cluster: Any) -> None:
    with (
        cluster_at(local_cluster.scheduler_address) as cluster,
        pytest.raises(TaskError) as raised,
    ):
        list(cluster.run(work.faulty, None, {"a": "HIV+"}))
    line = work.faulty.__code__.co_firstlineno + 1
    assert str(raised.value) == (
        f"this is a bug in dpsel (KeyError, faulty in line {line}, on a worker); "
        "nothing was released"
    )
    logs = str(local_cluster.get_logs())
    assert "faulty" in logs
    assert "HIV+" not in logs


def test_a_task_for_another_version_is_refused() -> None:
    options: dict[str, Any] = {"state": 1, "work": work.added}
    with pytest.raises(
        ClusterError, match=f"a worker has dpsel {__version__}, and this is dpsel 9"
    ):
        do_task(b"", version="9", **options)


@pytest.mark.long
def test_a_killed_worker_changes_nothing(tmp_path: Path) -> None:
    tasks = {str(number): number for number in range(20)}
    found: dict[str, int] = {}

    def at_work() -> list[int]:
        begun = [place.name.split("-") for place in tmp_path.glob("*-*") if place.is_file()]
        return [int(pid) for task, pid in begun if task not in found]

    with processes(tmp_path, 2, **QUICK) as own, cluster_at(own.address, 2) as cluster:
        for key, result in cluster.run(work.slowly, str(tmp_path), tasks):
            found[key] = result
            if len(found) == 5:
                wait_until(lambda: at_work() != [])
                victim = next(one for one in own.workers if one.pid == at_work()[0])
                victim.kill()
        assert victim.wait() == -9
    assert found == tasks
    begun = [path.name.split("-")[0] for path in tmp_path.glob("*-*") if path.is_file()]
    assert len(begun) > len(set(begun)), "nothing was done again: the kill came too late"


@pytest.mark.long
def test_a_task_that_kills_its_workers_is_given_up(tmp_path: Path) -> None:
    with (
        processes(tmp_path, 2, **QUICK) as own,
        cluster_at(own.address) as cluster,
        pytest.raises(ClusterError, match=r"workers died again and again .* want of memory"),
    ):
        list(cluster.run(work.deadly, None, {"a": 1}))


@pytest.mark.long
def test_a_killed_scheduler_is_noticed_at_once(tmp_path: Path) -> None:
    tasks = {str(number): number for number in range(100)}
    with processes(tmp_path, 1) as own, cluster_at(own.address, **LONG) as cluster:
        results = cluster.run(work.slowly, str(tmp_path), tasks)
        next(results)
        own.scheduler.kill()
        with pytest.raises(ClusterError, match="the connection to the scheduler was lost"):
            list(results)


@pytest.mark.long
@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        (lambda own: send(own.scheduler, "SIGSTOP"), "the connection to the scheduler was lost"),
        (lambda own: own.workers[0].kill(), "the cluster has no workers left"),
    ],
)
def test_a_cluster_that_is_of_no_use_is_given_up_in_time(
    harm: Callable[[Processes], None], complaint: str, tmp_path: Path
) -> None:
    tasks = {str(number): number for number in range(100)}
    with started(tmp_path) as own, cluster_at(own.address, **SHORT) as cluster:
        results = cluster.run(work.slowly, str(tmp_path), tasks)
        next(results)
        harm(own)
        with pytest.raises(ClusterError, match=complaint):
            list(results)


def test_too_few_workers_are_not_waited_for_forever(local_cluster: Any) -> None:
    with (
        pytest.raises(ClusterError, match="the cluster has 2 workers, and 3 are needed"),
        cluster_at(local_cluster.scheduler_address, 3, **SHORT),
    ):
        pass


def test_an_address_without_a_scheduler_is_an_error_that_says_so() -> None:
    with (
        pytest.raises(ClusterError, match=r"tcp://127\.0\.0\.1:1: cannot connect to the scheduler"),
        cluster_at("tcp://127.0.0.1:1", **SHORT),
    ):
        pass


def test_where_encryption_is_asked_for_a_plain_address_is_refused() -> None:
    # Of another machine: Dask lets connections within this one be.
    with (
        pytest.raises(ClusterError, match="use tls://"),
        cluster_at("tcp://192.0.2.1:1", **{"distributed.comm.require-encryption": True}, **SHORT),
    ):
        pass


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("__version__ = '0.0.7'", f"a worker has dpsel 0.0.7, and this is dpsel {__version__}"),
        pytest.param(
            "raise ImportError",
            f"a worker has no dpsel; install dpsel {__version__}",
            marks=pytest.mark.long,
        ),
    ],
)
def test_workers_with_another_dpsel_are_refused(
    tmp_path: Path, source: str, complaint: str
) -> None:
    (tmp_path / "other" / "dpsel").mkdir(parents=True)
    (tmp_path / "other" / "dpsel" / "__init__.py").write_text(source)
    with processes(tmp_path, 1) as own:
        own.start_worker(PYTHONPATH=str(tmp_path / "other"))
        with pytest.raises(ClusterError, match=complaint), cluster_at(own.address, 2):
            pass


def test_dask_is_as_loud_after_as_before(local_cluster: Any) -> None:
    import logging

    before = {name: logging.getLogger(name).level for name in ("distributed", "distributed.client")}
    with cluster_at(local_cluster.scheduler_address):
        assert logging.getLogger("distributed.client").level > logging.CRITICAL
    assert before == {name: logging.getLogger(name).level for name in before}
