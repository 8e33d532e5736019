"""The audit of a mechanism: many draws from neighboring scores, compared with the exact law."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dpsel.auditing.certificate import Certificate, Check, Drawn, certified
from dpsel.auditing.loss import PARTS, Outcome, OutcomeCounts, Place
from dpsel.auditing.pairs import ScorePair, default_pair, given_pair, worst_pairs
from dpsel.auditing.request import MechanismRequest, MechanismTarget, Sampling
from dpsel.core.arrays import WordArray
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.randomness import SeededRandomness, derived_seed
from dpsel.core.release import draws
from dpsel.core.scores.base import Scores
from dpsel.records import frozen
from dpsel.reporter import Reporter, ticks
from dpsel.system.workers import run_tasks

Work = Callable[[Any, "DrawTask"], Counter[Any]]


@frozen
class DrawTask:
    """A task: some draws from one input, which is a list of scores or a file."""

    source: Any
    count: int
    seed: int | None


def count_outcomes(
    work: Work,
    target: Any,
    pairs: Sequence[tuple[Any, Any]],
    sampling: Sampling,
    at_once: int,
    reporter: Reporter,
) -> list[OutcomeCounts]:
    """Draw from both inputs of every pair as often as `sampling` says, and count the outcomes."""
    places: dict[str, tuple[int, Place]] = {}
    tasks: dict[str, DrawTask] = {}
    for pair, which, part in product(range(len(pairs)), range(2), range(PARTS)):
        for number, count in enumerate(_counts(sampling.samples, part, at_once)):
            name = f"{pair}/{which}/{part}/{number}"
            places[name] = pair, (which, part)
            seed = draws_seed(sampling.seed, pair, which, part, number)
            tasks[name] = DrawTask(pairs[pair][which], count, seed)
    tick = ticks(len(tasks), reporter)
    found: dict[str, Counter[Outcome]] = {}
    with closing(run_tasks(work, target, tasks, workers=sampling.threads)) as results:
        for name, outcomes in results:
            found[name] = outcomes
            tick()
    counters: list[dict[Place, Counter[Outcome]]] = [{} for _ in pairs]
    for name, (pair, place) in places.items():
        counters[pair].setdefault(place, Counter()).update(found[name])
    return [OutcomeCounts.of(counter) for counter in counters]


def _counts(samples: int, part: int, at_once: int) -> list[int]:
    """Return the sizes of the batches in which one part of the samples is drawn."""
    wanted = samples * (part + 1) // PARTS - samples * part // PARTS
    whole, rest = divmod(wanted, at_once)
    return [at_once] * whole + ([rest] if rest else [])


def draws_seed(seed: int | None, *parts: object) -> int | None:
    """Return a seed derived for some draws; None for the system's randomness."""
    return None if seed is None else derived_seed(seed, *parts)


def draw_some(target: Any, some: DrawTask) -> Counter[Outcome]:
    """Return how often each outcome was drawn. `target` has the `draw` of a MechanismTarget."""
    rows = target.draw(some.source, some.count, some.seed)
    found, counts = np.unique(rows, axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)))


# So small that all subsets are equally likely, whatever the scores.
TINY_EPSILON = 1e-9
_FRESH_DRAWS = 64
# Farther than any cap on scores, so the other features are as far behind as possible.
_FAR_BEHIND = 1e9
_REACH_DRAWS = 100
_REACH_TRIES = 40


def check_fresh(target: MechanismTarget, d: int) -> Check:
    """Check, with a tiny epsilon and no seed, that two runs differ: else the seed would be fixed.

    A correct mechanism draws the same 64 rows again with probability at most 2^-64.
    """
    if d == target.k:
        return Check("fresh-randomness", True, "there is only one subset")
    uniform = replace(target, epsilon=TINY_EPSILON)
    first, second = (uniform.draw([0.0] * d, _FRESH_DRAWS, None) for _ in range(2))
    same = np.array_equal(first, second)
    found = "two runs drew the same: the noise can be known" if same else "two runs drew otherwise"
    return Check("fresh-randomness", not same, found)


class ExtremeRandomness:
    """Random words that are mostly all zeros or have a single one: they make extreme noise."""

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
    """Check that features far behind can win at all, with random words that make extreme noise.

    Under pure differential privacy, an outcome that is possible for some scores is possible for
    all. Noise from 53-bit uniforms ends at 37, so subsets farther behind would never win.
    """
    if target.name not in MECHANISMS or d == target.k:
        return Check("reach", True, "does not apply")
    ahead = _FAR_BEHIND / target.epsilon
    scores = Scores(np.array([ahead] * target.k + [0.0] * (d - target.k)), 1.0)
    how, top = (target.k, target.epsilon, target.name, target.parameters), np.arange(target.k)
    for attempt in range(_REACH_TRIES):
        rng = ExtremeRandomness(attempt)
        rows = draws(scores, *how, rng, count=_REACH_DRAWS)
        if (rows != top).any():
            return Check("reach", True, "features far behind can win")
    return Check("reach", False, "features far behind never win: the noise has a cap")


_DRAWS_AT_ONCE = 25_000
# Starting workers takes as long as this many draws.
_WORTH_WORKERS = 200_000
LIBRARIES = ("numpy", "scipy")


def audit_mechanism(request: MechanismRequest, reporter: Reporter) -> Certificate:
    """Draw from neighboring scores, and bound the privacy loss from the counts.

    Privacy:
        Guarantee: none is needed; the scores are made up.
        Tested by: tests/auditing/test_mechanisms.py, tests/auditing/test_mutants.py
    """
    pairs = score_pairs(request)
    tallies = _drawn(request, pairs, reporter)
    return mechanism_certificate(request, pairs, tallies)


def score_pairs(request: MechanismRequest) -> tuple[ScorePair, ...]:
    """Return the neighboring scores to draw from."""
    target, sampling = request.target, request.sampling
    if request.scores is not None and request.change is not None:
        return (given_pair(request.scores, request.change),)
    if request.worst_case:
        seed = 0 if sampling.seed is None else sampling.seed
        return worst_pairs(target, request.d, sampling.samples, sampling.alpha, seed=seed)
    return (default_pair(target, request.d, sampling.samples, sampling.alpha),)


def mechanism_certificate(
    request: MechanismRequest, pairs: Sequence[ScorePair], tallies: Sequence[OutcomeCounts]
) -> Certificate:
    """Return the certificate of a mechanism, from the draws of every pair."""
    target = request.target
    drawn = [
        Drawn(
            pair.name,
            {"scores": list(pair.scores), "neighbor": list(pair.neighbor), "sensitivity": 1.0},
            pair.laws(target.law),
            tally,
        )
        for pair, tally in zip(pairs, tallies, strict=True)
    ]
    checks = [check_fresh(target, request.d), check_reach(target, request.d)]
    about = {"kind": "mechanism"}
    return certified(about, target, request.d, request.sampling, drawn, checks, LIBRARIES)


def _drawn(
    request: MechanismRequest, pairs: Sequence[ScorePair], reporter: Reporter
) -> list[OutcomeCounts]:
    """Return the counts of the draws from every pair."""
    few = request.sampling.samples * len(pairs) < _WORTH_WORKERS
    sampling = replace(request.sampling, threads=1) if few else request.sampling
    inputs = [(pair.scores, pair.neighbor) for pair in pairs]
    return count_outcomes(draw_some, request.target, inputs, sampling, _DRAWS_AT_ONCE, reporter)
