"""Two-stage with the solver that `dpsel baseline` gives it."""

from collections.abc import Callable

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.matrix import Matrix
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import Scores
from dpsel.core.votes import Voting, block_votes, two_stage_scores, votes_for_each_k
from dpsel.selection.lasso import PENALTY, block_fit
from dpsel.system.threads import Threads


def lasso_votes(
    X: Matrix,
    y: FloatArray,
    block_of_row: IntArray,
    blocks: int,
    k: int,
    *,
    penalty: float = PENALTY,
    threads: int = 1,
    progress: Callable[[float], None] = lambda share: None,
) -> IntArray:
    """Return the votes of blocks that fit LASSOs."""
    with block_fit(penalty) as fit:
        return block_votes(X, y, block_of_row, k, Voting(blocks, fit, Threads(threads), progress))


def lasso_votes_for_each_k(
    X: Matrix,
    y: FloatArray,
    block_of_row: IntArray,
    blocks: int,
    ks: list[int],
    penalty: float = PENALTY,
) -> list[IntArray]:
    """Return the votes of blocks that fit LASSOs, for each k."""
    with block_fit(penalty) as fit:
        return votes_for_each_k(X, y, block_of_row, ks, Voting(blocks, fit))


def lasso_scores(
    X: Matrix,
    y: FloatArray,
    k: int,
    blocks: int,
    *,
    neighbors: Neighbors,
    unit: Unit,
    rng: Randomness,
    contiguous: bool = False,
    penalty: float = PENALTY,
) -> Scores:
    """Return the scores of two-stage with LASSOs."""
    with block_fit(penalty) as fit:
        return two_stage_scores(
            X,
            y,
            k,
            Voting(blocks, fit, Threads(2)),
            neighbors=neighbors,
            unit=unit,
            rng=rng,
            contiguous=contiguous,
        )
