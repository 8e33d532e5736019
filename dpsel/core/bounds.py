"""Public bounds, and the only way from raw values to bounded integers.

A value is clipped to its bounds, mapped to [-1, 1] with the middle at 0, and rounded to a
multiple of 2^-16. The result depends on no other row. Missing values and NaN become 0, and
infinities are clipped.
"""

import math

import numpy as np

from dpsel.core.arrays import FloatArray, NumberArray, RealArray
from dpsel.errors import UsageError
from dpsel.records import frozen

ONE = 1 << 16
"""The integer that represents 1."""


@frozen
class Interval:
    """Public bounds of one column."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        """Refuse bounds that are infinite, empty or too close together."""
        if not (math.isfinite(self.lower) and math.isfinite(self.upper)):
            raise UsageError(f"bounds must be finite, got {self.lower:g} and {self.upper:g}")
        if self.lower >= self.upper:
            raise UsageError(
                f"lower must be below upper in bounds, got {self.lower:g} and {self.upper:g}"
            )
        if 0.5 * self.upper - 0.5 * self.lower == 0.0:
            raise UsageError(f"bounds are too close together: {self.lower:g} and {self.upper:g}")


UNIT_INTERVAL = Interval(-1.0, 1.0)


@frozen
class Bounds:
    """Public bounds of every feature, in the order of the columns, and of the target."""

    lower: FloatArray
    upper: FloatArray
    target: Interval
    two_classes: bool = False
    """Whether it is public that the target is only -1, 1 or missing: one label against the rest."""

    @staticmethod
    def of(features: list[Interval], target: Interval) -> "Bounds":
        """Return bounds from one interval per feature."""
        return Bounds(
            np.array([interval.lower for interval in features], dtype=np.float64),
            np.array([interval.upper for interval in features], dtype=np.float64),
            target,
        )


def bounded_integers(values: RealArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Clip values to their bounds and return them as whole numbers within +-2^16, stored as floats.

    Privacy:
        Domain: any floats; each value is treated alone.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_bounds.py
    """
    bounded: FloatArray = np.clip(values, lower, upper, dtype=np.float64)
    middle = 0.5 * lower + 0.5 * upper
    half = 0.5 * upper - 0.5 * lower
    if middle.any():
        bounded -= middle
    if (half != 1.0).any():
        bounded /= half
    bounded *= ONE
    np.rint(bounded, out=bounded)
    # Clip again: rounding may overshoot. `clip` keeps NaN, which becomes the middle of the bounds.
    np.clip(bounded, -ONE, ONE, out=bounded)
    bounded[np.isnan(bounded)] = 0.0
    return bounded


def is_unit(lower: FloatArray, upper: FloatArray) -> bool:
    """Return whether all bounds are -1 and 1."""
    return bool((lower == -1.0).all() and (upper == 1.0).all())


def unit_integers(values: RealArray, out: NumberArray) -> None:
    """Write what `bounded_integers` returns for the bounds -1 and 1, except that NaN stays NaN.

    `out` has the type of `values`. Single precision is enough: whole numbers within 2^16 and their
    halves are exact in it, and so is multiplying by a power of 2.

    Privacy:
        Domain: any floats; each value is treated alone.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_sums.py
    """
    np.clip(values, -1.0, 1.0, out=out)
    np.multiply(out, ONE, out=out)
    np.rint(out, out=out)
