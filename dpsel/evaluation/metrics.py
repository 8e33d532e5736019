"""How good selections are: metrics of rows of picks, one row per trial. No privacy guarantee."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.matrix import Matrix, TiledMatrix
from dpsel.core.mechanisms.subset_classes import log_subsets
from dpsel.records import frozen
from dpsel.selection.exact import tied_share

_NORMAL_95 = 1.959963984540054


def accuracies(picks: IntArray, truth: IntArray) -> FloatArray:
    """Return the share of each row's picks that are true: |picked and true| / k."""
    shares: FloatArray = np.isin(picks, truth).mean(axis=1)
    return shares


def mean_interval(values: FloatArray) -> tuple[float, float]:
    """Return Wilson's 95 % interval for the mean of trials with values between 0 and 1.

    It is made for yes-or-no outcomes, which have the largest variance of all values between 0 and 1
    with the same mean; for other values it is too wide rather than too narrow. Its width is
    positive even if all trials agree.
    """
    trials, mean = len(values), float(np.mean(values))
    z = _NORMAL_95 * _NORMAL_95 / trials
    middle = (mean + 0.5 * z) / (1.0 + z)
    reach = math.sqrt(z * (mean * (1.0 - mean) + 0.25 * z)) / (1.0 + z)
    # Without hits, or without misses, one end is exact; rounding must not move it.
    low = 0.0 if mean == 0.0 else max(0.0, middle - reach)
    high = 1.0 if mean == 1.0 else min(1.0, middle + reach)
    return low, high


def order_hits(picks: IntArray, scores: NumberArray, must: int, within: int) -> FloatArray:
    """Return 1 for each row with all of the `must` best scores and the rest in the `within` best.

    Equal scores have no order, and a tie is not a success: a row is a hit only if it is one in
    every possible order of equal scores. `scores` has one row, or one for each row of picks.
    """
    rows = np.broadcast_to(np.atleast_2d(scores), (len(picks), np.shape(scores)[-1]))
    best = np.sort(rows, axis=1)[:, ::-1]
    picked = np.take_along_axis(rows, picks, axis=1)
    hits = np.ones(len(picks), dtype=np.bool_)
    if must > 0:
        # Every score equal to the last of the best may be one of them.
        last = best[:, [must - 1]]
        hits &= (rows >= last).sum(axis=1) == (picked >= last).sum(axis=1)
    if within < rows.shape[1]:
        hits &= (picked > best[:, [within]]).all(axis=1)
    return hits.astype(np.float64)


def top(picks: IntArray, scores: NumberArray) -> float:
    """Return the share of trials that are TOP: the picks have the k best scores [SL22].

    If scores tie, this and the next two metrics require a hit in every order of the equal scores:
    see `order_hits`. Fractions of k are rounded down.

    References:
        [SL22] Shekelyan & Loukides (2022), arXiv:2201.13376.
    """
    k = picks.shape[1]
    return float(order_hits(picks, scores, k, k).mean())


def great(picks: IntArray, scores: NumberArray) -> float:
    """Return the share of GREAT trials: all of the best k/10, the rest within the best 11k/10."""
    k = picks.shape[1]
    return float(order_hits(picks, scores, k // 10, 11 * k // 10).mean())


def good(picks: IntArray, scores: NumberArray) -> float:
    """Return the share of GOOD trials: all of the best k/100, the rest within the best 3k/2."""
    k = picks.shape[1]
    return float(order_hits(picks, scores, k // 100, 3 * k // 2).mean())


def correlations(X: Matrix, y: FloatArray) -> FloatArray:
    """Return |Pearson's correlation| of each feature with the target; 0 for a constant one."""
    if not isinstance(X, TiledMatrix):
        return _correlations(X, y)
    found = [_correlations(X.columns(first, last), y) for first, last in X.column_groups()]
    return np.concatenate([np.zeros(0), *found])


def _correlations(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the same as `correlations`, for a table in memory."""
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = X - X.mean(axis=0)
        target = y - y.mean()
        lengths = np.sqrt(np.einsum("ij,ij->j", moved, moved))
        length = math.sqrt(float(target @ target))
        found: FloatArray = np.abs(target @ moved) / (lengths * length)
    # The length of a constant column consists of rounding errors only.
    tiny = 1e-12 * math.sqrt(max(1, len(y)))
    varies = (lengths > tiny * np.abs(X).max(axis=0, initial=0.0)) & np.isfinite(found)
    if length <= tiny * float(np.abs(y).max(initial=0.0)):
        varies[:] = False
    return np.where(varies, np.minimum(found, 1.0), 0.0)


def relative_correlation(picks: IntArray, correlation: FloatArray) -> float | None:
    """Return the mean |correlation| of the picks over that of the best k; None if that is 0."""
    best = float(np.sort(correlation)[-picks.shape[1] :].mean())
    return None if best == 0.0 else float(correlation[picks].mean()) / best


def mean_jaccard(picks: IntArray) -> float | None:
    """Return the mean Jaccard index of two trials, |both| / |either|; None for a single trial."""
    trials, k = picks.shape
    if trials < 2:
        return None
    features, places = np.unique(picks, return_inverse=True)
    chosen = np.zeros((trials, len(features)), dtype=np.float32)
    chosen[np.arange(trials)[:, np.newaxis], places.reshape(picks.shape)] = 1.0
    both = (chosen @ chosen.T)[np.triu_indices(trials, 1)].astype(np.float64)
    return float(np.mean(both / (2 * k - both)))


def lipschitz_bound(
    scores: NumberArray, sensitivity: float, k: int, epsilon: float, gamma: float
) -> float:
    """Return a lower bound of the chance of TOP: 1 - C(d,k) exp(-xi gamma epsilon / 2), or 0.

    xi is the gap between the k-th and the next score, in units of the sensitivity.
    """
    if k == len(scores):
        return 1.0
    best = np.sort(scores)[::-1]
    xi = float(best[k - 1] - best[k]) / sensitivity
    return max(0.0, -math.expm1(min(0.0, log_subsets(len(scores), k) - xi * gamma * epsilon / 2)))


@frozen
class Picks:
    """Rows of picks, their scores (one row, or one per trial), and the bound for TOP."""

    picks: IntArray
    scores: NumberArray
    bound: float | None


@frozen
class Cell:
    """The input of a metric: the picks of a cell, the true features, and all correlations."""

    drawn: Picks
    truth: IntArray
    correlation: FloatArray


@frozen
class Metric:
    """A measure of the picks in a cell.

    Results, the report and the pooled means of the paper's experiments are made from `METRICS`, so
    adding a record there is all that a new metric takes.
    """

    name: str
    """Its column in the results."""
    heading: str
    meaning: str
    """The explanation in the report."""
    measure: Callable[[Cell], FloatArray | float | None]
    """Returns one value, or None if there is none; with `each_trial`, one value per trial."""
    digits: int
    each_trial: bool = False
    """Whether every trial has its own value, between 0 and 1. The columns are then their mean, its
    95 % interval and their standard deviation."""
    pools: bool = True
    """Whether the mean over tables with one trial each means the same as many trials on one."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the metric's columns in the results."""
        name = self.name
        return (name, f"{name}_low", f"{name}_high", f"{name}_sd") if self.each_trial else (name,)

    def values(self, cell: Cell) -> dict[str, float | None]:
        """Return the values of these columns for a cell."""
        found = self.measure(cell)
        return self._spread(found) if isinstance(found, np.ndarray) else {self.name: found}

    def pooled(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
        """Return these values for the same cell on many tables, each with a single trial."""
        known = [row[self.name] for row in rows if row[self.name] is not None]
        if self.each_trial:
            return self._spread(np.array(known))
        return {self.name: float(np.mean(known)) if known and self.pools else None}

    def _spread(self, values: FloatArray) -> dict[str, float | None]:
        """Return the mean of the trials, its interval, and their standard deviation."""
        sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
        numbers = (float(values.mean()), *mean_interval(values), sd)
        return dict(zip(self.columns, numbers, strict=True))


METRICS = (
    Metric(
        "accuracy",
        "accuracy [95 %]",
        "Share of the k picks that are right: the mean over the trials, and its 95 % interval.",
        lambda cell: accuracies(cell.drawn.picks, cell.truth),
        digits=3,
        each_trial=True,
    ),
    Metric(
        "top",
        "TOP",
        "Share of trials with exactly the k best scores. Equal scores have no order: here, in "
        "GREAT and in GOOD a trial counts only if it would in every order of them.",
        lambda cell: top(cell.drawn.picks, cell.drawn.scores),
        digits=2,
    ),
    Metric(
        "great",
        "GREAT",
        "Share of trials with all of the best k/10 scores, and the rest from the best 11k/10.",
        lambda cell: great(cell.drawn.picks, cell.drawn.scores),
        digits=2,
    ),
    Metric(
        "good",
        "GOOD",
        "Share of trials with all of the best k/100 scores, and the rest from the best 3k/2.",
        lambda cell: good(cell.drawn.picks, cell.drawn.scores),
        digits=2,
    ),
    Metric(
        "tied",
        "tied",
        "Share of trials in which the k-th and the next score are equal, so that no k features are "
        "the best.",
        lambda cell: tied_share(cell.drawn.scores, cell.drawn.picks.shape[1]),
        digits=2,
    ),
    Metric(
        "relative_correlation",
        "relative correlation",
        "Mean strength of the picks' correlation with the target, divided by the largest mean that "
        "k features can have; 1 is best.",
        lambda cell: relative_correlation(cell.drawn.picks, cell.correlation),
        digits=3,
    ),
    Metric(
        "jaccard",
        "Jaccard",
        "How alike two trials are: features that both picked, divided by features that either did, "
        "as a mean over all pairs of trials. It says nothing about the truth.",
        lambda cell: mean_jaccard(cell.drawn.picks),
        digits=3,
        pools=False,
    ),
    Metric(
        "bound",
        "bound",
        "What theory promises for TOP: at least this share. A dash where it says nothing.",
        lambda cell: cell.drawn.bound,
        digits=3,
    ),
)


def cell_summary(drawn: Picks, truth: IntArray, correlation: FloatArray) -> dict[str, Any]:
    """Return the metrics of a cell and how often each feature was picked, as plain values."""
    cell = Cell(drawn, truth, correlation)
    found: dict[str, Any] = {"true_size": len(truth)}
    for metric in METRICS:
        found |= metric.values(cell)
    features, counts = np.unique(drawn.picks, return_counts=True)
    found["counts"] = [[int(f), int(c)] for f, c in zip(features, counts, strict=True)]
    return found


def without_intervals(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of a method that always selects the same; its intervals are points."""
    points = {
        end: summary[metric.name]
        for metric in METRICS
        if metric.each_trial
        for end in metric.columns[1:3]
    }
    return {**summary, **points}


def normal_summary(values: FloatArray) -> tuple[float, float, float, float]:
    """Return mean, ends of its 95 % interval and standard deviation of trials with any values."""
    mean = float(values.mean())
    sd = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    reach = _NORMAL_95 * sd / math.sqrt(len(values))
    return mean, mean - reach, mean + reach, sd


ACCURACY, R_SQUARED = "accuracy", "R^2"
BY_SIS, BY_ALL, BY_NONE = "unseen_sis", "unseen_all", "unseen_none"
REFERENCES = {BY_SIS: "SIS, not private", BY_ALL: "all features", BY_NONE: "no feature"}
"""What the picks are compared with: columns of the results, and their names in figures."""

UNSEEN_NUMBERS = ("unseen", "unseen_low", "unseen_high", "unseen_sd")
"""Columns of a cell: the mean over its trials, its interval, and their standard deviation."""
