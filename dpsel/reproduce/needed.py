"""What epsilon a method needs for what the paper's DP-SIS has at epsilon = 10."""

from typing import Any

import numpy as np

from dpsel.io.frames import pl

REFERENCE = "dp-sis"
AT = 10.0
METRICS = ("accuracy", "relative_correlation")


def epsilon_needed(results: pl.DataFrame) -> list[dict[str, Any]]:
    """Return, for each k and metric, the epsilon at which each method's mean reaches DP-SIS's.

    Means are over the data sets that a method was run on, for DP-SIS as well. Between the epsilons
    of a sweep a curve is taken as straight on a logarithmic axis. None where a method does not get
    there.
    """
    found = []
    private = results.filter("private")
    for (k_asked, method), rows in private.group_by("k_asked", "method", maintain_order=True):
        same = pl.col("dataset").is_in(rows["dataset"].unique().to_list())
        reference = private.filter(same & (pl.col("method") == REFERENCE))
        reference = reference.filter(pl.col("k_asked") == k_asked)
        if reference.is_empty():
            continue
        for metric in METRICS:
            level = float(np.interp(np.log(AT), *_curve(reference, metric)))
            found.append(
                {
                    "k_asked": k_asked,
                    "metric": metric,
                    "method": method,
                    "data_sets": rows["dataset"].n_unique(),
                    "level": level,
                    "epsilon_needed": _first_reaching(*_curve(rows, metric), level),
                }
            )
    return found


def _curve(rows: pl.DataFrame, metric: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return log epsilons and the mean over data sets."""
    means = rows.group_by("epsilon").agg(pl.col(metric).mean()).sort("epsilon")
    return np.log(means["epsilon"].to_numpy()), means[metric].to_numpy()


def _first_reaching(
    logs: np.ndarray[Any, Any], values: np.ndarray[Any, Any], level: float
) -> float | None:
    """Return the smallest epsilon at which a curve reaches a level."""
    reached = np.flatnonzero(values >= level)
    if reached.size == 0:
        return None
    first = int(reached[0])
    if first == 0:
        return float(np.exp(logs[0]))
    share = (level - values[first - 1]) / (values[first] - values[first - 1])
    return float(np.exp(logs[first - 1] + share * (logs[first] - logs[first - 1])))
