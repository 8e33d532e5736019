"""A score vector with its sensitivity, and what every score has to offer."""

import math
from dataclasses import dataclass, field

import numpy as np

from dpsel.core.arrays import NumberArray
from dpsel.core.errors import UsageError


@dataclass(frozen=True)
class Scores:
    """One score for every feature, and how far one unit can move any of them.

    Values and sensitivity are in the same unit, whatever it is. Integer values are
    exact, and so are their differences. The values are private: they stay off `repr`.
    """

    values: NumberArray = field(repr=False)
    sensitivity: float

    def __post_init__(self) -> None:
        """Refuse what no mechanism could use."""
        if self.values.ndim != 1 or self.values.dtype not in (np.int64, np.float64):
            raise UsageError("scores must be a one-dimensional array of numbers")
        if not (math.isfinite(self.sensitivity) and self.sensitivity > 0):
            raise UsageError(
                f"sensitivity must be a positive, finite number, got {self.sensitivity:g}"
            )
        if not np.isfinite(self.values).all():
            raise UsageError("scores must be finite numbers")

    def __len__(self) -> int:
        """Return the number of features."""
        return len(self.values)
