"""The experiment of section 3 of the paper: is two-stage stable, even without privacy?"""

from typing import Any

import numpy as np
from scipy import stats

from dpsel.core.arrays import IntArray
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.core.votes import Voting, contiguous_blocks, votes_for_each_k
from dpsel.evaluation.journal import Journal, run_missing
from dpsel.evaluation.metrics import correlations
from dpsel.paper.synthetic import stability_design
from dpsel.records import frozen
from dpsel.reporter import Reporter, ticks
from dpsel.selection.exact import exact_top_k
from dpsel.selection.lasso import SOLVER, block_fit, quiet_solver
from dpsel.system.workers import Workers

K = 5
FEATURES = 100
BLOCKS = 10
SIS = "SIS"
SUPPORTS = "two-stage"
TOP_VOTES = "two-stage, 5 votes a block"
METHODS = (SUPPORTS, TOP_VOTES, SIS)
EXPERIMENTS = {"W1": False, "W1/W2": True}


def stability_part(seed: int, task: tuple[str, int, int]) -> dict[str, Any]:
    """Run some repetitions of an experiment.

    `two-stage` is the paper's version: it selects the five features that most of the ten blocks
    have in the support of their LASSO. In the other version, that of `dpsel baseline`, a block
    votes for its five largest coefficients. Ties are broken at random, since the true features come
    first in the table.
    """
    experiment, first, last = task
    counts = {method: np.zeros(FEATURES, dtype=np.int64) for method in METHODS}
    hits: dict[str, list[int]] = {method: [] for method in METHODS}
    with quiet_solver():
        for repetition in range(first, last):
            own = derived_seed(seed, "stability", experiment, repetition)
            for method, chosen in _selections(own, outliers=EXPERIMENTS[experiment]).items():
                counts[method][chosen] += 1
                hits[method].append(int(np.count_nonzero(chosen < K)))
    return {"counts": {m: c.tolist() for m, c in counts.items()}, "hits": hits}


def _selections(seed: int, *, outliers: bool) -> dict[str, IntArray]:
    """Return what each method selects from one table."""
    rows = stability_design(seed, outliers=outliers).rows
    blocks = contiguous_blocks(len(rows.y), BLOCKS)
    with block_fit() as fit:
        voting = Voting(BLOCKS, fit)
        supports, top_votes = votes_for_each_k(rows.X, rows.y, blocks, (FEATURES, K), voting)
    ties = 0.5 * seeded_generator(derived_seed(seed, "ties")).random(FEATURES)
    return {
        SUPPORTS: exact_top_k(supports + ties, K),
        TOP_VOTES: exact_top_k(top_votes + ties, K),
        SIS: exact_top_k(correlations(rows.X, rows.y), K),
    }


_REPETITIONS_AT_ONCE = 25


@frozen
class StabilityRow:
    """How often one method chose each feature in one experiment."""

    experiment: str
    method: str
    counts: list[int]
    hits: list[int]
    """For each repetition, how many of the five chosen features were true."""


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
    tick = ticks(len(tasks), reporter)
    with quiet_solver():
        run_missing(
            stability_part, seed, tasks, journal, workers=workers, tick=tick, preload=SOLVER
        )
    rows = []
    for experiment in EXPERIMENTS:
        parts = [journal.found[f"{experiment} {first}"] for first in starts]
        for method in METHODS:
            counts = np.sum([part["counts"][method] for part in parts], axis=0)
            hits = [hit for part in parts for hit in part["hits"][method]]
            rows.append(StabilityRow(experiment, method, counts.tolist(), hits))
    return rows


def compared_with_sis(rows: list[StabilityRow]) -> list[dict[str, Any]]:
    """Return the mean share of true features of each method, and a test that SIS finds more.

    The test is Wilcoxon's one-sided test for pairs, since both methods saw the same tables.
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
