"""Section 3 of the paper: is two-stage stable, even without privacy?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from dpsel.core.evaluation.stability import EXPERIMENTS, METHODS, SIS, stability_part
from dpsel.core.lasso import quiet_solver
from dpsel.io.journal import Journal
from dpsel.run import Reporter
from dpsel.workers import Workers, run_tasks, ticks

_REPETITIONS_AT_ONCE = 25


@dataclass(frozen=True)
class StabilityRow:
    """How often one method chose each feature in one experiment."""

    experiment: str
    method: str
    counts: list[int]
    hits: list[int]
    """In each repetition, how many of the five true features were among the five chosen."""


def run_stability(
    repetitions: int, seed: int, journal: Journal, reporter: Reporter, workers: Workers
) -> list[StabilityRow]:
    """Run both experiments."""
    starts = range(0, repetitions, _REPETITIONS_AT_ONCE)
    tasks = {
        f"{experiment} {first}": (experiment, first, min(first + _REPETITIONS_AT_ONCE, repetitions))
        for experiment in EXPERIMENTS
        for first in starts
    }
    tick = ticks(len(tasks), reporter.progress)
    with quiet_solver():
        run_tasks(stability_part, seed, tasks, journal, workers=workers, tick=tick, lassos=True)
    rows = []
    for experiment in EXPERIMENTS:
        parts = [journal.found[f"{experiment} {first}"] for first in starts]
        for method in METHODS:
            counts = np.sum([part["counts"][method] for part in parts], axis=0)
            hits = [hit for part in parts for hit in part["hits"][method]]
            rows.append(StabilityRow(experiment, method, counts.tolist(), hits))
    return rows


def compared_with_sis(rows: list[StabilityRow]) -> list[dict[str, Any]]:
    """Return each method's mean share of true features, and how surely SIS has more of them.

    The test is Wilcoxon's for pairs, one-sided: both methods saw the same tables.
    """
    found = []
    for row in rows:
        other = next(r for r in rows if (r.experiment, r.method) == (row.experiment, SIS))
        more = np.array(other.hits) - np.array(row.hits)
        p = float(stats.wilcoxon(more, alternative="greater").pvalue) if more.any() else None
        found.append(
            {
                "experiment": row.experiment,
                "method": row.method,
                "repetitions": len(row.hits),
                "share_of_true": float(np.mean(row.hits)) / 5,
                "all_five": float(np.mean(np.array(row.hits) == 5)),
                "p_sis_not_better": p,
            }
        )
    return found
