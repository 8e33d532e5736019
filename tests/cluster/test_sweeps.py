"""`dpsel evaluate` and `dpsel reproduce` on a cluster: the same bytes, resumed or not."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, Dpsel
from tests.cluster.conftest import ended, processes, started_dpsel, wait_until

BOUNDED = ROOT / "sample_data" / "synthetic_bounded.parquet"
SWEEP = ("evaluate", BOUNDED, "--target", "y", "--k", "3,logd", "--epsilon", "0.5,2,5")
METHODS = ("--method", "dp-sis,two-stage,kendall/permute-and-flip", "--trials", 12, "--unseen", 2)


def at_home(dpsel: Dpsel, place: Path) -> bytes:
    """Return the results of this machine alone."""
    result = dpsel(*SWEEP, *METHODS, "--threads", 1, "--output", place / "home.csv")
    assert result.code == 0, result.err
    return (place / "home.csv").read_bytes()


def test_an_evaluation_on_a_cluster_is_the_same_to_the_byte(
    dpsel: Dpsel, local_cluster: Any, tmp_path: Path
) -> None:
    away = tmp_path / "away.csv"
    result = dpsel(*SWEEP, *METHODS, "--output", away, "--cluster", local_cluster.scheduler_address)
    assert (result.code, result.out) == (0, "")
    assert result.err == "note: this is not private: nothing of it is for release\n"
    assert away.read_bytes() == at_home(dpsel, tmp_path)


def test_an_experiment_on_a_cluster_is_the_same_to_the_byte(
    dpsel: Dpsel, local_cluster: Any, tmp_path: Path
) -> None:
    run = ("reproduce", "stability", "--repetitions", 6)
    where = ("--cluster", local_cluster.scheduler_address, "--workers", 2)
    assert dpsel(*run, "--output", tmp_path / "away", *where).code == 0
    assert dpsel(*run, "--output", tmp_path / "home", "--threads", 1).code == 0
    names = sorted(path.name for path in (tmp_path / "home").iterdir())
    assert names == ["stability.csv", "stability.png", "stability_counts.csv"]
    for name in names:
        home, away = tmp_path / "home" / name, tmp_path / "away" / name
        assert home.read_bytes() == away.read_bytes()


@pytest.mark.long
def test_a_lost_scheduler_ends_a_sweep_that_any_machine_can_resume(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    output = tmp_path / "away.csv"
    journal = tmp_path / "away.csv.unfinished"
    many = (*SWEEP, "--method", "dp-sis,two-stage", "--trials", 80, "--resume", "--output", output)
    with processes(tmp_path, 1) as own:
        sweep = started_dpsel(*many, "--cluster", own.address)
        wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3)
        own.scheduler.kill()
        code, out, err = ended(sweep)
    assert (code, out) == (6, "")
    assert err == "error: the connection to the scheduler was lost, and with it the work\n"
    assert not output.exists()
    assert journal.exists()
    assert dpsel(*many, "--threads", 1).code == 0
    alone = (*many[:-2], "--force", "--output", tmp_path / "home.csv")
    assert dpsel(*alone, "--threads", 1).code == 0
    assert output.read_bytes() == (tmp_path / "home.csv").read_bytes()


@pytest.mark.long
def test_a_killed_caller_s_sweep_goes_on_on_the_cluster(dpsel: Dpsel, tmp_path: Path) -> None:
    output = tmp_path / "away.csv"
    journal = tmp_path / "away.csv.unfinished"
    many = (*SWEEP, "--method", "dp-sis,two-stage", "--trials", 80, "--resume")
    with processes(tmp_path, 2) as own:
        where = ("--output", output, "--cluster", own.address)
        sweep = started_dpsel(*many, *where)
        wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") > 3)
        sweep.kill()
        sweep.communicate()
        done = journal.read_bytes()
        again = started_dpsel(*many, *where)
        wait_until(lambda: journal.stat().st_size > len(done))
        assert journal.read_bytes().startswith(done)
        own.workers[0].kill()
        assert ended(again)[0] == 0
    assert dpsel(*many, "--threads", 2, "--output", tmp_path / "home.csv").code == 0
    assert output.read_bytes() == (tmp_path / "home.csv").read_bytes()
    assert not journal.exists()
