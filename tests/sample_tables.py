"""Small tables of our own, in every format, and their private scores."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from dpsel.budget.account import Account
from dpsel.budget.payment import Demands
from dpsel.cluster.place import Scheduler
from dpsel.cluster.shards import Cluster
from dpsel.core.scores.base import Scores
from dpsel.core.selection import Selection
from dpsel.dictionary.options import DictionaryFile
from dpsel.options import filled
from dpsel.reporter import Reporter
from dpsel.selection.api import select_job
from dpsel.selection.on_cluster import ClusterJob
from dpsel.selection.options import (
    Bounding,
    ColumnChoice,
    Drawing,
    Privacy,
    Scoring,
    TargetFacts,
)
from dpsel.selection.request import Request, check_place, make_request, select_run
from dpsel.selection.run import SelectJob, carry_out
from dpsel.tables.formats import Reading
from dpsel.tables.table import Table

DEFAULTS: dict[str, Any] = {
    "target": "y",
    "k": 1,
    "epsilon": 1.0,
    "up_to": None,
    "rows": None,
    "classes": None,
    "share": None,
    "target_center": None,
    "method": "stump",
    "features": (),
    "exclude": (),
    "positive": None,
    "bounds": None,
    "lower": None,
    "upper": None,
    "dictionary": None,
    "score": "dot",
    "row_ranks": False,
    "mechanism": "canonical-lipschitz",
    "gamma": None,
    "sampler": None,
    "delta": None,
    "neighbors": "add-remove",
    "person": None,
    "rows_per_person": None,
    "input_format": None,
    "separator": None,
    "decimal": ".",
    "seed": None,
    "threads": 2,
}


class Silent(Reporter):
    """A reporter that remembers what it was told."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.shares: list[float] = []
        self.sizes: list[int] = []

    def note(self, message: str) -> None:
        self.notes.append(message)

    def warn(self, message: str) -> None:
        self.notes.append(message)

    def size(self, file_bytes: int) -> None:
        self.sizes.append(file_bytes)

    def progress(self, done: float) -> None:
        self.shares.append(done)


def request_for(**options: Any) -> Request:
    """Return the request that these options of `select` make; bounds are added unless `bare`."""
    given = {**DEFAULTS, **options}
    bounded = given["bounds"] is not None or given["lower"] is not None or given.get("bare")
    if given["score"] in ("dot", "covariance") and not bounded:
        given |= {"lower": -1.0, "upper": 1.0}
    return make_request(
        filled(ColumnChoice, given),
        filled(TargetFacts, given),
        filled(Bounding, given),
        filled(Privacy, given),
        filled(Scoring, given),
        filled(Drawing, given),
        filled(Reading, given),
        filled(DictionaryFile, given),
    )


def free_account(table: Any, request: Request) -> Account:
    """Return the account of a run that no ledger pays for, and nobody demands anything of."""
    return Account(select_run(table, request), Demands())


def selected(
    table: Any, request: Request, reporter: Reporter, cluster: Cluster | None = None
) -> Selection:
    """Return what `select` releases, here or on a cluster that a test makes up."""
    job = job_of(table, request, reporter, cluster)
    return carry_out(job, free_account(table, request)).selection


def job_of(
    table: Any, request: Request, reporter: Reporter, cluster: Cluster | None = None
) -> SelectJob:
    """Return the job of a request, here or on a cluster that a test makes up."""
    if cluster is None:
        return SelectJob(table, request, reporter)
    job = MadeUpClusterJob(table, request, reporter, Scheduler("tcp://nowhere:1", 1))
    job.made_up = cluster
    return job


def select_on(
    where: Scheduler | None, table: Any, request: Request, reporter: Reporter | None = None
) -> Selection:
    """Return what `select` releases, here or on a real cluster."""
    check_place(request, where)
    job = select_job(table, request, reporter or Silent(), where)
    return carry_out(job, free_account(table, request)).selection


class MadeUpClusterJob(ClusterJob):
    """A job on a cluster that nobody has to connect to."""

    made_up: Cluster

    @contextmanager
    def connected(self) -> Iterator[Cluster]:
        yield self.made_up


def scored(table: Any, *, cluster: Cluster | None = None, **options: Any) -> Scores:
    """Return the private scores that a run of `select` would use, here or on a cluster."""
    request = request_for(**options)
    job = job_of(table, request, Silent(), cluster)
    with job.opened() as opened, job.checked(opened, free_account(table, request)):
        return job.read(opened).scores


def scored_table(opened: Table, request: Request) -> Scores:
    """Return the private scores of a table that a test has opened."""
    job = SelectJob(None, request, Silent())
    with closing(opened), job.checked(opened, free_account("t.csv", request)):
        return job.read(opened).scores


def numbers(rows: int, columns: int, seed: int = 0) -> pl.DataFrame:
    """Return a table of all sorts of numbers, most of them within [-1, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.2, 1.2, (rows, columns))
    names = [f"x{i}" for i in range(columns)]
    frame = pl.DataFrame(X, schema=names)
    holes = pl.DataFrame(rng.random((rows, columns)) < 0.05, schema=names)
    frame = frame.select(
        pl.when(holes[name]).then(None).otherwise(frame[name]).alias(name) for name in names
    )
    return frame.with_columns(y=pl.Series(rng.uniform(-1, 1, rows)))


def write_ipc_stream(frame: pl.DataFrame, path: Path) -> None:
    table = frame.to_arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


def write_gzip(frame: pl.DataFrame, path: Path) -> None:
    """Write two gzip members one after the other, as bgzip does."""
    text = frame.write_csv().encode()
    path.write_bytes(gzip.compress(text[:50]) + gzip.compress(text[50:]))


def write_zstd(frame: pl.DataFrame, path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write(frame.write_csv().encode())


WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "t.csv": lambda frame, path: frame.write_csv(path),
    "t.tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "t.csv.gz": write_gzip,
    "t.csv.zst": write_zstd,
    "t.parquet": lambda frame, path: frame.write_parquet(path),
    "small_groups.parquet": lambda frame, path: frame.write_parquet(path, row_group_size=3),
    "t.arrow": lambda frame, path: frame.write_ipc(path),
    "t.feather": lambda frame, path: frame.write_ipc(path, compression="zstd"),
    "t.arrows": write_ipc_stream,
}
