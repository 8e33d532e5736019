"""How much memory `dpsel select` takes for a Parquet file of several gigabytes.

    python benchmarks/memory.py [--gigabytes 8] [--folder DIR]

Writes a table of random float64 numbers with 100 columns, in row groups of 10^6 rows, selects from
it in a process of its own, and prints that process's largest resident memory.
"""

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, GROUP = 100, 1_000_000
RUN = """
import resource, sys
from dpsel.cli.app import run
code = run(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def write(path: Path, gigabytes: float) -> None:
    """Write a table of about that size, uncompressed."""
    rng = np.random.default_rng(0)
    names = [f"x{i}" for i in range(COLUMNS - 1)] + ["y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for _ in range(max(1, round(gigabytes * 1e9 / (8 * COLUMNS * GROUP)))):
            columns = [rng.uniform(-1, 1, GROUP) for _ in names]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=GROUP)


def main() -> None:
    """Print the file's size and the memory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "tall.parquet"
        # Written by a process of its own: a child starts with its parent's resident memory.
        writer = multiprocessing.get_context("spawn").Process(
            target=write, args=(path, options.gigabytes)
        )
        writer.start()
        writer.join()
        arguments = ["select", str(path), "--target", "y", "--k", "5", "--epsilon", "1"]
        measured = subprocess.run(
            [sys.executable, "-c", RUN, *arguments], check=True, capture_output=True, text=True
        )
        resident = int(measured.stderr.split()[-1]) / 1e6
        print(f"file {path.stat().st_size / 1e9:.2f} GB, resident {resident:.3f} GB")


if __name__ == "__main__":
    main()
