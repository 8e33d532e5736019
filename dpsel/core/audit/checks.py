"""Plain checks beside the counting: fresh randomness, noise without a cap, outputs that are sets.

Each finds what few counts can: a fixed seed, outcomes that are impossible, an order that tells.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dpsel.core.arrays import WordArray
from dpsel.core.audit.tally import Outcome
from dpsel.core.audit.targets import MechanismTarget
from dpsel.core.mechanisms.registry import MECHANISMS, find_mechanism
from dpsel.core.randomness import SeededRandomness
from dpsel.core.scores.base import Scores

# So small that all subsets are equally likely, whatever the scores.
NEXT_TO_NOTHING = 1e-9
_FRESH_DRAWS = 64
# Beyond every cut-off: the features behind are as far behind as they can be.
_FAR_BEHIND = 1e9
_REACH_DRAWS = 100
_REACH_TRIES = 40


@dataclass(frozen=True)
class Check:
    """One check: what it is about, and what was found."""

    name: str
    passed: bool
    found: str


def check_fresh(target: MechanismTarget, d: int) -> Check:
    """Draw twice without a seed, at next to no epsilon: equal rows mean a fixed seed.

    A right mechanism draws the same 64 rows again with a chance of at most 2^-64.
    """
    if d == target.k:
        return Check("fresh-randomness", True, "there is only one subset")
    uniform = replace(target, epsilon=NEXT_TO_NOTHING)
    first, second = (uniform.draw([0.0] * d, _FRESH_DRAWS, None) for _ in range(2))
    same = np.array_equal(first, second)
    found = "two runs drew the same: the noise can be known" if same else "two runs drew otherwise"
    return Check("fresh-randomness", not same, found)


class ExtremeRandomness:
    """Words that are all zeros, or a single one, most of the time: they make extreme noise."""

    private = False

    def __init__(self, seed: int) -> None:
        """Start the stream that belongs to `seed`."""
        self._source = SeededRandomness(seed)

    def words(self, count: int) -> WordArray:
        """Return the next `count` words."""
        kind = self._source.words(count) % np.uint64(10)
        plain = self._source.words(count)
        extreme = np.where(kind < 4, np.uint64(0), np.uint64(1) << np.uint64(63))
        return np.where(kind < 7, extreme, plain)


def check_reach(target: MechanismTarget, d: int) -> Check:
    """See whether features far behind can win at all, by words that make extreme noise.

    Under a pure guarantee an outcome that is possible for some scores is possible for all. Noise
    from 53-bit uniforms ends at 37, so that subsets farther behind never win.
    """
    if target.name not in MECHANISMS or d == target.k:
        return Check("reach", True, "does not apply")
    ahead = _FAR_BEHIND / target.epsilon
    scores = Scores(np.array([ahead] * target.k + [0.0] * (d - target.k)), 1.0)
    draw, top = find_mechanism(target.name).draw, np.arange(target.k)
    for attempt in range(_REACH_TRIES):
        rng = ExtremeRandomness(attempt)
        rows = draw(scores, target.k, target.epsilon, rng, draws=_REACH_DRAWS, **target.parameters)
        if (rows != top).any():
            return Check("reach", True, "features far behind can win")
    return Check("reach", False, "features far behind never win: the noise has a cap")


def check_sets(outcomes: Iterable[Outcome], d: int, k: int) -> Check:
    """See whether every outcome is a set: k different indices, ascending."""
    for outcome in outcomes:
        if not _is_set(outcome, d, k):
            return Check("sets", False, f"{outcome} is not a set of {k} ascending indices")
    return Check("sets", True, f"every outcome is a set of {k} ascending indices")


def _is_set(outcome: Outcome, d: int, k: int) -> bool:
    """Return whether an outcome is one of the k-subsets."""
    if not isinstance(outcome, tuple) or len(outcome) != k:
        return False
    return list(outcome) == sorted(set(outcome)) and outcome[0] >= 0 and outcome[-1] < d
