"""What a newcomer gets: the plain command on raw tables, with nothing but the target and its label.

    python benchmarks/newcomer.py [--draws 20] [--before 2410c74]

    dpsel select TABLE.csv --target y --positive LABEL --k K --epsilon 2

Through `dpsel.select`, which is the same, for this tree and for the commit before `stump` (taken
out of the repository into a temporary folder). Shown is the mean |correlation| of the picks with
the target over the best possible, for classes one against the rest: the mean, and the worst class.
A random choice has the mean |correlation| of all features.
"""

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from compared_methods import correlations
from real_tables import KNOWN, RealTable, real_tables

from dpsel.core.arrays import FloatArray

EPSILON = 2.0
_SELECT = """
import json, sys, warnings
import dpsel
warnings.simplefilter("ignore")
for job in json.load(sys.stdin):
    print(json.dumps(dpsel.select(**job).selected_indices))
"""


def jobs_of(table: RealTable, path: Path, draws: int) -> list[dict[str, object]]:
    """Return the options of the plain command, with a seed for each draw."""
    label = {"positive": "1"} if table.classes else {}
    plain = {"table": str(path), "target": "y", "k": table.k, "epsilon": EPSILON}
    return [{**plain, **label, "seed": seed} for seed in range(draws)]


def write_csv(table: RealTable, path: Path) -> None:
    """Write a raw table; a class is a whole number."""
    frame = pl.DataFrame(table.X, schema=[f"x{i}" for i in range(table.X.shape[1])])
    y = table.y.astype(np.int64) if table.classes else table.y
    frame.with_columns(y=pl.Series(y)).write_csv(path)


def picks_of(tree: Path, jobs: list[dict[str, object]]) -> list[list[int]]:
    """Return what the dpsel of a tree selects."""
    run = subprocess.run(
        [sys.executable, "-c", _SELECT],
        input=json.dumps(jobs),
        env={**os.environ, "PYTHONPATH": str(tree)},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def tree_before(commit: str, folder: Path) -> Path:
    """Take the files of a commit out of the repository."""
    here = Path(__file__).resolve().parents[1]
    packed = subprocess.run(
        ["git", "archive", commit, "dpsel"], cwd=here, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def share_of_best(table: RealTable, picks: list[list[int]]) -> FloatArray:
    """Return the mean |correlation| of each draw, over that of the best."""
    values = correlations(table.X, table.y)
    shares: FloatArray = values[np.array(picks)].mean(axis=1) / np.sort(values)[-table.k :].mean()
    return shares


def report(table: RealTable, trees: list[Path], folder: Path, draws: int) -> str:
    """Return one line of the table."""
    parts = table.one_against_rest()
    each: list[list[FloatArray]] = [[] for _ in trees]
    by_chance = []
    path = folder / "table.csv"
    for part in parts:
        write_csv(part, path)
        for found, tree in zip(each, trees, strict=True):
            found.append(share_of_best(part, picks_of(tree, jobs_of(part, path, draws))))
        by_chance.append(share_of_best(part, [list(range(part.X.shape[1]))])[0])
    cells = []
    for found in each:
        means = [shares.mean() for shares in found]
        error = np.sqrt(sum(shares.var(ddof=1) / draws for shares in found)) / len(found)
        worst = f", worst {min(means):.2f}" if len(means) > 1 else ""
        cells.append(f"{np.mean(means):.2f} ± {error:.2f}{worst}")
    return f"| {table.described()} | " + " | ".join(cells) + f" | {np.mean(by_chance):.2f} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--before", default="2410c74")
    given = parser.parse_args()
    print(f"epsilon {EPSILON:g}, {given.draws} draws a class, ± one standard error\n")
    print(f"| table | now | {given.before} | random |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = tree_before(given.before, folder / "before")
        trees = [Path(__file__).resolve().parents[1], before]
        for table in real_tables(None, say=lambda text: None):
            if table.group == KNOWN:
                print(report(table, trees, folder, given.draws), flush=True)


if __name__ == "__main__":
    main()
