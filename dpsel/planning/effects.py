"""How strongly features matter: as correlations with the target, and as areas under the ROC."""

import math
from collections.abc import Iterable
from dataclasses import replace
from statistics import NormalDist

from dpsel.records import frozen

STRONGEST = 0.95
"""No feature is taken to be more strongly correlated than this."""


@frozen
class Effects:
    """How strongly the features that matter are correlated with the target.

    These are `count` values, evenly spaced on a log scale from `high` to `low`; or those `listed`.
    """

    count: int
    low: float
    high: float
    listed: tuple[float, ...] = ()

    @staticmethod
    def of(effects: Iterable[float]) -> "Effects":
        """Return effects that are listed one by one."""
        ordered = tuple(sorted(effects, reverse=True))
        return Effects(len(ordered), ordered[-1], ordered[0], ordered)

    @property
    def each(self) -> tuple[float, ...]:
        """Return the correlation of every feature that matters, the strongest first."""
        if self.listed:
            return self.listed
        ratio = math.log(self.low / self.high)
        steps = max(1, self.count - 1)
        return tuple(self.high * math.exp(ratio * i / steps) for i in range(self.count))

    def times(self, factor: float) -> "Effects":
        """Return the effects, multiplied by a factor."""
        low, high, *listed = (
            min(STRONGEST, factor * effect) for effect in (self.low, self.high, *self.listed)
        )
        return replace(self, low=low, high=high, listed=tuple(listed))


_NORMAL = NormalDist()


def correlation_of_auc(area: float, share: float) -> float:
    """Return the correlation with two classes of a normal feature with this area under the ROC."""
    shift = math.sqrt(2) * _NORMAL.inv_cdf(area)
    return shift / math.sqrt(1 / (share * (1 - share)) + shift * shift)


def auc_of_correlation(correlation: float, share: float) -> float:
    """Return the area under the ROC curve of a normal feature with this correlation."""
    return _NORMAL.cdf(class_shift(correlation, share) / math.sqrt(2))


def class_shift(correlation: float, share: float) -> float:
    """Return the distance of the means of two classes, in standard deviations within a class."""
    within = share * (1 - share) * (1 - correlation * correlation)
    return correlation / math.sqrt(within)
