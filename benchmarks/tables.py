"""Tables of random numbers for the benchmarks."""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


def write_parquet(path: Path, rows: int, columns: int, group: int) -> None:
    """Write a table of random float32 numbers, with `group` rows per row group."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(columns - 1)] + ["y"]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema, compression="snappy") as writer:
        for first in range(0, rows, group):
            size = min(group, rows - first)
            arrays = [pa.array(rng.uniform(-1, 1, size).astype(np.float32)) for _ in names]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=size)


def write_csv(path: Path, gigabytes: float) -> None:
    """Write a CSV of about that size, with 50 columns."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(49)] + ["y"]
    with path.open("wb") as file:
        while file.tell() < gigabytes * 1e9:
            frame = pl.DataFrame(rng.uniform(-1, 1, (100_000, 50)), schema=names)
            frame.write_csv(file, include_header=file.tell() == 0, float_precision=6)
