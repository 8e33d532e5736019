"""The paper's section 3: how often two methods without privacy find the true features."""

from typing import Any

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.evaluation.designs import stability_design
from dpsel.core.evaluation.metrics import correlations
from dpsel.core.exact import exact_top_k
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.core.twostage import contiguous_blocks, votes_for_each_k

K = 5
FEATURES = 100
BLOCKS = 10
SIS = "SIS"
SUPPORTS = "two-stage"
TOP_VOTES = "two-stage, 5 votes a block"
METHODS = (SUPPORTS, TOP_VOTES, SIS)
EXPERIMENTS = {"W1": False, "W1/W2": True}


def stability_part(seed: int, task: tuple[str, int, int]) -> dict[str, Any]:
    """Run some repetitions of an experiment; for use within `quiet_solver`.

    `two-stage` is the paper's: the five features that most of the ten blocks have in the support
    of their LASSO. In the other, as in `dpsel baseline`, a block votes for its five largest
    coefficients. Of equal votes a random one wins: the true features have the first places.
    """
    experiment, first, last = task
    counts = {method: np.zeros(FEATURES, dtype=np.int64) for method in METHODS}
    hits: dict[str, list[int]] = {method: [] for method in METHODS}
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
    supports, top_votes = votes_for_each_k(rows.X, rows.y, blocks, BLOCKS, (FEATURES, K))
    ties = 0.5 * seeded_generator(derived_seed(seed, "ties")).random(FEATURES)
    return {
        SUPPORTS: exact_top_k(supports + ties, K),
        TOP_VOTES: exact_top_k(top_votes + ties, K),
        SIS: exact_top_k(correlations(rows.X, rows.y), K),
    }
