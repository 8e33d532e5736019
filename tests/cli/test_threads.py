"""The caller decides how many threads there are: what computes at the end takes no others."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpsel.cluster.shards import Cluster, merge_totals, score_shard
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import make_randomness
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.methods import RoundDraws
from dpsel.system import threads
from dpsel.system.threads import Threads
from tests.cli.conftest import Dpsel
from tests.sample_tables import Silent, numbers, request_for, selected

ASK = ("--target", "y", "--k", "1", "--epsilon", "1", "--seed", "1")
# More than the machines that run these tests are likely to have cores.
MANY = 37


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return in how many threads pairs are compared, each time: with one there is no pool."""
    sizes: list[int] = []
    made: list[int] = []
    real = Threads.map

    class Counted(ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            made.append(threads)
            super().__init__(threads)

    def counted(self: Threads, work: Any, items: Any, most: int) -> Any:
        made.clear()
        yield from real(self, work, items, most)
        sizes.extend(made or [1])

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Counted)
    monkeypatch.setattr(Threads, "map", counted)
    return sizes


@pytest.fixture
def table(tmp_path: Path) -> str:
    numbers(60, 5).write_csv(tmp_path / "t.csv")
    return str(tmp_path / "t.csv")


@pytest.mark.parametrize("threads", [1, MANY])
@pytest.mark.parametrize(
    "command",
    [("select", "--score", "kendall"), ("baseline", "--method", "dpkendall")],
    ids=["select", "baseline"],
)
def test_kendall_has_as_many_threads_as_the_command_asks_for(
    command: tuple[str, ...], threads: int, table: str, pools: list[int], dpsel: Dpsel
) -> None:
    name, *options = command
    assert dpsel(name, table, *ASK, *options, "--threads", threads).code == 0
    # `baseline` first copies its rows into one matrix: one thread for the one batch there is.
    assert pools == [*([1] if name == "baseline" else []), threads]


@pytest.mark.parametrize("threads", [1, MANY])
def test_a_share_of_a_cluster_has_as_many_as_its_worker_gives_it(
    threads: int, table: str, pools: list[int]
) -> None:
    def spread(work: Any, shards: Any, progress: Any) -> list[Any]:
        return [merge_totals(work, [score_shard(work, shard, threads) for shard in shards])]

    plan = request_for(score="kendall", threads=5, seed=1)
    selected(table, plan, Silent(), Cluster(spread))
    assert pools == [threads]


def test_a_worker_of_an_evaluation_has_one(pools: list[int]) -> None:
    rng = np.random.default_rng(0)
    rows = DataSet(rng.standard_normal((50, 4)), rng.standard_normal(50))
    RoundDraws(rows, Neighbors.ADD_REMOVE, Unit()).draw(2, 1.0, 1, make_randomness(1))
    assert set(pools) == {1}


@pytest.mark.parametrize("threads", [1, MANY])
def test_an_evaluation_compares_in_as_many_as_it_has(
    threads: int, table: str, pools: list[int], dpsel: Dpsel
) -> None:
    ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--method", "kendall/peeling")
    found = dpsel("evaluate", table, *ask, "--trials", "1", "--threads", threads, "--quiet")
    assert found.code == 0, found.err
    # The first two copy one batch each: a CSV with missing cells is read twice, for its words.
    assert pools == [1, 1, threads]
