"""dask-jobqueue's real SLURM cluster, with jobs that run on this machine."""

import gc
import stat
import urllib.error
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dask
import pytest

from dpsel.cluster.connection import connected
from dpsel.cluster.place import Scheduler
from dpsel.cluster.slurm import load_jobqueue
from dpsel.errors import ClusterError
from tests.cli.conftest import ROOT, Dpsel
from tests.cluster import work
from tests.cluster.conftest import ended, send, started_dpsel, wait_until
from tests.cluster.slurm import Slurm

if find_spec("dask_jobqueue") is None:
    pytest.skip("SLURM needs dask-jobqueue", allow_module_level=True)
pytest.importorskip("cryptography", reason="SLURM's workers need certificates")

# Not by a plain import, which would change what Ctrl-C does in all other tests; and here, so that
# its defaults stay in Dask's configuration.
JOBQUEUE = load_jobqueue()
BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[Slurm]:
    found = Slurm(tmp_path)
    yield found
    found.end()


def use(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let this process be that SLURM's user."""
    for name, value in slurm.environment().items():
        if not name.startswith("DASK_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr("tempfile.tempdir", str(slurm.spill))
    return dask.config.set(
        {
            "jobqueue.slurm.scheduler-options": {"host": "127.0.0.1"},
            "jobqueue.slurm.worker-extra-args": ["--host", "127.0.0.1"],
            "jobqueue.slurm.account": "genomics",
        }
    )


def mode(place: Path) -> int:
    return stat.S_IMODE(place.stat().st_mode)


def schedulers_left() -> list[str]:
    """Return the states of schedulers in this process that were not closed to the end."""
    found = [thing for thing in gc.get_objects() if isinstance(thing, JOBQUEUE.SLURMCluster)]
    return [cluster.status.name for cluster in found if cluster.status.name != "closed"]


def test_jobs_work_in_secret_and_leave_nothing(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    with use(slurm, monkeypatch), connected(Scheduler("slurm", 2), print) as crew:
        found = dict(crew.run(work.added, 7, {str(number): number for number in range(9)}))
        assert found == {str(number): 7 + number for number in range(9)}
        wait_until(lambda: len(crew._client.nthreads()) == 2)
        address = crew._client.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        (keys,) = slurm.home.glob(".dpsel-cluster-*")
        assert mode(keys) == 0o700
        assert {mode(place) for place in keys.iterdir()} == {0o600}
        spills = sorted(slurm.spill.glob("dpsel-spill-*"))
        assert len(spills) == 2
        for place in (*spills, *(inner for one in spills for inner in one.rglob("*"))):
            assert mode(place) & 0o077 == 0, place
        info = crew._client.scheduler_info(n_workers=-1)
        ports = [info["services"]["dashboard"]]
        ports += [one["services"]["dashboard"] for one in info["workers"].values()]
        assert len(ports) == 3
        for port in ports:
            for page in ("", "status", "info/main/workers.html", "metrics", "health"):
                with pytest.raises(urllib.error.HTTPError, match="404"):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=5)
    script = (slurm.jobs / "1.sh").read_text()
    assert "#SBATCH -A genomics\n" in script
    assert "#SBATCH --output=/dev/null\n" in script
    assert slurm.job_numbers("cancelled") == slurm.job_numbers("sh") == [1, 2]
    wait_until(lambda: slurm.running() == [])
    assert schedulers_left() == []
    assert list(slurm.spill.iterdir()) == []
    assert list(slurm.home.glob(".dpsel*")) == []


def test_a_refused_job_is_said_in_the_words_of_sbatch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slurm = Slurm(tmp_path, refusing=True)
    with (
        use(slurm, monkeypatch),
        pytest.raises(ClusterError) as raised,
        connected(Scheduler("slurm", 1), print),
    ):
        pass
    assert str(raised.value) == (
        "slurm: sbatch refused the job: sbatch: error: invalid account or partition specified: "
        "nobody"
    )
    assert list(slurm.spill.iterdir()) == []
    assert schedulers_left() == []


def test_where_slurm_is_missing_the_error_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with (
        pytest.raises(ClusterError, match="sbatch is not on the PATH"),
        connected(Scheduler("slurm", 1), print),
    ):
        pass


def test_a_selection_by_jobs_is_that_of_this_machine(dpsel: Dpsel, slurm: Slurm) -> None:
    drawn = ("--target", "y", "--k", 3, "--epsilon", 0.2, "--seed", 5)
    seeded = ("select", BOUNDED, *drawn, "--method", "dp-sis", "--lower", -1, "--upper", 1)
    run = started_dpsel(*seeded, "--cluster", "slurm", "--workers", 1, **slurm.environment())
    code, out, err = ended(run)
    here = dpsel(*seeded)
    assert (code, out, err) == (here.code, here.out, here.err)
    assert code == 0
    assert slurm.job_numbers("cancelled") == [1]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.long
def test_an_interrupt_cancels_the_jobs(slurm: Slurm, tmp_path: Path, name: str) -> None:
    drawn = ("--target", "y", "--k", "3", "--trials", 3000, "--method", "dp-sis,two-stage")
    sweep = ("evaluate", BOUNDED, *drawn)
    journal = tmp_path / "r.csv.unfinished"
    where = ("--cluster", "slurm", "--workers", 2, "--output", tmp_path / "r.csv")
    run = started_dpsel(*sweep, *where, **slurm.environment())
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3)
    send(run, name)
    code, out, err = ended(run)
    assert (code, out, err) == (130, "", "error: interrupted; nothing was released\n")
    assert slurm.job_numbers("cancelled") == [1, 2]
    wait_until(lambda: slurm.running() == [])
    assert list(slurm.spill.iterdir()) == []
    assert list(slurm.home.glob(".dpsel*")) == []
