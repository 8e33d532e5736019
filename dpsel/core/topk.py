"""Private top-k of any score vector: the mechanism without tables."""

import numpy as np
from numpy.typing import ArrayLike

from dpsel.core.arrays import IntArray, NumberArray
from dpsel.core.checks import check_at_least
from dpsel.core.errors import UsageError
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.mechanisms.sampler import Sampler
from dpsel.core.randomness import make_randomness
from dpsel.core.scores.base import Scores

# Differences of integers up to here cannot overflow. Larger ones are cut off here, which moves no
# two of them apart.
_LARGEST = (1 << 62) - 1


def top_k(
    scores: ArrayLike,
    k: int,
    epsilon: float,
    *,
    sensitivity: float = 1.0,
    gamma: float | None = None,
    mechanism: str = "canonical-lipschitz",
    sampler: str | None = None,
    seed: int | None = None,
    draws: int | None = None,
    delta: float | None = None,
) -> IntArray:
    """Select k of the largest scores, with differential privacy.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: the caller's; `sensitivity` is stated for them.
        Sensitivity: no score moves by more than `sensitivity` between neighbors (promised
            by the caller).
        Guarantee: (epsilon, delta)-DP for the set of indices; none with a `seed`. `draws`
            selections cost `draws` times as much.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_canonical_lipschitz.py

    Args:
        scores: One number for every feature; larger is better.
        k: How many to select.
        epsilon: The privacy loss of one selection.
        sensitivity: How far one unit can move any score.
        gamma: For the Lipschitz mechanisms: the weight of the worst included score against the
            best missing one, 0 to 1; 1/2 if not given.
        mechanism: The name of the mechanism.
        sampler: For the Lipschitz mechanisms: `lazy` (default), or the slow reference `direct`.
        seed: Makes the draw reproducible, for tests; it is then not private.
        draws: How many independent selections to make.
        delta: For peeling and oneshot-laplace: the delta of an (epsilon, delta) guarantee; 0 if
            not given.

    Returns:
        k ascending indices, or an array of `draws` rows of them.

    Raises:
        UsageError: If an argument does not fit, or a score is not a finite number.
    """
    if draws is not None:
        check_at_least(1, draws, "draws")
    if sampler is not None and sampler not in tuple(Sampler):
        raise UsageError(f"sampler must be one of {', '.join(Sampler)}, got {sampler}")
    chosen = find_mechanism(mechanism)
    given = {
        "gamma": gamma,
        "delta": delta,
        "sampler": None if sampler is None else Sampler(sampler),
    }
    selected = chosen.draw(
        Scores(_numbers(scores), sensitivity),
        k,
        epsilon,
        make_randomness(seed),
        draws=1 if draws is None else draws,
        **chosen.parameters(mechanism, given),
    )
    return selected[0] if draws is None else selected


def _numbers(scores: ArrayLike) -> NumberArray:
    """Return whole scores as int64, others as float64."""
    values = np.asarray(scores)
    if values.dtype.kind in "iub":
        if values.dtype.kind == "u":
            values = np.minimum(values, np.uint64(_LARGEST))
        whole: NumberArray = np.clip(values.astype(np.int64, copy=False), -_LARGEST, _LARGEST)
        return whole
    if values.dtype.kind != "f":
        raise UsageError("scores must be a one-dimensional array of numbers")
    return values.astype(np.float64, copy=False)
