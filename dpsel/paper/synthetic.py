"""The paper's synthetic experiment: 100 rows, 2000 features, 8 signals; new data in every trial."""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.evaluation.journal import Journal, run_missing
from dpsel.evaluation.metrics import METRICS
from dpsel.evaluation.request import Sweep
from dpsel.evaluation.sweep import run_sweep
from dpsel.evaluation.truth import FoundTruth
from dpsel.records import frozen
from dpsel.reporter import Reporter, ticks
from dpsel.selection.lasso import SOLVER, quiet_solver
from dpsel.system.workers import Workers

SIGNALS = 8


@frozen
class Design:
    """A simulated table, and the weights of its features in the target."""

    rows: DataSet
    weights: FloatArray = field(repr=False)


def screening_design(n: int, d: int, seed: int) -> Design:
    """Return y = X w + noise with 8 signals at random positions, as in section 3.3.1 of [FL08].

    X is standard normal; the noise has a standard deviation of 1.5; a weight is (-1)^u (a + |z|)
    where u is 1 with probability 0.4, z is standard normal and a = 4 log(n) / sqrt(n).

    References:
        [FL08] Fan & Lv (2008), arXiv:math/0612857.
    """
    rng = seeded_generator(seed)
    X = rng.standard_normal((n, d))
    weights = np.zeros(d)
    places = rng.choice(d, size=min(SIGNALS, d), replace=False)
    signs = np.where(rng.random(len(places)) < 0.4, -1.0, 1.0)
    strength = 4 * math.log(n) / math.sqrt(n) + np.abs(rng.standard_normal(len(places)))
    weights[places] = signs * strength
    y = X @ weights + 1.5 * rng.standard_normal(n)
    return Design(DataSet(np.asfortranarray(X), y), weights)


def stability_design(seed: int, *, outliers: bool) -> Design:
    """Return 100 rows of 100 features, as in section 3 of the paper.

    The first five features have weight 1; the noise has a standard deviation of 0.1. With
    `outliers`, every tenth row depends on the last five features instead, so each of ten contiguous
    blocks has one such row. The returned weights are those of the other rows.
    """
    rng = seeded_generator(seed)
    X = rng.standard_normal((100, 100))
    weights, others = np.zeros(100), np.zeros(100)
    weights[:5], others[-5:] = 1.0, 1.0
    y = X @ weights
    if outliers:
        y[9::10] = X[9::10] @ others
    return Design(DataSet(np.asfortranarray(X), y + 0.1 * rng.standard_normal(100)), weights)


ROWS, FEATURES = 100, 2000
NAME = "synthetic"


def synthetic_trial(sweep: Sweep, trial: int) -> list[dict[str, Any]]:
    """Simulate a table, and run every cell on it once."""
    design = screening_design(ROWS, FEATURES, derived_seed(sweep.seed, "design", trial))
    names = tuple(f"x{i + 1}" for i in range(FEATURES))
    data = EvaluationData(
        name=f"{NAME} {trial}",
        features=names,
        raw=design.rows,
        bounds=Bounds.of([UNIT_INTERVAL] * FEATURES, UNIT_INTERVAL),
        labels=False,
        truth=FoundTruth(design.weights, None),
    )
    once = replace(sweep, trials=1)
    in_memory = Journal(None, {}, resume=False, force=False)
    return run_sweep([lambda: data], once, in_memory, Reporter(), 1).results


def run_synthetic(
    sweep: Sweep, journal: Journal, reporter: Reporter, workers: Workers
) -> list[dict[str, Any]]:
    """Run all trials, and return one row per cell."""
    tasks = {f"trial {trial}": trial for trial in range(sweep.trials)}
    tick = ticks(len(tasks), reporter)
    with quiet_solver():
        run_missing(
            synthetic_trial, sweep, tasks, journal, workers=workers, tick=tick, preload=SOLVER
        )
    trials = [journal.found[key] for key in tasks]
    return [pooled([rows[i] for rows in trials]) for i in range(len(trials[0]))]


def pooled(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one row for the same cell on many tables, each with a single trial."""
    found = {**rows[0], "dataset": NAME, "trials": len(rows)}
    for metric in METRICS:
        found |= metric.pooled(rows)
    return found
