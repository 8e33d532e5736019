"""Small tables of our own, in every format, and their private scores."""

import gzip
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from dpsel.core.scores.base import Scores
from dpsel.selection.request import Request, make_request
from dpsel.selection.run import score_table
from dpsel.tables.columns import choose_columns
from dpsel.tables.opening import open_table
from dpsel.tables.table import Table

DEFAULTS: dict[str, Any] = {
    "target": "y",
    "k": 1,
    "epsilon": 1.0,
    "features": (),
    "exclude": (),
    "positive": None,
    "bounds": None,
    "lower": None,
    "upper": None,
    "score": "dot",
    "mechanism": "canonical-lipschitz",
    "gamma": None,
    "sampler": None,
    "delta": None,
    "neighbors": "add-remove",
    "person": None,
    "rows_per_person": None,
    "input_format": None,
    "separator": None,
    "seed": None,
    "threads": 2,
}


class Silent:
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


def plan_for(**options: Any) -> Request:
    return make_request(**{**DEFAULTS, **options})


def scored(table: Any, **options: Any) -> Scores:
    """Return the private scores that a run of `select` would use."""
    plan = plan_for(**options)
    return scored_table(open_table(table, plan.input_format, plan.separator), plan)


def scored_table(opened: Table, plan: Request) -> Scores:
    with closing(opened):
        layout = choose_columns(opened.columns, plan.wanted, opened.label)
        return score_table(opened, layout, plan, Silent()).score.scores()


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
