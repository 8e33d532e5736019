"""The paper's claims about real data, as numbers."""

from typing import Any

import numpy as np
from scipy import stats

from dpsel.io.figures.heatmap import differences
from dpsel.io.frames import pl
from dpsel.reproduce import PAPER_METHODS


def claims(results: pl.DataFrame, fits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each data set and k: where DP-SIS and two-stage differ significantly.

    `first_epsilon` is the smallest epsilon with a significant difference; `largest` the largest
    difference of accuracies, either way.
    """
    fit = {row["dataset"]: row["mean_and_max_abs"] for row in fits}
    found = []
    for (asked,), part in results.group_by("k_asked", maintain_order=True):
        sets, epsilons, values, marks = differences(part, *PAPER_METHODS)
        for name, value, mark in zip(sets, values, marks, strict=True):
            better = np.flatnonzero(mark & (value > 0))
            found.append(
                {
                    "dataset": name,
                    "k_asked": asked,
                    "dp_sis_better": len(better),
                    "two_stage_better": int(np.count_nonzero(mark & (value < 0))),
                    "first_epsilon": epsilons[better[0]] if better.size else None,
                    "largest": float(np.nanmax(value)),
                    "smallest": float(np.nanmin(value)),
                    "r_squared": fit.get(name),
                }
            )
    return found


def claims_summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each k how many cells differ, and Spearman's correlation with R^2.

    The correlation is that of R^2 with the largest difference, over data sets.
    """
    found = []
    for asked in dict.fromkeys(row["k_asked"] for row in rows):
        own = [row for row in rows if row["k_asked"] == asked]
        known = [row for row in own if row["r_squared"] is not None]
        outcome = None
        if len(known) > 2:
            outcome = stats.spearmanr(
                [row["r_squared"] for row in known], [row["largest"] for row in known]
            )
        found.append(
            {
                "k_asked": asked,
                "dp_sis_better": sum(row["dp_sis_better"] for row in own),
                "two_stage_better": sum(row["two_stage_better"] for row in own),
                "rank_correlation": None if outcome is None else float(outcome.statistic),
                "p": None if outcome is None else float(outcome.pvalue),
            }
        )
    return found
