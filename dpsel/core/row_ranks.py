"""Cells as their ranks within the row: what a row says however it is scaled."""

from dataclasses import replace

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch

# What is sorted at once: 8 MB.
_CELLS_AT_ONCE = 1 << 20


def ranked(batch: Batch) -> Batch:
    """Return a batch of whole rows with ranks for numbers; see `row_ranks`."""
    return replace(batch, X=row_ranks(np.asarray(batch.X, dtype=np.float64)))


def row_ranks(X: FloatArray) -> FloatArray:
    """Return the rank of each number among those of its row, from 1; equal ones share the mean.

    Missing cells and words stay as they are, and have no part in it.

    Privacy:
        Domain: any cells.
        Neighbors: one row more or less, or another one in its place, is the same of the result:
            a row's ranks are a function of that row alone. So the sensitivity of any score stays.
        Guarantee: none; the ranks are private input for a score.
        Tested by: tests/privacy/test_row_ranks.py
    """
    # Words are NaNs, which are copied as they are.
    found = np.array(X, order="F")
    at_once = max(1, _CELLS_AT_ONCE // max(1, X.shape[1]))
    for start in range(0, len(X) if X.shape[1] else 0, at_once):
        some = np.ascontiguousarray(X[start : start + at_once])
        np.copyto(found[start : start + at_once], _ranks(some), where=~np.isnan(some))
    return found


def _ranks(rows: FloatArray) -> FloatArray:
    """Return the ranks in every row; what is no number comes last."""
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    places = np.arange(rows.shape[1])
    begins = np.ones(rows.shape, dtype=np.bool_)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=begins[:, 1:])
    ends = np.ones(rows.shape, dtype=np.bool_)
    ends[:, :-1] = begins[:, 1:]
    # Of each run of equal numbers the first place and the last.
    first = np.maximum.accumulate(np.where(begins, places, 0), axis=1)
    last = np.where(ends, places, len(places))
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(rows.shape)
    np.put_along_axis(found, order, 0.5 * (first + last) + 1.0, axis=1)
    return found
