"""One cell of a sweep: a data set, a method, a k and an epsilon, and what came of it."""

from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.evaluation.draws import Drawn
from dpsel.core.evaluation.metrics import (
    accuracies,
    mean_interval,
    mean_jaccard,
    relative_correlation,
    tied_share,
    top_great_good,
)


def cell_summary(drawn: Drawn, truth: IntArray, correlation: FloatArray) -> dict[str, Any]:
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
