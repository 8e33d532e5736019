"""Where an evaluation spends its time.

    python benchmarks/evaluate.py [FOLDER]

It evaluates a table of 100 rows and 7000 features, or every Parquet table of a folder (labels in
`y`): DP-SIS and two-stage, k = 5 and log d, 12 epsilons, 100 trials, in one process. The columns
are shares of the total time; the last column is the time with two workers relative to one.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpsel.evaluation.sweep as sweep
from dpsel.evaluation.data import EvaluationData
from dpsel.evaluation.journal import Journal, run_missing
from dpsel.paper.experiments import Setting, label_tables, paper_sweep
from dpsel.reporter import Reporter


def made(folder: Path) -> None:
    """Write a table with labels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 7000))
    y = np.where(X[:, :8].sum(axis=1) > 0, "a", "b")
    frame = pl.DataFrame({f"g{i}": column for i, column in enumerate(X.T)})
    frame.with_columns(y=pl.Series(y)).write_parquet(folder / "synthetic.parquet")


def timed(load: Callable[[], EvaluationData], workers: int) -> dict[str, float]:
    """Return how many seconds each part of one sweep takes."""
    seconds = {"load": 0.0, "votes": 0.0, "cells": 0.0}
    started = time.perf_counter()
    data = load()
    seconds["load"] = time.perf_counter() - started
    real = run_missing

    def timing(work: Any, *arguments: Any, **options: Any) -> None:
        begun = time.perf_counter()
        real(work, *arguments, **options)
        part = "votes" if work is sweep.fit_votes else "cells"
        seconds[part] += time.perf_counter() - begun

    sweep.run_missing = timing  # type: ignore[attr-defined]
    paper = paper_sweep(k="5,logd", trials=100, seed=0, beyond=False)
    sweep.run_sweep(
        [lambda: data], paper, Journal(None, {}, resume=False, force=False), Reporter(), workers
    )
    sweep.run_missing = real  # type: ignore[attr-defined]
    seconds["all"] = time.perf_counter() - started
    return seconds


def main(folder: Path) -> None:
    """Print one line per table."""
    setting = Setting(
        folder=None,  # type: ignore[arg-type]
        reporter=Reporter(),
        trials=100,
        seed=0,
        threads=1,
        workers=1,
        beyond=False,
    )
    print(
        f"{'table':<14}{'seconds':>9}{'reading':>9}{'LASSOs':>9}{'draws':>9}{'rest':>9}{'2 : 1':>8}"
    )
    for path in sorted(folder.glob("*.parquet")):
        load = label_tables([str(path)], "y", setting)[0]
        one, two = timed(load, 1), timed(load, 2)
        shares = [one[part] / one["all"] for part in ("load", "votes", "cells")]
        shares.append(1.0 - sum(shares))
        cells = "".join(f"{share:>9.0%}" for share in shares)
        print(
            f"{path.stem:<14}{one['all']:>9.1f}{cells}{two['all'] / one['all']:>8.2f}", flush=True
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as name:
            made(Path(name))
            main(Path(name))
