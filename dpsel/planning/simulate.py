"""Simulated tables like the guessed one: the features that matter, and enough of those that do not.

A table of up to 1000 rows is simulated with all of its rows. For a larger one with n rows,
n0 = 1000 are simulated and the scores are scaled up. The score of a feature that does not matter
grows like sqrt(n), so it is multiplied by sqrt(n / n0). The score of a feature that matters grows
like n r, for a correlation r. If r is weak, the 1000 rows get a stronger correlation, so that the
score exceeds the noise as much as it would in n rows. See `ScoreFactors`.

Of the features that do not matter, a pool of some hundreds is simulated. A wider table draws its
scores from their distribution, whose tail is that of a normal or a Brownian bridge: the square of a
score is linear in the logarithm of its rank.
"""

import math
from dataclasses import field
from statistics import NormalDist

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.planning.effects import class_shift
from dpsel.planning.request import GuessedTable, TargetKind
from dpsel.records import frozen

SIMULATED_ROWS = 1000
POOL = 400
# With this correlation the signal in 1000 rows is clear of the noise; from here on scores grow with
# the correlation.
_CLEAR = 0.3
# Mean and deviation of a numeric target, as for typical targets; the mean is not a round number.
_CENTER, _DEVIATION = 103.7, 15.0
# The share of the scores that come from the fitted tail, and the share of the pool it is fitted to.
_TAIL, _FITTED = 0.04, 0.25


@frozen
class ScoreFactors:
    """The factors from scores of the simulated rows to scores of all rows."""

    noise: float
    """The factor for the score of a feature that does not matter."""
    effects: FloatArray = field(repr=False)
    """The correlations to simulate, one row per table."""
    signals: FloatArray = field(repr=False)
    """The factor for the score of each feature that matters."""

    @staticmethod
    def of(rows: int, effects: FloatArray) -> "ScoreFactors":
        """Return the scaling for these correlations; for small tables all factors are 1."""
        ratio = max(1.0, rows / SIMULATED_ROWS)
        stretch = np.minimum(math.sqrt(ratio), np.maximum(1.0, _CLEAR / effects))
        return ScoreFactors(math.sqrt(ratio), effects * stretch, ratio / stretch)


@frozen
class Simulated:
    """Some simulated tables of a design, which share the target and the pool of features."""

    design: GuessedTable
    scaling: ScoreFactors
    y: FloatArray = field(repr=False)
    """The target. Two classes are -1 and 1, more classes are 0, 1, 2, ..."""
    signals: FloatArray = field(repr=False)
    """The features that matter, as columns: those of the first table, then of the next."""
    pool: FloatArray = field(repr=False)
    """The pool of features that do not matter, as columns."""

    @property
    def tables(self) -> int:
        """Return how many tables there are."""
        return len(self.scaling.effects)

    @property
    def matter(self) -> int:
        """Return how many features matter in a table."""
        return self.design.effects.count

    @property
    def others(self) -> int:
        """Return how many features of a table do not matter."""
        return self.design.features - self.matter


def simulate(design: GuessedTable, tables: int, seed: int) -> Simulated:
    """Simulate tables of a design. Nothing private is touched."""
    return simulate_each(design, np.tile(design.effects.each, (tables, 1)), seed)


def simulate_each(design: GuessedTable, effects: FloatArray, seed: int) -> Simulated:
    """Simulate tables of a design, each with its own row of effects."""
    rng = seeded_generator(derived_seed(seed, "plan"))
    rows = min(design.rows, SIMULATED_ROWS)
    scaling = ScoreFactors.of(design.rows, effects)
    y = target_of(design.target, rows)
    pool = rng.standard_normal((rows, POOL))
    each = scaling.effects.reshape(-1)
    noise = rng.standard_normal((rows, len(each)))
    signals = _signal_part(design.target, y, each, rng) + np.sqrt(1 - each**2) * noise
    return Simulated(design, scaling, y, signals, pool)


def target_of(kind: TargetKind, rows: int) -> FloatArray:
    """Return a typical target: classes in their shares, or evenly spaced normal quantiles."""
    if kind.classes == 2:
        positive = min(rows - 1, max(1, round(kind.share * rows)))
        return np.where(np.arange(rows) < positive, 1.0, -1.0)
    if kind.classes > 2:
        return (np.arange(rows) % kind.classes).astype(np.float64)
    return _CENTER + _DEVIATION * _quantiles(rows)


def _quantiles(rows: int) -> FloatArray:
    """Return evenly spaced quantiles of a normal distribution."""
    inverse = NormalDist().inv_cdf
    return np.array([inverse((i + 0.5) / rows) for i in range(rows)])


def _signal_part(
    kind: TargetKind, y: FloatArray, effects: FloatArray, rng: "np.random.Generator"
) -> FloatArray:
    """Return the part of features that depends on the target; noise completes the variance to 1."""
    if kind.classes == 2:
        shifts = np.array([class_shift(effect, kind.share) for effect in effects])
        return np.outer(y / 2 + 0.5 - kind.share, shifts * np.sqrt(1 - effects**2))
    if kind.classes > 2:
        # Classes have no order, so every feature has its own means of the classes.
        means = rng.standard_normal((kind.classes, len(effects)))
        means = (means - means.mean(axis=0)) / means.std(axis=0)
        return np.asarray(effects * means[y.astype(np.int64)])
    return np.outer(standard_target(y), effects)


def standard_target(y: FloatArray) -> FloatArray:
    """Return a numeric target, scaled to mean 0 and variance 1."""
    return (y - _CENTER) / _DEVIATION


def null_scores(pool: FloatArray, count: int, uniforms: FloatArray) -> FloatArray:
    """Return scores of `count` features that do not matter, distributed like those of the pool.

    If the pool has as many, a random part of it, in the order of the uniforms; else new scores,
    descending.
    """
    if count <= len(pool):
        chosen: IntArray = np.argsort(uniforms[: len(pool)])[:count]
        return pool[chosen]
    ordered = np.sort(pool)[::-1]
    shares = (np.arange(len(ordered)) + 0.5) / len(ordered)
    wanted = (np.arange(count) + uniforms[:count]) / count
    found = np.interp(wanted, shares, ordered)
    fitted = round(_FITTED * len(ordered))
    slope, start = np.polyfit(-np.log(shares[:fitted]), ordered[:fitted] ** 2, 1)
    tail = np.searchsorted(wanted, _TAIL)
    squares = start - slope * np.log(np.maximum(wanted[:tail], 1e-300))
    # The tail must not fall below the score at which it begins.
    found[:tail] = np.sqrt(np.maximum(squares, found[tail] ** 2))
    return found
