"""Numbers that compare methods on real data: the paper's claims, and comparisons beyond them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from dpsel.core.arrays import FloatArray
from dpsel.core.matrix import Matrix, changed, column_groups, row_chunks
from dpsel.evaluation.data import EvaluationData
from dpsel.evaluation.figures.heatmap import differences
from dpsel.paper import PAPER_METHODS
from dpsel.planning.plan import first_reached
from dpsel.preprocessing.options import Scale
from dpsel.selection.lasso import lasso_coefficients
from dpsel.system.frames import pl


def claims(results: pl.DataFrame, fits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each data set and k: where DP-SIS and two-stage differ significantly.

    `first_epsilon` is the smallest epsilon at which DP-SIS is significantly better; `largest` and
    `smallest` are the extreme values of the accuracy of DP-SIS minus that of two-stage.
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
    """Return, for each k, how many cells differ, and Spearman's correlation with R^2.

    It is the correlation of R^2 with the largest difference, over data sets.
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


REFERENCE = "dp-sis"
AT = 10.0
COMPARED = {
    "accuracy": "accuracy",
    "relative_correlation": "|correlation| of the picks / best possible",
}
"""The metrics by which methods are compared, and their labels on the axis of figures."""


def epsilon_needed(results: pl.DataFrame) -> list[dict[str, Any]]:
    """Return, for each k and metric, the epsilon at which each method's mean reaches DP-SIS's.

    The level is that of DP-SIS at epsilon 10. Means are over the data sets that the method was run
    on, for DP-SIS as well. Between the epsilons of a sweep, curves are interpolated linearly in log
    epsilon. The value is None if a method does not reach the level.
    """
    found = []
    private = results.filter("private")
    for (k_asked, method), rows in private.group_by("k_asked", "method", maintain_order=True):
        same = pl.col("dataset").is_in(rows["dataset"].unique().to_list())
        reference = private.filter(same & (pl.col("method") == REFERENCE))
        reference = reference.filter(pl.col("k_asked") == k_asked)
        if reference.is_empty():
            continue
        for metric in COMPARED:
            level = float(np.interp(np.log(AT), *_curve(reference, metric)))
            reached = first_reached(*_curve(rows, metric), level)
            found.append(
                {
                    "k_asked": k_asked,
                    "metric": metric,
                    "method": method,
                    "data_sets": rows["dataset"].n_unique(),
                    "level": level,
                    "epsilon_needed": None if reached is None else float(np.exp(reached)),
                }
            )
    return found


def unseen_means(results: pl.DataFrame, classes: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return means over data sets of accuracy on unseen rows and correlation, with standard errors.

    `classes` has the number of classes of each data set. The correlation with labels coded 0, 1,
    2... means little for more than two classes, so it is also given for two classes alone.
    """
    two = pl.col("dataset").is_in([name for name, count in classes.items() if count == 2])
    measures = {
        "accuracy on unseen rows": ("unseen", pl.lit(value=True)),
        "correlation of the picks, two classes": ("relative_correlation", two),
        "correlation with coded labels": ("relative_correlation", pl.lit(value=True)),
    }
    found = []
    for measure, (column, chosen) in measures.items():
        cells = results.filter(chosen).group_by("method", "epsilon", maintain_order=True)
        for (method, epsilon), rows in cells:
            values = rows[column].drop_nulls().to_numpy()
            found.append(
                {
                    "measure": measure,
                    "method": method,
                    "epsilon": epsilon,
                    "data_sets": len(values),
                    "mean": round(float(values.mean()), 4),
                    "standard_error": round(float(stats.sem(values)), 4)
                    if len(values) > 1
                    else None,
                    "sis": round(float(rows["unseen_sis"].to_numpy().mean()), 4)
                    if column == "unseen"
                    else 1.0,
                }
            )
    return found


def _curve(rows: pl.DataFrame, metric: str) -> tuple[FloatArray, FloatArray]:
    """Return the logs of epsilons, and the mean of a metric over data sets."""
    means = rows.group_by("epsilon").agg(pl.col(metric).mean()).sort("epsilon")
    return np.log(means["epsilon"].to_numpy()), means[metric].to_numpy()


PAPER = {
    "alon": 0.4822,
    "borovecki": 0.9011,
    "burczynski": 0.2175,
    "chiaretti": 0.2705,
    "chin": 0.5879,
    "chowdary": 0.8338,
    "christensen": 0.7870,
    "golub": 0.6819,
    "gordon": 0.2432,
    "gravier": 0.0689,
    "khan": 0.6961,
    "shipp": 0.4204,
    "singh": 0.6449,
    "sorlie": 0.9300,
    "su": 0.9602,
    "subramanian": 0.5340,
    "tian": 0.0080,
    "west": 0.7044,
    "yeoh": 0.4611,
}
"""Table 1 of the paper: R^2 of a LASSO with lambda = 0.1, by data set."""


def r_squared(X: Matrix, y: FloatArray) -> tuple[float, int]:
    """Return R^2 of a LASSO with lambda = 0.1 on its training rows, and its number of features."""
    weights = lasso_coefficients(X, y)
    means = np.concatenate([columns.mean(axis=0) for _, columns in column_groups(X)])
    rest = y - y.mean()
    for row, rows in row_chunks(X):
        rest[row : row + len(rows)] -= (rows - means) @ weights
    spread = float(((y - y.mean()) ** 2).sum())
    share = 1.0 - float((rest**2).sum()) / spread if spread else 0.0
    return share, int(np.count_nonzero(weights))


def r_squared_row(data: EvaluationData) -> dict[str, Any]:
    """Return our R^2 under two scalings, and the paper's.

    The first scaling is that of all experiments here: centered by the mean and divided by the
    largest absolute value. The second, columns scaled between their smallest and largest value,
    came nearest to the paper of all that were tried.
    """
    rows = data.scaled(Scale.MAX_ABS, 1.0)
    ours, used = r_squared(rows.X, rows.y)
    ends = [(X.min(axis=0), X.max(axis=0)) for _, X in column_groups(data.raw.X)]
    low, high = (np.concatenate(end) for end in zip(*ends, strict=True))
    width = np.where(high > low, high - low, 1.0)
    spread_out = changed(data.raw.X, lambda some, X: 2.0 * (X - low[some]) / width[some] - 1.0)
    nearest, nearest_used = r_squared(spread_out, rows.y)
    return {
        "dataset": data.name,
        "n": len(rows.y),
        "d": len(data.features),
        "paper": PAPER.get(data.name.lower()),
        "mean_and_max_abs": ours,
        "features_used": used,
        "min_max": nearest,
        "features_used_min_max": nearest_used,
    }
