"""`dpsel select` as a whole process, beside its peers, in one run.

    python benchmarks/speed.py [--runs 5] [--folder DIR] [--only GROUP,GROUP]

Makes an environment with this package and its peers (duckdb, scikit-learn, opendp), and tables:
tall (5 x 10^6 rows of 100 columns), medium (10^5 x 5000), wide (100 x 22,283 and 100 x 200,000),
all float32 in Parquet with snappy, a CSV of 2 GB, and one of 3 x 3; and for other methods 10^6 x 50
(kendall) and 10^4 x 10^4 (two-stage, by `dpsel baseline`). Every command is a process of
its own; all of a group take turns. Prints for each the median time relative to the first of its
group, its seconds and its resident memory, and whether the targets are met.

The yardstick of the tall tables is `decode`: pyarrow reads every column, row group by row group and
a few columns at a time, on all cores, and throws it away.
"""

import argparse
import multiprocessing
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from processes import CORES, Measured, compared, installed
from tables import write_csv, write_parquet

PEERS = ("duckdb", "scikit-learn", "opendp")

DECODE = f"""
import sys, threading
from concurrent.futures import ThreadPoolExecutor
import pyarrow.parquet as pq
path, own = sys.argv[1], threading.local()
metadata = pq.ParquetFile(path).metadata
names = metadata.schema.to_arrow_schema().names
def read(task):
    group, first, width = task
    if not hasattr(own, "file"):
        own.file = pq.ParquetFile(path, metadata=metadata)
    own.file.read_row_group(group, names[first:first + width], use_threads=False)
tasks = []
for group in range(metadata.num_row_groups):
    width = max(1, (1 << 22) // metadata.row_group(group).num_rows)
    tasks += [(group, first, width) for first in range(0, len(names), width)]
with ThreadPoolExecutor({CORES}) as pool:
    list(pool.map(read, tasks))
"""
DUCKDB = """
import sys, duckdb
names = [f'"{name}"' for name, *_ in duckdb.sql(
    f"select name from parquet_schema('{sys.argv[1]}') where type is not null").fetchall()]
sums = ", ".join(sys.argv[2].format(x=name) for name in names if name != '"y"')
duckdb.sql(f"select {sums} from read_parquet('{sys.argv[1]}')").fetchall()
"""
POLARS = """
import sys, polars as pl
frame = pl.scan_parquet(sys.argv[1])
frame.select((pl.exclude("y") * pl.col("y")).sum()).collect(engine="streaming")
"""
OPENDP = """
import sys, polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
frame = pl.scan_parquet(sys.argv[1])
clipped = pl.exclude("y").clip(-1, 1) * pl.col("y").clip(-1, 1)
sums = frame.select(clipped.sum().abs()).collect(engine="streaming").row(0)
space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
dp.m.make_noisy_top_k(*space, dp.max_divergence(), k=5, scale=10.0)(list(map(float, sums)))
"""
REGRESSION = """
import sys, polars as pl
from sklearn.feature_selection import f_regression
frame = pl.read_parquet(sys.argv[1])
f_regression(frame.drop("y").to_numpy(), frame["y"].to_numpy())
"""
SCIPY = """
import sys, polars as pl
from scipy.stats import kendalltau
frame = pl.read_parquet(sys.argv[1])
y = frame["y"].to_numpy()
for name in frame.columns[:-1]:
    kendalltau(frame[name].to_numpy(), y)
"""
LASSOS = """
import sys, warnings, numpy as np, polars as pl
from sklearn.linear_model import Lasso
warnings.simplefilter("ignore")
frame = pl.read_parquet(sys.argv[1])
X, y = frame.drop("y").to_numpy().astype(float), frame["y"].to_numpy().astype(float)
blocks = int(len(y) ** 0.5)
block_of_row = np.random.default_rng(0).permutation(len(y)) % blocks
for block in range(blocks):
    Lasso(alpha=0.1).fit(X[block_of_row == block], y[block_of_row == block])
"""
TYPER = """
import typer
app = typer.Typer()
@app.command()
def main(name: str) -> None:
    print(name)
app()
"""


def made(path: Path, write: object, *arguments: object) -> str:
    """Make a table, if it is not there, in a process whose memory is not ours; return its path."""
    if not path.exists():
        spawn = multiprocessing.get_context("spawn")
        process = spawn.Process(target=write, args=(path, *arguments))  # type: ignore[arg-type]
        process.start()
        process.join()
    return str(path)


def report(
    title: str, found: dict[str, Measured], targets: Sequence[tuple[str, float]], memory: float = 0
) -> None:
    """Print a group, and whether dpsel meets its targets: relative times, and megabytes."""
    names = list(found)
    first, ours = found[names[0]], found["dpsel select"]
    print(f"\n{title}")
    for name, measured in found.items():
        print(
            f"  {name:32} {measured.seconds / first.seconds:6.2f}"
            f" {measured.seconds:9.2f} s {measured.megabytes:8.0f} MB"
        )
    for name, most in targets:
        ratio = ours.seconds / found[name].seconds
        print(
            f"  target: at most {most} x {name}: {ratio:.2f} {'met' if ratio <= most else 'MISSED'}"
        )
    if memory:
        met = "met" if ours.megabytes <= memory else "MISSED"
        print(f"  target: at most {memory:.0f} MB: {ours.megabytes:.0f} {met}")


def main() -> None:
    """Run the groups that were asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--only", default=",".join(GROUPS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.folder or scratch)
        folder.mkdir(exist_ok=True)
        python = str(installed(folder, *PEERS))
        print(f"{CORES} cores, Python {platform.python_version()}; relative time, time, memory")
        for group in options.only.split(","):
            GROUPS[group](python, folder, options.runs)


PAPER = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")


def selecting(python: str, table: str, k: int = 5, how: Sequence[str] = PAPER) -> list[str]:
    """Return the command that selects, by the paper's method unless told otherwise."""
    dpsel = str(Path(python).parent / "dpsel")
    return [dpsel, "select", table, "--target", "y", "--k", str(k), "--epsilon", "1", *how]


def tall_group(python: str, folder: Path, runs: int) -> None:
    """Compare on the tall table."""
    table = made(folder / "tall.parquet", write_parquet, 5_000_000, 100, 1_000_000)
    _parquet_group("tall Parquet, 5 x 10^6 x 100", python, table, runs)


def medium_group(python: str, folder: Path, runs: int) -> None:
    """Compare on the medium table."""
    table = made(folder / "medium.parquet", write_parquet, 100_000, 5000, 100_000)
    _parquet_group("medium Parquet, 10^5 x 5000", python, table, runs)


def _parquet_group(title: str, python: str, table: str, runs: int) -> None:
    """Compare on a large Parquet file."""
    commands = {
        "decode": [python, "-c", DECODE, table],
        "dpsel select": selecting(python, table),
        "duckdb sum(x*y)": [python, "-c", DUCKDB, table, "sum({x} * y)"],
        "polars sum(x*y)": [python, "-c", POLARS, table],
        "polars and opendp": [python, "-c", OPENDP, table],
    }
    found = compared(commands, runs)
    slow = {
        "duckdb corr(x, y)": [python, "-c", DUCKDB, table, "corr({x}, y)"],
        "scikit-learn f_regression": [python, "-c", REGRESSION, table],
    }
    found |= compared(slow, runs)
    report(title, found, [("decode", 1.5), ("duckdb sum(x*y)", 0.6)], 400)


def wide_group(python: str, folder: Path, runs: int) -> None:
    """Compare on wide tables."""
    for columns in (22_283, 200_000):
        table = made(folder / f"wide_{columns}.parquet", write_parquet, 100, columns, 100)
        commands = {
            "pl.read_parquet": [python, "-c", f"import polars as pl\npl.read_parquet({table!r})"],
            "dpsel select": selecting(python, table),
        }
        title = f"wide Parquet, 100 x {columns:,}"
        # Short ones vary most.
        report(title, compared(commands, 3 * runs), [("pl.read_parquet", 1.3)])


def csv_group(python: str, folder: Path, runs: int) -> None:
    """Compare on a long CSV."""
    table = made(folder / "tall.csv", write_csv, 2.0)
    commands = {
        "pl.read_csv": [python, "-c", f"import polars as pl\npl.read_csv({table!r})"],
        "dpsel select": selecting(python, table),
    }
    report("tall CSV, 2 GB", compared(commands, runs), [("pl.read_csv", 1.2)], 600)


def small_group(python: str, folder: Path, runs: int) -> None:
    """Compare the start with bare imports."""
    for kind in ("csv", "parquet"):
        table = folder / f"small.{kind}"
        frame = pl.DataFrame({"a": [0.1, 0.4, 0.7], "b": [0.2, 0.5, 0.8], "y": [0.3, 0.6, 0.9]})
        getattr(frame, f"write_{kind}")(table)
        commands = {
            "import typer, numpy, polars": [python, "-c", "import typer, numpy, polars"],
            "dpsel select": selecting(python, str(table), 1),
        }
        title = f"3 x 3 table, {kind}"
        report(title, compared(commands, 4 * runs), [("import typer, numpy, polars", 1.5)])


def help_group(python: str, folder: Path, runs: int) -> None:
    """Compare the help text with that of the smallest Typer app."""
    commands = {
        "smallest Typer app --help": [python, "-c", TYPER, "--help"],
        "dpsel select": [str(Path(python).parent / "dpsel"), "--help"],
    }
    found = compared(commands, 4 * runs)
    report("--help", found, [("smallest Typer app --help", 1.3)])


def kendall_group(python: str, folder: Path, runs: int) -> None:
    """Compare Kendall scores."""
    table = made(folder / "kendall.parquet", write_parquet, 1_000_000, 51, 1_000_000)
    commands = {
        "dpsel select": selecting(python, table, how=("--method", "kendall")),
        "scipy kendalltau": [python, "-c", SCIPY, table],
    }
    report("kendall, 10^6 x 50", compared(commands, runs), [])


def two_stage_group(python: str, folder: Path, runs: int) -> None:
    """Compare the block votes of two-stage."""
    table = made(folder / "two_stage.parquet", write_parquet, 10_000, 10_001, 10_000)
    dpsel = str(Path(python).parent / "dpsel")
    asked = ["--target", "y", "--k", "5", "--epsilon", "1", "--neighbors", "replace-one"]
    asked += ["--lower", "-1", "--upper", "1"]
    commands = {
        "dpsel select": [dpsel, "baseline", table, *asked, "--method", "two-stage"],
        "scikit-learn Lasso in a loop": [python, "-c", LASSOS, table],
    }
    report("two-stage, 10^4 x 10^4", compared(commands, runs), [])


GROUPS = {
    "help": help_group,
    "small": small_group,
    "wide": wide_group,
    "tall": tall_group,
    "medium": medium_group,
    "csv": csv_group,
    "kendall": kendall_group,
    "two-stage": two_stage_group,
}


if __name__ == "__main__":
    main()
