"""`dpsel select` on a cluster: the same bits for any partition, and nothing but sums comes back."""

import dataclasses
import itertools
import json
import pickle
import struct
from pathlib import Path
from typing import Any

import dask
import polars as pl
import pytest

import dpsel as library
from dpsel.cli.terminal import TerminalReporter
from dpsel.cluster import shard_files
from dpsel.cluster.dask import no_collections
from dpsel.cluster.place import Scheduler
from dpsel.core.selection import Selection
from dpsel.errors import UsageError
from tests.cli.conftest import ROOT, Dpsel
from tests.cluster.conftest import processes
from tests.sample_tables import Silent, numbers, request_for, select_on

SEED = 0x1234567890ABCDEF
EPSILON = 1.2345678901234567
WIDTH = 6


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One table of 90 rows in three partitions, with persons and labels."""
    frame = numbers(90, WIDTH, seed=5).with_columns(
        who=pl.Series([f"p{row % 40}" for row in range(90)]),
        label=pl.Series(["ill" if row % 3 else "well" for row in range(90)]),
    )
    folder = tmp_path_factory.mktemp("tables")
    frame.write_parquet(folder / "one.parquet", row_group_size=4)
    for name, cuts in {"few": [50], "many": [1, 20, 21, 21, 60, 85]}.items():
        (folder / name).mkdir()
        for number, (start, end) in enumerate(itertools.pairwise([0, *cuts, 90])):
            frame[start:end].write_parquet(folder / name / f"{number}.parquet", row_group_size=9)
    return {"one": str(folder / "one.parquet"), **{n: str(folder / n) for n in ("few", "many")}}


def drawn(table: str, where: Scheduler | None, size: int, **options: Any) -> Selection:
    asked = {"k": 3, "epsilon": 0.3, "seed": 7, "exclude": ("who", "label"), **options}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_files, "TARGET_BYTES", size)
        return select_on(where, table, request_for(**asked))


@pytest.mark.parametrize(
    ("partition", "options"),
    [
        ("one", {}),
        ("few", {"score": "covariance", "neighbors": "replace-one", "mechanism": "joint"}),
        ("many", {"score": "kendall", "mechanism": "permute-and-flip"}),
        ("many", {"person": "who", "rows_per_person": 2, "exclude": ("label",)}),
        ("one", {"target": "label", "positive": "ill", "exclude": ("who",)}),
    ],
    ids=["dot", "covariance", "kendall", "persons", "labels"],
)
def test_a_seeded_draw_is_the_same_for_any_partition_and_order(
    local_cluster: Any, tables: dict[str, str], partition: str, options: dict[str, Any]
) -> None:
    where = Scheduler(local_cluster.scheduler_address, 2)
    here = [drawn(tables["one"], None, 1, seed=seed, **options) for seed in range(4)]
    assert len({tuple(one.selected_indices) for one in here}) > 1, "no draw depends on its seed"
    # From a share for every row group, with a tree over 90 / 4 of them, to one for all.
    for size, seed in ((1, 0), (1, 1), (900, 2), (1 << 28, 3)):
        there = drawn(tables[partition], where, size, seed=seed, **options)
        assert there.to_dict() == here[seed].to_dict()


def test_progress_is_the_share_of_the_shares_that_are_done(
    local_cluster: Any, tables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_files, "TARGET_BYTES", 1)
    reporter = Silent()
    where = Scheduler(local_cluster.scheduler_address, 1)
    plan = request_for(exclude=("who", "label"))
    select_on(where, tables["one"], plan, reporter)
    assert reporter.shares == [done / 23 for done in range(1, 24)]


def test_one_worker_without_mechanisms_or_randomness_does_it_too(
    tables: dict[str, str], tmp_path: Path
) -> None:
    from distributed import Client

    options = {"person": "who", "rows_per_person": 2, "exclude": ("label",)}
    with processes(tmp_path, 1) as own:
        there = drawn(tables["many"], Scheduler(own.address, 1), 1, **options)
        with no_collections():
            made = Client(own.address)
        with made as client:
            imported = client.run(eval, "sorted(__import__('sys').modules)")
    assert there.to_dict() == drawn(tables["one"], None, 1, **options).to_dict()
    (modules,) = imported.values()
    ours = [name for name in modules if name.split(".")[0] == "dpsel"]
    assert "dpsel.cluster.shards" in ours
    forbidden = ("randomness", "mechanisms", "release", "selection", "budget")
    assert [name for name in ours if set(forbidden) & set(name.split("."))] == []


def inner_values(thing: Any) -> list[Any]:
    """Return a thing and all that it holds."""
    held: list[Any] = []
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        held = [(f.name, getattr(thing, f.name)) for f in dataclasses.fields(thing)]
    elif isinstance(thing, dict):
        held = [*thing.keys(), *thing.values()]
    elif isinstance(thing, list | tuple | set | frozenset):
        held = list(thing)
    return [thing, *(value for inner in held for value in inner_values(inner))]


def test_nothing_that_is_sent_holds_epsilon_k_or_seed(
    local_cluster: Any, tables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import distributed

    sent: list[Any] = []

    class Watched(distributed.Client):  # type: ignore[misc]
        def submit(self, function: Any, *arguments: Any, **options: Any) -> Any:
            sent.append((function, arguments, options))
            return super().submit(function, *arguments, **options)

        def map(self, function: Any, *iterables: Any, **options: Any) -> Any:
            sent.append((function, iterables, options))
            return super().map(function, *iterables, **options)

        def scatter(self, *arguments: Any, **options: Any) -> Any:
            raise AssertionError("nothing is scattered")

    raw: list[bytes] = []

    class Spy(distributed.SchedulerPlugin):  # type: ignore[misc]
        def update_graph(self, scheduler: Any, *, keys: Any, **others: Any) -> None:
            raw.extend(pickle.dumps(scheduler.tasks[key].run_spec) for key in keys)

    monkeypatch.setattr(distributed, "Client", Watched)
    spy = Spy()
    local_cluster.scheduler.add_plugin(spy, name="spy")
    try:
        where = Scheduler(local_cluster.scheduler_address, 1)
        options = {"person": "who", "rows_per_person": 2, "exclude": ("label",)}
        asked = {"k": 5, "epsilon": EPSILON, "seed": SEED, "mechanism": "permute-and-flip"}
        drawn(tables["one"], where, 1, **options, **asked)
    finally:
        local_cluster.scheduler.remove_plugin("spy")
    packed = [item for _, [items, *_], _ in sent if isinstance(items, list) for item in items]
    packed += [items for _, [items, *_], _ in sent if isinstance(items, bytes)]
    values = [
        value
        for one in packed
        if isinstance(one, bytes)
        for value in inner_values(pickle.loads(one))
    ]
    kinds = {type(value).__name__ for value in values}
    assert {"ShardWork", "Shard", "Bounds", "RowMask"} <= kinds
    assert {"Request", "Guarantee", "Selection", "SelectJob", "ClusterJob"} & kinds == set()
    names = {value[0] for value in values if isinstance(value, tuple) and len(value) == 2}
    assert {"score", "bounds", "first_feature"} <= names
    assert {"k", "epsilon", "delta", "seed", "mechanism", "gamma", "guarantee"} & names == set()
    everything = pickle.dumps([option for _, _, option in sent if not option.get("state")])
    everything += b"".join(packed_one for packed_one in packed if isinstance(packed_one, bytes))
    assert len(raw) > 25
    for content in (everything, *raw):
        for trace in (
            *(struct.pack(order, EPSILON) for order in ("<d", ">d")),
            *(SEED.to_bytes(8, order) for order in ("little", "big")),
            *(b"epsilon", b"mechanism", b"permute", b"randomness", b"seed"),
        ):
            assert trace not in content


def asked(table: str, *more: object) -> tuple[object, ...]:
    columns = ("--target", "y", "--exclude", "who,label", "--lower", -2, "--upper", 2)
    return ("select", table, *columns, "--method", "dp-sis", "--k", 2, "--epsilon", 2, *more)


def kill_at_first_share(process: Any, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Kill a process once a share is done, and return what the progress bar is told."""
    told: list[float] = []

    def progress(self: Any, done: float) -> None:
        if not told:
            process.kill()
            process.wait()
        told.append(done)

    monkeypatch.setattr(TerminalReporter, "progress", progress)
    monkeypatch.setattr(shard_files, "TARGET_BYTES", 1)
    return told


def test_a_killed_worker_does_not_change_the_draw(
    dpsel: Dpsel, tables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded = asked(tables["one"], "--seed", 3)
    here = dpsel(*seeded)
    with processes(tmp_path, 2, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="2s") as own:
        told = kill_at_first_share(own.workers[0], monkeypatch)
        there = dpsel(*seeded, "--cluster", own.address, "--workers", 2)
        assert own.workers[0].returncode == -9
        assert own.workers[1].poll() is None
    assert there == here
    assert there.code == 0
    assert told == [done / 23 for done in range(1, 24)]


def test_a_lost_scheduler_releases_nothing_and_says_what_was_spent(
    dpsel: Dpsel, tables: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ("--ledger-file", tmp_path / "ledger")
    assert dpsel("budget", "init", "patients", "--epsilon", 5, *file).code == 0
    with processes(tmp_path, 1) as own:
        kill_at_first_share(own.scheduler, monkeypatch)
        charged = (*asked(tables["one"]), "--ledger", "patients", *file, "--cluster", own.address)
        lost = dpsel(*charged)
        assert (lost.code, lost.out) == (6, "")
        assert lost.err == (
            "note: charged epsilon 2 to the ledger 'patients'; epsilon 3 left\n"
            "error: the connection to the scheduler was lost, and with it the work; epsilon 2 was "
            "charged to the ledger 'patients' and stays charged\n"
        )
        with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
            absent = dpsel(*charged)
        assert (absent.code, absent.out) == (6, "")
        assert absent.err.startswith(f"error: {own.address}: cannot connect to the scheduler")
        assert "charged" not in absent.err, "a cluster that is not there costs nothing"
    shown = json.loads(dpsel("budget", "show", "patients", *file).out)
    assert shown["left"]["epsilon"] == "3"


@pytest.mark.parametrize("table", ["-", "frame"])
def test_what_only_one_process_can_read_is_refused(local_cluster: Any, table: str) -> None:
    given: Any = numbers(5, 2) if table == "frame" else table
    with pytest.raises(UsageError, match="a cluster reads files"):
        library.select(given, target="y", k=1, epsilon=1, cluster=local_cluster.scheduler_address)


def test_a_slip_is_said_before_a_cluster_is_looked_for(dpsel: Dpsel) -> None:
    table = ROOT / "sample_data" / "synthetic_bounded.parquet"
    wrong = ("--target", "Y", "--k", 3, "--epsilon", 2, "--cluster", "tcp://127.0.0.1:1")
    result = dpsel("select", table, *wrong)
    assert result.code == 2
    assert "has no column 'Y'" in result.err


def test_python_can_select_on_a_cluster(local_cluster: Any, tables: dict[str, str]) -> None:
    options: dict[str, Any] = {"target": "y", "k": 2, "epsilon": 9, "seed": 1, "features": "x*"}
    options |= {"method": "dp-sis", "lower": -2, "upper": 2}
    there = library.select(
        tables["many"], cluster=local_cluster.scheduler_address, workers=2, **options
    )
    assert there == library.select(tables["one"], **options)
