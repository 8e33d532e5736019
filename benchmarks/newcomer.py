"""What a newcomer gets: the plain command on raw tables, with only the target and its label.

    python benchmarks/newcomer.py [--draws 20] [--before 2410c74]

    dpsel select TABLE.csv --target y --positive LABEL --k K --epsilon 2

It runs this command through `dpsel.select`, which is the same, for this tree and for the commit
before `stump` (extracted from the repository into a temporary folder). It prints the mean
|correlation| of the picks with the target over the best possible, for each class against the rest:
the mean and the worst class. A random choice has the mean |correlation| of all features.
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
    """Write a raw table; classes are whole numbers."""
    frame = pl.DataFrame(table.X, schema=[f"x{i}" for i in range(table.X.shape[1])])
    y = table.y.astype(np.int64) if table.classes else table.y
    frame.with_columns(y=pl.Series(y)).write_csv(path)


def picks_of(tree: Path, jobs: list[dict[str, object]]) -> list[list[int]]:
    """Return what the dpsel in a source tree selects."""
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
    """Extract the files of a commit from the repository."""
    here = Path(__file__).resolve().parents[1]
    packed = subprocess.run(
        ["git", "archive", commit, "dpsel"], cwd=here, capture_output=True, check=True
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


def share_of_best(table: RealTable, picks: list[list[int]]) -> FloatArray:
    """Return the mean |correlation| of each draw over that of the best features."""
    values = correlations(table.X, table.y)
    shares: FloatArray = values[np.array(picks)].mean(axis=1) / np.sort(values)[-table.k :].mean()
    return shares


def line_of(table: RealTable, found: list[dict[str, list[list[int]]]]) -> str:
    """Return one line of the table, from the picks of every tree."""
    parts = table.one_against_rest()
    cells = []
    for picks in found:
        shares = [share_of_best(part, picks[part.name]) for part in parts]
        means = [one.mean() for one in shares]
        error = np.sqrt(sum(one.var(ddof=1) / len(one) for one in shares)) / len(shares)
        worst = f", worst {min(means):.2f}" if len(means) > 1 else ""
        cells.append(f"{np.mean(means):.2f} ± {error:.2f}{worst}")
    chance = np.mean([share_of_best(part, [list(range(part.X.shape[1]))]) for part in parts])
    return f"| {table.described()} | " + " | ".join(cells) + f" | {chance:.2f} |"


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--before", default="2410c74")
    given = parser.parse_args()
    tables = [table for table in real_tables(None, say=lambda text: None) if table.group == KNOWN]
    parts = [part for table in tables for part in table.one_against_rest()]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        jobs = []
        for part in parts:
            write_csv(part, folder / f"{part.name}.csv")
            jobs += jobs_of(part, folder / f"{part.name}.csv", given.draws)
        found = []
        here = Path(__file__).resolve().parents[1]
        for tree in (here, tree_before(given.before, folder / "before")):
            picks = iter(picks_of(tree, jobs))
            found.append({part.name: [next(picks) for _ in range(given.draws)] for part in parts})
    print(f"epsilon {EPSILON:g}, {given.draws} draws a class, ± one standard error\n")
    print(f"| table | now | {given.before} | random |\n| --- | --- | --- | --- |")
    for table in tables:
        print(line_of(table, found))


if __name__ == "__main__":
    main()
