"""Numbers replaced by their ranks within the row, which do not depend on how a row is scaled."""

from dataclasses import replace

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch

# Cells that are sorted at once: 8 MB.
_CELLS_AT_ONCE = 1 << 20


def ranked(batch: Batch) -> Batch:
    """Return a batch of whole rows with every number replaced by its rank; see `row_ranks`."""
    return replace(batch, X=row_ranks(np.asarray(batch.X, dtype=np.float64)))


def row_ranks(X: FloatArray) -> FloatArray:
    """Return the rank of each number within its row, from 1; equal numbers get their mean rank.

    Missing cells and words stay as they are and are not ranked.

    Privacy:
        Domain: any cells.
        Neighbors: neighboring tables have neighboring ranks, under the same relation, because a
            row's ranks are a function of that row alone. So the sensitivity of any score stays.
        Guarantee: none; the ranks are private input for a score.
        Tested by: tests/privacy/test_row_ranks.py
    """
    # A copy keeps the bits of words, which are NaNs.
    ranks = np.array(X, order="F")
    at_once = max(1, _CELLS_AT_ONCE // max(1, X.shape[1]))
    for start in range(0, len(X) if X.shape[1] else 0, at_once):
        rows = np.ascontiguousarray(X[start : start + at_once])
        np.copyto(ranks[start : start + at_once], _ranks(rows), where=~np.isnan(rows))
    return ranks


def _ranks(rows: FloatArray) -> FloatArray:
    """Return the ranks within every row; NaN ranks last."""
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    places = np.arange(rows.shape[1])
    begins = np.ones(rows.shape, dtype=np.bool_)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=begins[:, 1:])
    ends = np.ones(rows.shape, dtype=np.bool_)
    ends[:, :-1] = begins[:, 1:]
    # The first and the last place of each run of equal numbers.
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.where(ends, places, len(places))
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(rows.shape)
    np.put_along_axis(ranks, order, 0.5 * (first + last) + 1.0, axis=1)
    return ranks
