"""The share of picks that would be right, from real draws of the mechanisms on simulated scores."""

import math
from dataclasses import field
from fractions import Fraction
from typing import Protocol

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds, Interval
from dpsel.core.epsilon_parts import (
    MEDIAN,
    ROWS,
    ROWS_SHARE,
    SELECTION,
    BudgetParts,
    affordable_picks,
)
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit, rows_changed
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.median import MedianLaw
from dpsel.core.randomness import SeededRandomness, derived_seed, seeded_generator
from dpsel.core.release import DrawnBy, StumpRequest, draws, stump_draws
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import UNIT as KENDALL_UNIT
from dpsel.core.scores.kendall import kendall_move
from dpsel.core.scores.registry import find_score
from dpsel.core.scores.stump import UNIT, WeightRule, stump_sensitivity
from dpsel.core.target import Target, sign_rule
from dpsel.planning.request import TargetKind
from dpsel.planning.simulate import (
    SIMULATED_ROWS,
    Simulated,
    null_scores,
    standard_target,
    target_of,
)
from dpsel.records import frozen
from dpsel.selection.options import METHODS, Method

CLIP = 3.0
"""The bounds of dp-sis, in standard deviations to either side of the mean."""

# The noise of the target's weights is simulated with no more rows than this: with more rows it no
# longer matters.
_MOST_TARGETS = 8_000
_WEIGHT_STEPS = 256


@frozen
class DrawSettings:
    """What to draw from every table."""

    k: int
    up_to: bool
    neighbors: Neighbors
    draws: int
    seed: int


class Shares(Protocol):
    """The share of right picks of one method on simulated tables."""

    def at(self, epsilon: float) -> FloatArray:
        """Return the share of the picks that are right, for each table."""
        ...


def methods_for(classes: int, *, up_to: bool) -> tuple[Method, ...]:
    """Return the methods that a plan compares; only stump accepts classes without an order."""
    if up_to or classes > 2:
        return (Method.STUMP,)
    return (Method.STUMP, Method.KENDALL, Method.DP_SIS)


def shares_of(method: Method, simulated: Simulated, wanted: DrawSettings) -> Shares:
    """Return the shares of right picks of a method on simulated tables."""
    if method is Method.STUMP:
        return StumpShares(simulated, wanted)
    return ScoreShares(method, simulated, wanted)


class _Tables:
    """The scores of all features of each table; those of features that matter come first."""

    def __init__(self, simulated: Simulated, wanted: DrawSettings) -> None:
        self._simulated, self._wanted = simulated, wanted
        rng = seeded_generator(derived_seed(wanted.seed, "others"))
        size = max(simulated.others, simulated.pool.shape[1])
        self._uniforms = [rng.random(size) for _ in range(simulated.tables)]

    def of(self, table: int, signals: FloatArray, pool: FloatArray) -> FloatArray:
        """Return the scores of a table, from those of its features that matter and of the pool."""
        others = null_scores(pool, self._simulated.others, self._uniforms[table])
        return np.concatenate([signals, others])

    def right(self, scores: Scores, k: int, epsilon: float, drawn_by: DrawnBy, table: int) -> float:
        """Return the share of right picks, over many draws from the scores of one table."""
        wanted = self._wanted
        rng = SeededRandomness(derived_seed(wanted.seed, "draws", table))
        picks = draws(
            *(scores, k, epsilon, drawn_by.mechanism, drawn_by.parameters, rng),
            count=wanted.draws,
        )
        return float((picks < self._simulated.matter).mean())


def _drawn_by(method: Method) -> DrawnBy:
    """Return how a method scores and draws."""
    score, mechanism = METHODS[method]
    return DrawnBy(score, mechanism, find_mechanism(mechanism).parameters(mechanism, {}))


class ScoreShares:
    """A method that spends all of epsilon on its draw: kendall or dp-sis."""

    def __init__(self, method: Method, simulated: Simulated, wanted: DrawSettings) -> None:
        """Score all tables."""
        self._wanted, self._tables = wanted, _Tables(simulated, wanted)
        self._drawn_by = _drawn_by(method)
        scored = _Scored.of(self._drawn_by.score, simulated, wanted.neighbors)
        matter = simulated.matter
        signals = scored.signals.reshape(simulated.tables, matter) * simulated.scaling.signals
        pool = scored.pool * simulated.scaling.noise
        self._scores = [
            Scores(self._tables.of(table, own, pool), scored.sensitivity)
            for table, own in enumerate(signals)
        ]

    def at(self, epsilon: float) -> FloatArray:
        """Return the share of the picks that are right, for each table."""
        right = self._tables.right
        return np.array(
            [
                right(scores, self._wanted.k, epsilon, self._drawn_by, table)
                for table, scores in enumerate(self._scores)
            ]
        )


@frozen
class _Scored:
    """The scores of the simulated features, and how far one row moves them."""

    signals: FloatArray = field(repr=False)
    pool: FloatArray = field(repr=False)
    sensitivity: float

    @staticmethod
    def of(score: str, simulated: Simulated, neighbors: Neighbors) -> "_Scored":
        """Score the columns as `select` would."""
        two = simulated.design.target.classes == 2
        y = simulated.y if two else standard_target(simulated.y)
        X = np.hstack([simulated.signals, simulated.pool])
        target = UNIT_INTERVAL if two else Interval(-CLIP, CLIP)
        one = np.full(X.shape[1], CLIP)
        bounds = Bounds(-one, one, target, two)
        # Scored under replace-one, where no score has a part that grows with the number of rows.
        made = find_score(score).make(bounds, Neighbors.REPLACE_ONE, Unit())
        made.add(made.part(Batch(0, X, y)))
        found = made.scores()
        sensitivity = found.sensitivity
        if neighbors is Neighbors.ADD_REMOVE:
            moved = float(kendall_move(neighbors, two)) * KENDALL_UNIT
            sensitivity = moved if score == "kendall" else sensitivity / 2
        values = found.values.astype(np.float64)
        cut = simulated.signals.shape[1]
        return _Scored(values[:cut], values[cut:], sensitivity)


class StumpShares:
    """stump, which first pays for the weights of rows, and draws them for every table."""

    def __init__(self, simulated: Simulated, wanted: DrawSettings) -> None:
        """Sort the features of all tables."""
        self._simulated, self._wanted = simulated, wanted
        self._tables = _Tables(simulated, wanted)
        self._drawn_by = _drawn_by(Method.STUMP)
        self._weights = TargetWeights(simulated, wanted)
        matter, scaling = simulated.matter, simulated.scaling
        self._pool = SortedColumns(simulated.pool, np.full(1, scaling.noise))
        self._signals = [
            SortedColumns(simulated.signals[:, table * matter : (table + 1) * matter], factors)
            for table, factors in enumerate(scaling.signals)
        ]
        self._known: dict[tuple[bytes, float], FloatArray] = {}
        self._rounds: dict[int, IntArray] = {}
        unit = float(stump_sensitivity(wanted.neighbors, Unit()))
        self._sensitivity = unit / UNIT

    def at(self, epsilon: float) -> FloatArray:
        """Return the share of the picks that are right, for each table."""
        tables = range(self._simulated.tables)
        if self._simulated.design.target.classes > 2:
            return np.array([self._in_rounds(epsilon, table) for table in tables])
        parts, k = self._weights.paid(epsilon)
        return np.array([self._right(parts, k, table) for table in tables])

    def _right(self, parts: BudgetParts, k: int, table: int) -> float:
        """Return the share of right picks from one table."""
        rng = SeededRandomness(derived_seed(self._wanted.seed, "weights", table))
        weights = self._weights.draw(parts, rng)
        scores = Scores(self.scores(weights, table), self._sensitivity)
        return self._tables.right(scores, k, parts.part(SELECTION), self._drawn_by, table)

    def scores(self, weights: "DrawnWeights", table: int) -> FloatArray:
        """Return the scores of all features of a table, in units of rows."""
        key = weights.values.tobytes(), weights.total
        if key not in self._known:
            self._known[key] = self._pool.best(weights)
        return self._tables.of(table, self._signals[table].best(weights), self._known[key])

    def round_scores(self, rule: WeightRule, table: int) -> IntArray:
        """Return the scores of all rounds; their weights are the same at every epsilon."""
        y, rows = self._simulated.y, self._simulated.design.rows
        if table not in self._rounds:
            rounds = []
            for values in rule.values:
                weights = values.take(rule.groups(y)) / UNIT
                total = float(weights.sum()) * rows / len(y)
                rounds.append(self.scores(DrawnWeights(weights, total), table))
            self._rounds[table] = np.rint(np.stack(rounds) * UNIT).astype(np.int64)
        return self._rounds[table][: len(rule.values)]

    def _in_rounds(self, epsilon: float, table: int) -> float:
        """Return the share of right picks if every round has its own weights."""
        wanted, design = self._wanted, self._simulated.design
        target = Target(classes=design.target.classes)
        drawn = stump_draws(
            _Rounds(self, table, self._simulated.y),
            design.features,
            StumpRequest(target, wanted.k, wanted.up_to, design.rows),
            Guarantee(epsilon, wanted.neighbors, _PLANNED),
            self._drawn_by,
            [derived_seed(wanted.seed, "draws", table, i) for i in range(wanted.draws)],
        )
        return float(np.mean([(one.chosen < design.effects.count).mean() for one in drawn]))


_PLANNED = Scope(end_to_end=False, why="a plan")


@frozen
class _Rounds:
    """One table in the form that `stump_draws` needs."""

    shares: StumpShares
    table: int
    y: FloatArray = field(repr=False)

    def target(self) -> FloatArray:
        """Return the target."""
        return self.y

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all rounds."""
        return self.shares.round_scores(rule, self.table)


@frozen
class DrawnWeights:
    """The weights of the simulated rows, and the total weight that all rows of the table have."""

    values: FloatArray = field(repr=False)
    total: float


class TargetWeights:
    """The weights of rows by their target, as `select` draws them, and what they cost."""

    def __init__(self, simulated: Simulated, wanted: DrawSettings) -> None:
        """Take a target with as many rows as can make a difference."""
        self._wanted, self._y, self._design = wanted, simulated.y, simulated.design
        kind = simulated.design.target
        rows = min(simulated.design.rows, _MOST_TARGETS)
        self._all = simulated.y if rows <= SIMULATED_ROWS else target_of(kind, rows)
        self._target = self._public(kind)
        self._laws: dict[float, MedianLaw] = {}

    def paid(self, epsilon: float) -> tuple[BudgetParts, int]:
        """Return the parts of an epsilon, and how many features are picked."""
        design, k = self._design, self._wanted.k
        parts = BudgetParts.of(epsilon, SELECTION)
        if self._wanted.up_to:
            if self._wanted.neighbors is Neighbors.ADD_REMOVE:
                parts = parts.take(ROWS_SHARE, ROWS)
            k = affordable_picks(k, design.features, epsilon, design.rows)
        return self._target.paid_from(parts, k, design.features), k

    def draw(self, parts: BudgetParts, rng: SeededRandomness) -> DrawnWeights:
        """Return weights with the noise that was paid for.

        Privacy:
            Guarantee: none is needed; the target is made up.
            Tested by: tests/planning/test_shares.py
        """
        rule = self._rule(parts, rng)
        total = self._total(rule)
        exact = rule.values[0].take(rule.groups(self._y)) / UNIT
        if len(self._all) == len(self._y) or rule.classes == 0:
            return DrawnWeights(exact, total)
        return DrawnWeights(np.round(exact * _WEIGHT_STEPS) / _WEIGHT_STEPS, total)

    def _public(self, kind: TargetKind) -> Target:
        """Return what is publicly known of the target."""
        if not kind.known:
            return Target(kind.classes)
        if kind.classes == 2:
            return Target(2, share=Fraction(kind.share))
        return Target(center=float(np.median(self._all)))

    def _rule(self, parts: BudgetParts, rng: SeededRandomness) -> WeightRule:
        """Return the rule of weights, drawn or public. The law of a median is cached."""
        neighbors = self._wanted.neighbors
        if self._target.classes == 2 or self._target.center is not None:
            guarantee = Guarantee(parts.epsilon, neighbors, _PLANNED)
            return self._target.rule(self._all, parts, self._wanted.k, guarantee, rng)
        paid = parts.part(MEDIAN)
        if paid not in self._laws:
            steps = rows_changed(neighbors, Unit())
            self._laws[paid] = MedianLaw(self._all, Fraction(repr(paid)), steps)
        return sign_rule(self._laws[paid].draw(rng))

    def _total(self, rule: WeightRule) -> float:
        """Return the total weight of all rows, rounded so that many draws share their scores."""
        total = float(rule.values[0].take(rule.groups(self._all)).sum()) / UNIT
        if len(self._all) == len(self._y):
            return total
        step = math.sqrt(len(self._all)) / 10
        return round(total / step) * step


class SortedColumns:
    """Features whose rows are sorted once, and then scored with many weights.

    With weights w, the score `stump` of numbers that all differ is the largest |2 s - t| over the
    running sums s of w in the order of x, and over single rows; t is the sum of all weights.
    """

    def __init__(self, X: FloatArray, factors: FloatArray) -> None:
        """Sort the columns, whose scores will be multiplied by factors."""
        self._order = np.ascontiguousarray(np.argsort(X, axis=0).T)
        self._factors = factors
        self._places = 2.0 * np.arange(1, len(X) + 1) / len(X) - 1.0

    def best(self, weights: DrawnWeights) -> FloatArray:
        """Return the scores of all columns.

        In a larger table the weights of all rows add up to `weights.total` and are spread evenly
        along a column. What the simulated rows lack of that total is added in this way.
        """
        own = float(weights.values.sum())
        running = np.cumsum(weights.values.take(self._order), axis=1)
        running *= 2.0
        running -= own
        missing = weights.total / self._factors - own
        if missing.any():
            running += missing[:, np.newaxis] * self._places
        best = np.maximum(running.max(axis=1), -running.min(axis=1))
        least = np.abs(weights.total) / self._factors
        single = max(abs(2 * float(w) - own) for w in (weights.values.max(), weights.values.min()))
        return np.asarray(np.maximum(np.maximum(best, least), single) * self._factors)
