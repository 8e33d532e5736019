"""The methods that the benchmarks of `stump` compare, each with the same settings for every table.

A method is made once from a table and draws for any epsilon. `stump`, `kendall` and `dpkendall` get
raw values and pay for everything they use. `dp-sis`, `robust dot` and `two-stage` get a table that
was scaled by its own data, which no epsilon pays for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from real_tables import RealTable

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit
from dpsel.core.mechanisms.lipschitz import canonical_lipschitz
from dpsel.core.mechanisms.permute_and_flip import permute_and_flip
from dpsel.core.randomness import SeededRandomness as _rng
from dpsel.core.release import DrawnBy, StumpRequest, release_stump
from dpsel.core.scores.base import Scores
from dpsel.core.scores.stump import Cells, WeightRule, stump_scores
from dpsel.core.target import Target
from dpsel.core.votes import Voting, two_stage_scores
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.evaluation.methods import RoundDraws, table_scores
from dpsel.preprocessing.options import DEFAULT_CLIP, Scale
from dpsel.selection.lasso import PENALTY, block_fit

_ADD_REMOVE, _ROW = Neighbors.ADD_REMOVE, Unit()

Draw = Callable[[float, int], IntArray]
"""Draws k features of the table, from an epsilon and a seed."""


@dataclass(frozen=True)
class Stump:
    """The default of `dpsel select`, through the function that makes its releases."""

    table: RealTable
    share: Fraction | None = None
    """The public share of the second of two classes, which no epsilon pays for."""
    known: dict[bytes, IntArray] = field(default_factory=dict, repr=False)

    @cached_property
    def _cells(self) -> Cells:
        return Cells(np.ascontiguousarray(self.table.X.T))

    def target(self) -> FloatArray:
        """Return the target of all rows."""
        return self.table.y

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the scores; they are cached for several classes, whose splits are public."""
        if not self.table.classes > 2:
            return stump_scores(self._cells, rule.weights(self.table.y))
        key = rule.values.tobytes()
        if key not in self.known:
            self.known[key] = stump_scores(self._cells, rule.weights(self.table.y))
        return self.known[key]

    def draw(self, epsilon: float, seed: int) -> IntArray:
        """Select with this epsilon for all steps together."""
        names = [f"x{i}" for i in range(self.table.X.shape[1])]
        request = StumpRequest(Target(self.table.classes, self.share), self.table.k)
        guarantee = Guarantee(epsilon, _ADD_REMOVE, Scope(True, "nothing was done before"), _ROW)
        drawn_by = DrawnBy("stump", "permute-and-flip", {})
        return np.array(
            release_stump(self, names, request, guarantee, drawn_by, seed).selected_indices
        )


def _data(table: RealTable) -> EvaluationData:
    """Return the table in the form that `dpsel evaluate` uses."""
    names = tuple(f"x{i}" for i in range(table.X.shape[1]))
    bounds = Bounds.of([UNIT_INTERVAL] * len(names), UNIT_INTERVAL)
    return EvaluationData(
        table.name, names, DataSet(table.X, table.y), bounds, labels=table.classes > 0
    )


def _dot(table: RealTable, scale: Scale) -> Scores:
    """Return `dot` scores after a scaling by the table's own data."""
    bounds = Bounds.of([UNIT_INTERVAL] * table.X.shape[1], UNIT_INTERVAL)
    rows = _data(table).scaled(scale, DEFAULT_CLIP)
    return table_scores("dot", rows, bounds, _ADD_REMOVE, _ROW)


def stump(table: RealTable) -> Draw:
    """Return the draws of the default."""
    return Stump(table).draw


def dp_sis(table: RealTable) -> Draw:
    """Return the draws of the paper's method on its scaling: dot and canonical-lipschitz."""
    scores = _dot(table, Scale.MAX_ABS)
    return lambda epsilon, seed: canonical_lipschitz(scores, table.k, epsilon, _rng(seed))[0]


def robust_dot(table: RealTable) -> Draw:
    """Return the draws of dot on robustly clipped values, with permute-and-flip."""
    scores = _dot(table, Scale.ROBUST)
    return lambda epsilon, seed: permute_and_flip(scores, table.k, epsilon, _rng(seed))[0]


def kendall(table: RealTable) -> Draw:
    """Return the draws of kendall with permute-and-flip, on raw values."""
    d = table.X.shape[1]
    bounds = Bounds(np.full(d, -1.0), np.full(d, 1.0), UNIT_INTERVAL, table.classes == 2)
    y = 2 * table.y - 1 if table.classes == 2 else table.y
    scores = table_scores("kendall", DataSet(table.X, y), bounds, _ADD_REMOVE, _ROW)
    return lambda epsilon, seed: permute_and_flip(scores, table.k, epsilon, _rng(seed))[0]


def dpkendall(table: RealTable) -> Draw:
    """Return the draws of dpkendall, which subtracts scores with features chosen so far."""
    rounds = RoundDraws(DataSet(table.X, table.y), _ADD_REMOVE, _ROW)
    return lambda epsilon, seed: rounds.draw(table.k, epsilon, 1, _rng(seed)).picks[0]


@dataclass(frozen=True)
class _TwoStage:
    """The votes of sqrt(n) blocks; the first draw finds them, and all epsilons draw from them."""

    table: RealTable
    votes: list[Scores] = field(default_factory=list)

    def draw(self, epsilon: float, seed: int) -> IntArray:
        """Draw from the votes."""
        rng = _rng(seed)
        if not self.votes:
            rows = _data(self.table).scaled(Scale.MAX_ABS, DEFAULT_CLIP)
            relation = Neighbors.REPLACE_ONE
            with block_fit(PENALTY) as fit:
                voting = Voting(int(len(rows.y) ** 0.5), fit)
                votes = two_stage_scores(
                    rows.X, rows.y, self.table.k, voting, neighbors=relation, unit=_ROW, rng=rng
                )
            self.votes.append(votes)
        return np.asarray(canonical_lipschitz(self.votes[0], self.table.k, epsilon, rng)[0])


def two_stage(table: RealTable) -> Draw:
    """Return the draws of two-stage: votes of blocks by LASSO, on the paper's scaling."""
    return _TwoStage(table).draw


def random_choice(table: RealTable) -> Draw:
    """Return draws of k random features."""
    same = Scores(np.zeros(table.X.shape[1], dtype=np.int64), 1.0)
    return lambda epsilon, seed: permute_and_flip(same, table.k, 1.0, _rng(seed))[0]


def sis(table: RealTable) -> Draw:
    """Return the k largest correlations, without privacy; labels count as 0, 1, 2..."""
    best = np.argsort(-correlations(table.X, table.y), kind="stable")[: table.k]
    return lambda epsilon, seed: np.sort(best)


METHODS: dict[str, Callable[[RealTable], Draw]] = {
    "stump": stump,
    "dp-sis": dp_sis,
    "robust dot": robust_dot,
    "kendall": kendall,
    "dpkendall": dpkendall,
    "two-stage": two_stage,
    "random": random_choice,
    "sis, not private": sis,
}


def correlations(X: FloatArray, y: FloatArray) -> FloatArray:
    """Return the absolute correlation of every feature, 0 for constant ones."""
    moved, target = X - X.mean(axis=0), y - y.mean()
    size = np.sqrt((moved**2).sum(axis=0) * (target @ target))
    found: FloatArray = np.abs(
        np.divide(target @ moved, size, out=np.zeros_like(size), where=size > 1e-12 * len(y))
    )
    return found
