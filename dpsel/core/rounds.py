"""The method `dpkendall`: k rounds, each for a feature that tells the target but not the others."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import Neighbors, Unit, check_epsilon, check_k
from dpsel.core.matrix import Matrix, column_of
from dpsel.core.mechanisms.noisy import peeling
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import kendall_move
from dpsel.errors import UsageError

# Scores are in units of 2^-16: the largest possible one, 3/4 of 2^31, times k then fits in 64 bits.
_SHIFT = 16
_ONE = 1 << 16
MOST_ROUNDS = 1 << 16

Table = TypeVar("Table", bound=Matrix)
Kendall = Callable[[FloatArray, Table], IntArray]
"""(x, others) -> `KendallScore` of x and each column of others, in units of 2^-32."""


def kendall_rounds(
    X: Table,
    y: FloatArray,
    k: int,
    epsilon: float,
    rng: Randomness,
    *,
    neighbors: Neighbors,
    unit: Unit,
    kendall: Kendall[Table],
) -> IntArray:
    """Return the ascending indices of k features, chosen one after the other [DGJ23].

    T is the score of `scores/kendall.py`: |S| / (n - 1), plus n / 4 under add-remove. In the first
    round a feature j scores T(j, y). In each later round it scores T(j, y) minus the mean of
    T(j, c) over the r features c chosen so far. A round takes the largest score after Gumbel noise
    of scale 2 s k / epsilon for a sensitivity s: the exponential mechanism with epsilon / k.

    One row moves T of any two columns by at most t: 5/4 under add-remove, 2 under replace-one. So
    the first round has s = t, and later rounds have s = 2 t, whichever features were chosen: there
    the terms n / 4 cancel, and T(j, y) rises by at most 1 while T(j, c) falls by at most 3/2. To
    keep to whole numbers, a later round compares r T(j, y) - sum of T(j, c), with s = 2 r t. T is
    rounded down to a multiple of 2^-16, which does not change t, itself a multiple of 2^-16.

    Privacy:
        Domain: any floats, at least k features.
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Sensitivity: of each round, given the choices so far: as above, times `unit.rows`.
        Guarantee: epsilon-DP for the indices, by composition of k rounds of epsilon / k.
        Assumes: an rng the adversary cannot predict; a `kendall` with sensitivity t. The rounding
            of the noise is paid for: see `peeling`.
        Tested by: tests/privacy/test_kendall_rounds.py

    Args:
        X: One row for every row of the table, one column for every feature; values may be raw.
        y: The target.
        k: How many features to select.
        epsilon: The privacy loss of all rounds together.
        rng: Draws the noise.
        neighbors: Which tables are neighbors.
        unit: Whom the guarantee protects.
        kendall: Compares a column with others.

    References:
        [DGJ23] Dick, Gillenwater & Joseph (2023), arXiv:2306.00920.
    """
    check_k(k, X.shape[1])
    check_epsilon(epsilon)
    if k > MOST_ROUNDS:
        raise UsageError(f"k must be at most {MOST_ROUNDS} for dpkendall, got {k}")
    moved = float(kendall_move(neighbors) * _ONE * unit.rows)
    with_target = kendall(y, X) >> _SHIFT
    with_chosen = np.zeros_like(with_target)
    left = np.arange(X.shape[1])
    chosen: list[int] = []
    while True:
        rounds = len(chosen)
        scores = (
            Scores((rounds * with_target - with_chosen)[left], 2 * rounds * moved)
            if rounds
            else Scores(with_target, moved)
        )
        place = int(peeling(scores, 1, epsilon / k, rng)[0, 0])
        chosen.append(int(left[place]))
        if len(chosen) == k:
            return np.sort(np.array(chosen, dtype=np.int64))
        left = np.delete(left, place)
        with_chosen += kendall(column_of(X, chosen[-1]), X) >> _SHIFT
