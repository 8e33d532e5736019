"""The scores by name."""

from collections.abc import Callable
from dataclasses import dataclass

from dpsel.core.bounds import Bounds
from dpsel.core.errors import UsageError
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.scores.base import Score
from dpsel.core.scores.covariance import CovarianceScore
from dpsel.core.scores.dot import DotScore
from dpsel.core.scores.kendall import KendallScore


@dataclass(frozen=True)
class ScoreKind:
    """What makes a score, and whether it needs public bounds."""

    make: Callable[[Bounds, Neighbors, Unit], Score]
    needs_bounds: bool = True


SCORES: dict[str, ScoreKind] = {
    "dot": ScoreKind(DotScore),
    "covariance": ScoreKind(CovarianceScore),
    "kendall": ScoreKind(KendallScore, needs_bounds=False),
}


def find_score(name: str) -> ScoreKind:
    """Return the score of that name."""
    if name not in SCORES:
        raise UsageError(f"score must be one of {', '.join(SCORES)}, got {name}")
    return SCORES[name]
