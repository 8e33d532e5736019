"""Which clusters can be asked for."""

import sys

import pytest

from dpsel.cluster.dask import load_distributed
from dpsel.cluster.place import Place, Scheduler
from dpsel.cluster.slurm import load_jobqueue
from dpsel.errors import UsageError
from tests.cli.conftest import ROOT, Dpsel

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"


def test_addresses_and_slurm_are_understood() -> None:
    assert Place(cluster=None, workers=None).scheduler() is None
    assert Place(cluster="tcp://head:8786", workers=None).scheduler() == Scheduler(
        "tcp://head:8786", 1
    )
    assert Place(cluster="tls://10.0.0.1:8786", workers=4).scheduler() == Scheduler(
        "tls://10.0.0.1:8786", 4
    )
    assert Place(cluster="tcp://[::1]:8786", workers=None).scheduler() == Scheduler(
        "tcp://[::1]:8786", 1
    )
    assert Place(cluster="slurm", workers=20).scheduler() == Scheduler("slurm", 20)


@pytest.mark.parametrize(
    "address",
    [
        *("", "head:8786", "tcp://head", "tcp://:8786", "http://head:8786", "SLURM"),
        *("tcp://head:8786/", "tcp://me@head:8786", "tcp://head:port", "tcp://head:99999"),
    ],
)
def test_anything_else_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="--cluster must be tcp://HOST:PORT"):
        Place(cluster=address, workers=None).scheduler()


def test_workers_are_asked_for_where_they_are_started() -> None:
    with pytest.raises(UsageError, match="slurm needs --workers"):
        Place(cluster="slurm", workers=None).scheduler()
    with pytest.raises(UsageError, match="--workers needs --cluster"):
        Place(cluster=None, workers=2).scheduler()
    with pytest.raises(UsageError, match="workers must be 1 or more"):
        Place(cluster="tcp://head:8786", workers=0).scheduler()


def test_only_plain_connections_to_other_machines_are_in_the_clear() -> None:
    addresses = {
        "tcp://10.0.0.1:1": True,
        "tcp://head:1": True,
        "tls://head:1": False,
        "tcp://127.0.0.1:1": False,
        "tcp://[::1]:1": False,
        "tcp://localhost:1": False,
    }
    for address, clear in addresses.items():
        plan = Place(cluster=address, workers=None).scheduler()
        assert plan is not None
        assert plan.in_the_clear is clear


def test_without_dask_the_answer_is_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    for load in (load_distributed, load_jobqueue):
        with pytest.raises(UsageError, match="pip install dask distributed dask-jobqueue"):
            load()


def test_a_wrong_cluster_is_said_before_anything_is_read(dpsel: Dpsel) -> None:
    result = dpsel("evaluate", BOUNDED, "--target", "y", "--k", 3, "--cluster", "head")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --cluster must be tcp://HOST:PORT")
