"""The privacy loss between two laws: exactly from the laws, or bounded from counts of draws."""

import math
from collections import Counter
from collections.abc import Hashable, Mapping

import numpy as np
from scipy.special import betainccinv, betaincinv

from dpsel.auditing.laws import Law
from dpsel.core.arrays import BoolArray, FloatArray, IntArray, NumberArray
from dpsel.records import frozen


def one_way_loss(p: FloatArray, q: FloatArray, delta: float = 0.0) -> tuple[float, BoolArray]:
    """Return the largest log((p(S) - delta) / q(S)) over sets S of outcomes, and such a set.

    The set is {p > c q} for some c, so it consists of the first few outcomes in the order of p / q.
    With delta = 0 it is a single outcome. The loss is -inf if no p(S) exceeds delta.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(p > 0, p / q, -1.0)
        order = np.argsort(-ratios, kind="stable")
        above = np.cumsum(p[order]) - delta
        losses = np.where(above > 0, np.log(above) - np.log(np.cumsum(q[order])), -np.inf)
    best = int(np.argmax(losses))
    chosen = np.zeros(len(p), dtype=np.bool_)
    chosen[order[: best + 1]] = True
    return float(losses[best]), chosen


def loss(law: Law, other: Law, delta: float = 0.0) -> float:
    """Return the smallest epsilon, 0 or more, for which two laws are (epsilon, delta)-close."""
    keys = sorted({*law, *other})
    p, q = (np.array([one.get(key, 0.0) for key in keys]) for one in (law, other))
    return max(0.0, one_way_loss(p, q, delta)[0], one_way_loss(q, p, delta)[0])


Outcome = Hashable
Place = tuple[int, int]
"""The input, 0 or 1, and the part of the draws."""

PARTS = 4
"""The first part of the draws ranks the outcomes, the second decides how many form a set, and the
others test that set."""


@frozen
class OutcomeCounts:
    """Counts of outcomes by input (axis 0), part (axis 1) and outcome (axis 2)."""

    outcomes: tuple[Outcome, ...]
    counts: IntArray

    @staticmethod
    def of(counters: Mapping[Place, Counter[Outcome]]) -> "OutcomeCounts":
        """Return the counts of outcomes, which are sorted so that their order is reproducible."""
        seen = sorted({outcome for counter in counters.values() for outcome in counter}, key=repr)
        counts = np.zeros((2, PARTS, len(seen)), dtype=np.int64)
        for (which, part), counter in counters.items():
            counts[which, part] += np.array([counter[outcome] for outcome in seen])
        return OutcomeCounts(tuple(seen), counts)

    @property
    def whole(self) -> IntArray:
        """Return the counts of all draws, by input and outcome."""
        return np.asarray(self.counts.sum(axis=1))


_MANY_DRAWS = 1_000_000
# A law comes from numerical integration: a probability of 1 may be slightly too large.
_LAW_ERROR = 1e-9


def lowest_chance(count: NumberArray, draws: float, alpha: float) -> FloatArray:
    """Return a lower confidence bound of a probability, with error alpha (Clopper-Pearson)."""
    some = np.maximum(count, 1e-9)
    return np.where(np.asarray(count) > 0, betaincinv(some, draws - some + 1, alpha), 0.0)


def highest_chance(count: NumberArray, draws: float, alpha: float) -> FloatArray:
    """Return an upper confidence bound of a probability, with error alpha (Clopper-Pearson)."""
    rest = np.maximum(draws - np.asarray(count), 1e-9)
    found = betainccinv(draws - rest + 1, rest, alpha)
    return np.where(np.asarray(count) < draws, found, 1.0)


@frozen
class LossBounds:
    """The loss is at least `lower` and at most `upper`, with the requested confidence."""

    lower: float
    upper: float
    outcomes: tuple[Outcome, ...]
    """The outcomes that together show the lower bound."""
    likelier: int
    """The input, 0 or 1, under which these outcomes are likelier."""


def loss_bounds(tally: OutcomeCounts, possible: int, delta: float, alpha: float) -> LossBounds:
    """Return bounds of the (epsilon, delta) loss between two inputs; `upper` may be infinite.

    Args:
        tally: The counts of the draws.
        possible: The number of possible outcomes, drawn or not.
        delta: The delta of the guarantee.
        alpha: The largest probability that the loss lies outside the bounds.
    """
    lower, upper = _chances(tally, possible, alpha)
    candidates = [_best_single(lower[p], upper[q], delta, p) for p, q in ((0, 1), (1, 0))] + [
        _best_set(tally, p, q, delta, alpha) for p, q in ((0, 1), (1, 0))
    ]
    found, chosen, likelier = max(candidates, key=lambda candidate: candidate[0])
    unseen = len(tally.outcomes) < possible
    most = max(_most(upper[p], lower[q], delta, unseen) for p, q in ((0, 1), (1, 0)))
    outcomes = tuple(
        outcome for outcome, taken in zip(tally.outcomes, chosen, strict=True) if taken
    )
    return LossBounds(max(0.0, found), max(0.0, most), outcomes, likelier)


def disagreement(
    tally: OutcomeCounts, laws: tuple[Law, Law], possible: int, alpha: float
) -> Outcome | None:
    """Return an outcome whose exact probability lies outside its bounds; None if there is none.

    The bounds are those of `loss_bounds` for single outcomes, so they add nothing to the error.
    """
    lower, upper = _chances(tally, possible, alpha)
    for which, law in enumerate(laws):
        for place, outcome in enumerate(tally.outcomes):
            chance = _chance(law, outcome)
            low, high = lower[which][place] - _LAW_ERROR, upper[which][place] + _LAW_ERROR
            if not low <= chance <= high:
                return outcome
        never = float(highest_chance(np.array(0), _draws(tally), _single(alpha, possible)))
        for subset in law.keys() - set(tally.outcomes):
            if law[subset] > never:
                return subset
    return None


def visible_loss(draws: int, possible: int, delta: float, alpha: float) -> float:
    """Return the largest lower bound that this many draws from each input could show."""
    everything, nothing = np.array(float(draws)), np.array(0.0)
    each = _single(alpha, possible)
    lowest = float(lowest_chance(everything, draws, each)) - delta
    return _log_ratio(lowest, float(highest_chance(nothing, draws, each)))


def expected_bound(laws: tuple[Law, Law], draws: int, delta: float, alpha: float) -> float:
    """Return roughly the lower bound that this many draws from two laws would show.

    Pairs of inputs are chosen by it: a loss that only rare outcomes have counts little. The number
    of draws is taken as a million at least; fewer might show no loss at any pair, so that no pair
    could be preferred.
    """
    draws = max(draws, _MANY_DRAWS)
    keys = sorted(laws[0])
    chances = [np.array([law[key] for key in keys]) * draws for law in laws]
    each = _single(alpha, len(keys))
    found = 0.0
    for p, q in (chances, chances[::-1]):
        single = lowest_chance(p, draws, each), highest_chance(q, draws, each)
        found = max(found, _best_single(*single, delta, 0)[0])
        sets = _set_losses(_by_ratio(p, q), p / 2, q / 2, delta, 0.5 * alpha / 4)
        found = max(found, float(sets.max()))
    return found


def _draws(tally: OutcomeCounts) -> int:
    """Return the number of draws from each input."""
    return int(tally.whole[0].sum())


def _single(alpha: float, possible: int) -> float:
    """Return the error of one bound, for one outcome and one input."""
    return 0.5 * alpha / (4 * possible)


def _chances(tally: OutcomeCounts, possible: int, alpha: float) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of every probability, by input and outcome."""
    counts, each = tally.whole, _single(alpha, possible)
    draws = counts.sum(axis=1, keepdims=True)
    return lowest_chance(counts, draws, each), highest_chance(counts, draws, each)


def _best_single(
    lower: FloatArray, upper: FloatArray, delta: float, likelier: int
) -> tuple[float, BoolArray, int]:
    """Return the largest lower bound of the loss that a single outcome shows."""
    chosen = np.zeros(len(lower), dtype=np.bool_)
    with np.errstate(divide="ignore"):
        losses = np.log(np.maximum(lower - delta, 0.0)) - np.log(upper)
    chosen[int(np.argmax(losses))] = True
    return float(losses.max()), chosen, likelier


def _best_set(
    tally: OutcomeCounts, p: int, q: int, delta: float, alpha: float
) -> tuple[float, BoolArray, int]:
    """Return a lower bound of the loss from a set, chosen by some draws and tested by others."""
    each = 0.5 * alpha / 4
    ranking, sizing = tally.counts[:, 0], tally.counts[:, 1]
    order = _by_ratio(ranking[p], ranking[q])
    size = int(np.argmax(_set_losses(order, sizing[p], sizing[q], delta, each))) + 1
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[:size]] = True
    testing = tally.counts[:, 2:].sum(axis=1)
    draws, inside = testing.sum(axis=1), testing[:, chosen].sum(axis=1)
    lowest = float(lowest_chance(inside[p], float(draws[p]), each)) - delta
    return _log_ratio(lowest, float(highest_chance(inside[q], float(draws[q]), each))), chosen, p


def _by_ratio(first: NumberArray, second: NumberArray) -> IntArray:
    """Return the positions of outcomes, those likelier under the first input first."""
    return np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")


def _set_losses(
    order: IntArray, first: NumberArray, second: NumberArray, delta: float, alpha: float
) -> FloatArray:
    """Return the lower bounds of the loss from the first 1, 2, ... outcomes together."""
    lowest = lowest_chance(np.cumsum(first[order]), float(first.sum()), alpha)
    highest = highest_chance(np.cumsum(second[order]), float(second.sum()), alpha)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(lowest - delta, 0.0)) - np.log(highest))


def _most(upper: FloatArray, lower: FloatArray, delta: float, unseen: bool) -> float:
    """Return an upper bound of the loss; infinite if some outcomes were never drawn."""
    return math.inf if unseen else one_way_loss(upper, lower, delta)[0]


def _log_ratio(lowest: float, highest: float) -> float:
    """Return the log of a ratio; -inf if it is not positive."""
    return math.log(lowest / highest) if lowest > 0 else -math.inf


def _chance(law: Mapping[tuple[int, ...], float], outcome: Outcome) -> float:
    """Return the probability of an outcome; 0 if the law does not have it."""
    return law.get(outcome, 0.0) if isinstance(outcome, tuple) else 0.0
