"""All rows of a table, in the scalings an evaluation asks for."""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import ONE, Bounds, bounded_integers
from dpsel.core.choices import Center, Scale
from dpsel.core.kept import changed, column_groups
from dpsel.core.lasso import largest
from dpsel.core.scaling import Scaling, data_scaling
from dpsel.core.statistics import exact_statistics, joined_statistics


@dataclass(frozen=True)
class Rows:
    """Features and target of all rows: private."""

    X: Any = field(repr=False)
    """A `Matrix`; whoever made the rows in memory may take it for the array that it is."""
    y: FloatArray = field(repr=False)


@dataclass(frozen=True)
class FoundTruth:
    """The truth of one data set: by weights, of which the k largest count, or as a known set."""

    weights: FloatArray | None
    known: IntArray | None

    def top(self, k: int) -> IntArray:
        """Return the true features for a k: with weights at most k, and none of weight 0."""
        if self.known is not None:
            return self.known
        assert self.weights is not None
        return largest(self.weights, k)


@dataclass(frozen=True)
class EvaluationData:
    """A data set: its rows as they came, and the public bounds they were given."""

    name: str
    features: tuple[str, ...]
    raw: Rows
    bounds: Bounds
    labels: bool
    """Whether the target was coded from labels: they are never clipped."""
    truth: FoundTruth | None = None
    """The truth, where it is known because the data are synthetic."""
    clipping: tuple[str, ...] = ()
    """What the holder should know about the cells, where they are only clipped to their bounds."""

    def scaled(self, scale: Scale, clip: float) -> Rows:
        """Return the rows within [-1, 1], on the grid of all scores.

        `Scale.NONE` bounds them as `select` does. Others first do what `preprocess` does, and a
        guarantee would then cover the selection only.
        """
        if scale is Scale.NONE:
            target = self.bounds.target
            y = bounded_integers(self.raw.y, np.array(target.lower), np.array(target.upper))
            return Rows(changed(self.raw.X, self._bounded), y / ONE)
        parts = [exact_statistics(columns) for _, columns in column_groups(self.raw.X)]
        y = self.raw.y[:, np.newaxis]
        statistics = joined_statistics([*parts, exact_statistics(y)])
        center = Center.MEDIAN if scale is Scale.ROBUST else Center.MEAN
        scaling = data_scaling(statistics, center, scale, clip)
        if self.labels:
            scaling = scaling.with_last(data_scaling(statistics, Center.MEAN, Scale.MAX_ABS, clip))
        last = slice(self.raw.X.shape[1], None)
        return Rows(
            changed(self.raw.X, partial(_scaled, scaling)), _scaled(scaling, last, y)[:, 0].copy()
        )

    def _bounded(self, columns: slice, X: FloatArray) -> FloatArray:
        """Return cells of some columns within their public bounds."""
        return bounded_integers(X, self.bounds.lower[columns], self.bounds.upper[columns]) / ONE


def _scaled(scaling: Scaling, columns: slice, X: FloatArray) -> FloatArray:
    """Return scaled cells of some columns, on the grid of all scores."""
    return bounded_integers(scaling.part(columns).apply(X), np.array(-1.0), np.array(1.0)) / ONE
