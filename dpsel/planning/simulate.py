"""Simulated tables of a design: the features that matter, and enough of those that do not.

A table of up to 1000 rows is simulated as it is. Of a larger one with n rows, n0 = 1000 are. A
score that means nothing grows like sqrt(n): times sqrt(n / n0). One of a feature that matters grows
like n r, for a correlation r: where r is weak, the 1000 rows get a stronger one, so that it stands
out from the noise as it would in n rows. See `Scaling`.

Of features that do not matter a pool of some hundreds is simulated. A wider table takes its scores
from their distribution, whose tail is that of a normal or a Brownian bridge: the square of a score
is linear in the logarithm of its rank.
"""

import math
from dataclasses import field
from statistics import NormalDist

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.planning.request import Design, TargetKind, class_shift
from dpsel.records import frozen

SIMULATED_ROWS = 1000
POOL = 400
# With a correlation of this, 1000 rows are far from noise: from here on scores grow with it.
_CLEAR = 0.3
# Numbers like those of many targets, with a middle that is no round number.
_CENTER, _DEVIATION = 103.7, 15.0
# The part of the pool whose scores are those of the tail, and the part that the tail is fitted to.
_TAIL, _FITTED = 0.04, 0.25


@frozen
class Scaling:
    """From scores of the simulated rows to scores of all rows."""

    noise: float
    """What a score that means nothing is multiplied by."""
    effects: FloatArray = field(repr=False)
    """The correlations that are simulated, a row for every table."""
    signals: FloatArray = field(repr=False)
    """What the score of each feature that matters is multiplied by."""

    @staticmethod
    def of(rows: int, effects: FloatArray) -> "Scaling":
        """Return the scaling of correlations; all factors are 1 for small tables."""
        ratio = max(1.0, rows / SIMULATED_ROWS)
        stretch = np.minimum(math.sqrt(ratio), np.maximum(1.0, _CLEAR / effects))
        return Scaling(math.sqrt(ratio), effects * stretch, ratio / stretch)


@frozen
class Simulated:
    """Some tables of a design: all have the same target, and features of the same pool."""

    design: Design
    scaling: Scaling
    y: FloatArray = field(repr=False)
    """Two classes are -1 and 1, more are codes from 0 on."""
    signals: FloatArray = field(repr=False)
    """Features that matter, a column each: those of the first table, then of the next."""
    pool: FloatArray = field(repr=False)
    """Features that do not."""

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
        """Return how many do not."""
        return self.design.features - self.matter


def simulate(design: Design, tables: int, seed: int) -> Simulated:
    """Simulate tables of a design. Nothing private is touched."""
    return simulate_each(design, np.tile(design.effects.each, (tables, 1)), seed)


def simulate_each(design: Design, effects: FloatArray, seed: int) -> Simulated:
    """Simulate tables of a design, each with effects of its own."""
    rng = seeded_generator(derived_seed(seed, "plan"))
    rows = min(design.rows, SIMULATED_ROWS)
    scaling = Scaling.of(design.rows, effects)
    y = target_of(design.target, rows)
    pool = rng.standard_normal((rows, POOL))
    each = scaling.effects.reshape(-1)
    noise = rng.standard_normal((rows, len(each)))
    signals = _told(design.target, y, each, rng) + np.sqrt(1 - each**2) * noise
    return Simulated(design, scaling, y, signals, pool)


def target_of(kind: TargetKind, rows: int) -> FloatArray:
    """Return a target: as many of every class, or numbers as evenly, as is typical."""
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


def _told(
    kind: TargetKind, y: FloatArray, effects: FloatArray, rng: "np.random.Generator"
) -> FloatArray:
    """Return what features tell of the target: with the noise to come they have variance 1."""
    if kind.classes == 2:
        shifts = np.array([class_shift(effect, kind.share) for effect in effects])
        return np.outer(y / 2 + 0.5 - kind.share, shifts * np.sqrt(1 - effects**2))
    if kind.classes > 2:
        # Classes have no order: every feature has means of its own.
        means = rng.standard_normal((kind.classes, len(effects)))
        means = (means - means.mean(axis=0)) / means.std(axis=0)
        return np.asarray(effects * means[y.astype(np.int64)])
    return np.outer(standardized(y), effects)


def standardized(y: FloatArray) -> FloatArray:
    """Return a numeric target as numbers with mean 0 and variance 1."""
    return (y - _CENTER) / _DEVIATION


def null_scores(pool: FloatArray, count: int, uniforms: FloatArray) -> FloatArray:
    """Return scores of `count` features that do not matter, like those of the pool.

    With no more than the pool has, some of it, by the order of the uniforms; else descending.
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
    # The tail goes on where the pool's scores end.
    found[:tail] = np.sqrt(np.maximum(squares, found[tail] ** 2))
    return found
