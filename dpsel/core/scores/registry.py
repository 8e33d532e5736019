"""The scores by name."""

from collections.abc import Callable

from dpsel.core.bounds import Bounds
from dpsel.core.errors import UsageError
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.scores.base import Score
from dpsel.core.scores.dot import DotScore

SCORES: dict[str, Callable[[Bounds, Neighbors, Unit], Score]] = {
    "dot": DotScore,
}


def find_score(name: str) -> Callable[[Bounds, Neighbors, Unit], Score]:
    """Return what makes the score of that name."""
    if name not in SCORES:
        raise UsageError(f"score must be one of {', '.join(SCORES)}, got {name}")
    return SCORES[name]
