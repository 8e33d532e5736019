"""Tables of known designs, made otherwise than a plan makes them, and what `evaluate` finds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import UNIT_INTERVAL, Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import SeededRandomness
from dpsel.core.target import Target
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.methods import Draws, ScoreDraws, StumpDraws, parse_methods, table_scores
from dpsel.evaluation.metrics import accuracies


@dataclass(frozen=True)
class Known:
    """A design whose truth is known: the target is a sum of independent features and noise.

    Features of a plan are made from the target. Here the target is made from the features, and
    half of these are not normal but uniform or of two steep exponentials.
    """

    rows: int
    features: int
    effects: tuple[float, ...]
    share: float | None = None
    classes: int = 0

    def table(self, rng: np.random.Generator) -> DataSet:
        """Draw a table; features that matter come first."""
        X = rng.standard_normal((self.rows, self.features))
        X[:, 1::4] = rng.uniform(-np.sqrt(3), np.sqrt(3), X[:, 1::4].shape)
        X[:, 3::4] = rng.laplace(0, np.sqrt(0.5), X[:, 3::4].shape)
        effects = np.array(self.effects)
        if self.classes > 2:
            return self._classes(X, rng)
        if self.share is not None:
            # A correlation with the label is smaller than with what the label is cut from.
            effects = effects / _label_correlation(self.share)
        left = 1 - float((effects**2).sum())
        assert left > 0
        z = X[:, : len(effects)] @ effects + np.sqrt(left) * rng.standard_normal(self.rows)
        y: FloatArray = z if self.share is None else np.where(z > _cut(self.share), 1.0, -1.0)
        return DataSet(np.asfortranarray(X), y)

    def _classes(self, X: FloatArray, rng: np.random.Generator) -> DataSet:
        """Draw classes first, and then features with means of their own for each."""
        y = rng.integers(0, self.classes, self.rows)
        means = rng.standard_normal((self.classes, len(self.effects)))
        means = (means - means.mean(axis=0)) / means.std(axis=0)
        effects = np.array(self.effects)
        told = X[:, : len(effects)]
        told *= np.sqrt(1 - effects**2)
        told += (effects * means)[y]
        return DataSet(np.asfortranarray(X), y.astype(np.float64))


def _cut(share: float) -> float:
    from scipy.stats import norm

    return float(norm.isf(share))


def _label_correlation(share: float) -> float:
    from scipy.stats import norm

    return float(norm.pdf(_cut(share)) / np.sqrt(share * (1 - share)))


def evaluated(
    design: Known, method: str, k: int, epsilons: Sequence[float], *, tables: int, trials: int
) -> FloatArray:
    """Return the accuracies that `evaluate` finds, means over some tables of a design."""
    rng = np.random.default_rng(2024)
    right = np.arange(len(design.effects))
    found = np.zeros(len(epsilons))
    for number in range(tables):
        own = _draws(design, method, design.table(rng))
        for place, epsilon in enumerate(epsilons):
            seeded = SeededRandomness(1000 * number + place)
            found[place] += accuracies(own.draw(k, epsilon, trials, seeded).picks, right).mean()
    return found / tables


def _draws(design: Known, name: str, rows: DataSet) -> Draws:
    """Return what `evaluate` draws from, with bounds of three standard deviations."""
    method = parse_methods([name])[0]
    assert method.mechanism is not None
    parameters = method.parameters(None)
    neighbors, unit = Neighbors.ADD_REMOVE, Unit()
    two = design.share is not None
    if name == "stump":
        target = Target(classes=2 if two else design.classes)
        return StumpDraws(rows, target, neighbors, unit, method.mechanism, parameters)
    three = np.full(design.features, 3.0)
    bounds = Bounds(-three, three, UNIT_INTERVAL if two else Interval(-3.0, 3.0), two)
    scores = table_scores(method.ranking, rows, bounds, neighbors, unit)
    return ScoreDraws(scores, method.mechanism, parameters)
