"""Which clusters can be asked for."""

import sys

import pytest

from dpsel.cluster.dask import load_distributed, load_jobqueue
from dpsel.cluster.place import Scheduler, plan_cluster
from dpsel.errors import UsageError
from tests.cli.conftest import ROOT, Dpsel

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"


def test_addresses_and_slurm_are_understood() -> None:
    assert plan_cluster(None, None) is None
    assert plan_cluster("tcp://head:8786", None) == Scheduler("tcp://head:8786", 1)
    assert plan_cluster("tls://10.0.0.1:8786", 4) == Scheduler("tls://10.0.0.1:8786", 4)
    assert plan_cluster("tcp://[::1]:8786", None) == Scheduler("tcp://[::1]:8786", 1)
    assert plan_cluster("slurm", 20) == Scheduler("slurm", 20)


@pytest.mark.parametrize(
    "address",
    [
        *("", "head:8786", "tcp://head", "tcp://:8786", "http://head:8786", "SLURM"),
        *("tcp://head:8786/", "tcp://me@head:8786", "tcp://head:port", "tcp://head:99999"),
    ],
)
def test_anything_else_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="--cluster must be tcp://HOST:PORT"):
        plan_cluster(address, None)


def test_workers_are_asked_for_where_they_are_started() -> None:
    with pytest.raises(UsageError, match="slurm needs --workers"):
        plan_cluster("slurm", None)
    with pytest.raises(UsageError, match="--workers needs --cluster"):
        plan_cluster(None, 2)
    with pytest.raises(UsageError, match="workers must be 1 or more"):
        plan_cluster("tcp://head:8786", 0)


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
        plan = plan_cluster(address, None)
        assert plan is not None
        assert plan.in_the_clear is clear


def test_without_dask_the_answer_is_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    for load in (load_distributed, load_jobqueue):
        with pytest.raises(UsageError, match=r"pip install 'dpsel\[dask\]'"):
            load()


def test_a_wrong_cluster_is_said_before_anything_is_read(dpsel: Dpsel) -> None:
    result = dpsel("evaluate", BOUNDED, "--target", "y", "--k", 3, "--cluster", "head")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: --cluster must be tcp://HOST:PORT")
