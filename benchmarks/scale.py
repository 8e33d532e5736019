"""What very large tables cost on a cluster, estimated from measurements on one machine.

    python benchmarks/scale.py [--folder DIR]

It measures, each in its own process:
- how many cells per second a core reads, bounds and adds up (`select` on one thread, from Parquet);
- the same on Dask clusters of 1 and 2 worker processes on this machine, through the address of
  their scheduler, as a user would: the overhead of the cluster;
- the time of one more shard, from 2000 shards of a single row;
- the time that one more file costs the caller, which reads its footer of 10^4 columns;
- what the caller does alone for d = 10^4 to 10^7 features: choose columns, add a pickled total, as
  it comes from the workers, and draw; and its memory.

Then it estimates 10^9 rows of 10^4 float32 columns. The caller's work is simulated: its totals are
zeros, and no such table exists.
"""

import argparse
import multiprocessing
import pickle
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from processes import CORES
from tables import write_parquet

from dpsel.cluster.shard_files import MOST_SHARDS, TARGET_BYTES

RUNS = 3
ROWS, COLUMNS, FILES = 1_000_000, 101, 8


def timed(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


PAPER: dict[str, Any] = {"method": "dp-sis", "lower": -1.0, "upper": 1.0}
"""The paper's method, on tables within [-1, 1]."""


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a new process, and return its result."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def selecting(folder: str, threads: int, cluster: str | None = None) -> float:
    """Return the median time of `select` on all files of a folder."""
    from dpsel.selection.api import select

    def work() -> object:
        asked: dict[str, Any] = {"target": "y", "k": 5, "epsilon": 1.0, **PAPER}
        return select(folder, threads=threads, cluster=cluster, **asked)

    work()
    return statistics.median(timed(work) for _ in range(RUNS))


def on_cluster(folder: str, workers: int) -> float:
    """Return the same on a cluster of worker processes with one thread each."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        return selecting(folder, 1, cluster.scheduler_address)


def caller(features: int) -> dict[str, float]:
    """Return the times of the caller's own steps for this many features, and its memory."""
    from dpsel.core.bounds import UNIT_INTERVAL, Bounds
    from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit
    from dpsel.core.release import DrawnBy, release
    from dpsel.core.scores.sums import DotScore
    from dpsel.tables.columns import Column, Kind, Wanted, choose_columns

    columns = tuple(Column(f"x{i}", Kind.NUMBER) for i in range(features))
    columns = (*columns, Column("y", Kind.NUMBER))
    found: dict[str, float] = {}
    start = time.perf_counter()
    layout = choose_columns(columns, Wanted(target="y"), "table")
    bounds = Bounds.of([UNIT_INTERVAL] * features, UNIT_INTERVAL)
    score = DotScore(bounds, Neighbors.ADD_REMOVE, Unit())
    found["columns"] = time.perf_counter() - start
    packed = pickle.dumps(score.total())
    found["megabytes of a total"] = len(packed) / 1e6
    found["add a total"] = timed(lambda: score.add(pickle.loads(packed)))
    scores = score.scores()
    guarantee = Guarantee(1.0, Neighbors.ADD_REMOVE, Scope(True, "public bounds"))
    found["draw"] = timed(
        lambda: release(
            scores,
            layout.names,
            5,
            guarantee,
            DrawnBy("dot", "canonical-lipschitz", {}),
            None,
        )
    )
    found["resident GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return found


def footer(path: str) -> float:
    """Return how long the caller takes to read the row groups of one more file."""
    from dpsel.cluster.shard_files import split_files, table_files

    split_files(table_files(path))
    return statistics.median(timed(lambda: split_files(table_files(path))) for _ in range(5))


def main() -> None:
    """Measure and estimate."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        report(Path(place))


def report(place: Path) -> None:
    """Print the measurements and the estimates."""
    big = place / "big"
    big.mkdir()
    for number in range(FILES):
        write_parquet(big / f"{number}.parquet", ROWS, COLUMNS, ROWS)
    cells = ROWS * (COLUMNS - 1) * FILES
    print(f"{CORES} cores; {FILES} files of {ROWS:,} x {COLUMNS - 1} float32 columns, snappy")
    alone = apart(selecting, str(big), 1)
    rate = cells / alone
    print(f"one core: {alone:.2f} s, {rate / 1e6:.0f} million cells, {4 * rate / 1e9:.2f} GB/s")
    for workers in (1, 2):
        there = on_cluster(str(big), workers)
        print(
            f"cluster of {workers}: {there:.2f} s, {alone / there:.2f} times as fast as one core "
            f"without a cluster; each worker {cells / there / workers / rate:.0%} of its rate"
        )
    small = place / "small"
    small.mkdir()
    for number in range(2000):
        write_parquet(small / f"{number}.parquet", 1, 3, 1)
    share = shares(str(small))
    print(f"one more share: {share * 1e3:.2f} ms")
    write_parquet(place / "wide.parquet", 1000, 10_001, 1000)
    one_footer = apart(footer, str(place / "wide.parquet"))
    print(f"one more file of 10^4 columns: {one_footer * 1e3:.0f} ms of the caller")
    for power in (4, 5, 6, 7):
        found = apart(caller, 10**power)
        words = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
        print(f"caller, d = 10^{power}: {words}", flush=True)
    worked_out(rate, share, one_footer)


def shares(folder: str) -> float:
    """Return the time of one shard with next to nothing to read; each file is one shard."""
    from distributed import LocalCluster

    from dpsel.cluster import shard_files
    from dpsel.selection.api import select

    shard_files.TARGET_BYTES = 1
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        asked: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 1.0, **PAPER}
        asked["cluster"] = address
        few = statistics.median(
            timed(lambda: select(f"{folder}/1?.parquet", **asked)) for _ in range(3)
        )
        many = timed(lambda: select(folder, **asked))
    return (many - few) / (2000 - 10)


def worked_out(rate: float, share: float, one_footer: float) -> None:
    """Print the estimate for a table of 10^9 x 10^4."""
    cells = 1e13
    core_hours = cells / rate / 3600
    count = min(MOST_SHARDS, cells * 4 / TARGET_BYTES)
    size = cells * 4 / count
    print(f"10^9 x 10^4: {cells * 4 / 1e12:.0f} TB decoded, {core_hours:.1f} core-hours")
    print(
        f"  {count:,.0f} shares of {size / 1e9:.2f} GB: {count * share / 60:.1f} min of the "
        f"scheduler, which feeds {size / 4 / rate / share:,.0f} cores"
    )
    print(f"  sums moved: {count * 8 / 7 * 8e4 / 1e9:.1f} GB over the tree")
    for gigabytes in (1, 16):
        files = cells * 4 / gigabytes / 1e9
        print(
            f"  footers of files of {gigabytes} GB: {files * one_footer / 60:.0f} min of the caller"
        )
    for workers in (20, 100, 1000):
        print(f"  {workers} cores: {core_hours / workers * 60:.0f} min of reading")


if __name__ == "__main__":
    main()
