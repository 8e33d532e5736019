"""The target in whole numbers."""

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import Interval, bounded_integers


class BoundedTarget:
    """Turns targets into whole numbers; blocks of the same rows share theirs.

    Privacy:
        Domain: any floats; each value is treated alone.
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_products.py
    """

    def __init__(self, bounds: Interval) -> None:
        """Bound targets by public `bounds`."""
        self._lower, self._upper = np.array(bounds.lower), np.array(bounds.upper)
        self._last: tuple[FloatArray, FloatArray] | None = None

    def __call__(self, y: FloatArray) -> FloatArray:
        """Return the integers of a target. Threads may call this."""
        last = self._last
        if last is None or last[0] is not y:
            self._last = last = y, bounded_integers(y, self._lower, self._upper)
        return last[1]
