"""A table in memory, in the scalings an evaluation asks for."""

from dataclasses import dataclass, field

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import ONE, Bounds, bounded_integers
from dpsel.core.choices import Center, Scale
from dpsel.core.lasso import largest
from dpsel.core.scaling import data_scaling
from dpsel.core.statistics import exact_statistics


@dataclass(frozen=True)
class Rows:
    """Features and target of all rows: private."""

    X: FloatArray = field(repr=False)
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

    def scaled(self, scale: Scale, clip: float) -> Rows:
        """Return the rows within [-1, 1], on the grid of all scores.

        `Scale.NONE` bounds them as `select` does. Others first do in memory what `preprocess` does,
        and a guarantee would then cover the selection only.
        """
        if scale is Scale.NONE:
            target = self.bounds.target
            y = bounded_integers(self.raw.y, np.array(target.lower), np.array(target.upper))
            X = bounded_integers(self.raw.X, self.bounds.lower, self.bounds.upper)
            return Rows(np.asfortranarray(X / ONE), y / ONE)
        table = np.column_stack([self.raw.X, self.raw.y])
        statistics = exact_statistics(table)
        center = Center.MEDIAN if scale is Scale.ROBUST else Center.MEAN
        scaling = data_scaling(statistics, center, scale, clip)
        if self.labels:
            scaling = scaling.with_last(data_scaling(statistics, Center.MEAN, Scale.MAX_ABS, clip))
        unit = np.array(-1.0), np.array(1.0)
        found = bounded_integers(scaling.apply(table), *unit) / ONE
        return Rows(np.asfortranarray(found[:, :-1]), found[:, -1].copy())
