"""How good selections are: each metric takes rows of picks, one row a trial. Not private."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.matrix import Matrix, TiledMatrix
from dpsel.core.mechanisms.classes import log_subsets
from dpsel.selection.lasso import tied_share

_NORMAL_95 = 1.959963984540054


def accuracies(picks: IntArray, truth: IntArray) -> FloatArray:
    """Return the share of each row's picks that are true: |picked and true| / k."""
    shares: FloatArray = np.isin(picks, truth).mean(axis=1)
    return shares


def mean_interval(values: FloatArray) -> tuple[float, float]:
    """Return a 95 % interval for the mean of trials between 0 and 1: Wilson's.

    It is made for shares of yes and no, which vary the most of all values between 0 and 1 with the
    same mean, so for other values it is too wide rather than too narrow. It has a width even where
    all trials agree.
    """
    trials, mean = len(values), float(np.mean(values))
    z = _NORMAL_95 * _NORMAL_95 / trials
    middle = (mean + 0.5 * z) / (1.0 + z)
    reach = math.sqrt(z * (mean * (1.0 - mean) + 0.25 * z)) / (1.0 + z)
    # With no hit, or no miss, one end is known, and rounding must not say otherwise.
    low = 0.0 if mean == 0.0 else max(0.0, middle - reach)
    high = 1.0 if mean == 1.0 else min(1.0, middle + reach)
    return low, high


def order_hits(picks: IntArray, scores: NumberArray, must: int, within: int) -> FloatArray:
    """Return 1 for each row with all of the `must` best scores and the rest in the `within` best.

    Equal scores have no order, and a tie is no success: a row is a hit if it is one in every order
    that they could have. `scores` has one row, or one for each row of picks.
    """
    rows = np.broadcast_to(np.atleast_2d(scores), (len(picks), np.shape(scores)[-1]))
    best = np.sort(rows, axis=1)[:, ::-1]
    picked = np.take_along_axis(rows, picks, axis=1)
    hits = np.ones(len(picks), dtype=np.bool_)
    if must > 0:
        # Any that is as good as the last of the best may be one of them.
        last = best[:, [must - 1]]
        hits &= (rows >= last).sum(axis=1) == (picked >= last).sum(axis=1)
    if within < rows.shape[1]:
        hits &= (picked > best[:, [within]]).all(axis=1)
    return hits.astype(np.float64)


def top_great_good(picks: IntArray, scores: NumberArray) -> tuple[float, float, float]:
    """Return the shares of trials that are TOP, GREAT and GOOD [SL22].

    TOP: the k best scores. GREAT: all of the best k/10, the rest within the best 11k/10. GOOD: all
    of the best k/100, the rest within the best 3k/2. Fractions are rounded down. Where scores tie,
    the words hold for every order of the equal ones: see `order_hits`.

    References:
        [SL22] Shekelyan & Loukides (2022), arXiv:2201.13376.
    """
    k = picks.shape[1]
    marks = ((k, k), (k // 10, 11 * k // 10), (k // 100, 3 * k // 2))
    top, great, good = (float(order_hits(picks, scores, *mark).mean()) for mark in marks)
    return top, great, good


def correlations(X: Matrix, y: FloatArray) -> FloatArray:
    """Return |Pearson's correlation| of each feature with the target; 0 for a constant one."""
    if not isinstance(X, TiledMatrix):
        return _correlations(X, y)
    found = [_correlations(X.columns(first, last), y) for first, last in X.column_groups()]
    return np.concatenate([np.zeros(0), *found])


def _correlations(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the same for a table in memory."""
    with np.errstate(invalid="ignore", divide="ignore"):
        moved = X - X.mean(axis=0)
        target = y - y.mean()
        lengths = np.sqrt(np.einsum("ij,ij->j", moved, moved))
        length = math.sqrt(float(target @ target))
        found: FloatArray = np.abs(target @ moved) / (lengths * length)
    # A constant column has a length of rounding errors only.
    tiny = 1e-12 * math.sqrt(max(1, len(y)))
    varies = (lengths > tiny * np.abs(X).max(axis=0, initial=0.0)) & np.isfinite(found)
    if length <= tiny * float(np.abs(y).max(initial=0.0)):
        varies[:] = False
    return np.where(varies, np.minimum(found, 1.0), 0.0)


def relative_correlation(picks: IntArray, correlation: FloatArray) -> float | None:
    """Return the picks' mean |correlation| relative to that of the best k; None if that is 0."""
    best = float(np.sort(correlation)[-picks.shape[1] :].mean())
    return None if best == 0.0 else float(correlation[picks].mean()) / best


def mean_jaccard(picks: IntArray) -> float | None:
    """Return the mean Jaccard index of two trials: |both| / |either|; None for a single trial."""
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

    xi is the distance of the k-th from the next score, in units of the sensitivity.
    """
    if k == len(scores):
        return 1.0
    best = np.sort(scores)[::-1]
    xi = float(best[k - 1] - best[k]) / sensitivity
    return max(0.0, -math.expm1(min(0.0, log_subsets(len(scores), k) - xi * gamma * epsilon / 2)))


@dataclass(frozen=True)
class Picks:
    """Rows of picks, the scores they were drawn by (one row, or one a trial), and TOP's bound."""

    picks: IntArray
    scores: NumberArray
    bound: float | None


def cell_summary(drawn: Picks, truth: IntArray, correlation: FloatArray) -> dict[str, Any]:
    """Return the metrics of a cell and how often each feature was picked, as plain values."""
    shares = accuracies(drawn.picks, truth)
    low, high = mean_interval(shares)
    top, great, good = top_great_good(drawn.picks, drawn.scores)
    features, counts = np.unique(drawn.picks, return_counts=True)
    return {
        "true_size": len(truth),
        "accuracy": float(shares.mean()),
        "accuracy_low": low,
        "accuracy_high": high,
        "accuracy_sd": float(shares.std(ddof=1)) if len(shares) > 1 else 0.0,
        "top": top,
        "great": great,
        "good": good,
        "tied": tied_share(drawn.scores, drawn.picks.shape[1]),
        "relative_correlation": relative_correlation(drawn.picks, correlation),
        "jaccard": mean_jaccard(drawn.picks),
        "bound": drawn.bound,
        "counts": [[int(f), int(c)] for f, c in zip(features, counts, strict=True)],
    }
