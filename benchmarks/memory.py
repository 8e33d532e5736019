"""How much memory `dpsel` takes for files of several gigabytes.

    python benchmarks/memory.py [--gigabytes 8] [--csv-gigabytes 4] [--kept-gigabytes 4]
                                [--only NAME] [--folder DIR]

It writes a Parquet table of random float64 numbers with 100 columns, in row groups of 10^6 rows,
and selects from it; then a CSV with 50 columns, and preprocesses it; then another Parquet table for
the commands that need all rows at once, with DPSEL_MEMORY=1GB. Each command runs in its own
process, whose peak resident memory is printed. A size of 0 leaves a part out.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, GROUP = 100, 1_000_000
BOUNDS = ["--lower", "-1", "--upper", "1"]
PAPER = ["--method", "dp-sis", *BOUNDS]
KEPT = ["--target", "y", "--k", "3", "--quiet"]
NEED_ALL_ROWS = {
    "select --score kendall": ["select", "--score", "kendall", "--epsilon", "1"],
    "baseline --method sis": ["baseline", "--method", "sis", *BOUNDS],
    "baseline --method lasso": ["baseline", "--method", "lasso", *BOUNDS],
    "baseline --method two-stage": [
        *("baseline", "--method", "two-stage", "--blocks", "100", "--epsilon", "1", *BOUNDS),
    ],
    "baseline --method dpkendall, 10 columns": [
        *("baseline", "--method", "dpkendall", "--epsilon", "1", "--features", "x?"),
    ],
    "evaluate": ["evaluate", "--epsilon", "1,10", "--trials", "2", "--output", "-"],
}
RUN = """
import resource, sys
from dpsel.cli.app import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def write_parquet(path: Path, gigabytes: float) -> None:
    """Write a table of about that size, uncompressed."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(COLUMNS - 1)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for _ in range(max(1, round(gigabytes * 1e9 / (8 * COLUMNS * GROUP)))):
            columns = [rng.uniform(-1, 1, GROUP) for _ in names]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)


def write_csv(path: Path, gigabytes: float) -> None:
    """Write a CSV of about that size."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(COLUMNS // 2 - 1)] + ["y"]
    with path.open("wb") as file:
        first = True
        while file.tell() < gigabytes * 1e9:
            frame = pl.DataFrame(rng.normal(50, 9, (100_000, len(names))), schema=names)
            frame.write_csv(file, include_header=first, float_precision=6)
            first = False


def apart(work: object, *arguments: object) -> None:
    """Run a function in its own process: later children inherit the peak memory of this one."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=arguments)  # type: ignore[arg-type]
    process.start()
    process.join()


def resident(*arguments: str, memory: str = "") -> float:
    """Return the peak resident memory of a command in gigabytes."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "DPSEL_MEMORY": memory},
    )
    return int(done.stderr.split()[-1]) / 1e6


def main() -> None:
    """Print sizes and memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--csv-gigabytes", type=float, default=4.0)
    parser.add_argument("--kept-gigabytes", type=float, default=4.0)
    parser.add_argument("--only", default="", help="part of the names of commands to run")
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.gigabytes:
            path = Path(folder) / "tall.parquet"
            apart(write_parquet, path, options.gigabytes)
            asked = ["--target", "y", "--k", "5", "--epsilon", "1", *PAPER]
            used = resident("select", str(path), *asked)
            print(f"select, Parquet of {path.stat().st_size / 1e9:.2f} GB: {used:.2f} GB")
            path.unlink()
        if options.csv_gigabytes:
            path = Path(folder) / "tall.csv"
            apart(write_csv, path, options.csv_gigabytes)
            for scale in ("max-abs", "robust"):
                output = str(Path(folder) / f"{scale}.parquet")
                used = resident("preprocess", str(path), output, "--target", "y", "--scale", scale)
                print(
                    f"preprocess --scale {scale}, CSV of {path.stat().st_size / 1e9:.2f} GB: "
                    f"{used:.2f} GB"
                )
        if options.kept_gigabytes:
            path = Path(folder) / "kept.parquet"
            apart(write_parquet, path, options.kept_gigabytes)
            for name, (command, *asked) in NEED_ALL_ROWS.items():
                if options.only not in name:
                    continue
                begin = time.perf_counter()
                used = resident(command, str(path), *KEPT, *asked, memory="1GB")
                print(
                    f"{name}, Parquet of {path.stat().st_size / 1e9:.2f} GB, 1 GB for tables: "
                    f"{used:.2f} GB, {time.perf_counter() - begin:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
