"""The paper's synthetic experiment: 100 rows, 2000 features, 8 signals; new data every trial."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.evaluation.data import EvaluationData, FoundTruth
from dpsel.core.evaluation.designs import screening_design
from dpsel.core.evaluation.metrics import mean_interval
from dpsel.core.lasso import quiet_solver
from dpsel.core.randomness import derived_seed
from dpsel.io.journal import Journal
from dpsel.run import Reporter
from dpsel.sweep import run_sweep
from dpsel.sweep_plan import SweepPlan
from dpsel.workers import Workers, run_tasks, ticks

ROWS, FEATURES = 100, 2000
NAME = "synthetic"


class _Silent:
    """Says nothing."""

    def note(self, message: str) -> None:
        """Say nothing."""

    def warn(self, message: str) -> None:
        """Say nothing."""

    def size(self, file_bytes: int) -> None:
        """Say nothing."""

    def progress(self, done: float) -> None:
        """Say nothing."""


def synthetic_trial(plan: SweepPlan, trial: int) -> list[dict[str, Any]]:
    """Draw a table and run every cell on it once."""
    design = screening_design(ROWS, FEATURES, derived_seed(plan.seed, "design", trial))
    names = tuple(f"x{i + 1}" for i in range(FEATURES))
    data = EvaluationData(
        name=f"{NAME} {trial}",
        features=names,
        raw=design.rows,
        bounds=Bounds.of([UNIT_INTERVAL] * FEATURES, UNIT_INTERVAL),
        labels=False,
        truth=FoundTruth(design.weights, None),
    )
    once = replace(plan, trials=1)
    nothing = Journal(None, {}, resume=False, force=False)
    return run_sweep([lambda: data], once, nothing, _Silent(), 1).results


def run_synthetic(
    plan: SweepPlan, journal: Journal, reporter: Reporter, workers: Workers
) -> list[dict[str, Any]]:
    """Run all trials, and return one row a cell."""
    tasks = {f"trial {trial}": trial for trial in range(plan.trials)}
    tick = ticks(len(tasks), reporter.progress)
    with quiet_solver():
        run_tasks(synthetic_trial, plan, tasks, journal, workers=workers, tick=tick, lassos=True)
    trials = [journal.found[key] for key in tasks]
    return [pooled([rows[i] for rows in trials]) for i in range(len(trials[0]))]


def pooled(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one row for the same cell on many tables, each with a single trial."""
    accuracies = np.array([row["accuracy"] for row in rows])
    low, high = mean_interval(accuracies)
    means = {
        name: _mean([row[name] for row in rows])
        for name in ("top", "great", "good", "tied", "relative_correlation", "bound")
    }
    return {
        **rows[0],
        **means,
        "dataset": NAME,
        "trials": len(rows),
        "accuracy": float(accuracies.mean()),
        "accuracy_low": low,
        "accuracy_high": high,
        "accuracy_sd": float(accuracies.std(ddof=1)) if len(rows) > 1 else 0.0,
        "jaccard": None,
    }


def _mean(values: list[float | None]) -> float | None:
    """Return the mean of what is known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
