"""The time and memory of `dpsel select` as a whole process, compared with its peers.

    python benchmarks/speed.py [--runs 5] [--folder DIR] [--only GROUP,GROUP] [--before COMMIT]

It makes an environment with this package and its peers (duckdb, scikit-learn, opendp), and tables:
tall (5 x 10^6 rows of 100 columns), medium (10^5 x 5000), wide (100 x 22,283 and 100 x 200,000),
all float32 in Parquet with snappy; a CSV of 2 GB; tables of 3 x 3; for other methods 10^6 x 50
(kendall) and 10^4 x 10^4 (two-stage, by `dpsel baseline`); and 10^7 x 100 (medians, by `dpsel
preprocess`; takes 20 GB of disk). Every command is its own process; the commands of a group take
turns. For each it prints the median time relative to the first of its group, its seconds and its
peak memory, and whether the targets are met. `dpsel select` is the plain command, with `stump`;
dp-sis is the paper's method. With --before an earlier commit runs too, and nothing that it could do
may take more than 5 % longer now, by the median of the ratios of a turn.

The reference for the tall and medium tables is `decode`: pyarrow reads every column, row group by
row group and a few columns at a time, on all cores, and discards it.
"""

import argparse
import multiprocessing
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from processes import CORES, Measured, compared, installed, installed_commit
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
    """Make a table in another process, so that our memory stays small; return its path."""
    if not path.exists():
        spawn = multiprocessing.get_context("spawn")
        process = spawn.Process(target=write, args=(path, *arguments))  # type: ignore[arg-type]
        process.start()
        process.join()
    return str(path)


STUMP, PAPER, BEFORE = "dpsel select", "dpsel select --method dp-sis", "dpsel before"
# What is compared with the earlier commit runs this many times as often: 5 % is a small difference.
PAIRED = 3


def report(
    title: str,
    found: dict[str, Measured],
    targets: Sequence[tuple[str, str, float]],
    memory: float = 0,
) -> None:
    """Print the results of a group, and whether dpsel meets its targets for time and memory."""
    first = next(iter(found.values()))
    print(f"\n{title}")
    for name, measured in found.items():
        print(
            f"  {name:32} {measured.relative_to(first):6.2f}"
            f" {measured.seconds:9.2f} s {measured.megabytes:8.0f} MB"
        )
    for ours, name, most in targets:
        if name in found:
            ratio = found[ours].relative_to(found[name])
            met = "met" if ratio <= most else "MISSED"
            print(f"  target: {ours} at most {most} x {name}: {ratio:.2f} {met}")
    if memory:
        most_memory = found[STUMP].megabytes
        met = "met" if most_memory <= memory else "MISSED"
        print(f"  target: {STUMP} at most {memory:.0f} MB: {most_memory:.0f} {met}", flush=True)


@dataclass(frozen=True)
class Bench:
    """What every group needs: environments, a folder for tables, and how often to run."""

    python: str
    folder: Path
    runs: int
    before: str | None = None

    def dpsel(self, table: str, *options: str, k: int = 5) -> list[str]:
        """Return the command that selects: the plain one, plus options."""
        return _selecting(self.python, table, k, options)

    def by_dot(self, table: str, k: int = 5) -> dict[str, list[str]]:
        """Return the paper's method, now and as the plain command of the earlier commit."""
        bounds = ("--lower", "-1", "--upper", "1")
        commands = {PAPER: self.dpsel(table, "--method", "dp-sis", *bounds, k=k)}
        return commands | self.earlier(table, *bounds, k=k)

    def earlier(self, table: str, *options: str, k: int = 5) -> dict[str, list[str]]:
        """Return the command of the earlier commit, if there is one."""
        return {BEFORE: _selecting(self.before, table, k, options)} if self.before else {}


def _selecting(python: str, table: str, k: int, options: Sequence[str]) -> list[str]:
    dpsel = str(Path(python).parent / "dpsel")
    return [dpsel, "select", table, "--target", "y", "--k", str(k), "--epsilon", "1", *options]


def main() -> None:
    """Run the requested groups."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder")
    parser.add_argument("--only", default=",".join(GROUPS))
    parser.add_argument("--before", metavar="COMMIT")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(options.folder or scratch)
        folder.mkdir(exist_ok=True)
        python = str(installed(folder, *PEERS))
        before = str(installed_commit(folder, options.before)) if options.before else None
        bench = Bench(python, folder, options.runs, before)
        print(f"{CORES} cores, Python {platform.python_version()}; relative time, time, memory")
        for group in options.only.split(","):
            GROUPS[group](bench)


def tall_group(bench: Bench) -> None:
    """Compare on the tall table."""
    table = made(bench.folder / "tall.parquet", write_parquet, 5_000_000, 100, 1_000_000)
    _parquet_group("tall Parquet, 5 x 10^6 x 100", bench, table, 4)


def medium_group(bench: Bench) -> None:
    """Compare on the medium table."""
    table = made(bench.folder / "medium.parquet", write_parquet, 100_000, 5000, 100_000)
    _parquet_group("medium Parquet, 10^5 x 5000", bench, table, 3)


def _parquet_group(title: str, bench: Bench, table: str, most: float) -> None:
    """Compare on a large Parquet file."""
    script = [bench.python, "-c"]
    commands = {
        "decode": [*script, DECODE, table],
        STUMP: bench.dpsel(table),
        "duckdb sum(x*y)": [*script, DUCKDB, table, "sum({x} * y)"],
        "duckdb corr(x, y)": [*script, DUCKDB, table, "corr({x}, y)"],
        "polars sum(x*y)": [*script, POLARS, table],
        "polars and opendp": [*script, OPENDP, table],
    }
    found = compared(commands, bench.runs)
    found |= compared(bench.by_dot(table), PAIRED * bench.runs)
    found |= compared({"scikit-learn f_regression": [*script, REGRESSION, table]}, bench.runs)
    targets = [
        (STUMP, "decode", most),
        (STUMP, "duckdb corr(x, y)", 1.0),
        (PAPER, "decode", 1.5),
        (PAPER, "duckdb sum(x*y)", 0.6),
        (PAPER, BEFORE, 1.05),
    ]
    report(title, found, targets, 1000)


def wide_group(bench: Bench) -> None:
    """Compare on wide tables."""
    for columns in (22_283, 200_000):
        table = made(bench.folder / f"wide_{columns}.parquet", write_parquet, 100, columns, 100)
        read = f"import polars as pl\npl.read_parquet({table!r})"
        commands = {
            "pl.read_parquet": [bench.python, "-c", read],
            STUMP: bench.dpsel(table),
            **bench.by_dot(table),
        }
        targets = [
            (STUMP, "pl.read_parquet", 1.3),
            (PAPER, "pl.read_parquet", 1.3),
            (PAPER, BEFORE, 1.05),
        ]
        # Short commands vary most, so they run more often.
        found = compared(commands, 3 * bench.runs)
        report(f"wide Parquet, 100 x {columns:,}", found, targets)


def csv_group(bench: Bench) -> None:
    """Compare on a long CSV."""
    table = made(bench.folder / "tall.csv", write_csv, 2.0)
    commands = {
        "pl.read_csv": [bench.python, "-c", f"import polars as pl\npl.read_csv({table!r})"],
        STUMP: bench.dpsel(table),
    }
    targets = [
        (STUMP, "pl.read_csv", 2.5),
        (PAPER, "pl.read_csv", 1.2),
        (PAPER, BEFORE, 1.05),
    ]
    found = compared(commands, bench.runs)
    found |= compared(bench.by_dot(table), PAIRED * bench.runs)
    report("tall CSV, 2 GB", found, targets)


def small_group(bench: Bench) -> None:
    """Compare start-up with bare imports."""
    for kind in ("csv", "parquet"):
        table = bench.folder / f"small.{kind}"
        frame = pl.DataFrame({"a": [0.1, 0.4, 0.7], "b": [0.2, 0.5, 0.8], "y": [0.3, 0.6, 0.9]})
        getattr(frame, f"write_{kind}")(table)
        imports = "import typer, numpy, polars"
        commands = {
            imports: [bench.python, "-c", imports],
            STUMP: bench.dpsel(str(table), k=1),
            **bench.by_dot(str(table), k=1),
        }
        targets = [(STUMP, imports, 1.5), (PAPER, imports, 1.5), (PAPER, BEFORE, 1.05)]
        report(f"3 x 3 table, {kind}", compared(commands, 4 * bench.runs), targets)


def help_group(bench: Bench) -> None:
    """Compare the help text with that of the smallest Typer app."""
    commands = {
        "smallest Typer app --help": [bench.python, "-c", TYPER, "--help"],
        "dpsel --help": [str(Path(bench.python).parent / "dpsel"), "--help"],
    }
    if bench.before:
        commands[BEFORE] = [str(Path(bench.before).parent / "dpsel"), "--help"]
    found = compared(commands, 4 * bench.runs)
    targets = [
        ("dpsel --help", "smallest Typer app --help", 1.3),
        ("dpsel --help", BEFORE, 1.05),
    ]
    report("--help", found, targets)


def completion_group(bench: Bench) -> None:
    """Time what a shell waits for when the user presses Tab."""
    narrow = bench.folder / "narrow.csv"
    narrow.write_text("a,b,y\n1,2,3\n")
    wide = made(bench.folder / "wide_22283.parquet", write_parquet, 100, 22_283, 100)
    asked = [str(Path(bench.python).parent / "dpsel"), "--complete", "zsh", "select"]
    commands = {
        "python -c pass": [bench.python, "-c", "pass"],
        "an option": [*asked, "t.csv", "--"],
        "a column of a CSV": [*asked, str(narrow), "--target", ""],
        "a column of Parquet, of 22,283": [*asked, wide, "--target", ""],
        "a score": [*asked, "t.csv", "--score", ""],
        "a ledger": [*asked, "t.csv", "--ledger", ""],
    }
    found = compared(commands, 4 * bench.runs)
    report("completion", found, [])
    slowest = max(measured.seconds for measured in found.values())
    print(f"  target: at most 0.15 s: {slowest:.3f} {'met' if slowest <= 0.15 else 'MISSED'}")


def kendall_group(bench: Bench) -> None:
    """Compare Kendall scores with scipy, and stump with Kendall scores."""
    table = made(bench.folder / "kendall.parquet", write_parquet, 1_000_000, 51, 1_000_000)
    kendall = "dpsel select --method kendall"
    pair = {
        kendall: bench.dpsel(table, "--method", "kendall"),
        **bench.earlier(table, "--score", "kendall"),
    }
    others = {
        STUMP: bench.dpsel(table),
        "scipy kendalltau": [bench.python, "-c", SCIPY, table],
    }
    found = compared(pair, PAIRED * bench.runs) | compared(others, bench.runs)
    targets = [(STUMP, kendall, 0.5), (kendall, BEFORE, 1.05)]
    report("kendall, 10^6 x 50", found, targets)


def two_stage_group(bench: Bench) -> None:
    """Compare the block votes of two-stage with scikit-learn in a loop."""
    table = made(bench.folder / "two_stage.parquet", write_parquet, 10_000, 10_001, 10_000)
    asked = ["--target", "y", "--k", "5", "--epsilon", "1", "--neighbors", "replace-one"]
    asked += ["--lower", "-1", "--upper", "1", "--method", "two-stage"]
    ours = "dpsel baseline"
    pair = {ours: [str(Path(bench.python).parent / "dpsel"), "baseline", table, *asked]}
    if bench.before:
        pair[BEFORE] = [str(Path(bench.before).parent / "dpsel"), "baseline", table, *asked]
    loop = {"scikit-learn Lasso in a loop": [bench.python, "-c", LASSOS, table]}
    # A gigabyte and a half of new memory takes the system half a second, or twice that.
    found = compared(pair, 2 * PAIRED * bench.runs) | compared(loop, bench.runs)
    report("two-stage, 10^4 x 10^4", found, [(ours, BEFORE, 1.05)])


def medians_group(bench: Bench) -> None:
    """Compare exact medians of 10^9 cells with those that the earlier commit counted, within 4 %.

    One turn after the warm-up, because a run takes minutes.
    """
    table = made(bench.folder / "medians.parquet", write_parquet, 10_000_000, 100, 1_000_000)
    output = str(bench.folder / "medians_scaled.parquet")
    asked = ["preprocess", table, output, "--target", "y", "--scale", "robust", "--force"]
    ours = "dpsel preprocess"
    pair = {ours: [str(Path(bench.python).parent / "dpsel"), *asked]}
    if bench.before:
        pair[BEFORE] = [str(Path(bench.before).parent / "dpsel"), *asked]
    report("medians, 10^7 x 100", compared(pair, 1), [(ours, BEFORE, 1.0)])


GROUPS = {
    "help": help_group,
    "completion": completion_group,
    "small": small_group,
    "wide": wide_group,
    "tall": tall_group,
    "medium": medium_group,
    "csv": csv_group,
    "kendall": kendall_group,
    "two-stage": two_stage_group,
    "medians": medians_group,
}


if __name__ == "__main__":
    main()
