"""A uniform member of a class of subsets."""

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.randomness import Randomness, integers_below


def uniform_members(h: IntArray, t: IntArray, k: int, rng: Randomness) -> IntArray:
    """Return one row of k ranks for every class (h, t): ranks 1..h, a random body, and t.

    The body is a uniform (k-h-1)-subset of the ranks h+2..t-1, by Floyd's algorithm
    (Bentley & Floyd 1987, "A sample of brilliance").

    Privacy:
        Guarantee: none of its own; post-processing of the class, with fresh randomness.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_canonical_lipschitz.py
    """
    room = t - h - 2
    wanted = k - h - 1
    steps = [np.arange(n - r, n) for n, r in zip(room, wanted, strict=True)]
    picks = integers_below(rng, np.concatenate(steps) + 1).tolist()
    members = np.empty((len(h), k), dtype=np.int64)
    used = 0
    for row, (head, tail) in enumerate(zip(h.tolist(), t.tolist(), strict=True)):
        body: set[int] = set()
        for last in steps[row].tolist():
            pick = picks[used]
            used += 1
            body.add(last if pick in body else pick)
        members[row, :head] = np.arange(1, head + 1)
        members[row, head : k - 1] = [head + 2 + place for place in body]
        members[row, k - 1] = tail
    return members
