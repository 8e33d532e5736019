"""The methods that an evaluation compares: each scores a table once and draws from it often.

There is no privacy guarantee: everything here is for the data holder only.
"""

from collections.abc import Mapping
from dataclasses import field
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit
from dpsel.core.matrix import Matrix, TiledMatrix, column_groups, row_chunks
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.randomness import Randomness, SeededRandomness, derived_seed
from dpsel.core.release import DrawnBy, StumpRequest, draws, stump_draws
from dpsel.core.rounds import kendall_rounds
from dpsel.core.scores.base import KeepsRows, Scores, WorksAtTheEnd
from dpsel.core.scores.registry import STUMP, find_score
from dpsel.core.scores.stump import WeightRule, matrix_scores
from dpsel.core.target import Target
from dpsel.errors import UsageError
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.metrics import Picks, lipschitz_bound
from dpsel.preprocessing.options import Scale
from dpsel.records import frozen
from dpsel.selection.exact import exact_top_k
from dpsel.selection.options import METHODS, Baseline, Method
from dpsel.system.threads import Threads

# Caches of scores hold about this many bytes at most.
_MOST_REMEMBERED = 1 << 28


class Draws(Protocol):
    """A method on one table, which draws selections for any k and epsilon."""

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Picks:
        """Return `trials` independent selections.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data holder.
            Tested by: tests/evaluation/test_draws.py
        """
        ...


@frozen
class ScoreDraws:
    """Any score combined with any mechanism."""

    scores: Scores
    mechanism: str
    parameters: Mapping[str, Any]

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Picks:
        """Draw all trials from the same scores.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data holder.
            Tested by: tests/evaluation/test_draws.py
        """
        picks = draws(self.scores, k, epsilon, self.mechanism, self.parameters, rng, count=trials)
        return Picks(picks, self.scores.values, _bound(self.parameters, self.scores, k, epsilon))


@frozen
class VoteDraws:
    """Two-stage: every trial has its own blocks, and therefore its own votes."""

    votes: Mapping[int, IntArray] = field(repr=False)
    """For each k, one row of votes per trial."""
    sensitivity: float
    mechanism: str
    parameters: Mapping[str, Any]

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Picks:
        """Draw one selection from the votes of each trial.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data holder.
            Tested by: tests/evaluation/test_draws.py
        """
        votes = self.votes[k]
        assert len(votes) == trials
        scores = [Scores(row, self.sensitivity) for row in votes]
        picks = [draws(one, k, epsilon, self.mechanism, self.parameters, rng)[0] for one in scores]
        bounds = [_bound(self.parameters, one, k, epsilon) for one in scores]
        known = [bound for bound in bounds if bound is not None]
        return Picks(np.stack(picks), votes, float(np.mean(known)) if known else None)


@frozen
class ExactDraws:
    """A method without privacy, which selects the same features every time."""

    values: FloatArray = field(repr=False)

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Picks:
        """Return the best k, `trials` times.

        Privacy:
            Guarantee: none; nothing is drawn.
            Tested by: tests/evaluation/test_draws.py
        """
        return Picks(np.tile(exact_top_k(self.values, k), (trials, 1)), self.values, None)


@frozen
class RoundDraws:
    """dpkendall: k rounds per trial. The correlations of two columns are computed once."""

    rows: DataSet
    neighbors: Neighbors
    unit: Unit
    threads: int = 1
    """How many threads to use; more than 1 only in a process that has no other workers."""
    known: dict[bytes, IntArray] = field(default_factory=dict, repr=False)

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Picks:
        """Draw the trials one after the other.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data holder.
            Tested by: tests/evaluation/test_draws.py
        """
        X, y = self.rows.X, self.rows.y
        picks = [
            kendall_rounds(
                X,
                y,
                k,
                epsilon,
                rng,
                neighbors=self.neighbors,
                unit=self.unit,
                kendall=self._kendall,
            )
            for _ in range(trials)
        ]
        return Picks(np.stack(picks), self._kendall(y, X), None)

    def _kendall(self, x: FloatArray, others: Matrix) -> IntArray:
        """Return the Kendall scores of a column with all others, from the cache if possible."""
        key = x.tobytes()
        found = self.known.get(key)
        if found is None:
            rows = DataSet(others, x)
            scores = table_scores(
                "kendall", rows, None, self.neighbors, self.unit, threads=self.threads
            )
            found = scores.values.astype(np.int64, copy=False)
            if len(self.known) * (found.nbytes + len(key)) < _MOST_REMEMBERED:
                self.known[key] = found
        return found


@frozen
class StumpDraws:
    """stump: every trial pays for its own weights. Equal weights are scored once."""

    rows: DataSet
    target: Target
    neighbors: Neighbors
    unit: Unit
    mechanism: str
    parameters: Mapping[str, Any]
    known: dict[bytes, IntArray] = field(default_factory=dict, repr=False)

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Picks:
        """Draw as `select` would, with one seed per trial.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data holder.
            Tested by: tests/evaluation/test_stump_draws.py
        """
        if rng.private:
            raise ValueError("what is drawn for an evaluation is drawn with a seed")
        delta = float(self.parameters.get("delta", 0.0))
        drawn = stump_draws(
            _StumpTable(self.rows, self.known),
            self.rows.X.shape[1],
            StumpRequest(self.target, k),
            Guarantee(epsilon, self.neighbors, _TRIED, self.unit, delta),
            DrawnBy(STUMP, self.mechanism, self.parameters),
            rng.words(trials).tolist(),
        )
        values = np.stack([one.values[0] for one in drawn])
        return Picks(np.stack([one.chosen for one in drawn]), values, None)


_TRIED = Scope(end_to_end=False, why="an evaluation")


@frozen
class MethodDraws:
    """The methods of a sweep on one data set, and how often each of them draws."""

    name: str
    """The name of the data set."""
    by_method: Mapping[str, Draws] = field(repr=False)
    trials: Mapping[str, int]
    """The number of runs of each method: 1 if it always selects the same."""
    seed: int

    def draw(self, method: str, k: int, epsilon: float) -> Picks:
        """Draw the trials of one cell, whose seed follows from its name.

        Privacy:
            Guarantee: none; the draws are seeded, and what is drawn is for the data holder.
            Tested by: tests/evaluation/test_draws.py
        """
        rng = SeededRandomness(derived_seed(self.seed, self.name, method, k, repr(epsilon)))
        return self.by_method[method].draw(k, epsilon, self.trials[method], rng)


@frozen
class _StumpTable:
    """The rows in the form that `stump_draws` needs, with a cache of scores by weights."""

    rows: DataSet
    known: dict[bytes, IntArray]

    def target(self) -> FloatArray:
        """Return the target of all rows."""
        return self.rows.y

    def scores(self, rule: WeightRule) -> IntArray:
        """Score all columns, or return their cached scores.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism.
            Tested by: tests/evaluation/test_stump_draws.py
        """
        weights = rule.weights(self.rows.y)
        key = blake2b(weights.values.take(weights.groups, axis=1).tobytes()).digest()
        found = self.known.get(key)
        if found is None:
            found = np.zeros((len(rule.values), self.rows.X.shape[1]), dtype=np.int64)
            for some, X in column_groups(self.rows.X):
                found[:, some] = matrix_scores(X, weights)
            if len(self.known) * found.nbytes < _MOST_REMEMBERED:
                self.known[key] = found
        return found


def table_scores(
    score: str,
    rows: DataSet,
    bounds: Bounds | None,
    neighbors: Neighbors,
    unit: Unit,
    *,
    threads: int = 1,
) -> Scores:
    """Return the scores of a table, as `select` would compute them.

    Privacy:
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/evaluation/test_draws.py
    """
    unbounded = Bounds.of([UNIT_INTERVAL] * rows.X.shape[1], UNIT_INTERVAL)
    found = find_score(score).make(bounds or unbounded, neighbors, unit)
    if isinstance(found, WorksAtTheEnd):
        found.work_with(Threads(threads))
    if isinstance(rows.X, TiledMatrix) and isinstance(found, KeepsRows):
        found.take(rows.X, rows.y)
        return found.scores()
    for first, some in row_chunks(rows.X):
        found.add(found.part(Batch(0, some, rows.y[first : first + len(some)])))
    return found.scores()


def _bound(parameters: Mapping[str, Any], scores: Scores, k: int, epsilon: float) -> float | None:
    """Return the lower bound for TOP, for the mechanisms that have one."""
    gamma = parameters.get("gamma")
    if gamma is None:
        return None
    return lipschitz_bound(scores.values, scores.sensitivity, k, epsilon, gamma)


_NAMED: dict[str, tuple[str, str]] = {
    name: METHODS[name] for name in (Method.STUMP, Method.DP_SIS, Method.KENDALL)
}
_EXACT = {"sis", "lasso"}


@frozen
class EvaluatedMethod:
    """A way to select features: what ranks them, how they are drawn, and on which scaling.

    `name` is as the user wrote it; `scale` is None for the scaling of the whole evaluation.
    """

    name: str
    ranking: str
    """A score, or one of the methods two-stage, sis, lasso and dpkendall."""
    mechanism: str | None
    """None for methods without a choice of mechanism."""
    scale: Scale | None

    @property
    def private(self) -> bool:
        """Return whether one selection by this method would be private."""
        return self.ranking not in _EXACT

    @property
    def bounded(self) -> bool:
        """Return whether the method works on bounded cells rather than on raw ones."""
        if self.ranking in (*_EXACT, Baseline.TWO_STAGE):
            return True
        return self.ranking != Baseline.DPKENDALL and find_score(self.ranking).needs_bounds

    def parameters(self, delta: float | None) -> dict[str, Any]:
        """Return the parameters of the mechanism, with the delta only if it takes one."""
        assert self.mechanism is not None
        mechanism = find_mechanism(self.mechanism)
        given = {"delta": delta if "delta" in mechanism.defaults else None}
        return mechanism.parameters(self.mechanism, given)


def parse_methods(names: list[str]) -> tuple[EvaluatedMethod, ...]:
    """Parse lists of methods such as `dp-sis,kendall/peeling,two-stage@robust`, each once."""
    parts = [part.strip() for name in names for part in name.split(",")]
    return tuple(_method(part) for part in dict.fromkeys(parts))


def _method(name: str) -> EvaluatedMethod:
    """Parse one method: SCORE/MECHANISM, two-stage[/MECHANISM], or a name."""
    what, at, scale_name = name.partition("@")
    scale = _scale(scale_name, name) if at else None
    ranking, slash, mechanism = what.partition("/")
    if ranking in _NAMED and not slash:
        return EvaluatedMethod(name, *_NAMED[ranking], scale)
    if ranking == Baseline.TWO_STAGE:
        mechanism = mechanism if slash else "canonical-lipschitz"
    elif ranking in (*_EXACT, Method.DP_SIS, Baseline.DPKENDALL):
        if slash:
            raise UsageError(f"{ranking} has no mechanism to choose, got {name}")
        return EvaluatedMethod(name, ranking, None, scale)
    elif not slash:
        raise UsageError(
            f"a method is SCORE/MECHANISM, {', '.join(_NAMED)}, {', '.join(Baseline)}, "
            f"with @SCALE behind it or not; got '{name}'"
        )
    else:
        find_score(ranking)
    find_mechanism(mechanism)
    return EvaluatedMethod(name, ranking, mechanism, scale)


def _scale(text: str, name: str) -> Scale:
    """Return a scaling by its name."""
    if text not in tuple(Scale):
        raise UsageError(f"a scale is one of {', '.join(Scale)}, got {name}")
    return Scale(text)
