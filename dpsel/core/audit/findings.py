"""What was found at one pair of neighboring inputs."""

from dataclasses import dataclass

from dpsel.core.audit.exact_law import Law
from dpsel.core.audit.intervals import LossBounds, disagreement, loss_bounds
from dpsel.core.audit.loss import loss
from dpsel.core.audit.tally import Outcome, Tally


@dataclass(frozen=True)
class PairFinding:
    """Bounds of the loss from draws, and the exact loss beside them."""

    name: str
    bounds: LossBounds
    exact: float | None
    """The loss by the exact law; None where it is not known."""
    stranger: Outcome | None
    """An outcome whose count contradicts the exact law."""


def found_at(
    name: str,
    tally: Tally,
    laws: tuple[Law, Law] | None,
    *,
    possible: int,
    delta: float,
    alpha: float,
) -> PairFinding:
    """Return what draws from two inputs show, and what their exact laws say.

    Args:
        name: The name of the pair.
        tally: What was drawn.
        laws: The exact laws of both inputs, if they are known.
        possible: How many outcomes there can be.
        delta: The delta of the guarantee.
        alpha: The error that all of it may make.
    """
    bounds = loss_bounds(tally, possible, delta, alpha)
    if laws is None:
        return PairFinding(name, bounds, None, None)
    stranger = disagreement(tally, laws, possible, alpha)
    return PairFinding(name, bounds, loss(*laws, delta), stranger)
