"""The scores by name."""

from collections.abc import Callable

from dpsel.core.bounds import Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores import GROUP
from dpsel.core.scores.base import Score
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.scores.stump import StumpScore
from dpsel.core.scores.sums import CovarianceScore, DotScore
from dpsel.errors import UsageError
from dpsel.records import frozen


@frozen
class ScoreKind:
    """How to make a score, whether it needs public bounds, and how its work can be split."""

    make: Callable[[Bounds, Neighbors, Unit], Score]
    needs_bounds: bool = True
    all_rows: bool = False
    """Whether a feature needs all rows at once: the work is then split by features, not by rows."""


STUMP = "stump"

SCORES: dict[str, ScoreKind] = {
    STUMP: ScoreKind(StumpScore, needs_bounds=False, all_rows=True),
    "dot": ScoreKind(DotScore),
    "covariance": ScoreKind(CovarianceScore),
    "kendall": ScoreKind(KendallScore, needs_bounds=False, all_rows=True),
}


def find_score(name: str) -> ScoreKind:
    """Return the score with this name: a built-in one, or one that an installed package offers.

    A package offers a score as an entry point in the group `dpsel.scores` that is a ScoreKind. Its
    author vouches for the stated sensitivity; docs/reference/methods.md has an example.
    """
    if name in SCORES:
        return SCORES[name]
    # Imported only when needed: hardly any run uses another package's score.
    from importlib.metadata import entry_points

    offered = {point.name: point for point in entry_points(group=GROUP)}
    if name not in offered:
        known = ", ".join([*SCORES, *sorted(offered)])
        raise UsageError(f"score must be one of {known}, got {name}")
    kind = offered[name].load()
    if not isinstance(kind, ScoreKind):
        raise UsageError(f"the score {name} of another package is not a ScoreKind")
    return kind
