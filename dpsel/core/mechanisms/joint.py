"""The joint exponential mechanism: all k features are drawn at once, by their largest miss.

A sequence s of k different features has the utility -miss(s), where miss(s) is the largest of
x[j] - x_{s_j}: how far its j-th feature falls behind the j-th largest score [GJMR22]. If all scores
may move either way, a miss moves by at most 2 between neighbors. For k = 1 the miss of feature i is
x[1] - x_i. Since x[1] is the same for all features it can be left out, and the rest moves by at
most 1.

Sampling is exact and needs no table of all d k misses. exp(-a miss(s)) is the chance that an
exponential time of rate a is at least miss(s). Let m(tau) count the sequences with a miss of at
most tau. Drawing a time tau with a density proportional to exp(-a tau) m(tau), and then a uniform
one of those sequences, has the right law. m(tau) is the product of n_j(tau) - j + 1, where n_j(tau)
is the number of features with a score of at least x[j] - tau.

tau is drawn by rejection, on a grid that is refined until log m rises by at most 1 per step: draw a
step with a chance proportional to m(right) (exp(-left) - exp(-right)), draw a time in it, and
accept it with the chance m(tau) / m(right). Each try ends at a sequence s with a chance
proportional to exp(-miss(s)): m(right) and m(tau) cancel, and so do their roundings. The full
argument is in docs/explanation/privacy.md, section 7.
"""

import bisect
import math

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import check_epsilon, check_k
from dpsel.core.mechanisms.noisy import effective_epsilon, rounding_cost, weighted_scores
from dpsel.core.mechanisms.ranking import Ranking
from dpsel.core.randomness import Randomness, exponentials, integers_below
from dpsel.core.scores.base import Scores

_FINEST = 2.0**-40


def joint(scores: Scores, k: int, epsilon: float, rng: Randomness, *, draws: int = 1) -> IntArray:
    """Select k features `draws` times: an array of `draws` rows of k ascending indices.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: whatever the sensitivity of `scores` was stated for.
        Sensitivity: L-infinity, at most `scores.sensitivity` (promised by the caller).
        Guarantee: epsilon-DP for the sequence, and so for the set, for each draw: the exponential
            mechanism with exp(-epsilon miss / (4 Delta)), for k = 1 exp(-epsilon miss / (2 Delta)).
        Assumes: an rng the adversary cannot predict. Rounding is paid for: see `rounding_cost`.
        Tested by: tests/privacy/test_noisy_mechanisms.py

    References:
        [GJMR22] Gillenwater, Joseph, Munoz & Ribero (2022), "A joint exponential mechanism for
            differentially private top-k".
    """
    d = len(scores)
    check_k(k, d)
    check_epsilon(epsilon)
    if k == d:
        return np.tile(np.arange(d), (draws, 1))
    # Times are cut off here: all larger misses count as equal, and their chance is below exp(-128).
    limit = k * math.log(d) + 128.0
    effective = effective_epsilon(epsilon, rounding_cost(k + 64, limit))
    weight = (0.5 if k == 1 else 0.25) * effective
    misses = _Misses(weighted_scores(scores, k, weight, limit), k, limit)
    rows = [misses.ranking.indices(misses.draw(rng)) for _ in range(draws)]
    return np.sort(np.stack(rows), axis=1)


class _Misses:
    """Counts of sequences by their largest miss; scores are in units of the exponential time."""

    def __init__(self, values: FloatArray, k: int, limit: float) -> None:
        self.ranking = Ranking(values)
        self._places = np.arange(k)
        self._limit = limit
        # Distances below the largest value, ascending.
        self._below = values.max() - self.ranking.values(np.arange(1, len(values) + 1))
        self._grid = self._refined()
        self._log_counts = self.log_count(self._grid)

    def counts(self, tau: FloatArray) -> IntArray:
        """Return n_j(tau), the number of features that reach x[j] - tau; one row per tau."""
        reach = self._below[self._places][None, :] + tau[:, None]
        counts = np.searchsorted(self._below, reach, side="right")
        # At the limit every sequence counts.
        return np.where(tau[:, None] >= self._limit, len(self._below), counts)

    def log_count(self, tau: FloatArray) -> FloatArray:
        """Return log m(tau)."""
        log_m: FloatArray = np.log(self.counts(tau) - self._places).sum(axis=1)
        return log_m

    def draw(self, rng: Randomness) -> IntArray:
        """Draw a sequence, and return its ranks.

        Privacy:
            Guarantee: that of `joint`.
            Assumes: an rng the adversary cannot predict.
            Tested by: tests/privacy/test_noisy_mechanisms.py
        """
        return self._sequence(self._time(rng), rng)

    def _time(self, rng: Randomness) -> float:
        """Draw a time with a density proportional to exp(-tau) m(tau)."""
        left, right = self._grid[:-1], self._grid[1:]
        # The log mass of each step under the bound m(right) exp(-tau), and that beyond the limit.
        log_steps = np.append(
            self._log_counts[1:] - left + np.log(-np.expm1(left - right)),
            self._log_counts[-1] - self._limit,
        )
        while True:
            step = int(np.argmax(log_steps - np.log(exponentials(rng, len(log_steps)))))
            if step == len(left):
                return self._limit
            tau = left[step] + truncated_exponential(rng, float(right[step] - left[step]))
            # Rounding may overshoot; acceptance assumes a time that is not beyond its step.
            tau = min(tau, right[step])
            accept = self.log_count(np.array([tau]))[0] - self._log_counts[step + 1]
            if -exponentials(rng, 1)[0] < accept:
                return float(tau)

    def _sequence(self, tau: float, rng: Randomness) -> IntArray:
        """Draw a uniform sequence with a miss of at most tau, and return its ranks."""
        room = self.counts(np.array([tau]))[0] - self._places
        taken: list[int] = []
        for pick in integers_below(rng, room).tolist():
            # Take the pick-th rank that is still free, stepping over those taken.
            place = pick
            for rank in taken:
                if rank > place:
                    break
                place += 1
            bisect.insort(taken, place)
        return np.array(taken) + 1

    def _refined(self) -> FloatArray:
        """Return a grid from 0 to the limit on which log m rises slowly."""
        grid = np.linspace(0.0, self._limit, 65)
        while True:
            rise = np.diff(self.log_count(grid))
            steep = (rise > 1.0) & (np.diff(grid) > _FINEST * self._limit)
            if not steep.any():
                return grid
            middles = 0.5 * (grid[:-1] + grid[1:])[steep]
            grid = np.sort(np.concatenate([grid, middles]))


def truncated_exponential(rng: Randomness, width: float) -> float:
    """Return an exponential draw, given that it is below `width`.

    A draw modulo `width` has that law, because the exponential law has no memory, and the remainder
    is exact in floating point. The logarithm of a uniform would not do: it has no values near the
    end of a step that is wider than 37.

    Privacy:
        Guarantee: none of its own; see `joint`.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_rounding.py
    """
    return math.fmod(float(exponentials(rng, 1)[0]), width)
