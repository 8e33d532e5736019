"""Many selections by one method from one data set: scores once, draws often. Not private."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.blocks import Block
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.evaluation.data import Rows
from dpsel.core.evaluation.metrics import lipschitz_bound
from dpsel.core.exact import exact_top_k
from dpsel.core.kendall_rounds import kendall_rounds
from dpsel.core.kept import KeptTable, Matrix, row_chunks
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.randomness import Randomness
from dpsel.core.scores.base import KeepsRows, Scores, WorksAtTheEnd
from dpsel.core.scores.registry import find_score

_MOST_REMEMBERED = 1 << 28


@dataclass(frozen=True)
class Drawn:
    """Rows of picks, the scores they were drawn by (one row, or one a trial), and TOP's bound."""

    picks: IntArray
    scores: NumberArray
    bound: float | None


class Draws(Protocol):
    """Draws selections for any k and epsilon."""

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Drawn:
        """Return `trials` independent selections.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data's holder.
            Tested by: tests/core/evaluation/test_draws.py
        """
        ...


@dataclass(frozen=True)
class ScoreDraws:
    """Any score with any mechanism."""

    scores: Scores
    mechanism: str
    parameters: Mapping[str, Any]

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Drawn:
        """Draw all trials from the same scores.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data's holder.
            Tested by: tests/core/evaluation/test_draws.py
        """
        draw = find_mechanism(self.mechanism).draw
        picks = draw(self.scores, k, epsilon, rng, draws=trials, **self.parameters)
        return Drawn(picks, self.scores.values, _bound(self, self.scores, k, epsilon))


@dataclass(frozen=True)
class VoteDraws:
    """Two-stage: every trial has blocks of its own, and so its own votes."""

    votes: Mapping[int, IntArray] = field(repr=False)
    """For each k, one row of votes a trial."""
    sensitivity: float
    mechanism: str
    parameters: Mapping[str, Any]

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Drawn:
        """Draw one selection from the votes of each trial.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data's holder.
            Tested by: tests/core/evaluation/test_draws.py
        """
        draw = find_mechanism(self.mechanism).draw
        votes = self.votes[k]
        assert len(votes) == trials
        scores = [Scores(row, self.sensitivity) for row in votes]
        picks = [draw(one, k, epsilon, rng, **self.parameters)[0] for one in scores]
        bounds = [_bound(self, one, k, epsilon) for one in scores]
        known = [bound for bound in bounds if bound is not None]
        return Drawn(np.stack(picks), votes, float(np.mean(known)) if known else None)


@dataclass(frozen=True)
class ExactDraws:
    """A method without privacy: the same selection every time."""

    values: FloatArray = field(repr=False)

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Drawn:
        """Return the best k, `trials` times.

        Privacy:
            Guarantee: none; nothing is drawn.
            Tested by: tests/core/evaluation/test_draws.py
        """
        return Drawn(np.tile(exact_top_k(self.values, k), (trials, 1)), self.values, None)


@dataclass(frozen=True)
class RoundDraws:
    """dpkendall: k rounds a trial. Correlations of two features are found once."""

    rows: Rows
    neighbors: Neighbors
    unit: Unit
    threads: int = 1
    """How many of a process that has no others beside it."""
    known: dict[bytes, IntArray] = field(default_factory=dict, repr=False)

    def draw(self, k: int, epsilon: float, trials: int, rng: Randomness) -> Drawn:
        """Draw trial after trial.

        Privacy:
            Guarantee: none; `rng` is seeded, and what is drawn is for the data's holder.
            Tested by: tests/core/evaluation/test_draws.py
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
        return Drawn(np.stack(picks), self._kendall(y, X), None)

    def _kendall(self, x: FloatArray, others: Matrix) -> IntArray:
        """Compare a column with all others, or remember it."""
        key = x.tobytes()
        found = self.known.get(key)
        if found is None:
            rows = Rows(others, x)
            scores = table_scores(
                "kendall", rows, None, self.neighbors, self.unit, threads=self.threads
            )
            found = scores.values.astype(np.int64, copy=False)
            if len(self.known) * (found.nbytes + len(key)) < _MOST_REMEMBERED:
                self.known[key] = found
        return found


def table_scores(
    score: str,
    rows: Rows,
    bounds: Bounds | None,
    neighbors: Neighbors,
    unit: Unit,
    *,
    threads: int = 1,
) -> Scores:
    """Return the scores of a table, as `select` would find them.

    Privacy:
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/core/evaluation/test_draws.py
    """
    unbounded = Bounds.of([UNIT_INTERVAL] * rows.X.shape[1], UNIT_INTERVAL)
    found = find_score(score).make(bounds or unbounded, neighbors, unit)
    if isinstance(found, WorksAtTheEnd):
        found.use_threads(threads)
    if isinstance(rows.X, KeptTable) and isinstance(found, KeepsRows):
        found.take(rows.X, rows.y)
        return found.scores()
    for first, some in row_chunks(rows.X):
        found.add(found.part(Block(0, some, rows.y[first : first + len(some)])))
    return found.scores()


def _bound(draws: ScoreDraws | VoteDraws, scores: Scores, k: int, epsilon: float) -> float | None:
    """Return the lower bound of TOP, for the mechanisms that have one."""
    gamma = draws.parameters.get("gamma")
    if gamma is None:
        return None
    return lipschitz_bound(scores.values, scores.sensitivity, k, epsilon, gamma)
