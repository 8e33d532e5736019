"""Center, scale and clip columns to [-1, 1], by public bounds or by statistics of the data."""

import math
from dataclasses import replace

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import Bounds
from dpsel.errors import UsageError
from dpsel.preprocessing.options import Center, Missing, Scale
from dpsel.preprocessing.statistics import ColumnStatistics, half_reach
from dpsel.records import frozen


def check_clip(clip: float) -> None:
    """Refuse a clip that is not a positive, finite number."""
    if not (math.isfinite(clip) and clip > 0):
        raise UsageError(f"clip must be a positive, finite number, got {clip:g}")


@frozen
class Scaling:
    """Maps x to (x - center) / scale, clipped to [-1, 1]; a missing x is first set to `fill`.

    Half the scale is stored, because the scale itself may be too large for a float. A scale of 0
    maps a column, which is constant, to 0.
    """

    center: FloatArray
    half_scale: FloatArray
    fill: FloatArray

    def apply(self, X: FloatArray) -> FloatArray:
        """Return the scaled rows; given the scaling, no row depends on another.

        Privacy:
            Guarantee: none; the result is private, and if center, scale or fill were read off
                the data, a row depends on all others through them.
            Tested by: tests/preprocessing/test_scaling.py
        """
        moved = 0.5 * np.where(np.isnan(X), self.fill, X) - 0.5 * self.center
        scale = np.minimum(self.half_scale, np.finfo(np.float64).max)
        with np.errstate(over="ignore"):
            scaled = np.divide(moved, scale, out=np.zeros_like(moved), where=scale > 0)
        return np.clip(scaled, -1.0, 1.0, out=scaled)

    def filled(self, statistics: ColumnStatistics, missing: Missing) -> "Scaling":
        """Return the same scaling with the fill for missing values."""
        fills = {
            Missing.ZERO: self.center,
            Missing.MEAN: statistics.mean,
            Missing.MEDIAN: statistics.median,
        }[missing]
        assert fills is not None
        return replace(self, fill=np.where(statistics.empty, self.center, fills))

    def part(self, columns: slice) -> "Scaling":
        """Return the scaling of some columns."""
        return Scaling(self.center[columns], self.half_scale[columns], self.fill[columns])

    def with_last(self, other: "Scaling") -> "Scaling":
        """Return the same scaling with the last column of another one."""
        return Scaling(
            np.append(self.center[:-1], other.center[-1]),
            np.append(self.half_scale[:-1], other.half_scale[-1]),
            np.append(self.fill[:-1], other.fill[-1]),
        )

    def clipped(self, X: FloatArray) -> int:
        """Return how many cells are clipped."""
        with np.errstate(invalid="ignore"):
            return int(np.count_nonzero(np.abs(0.5 * X - 0.5 * self.center) > self.half_scale))


def public_scaling(bounds: Bounds) -> Scaling:
    """Return the scaling by public bounds; the target is the last column."""
    lower = np.append(bounds.lower, bounds.target.lower)
    upper = np.append(bounds.upper, bounds.target.upper)
    center = 0.5 * lower + 0.5 * upper
    return Scaling(center, 0.25 * upper - 0.25 * lower, center)


def data_scaling(
    statistics: ColumnStatistics, center: Center, scale: Scale, clip: float
) -> Scaling:
    """Return the scaling by statistics of the data.

    Privacy:
        Guarantee: none; one row can move center and scale, and so every other row.
        Tested by: tests/preprocessing/test_scaling.py
    """
    centers = {
        Center.MEAN: statistics.mean,
        Center.MEDIAN: statistics.median,
        Center.NONE: np.zeros_like(statistics.mean),
    }[center]
    assert centers is not None
    if scale is Scale.MAX_ABS:
        halves = half_reach(statistics.low, statistics.high, centers)
    elif scale is Scale.ROBUST:
        assert statistics.robust_deviation is not None
        with np.errstate(over="ignore"):
            halves = 0.5 * clip * statistics.robust_deviation
    else:
        halves = np.full_like(centers, 0.5)
    return Scaling(centers, halves, centers)
