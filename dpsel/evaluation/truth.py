"""Which features count as true: by a LASSO, by SIS, by the exact score `stump`, or by name.

There is no privacy guarantee: everything here is for the data holder only.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.matrix import column_groups, target_products
from dpsel.core.median import TAUS, Median
from dpsel.core.scores.stump import WeightRule, matrix_scores
from dpsel.core.target import Target, balanced_by_share, half_splits, sign_rule
from dpsel.core.votes import largest
from dpsel.errors import InputError, UsageError
from dpsel.records import frozen
from dpsel.selection.lasso import PENALTY, lasso_coefficients

if TYPE_CHECKING:
    from dpsel.evaluation.data import DataSet

LASSO, SIS, STUMP, NAMES = "lasso", "sis", "stump", "names"
BY_TABLE = "by table"
"""The default: `STUMP` for a table with columns of words or dates, else `LASSO`, or `SIS` if that
finds nothing."""

_BY_STUMP = "the k best by the exact score stump"


@frozen
class FoundTruth:
    """The true features of one data set: those with the k largest weights, or a known set."""

    weights: FloatArray | None
    known: IntArray | None
    rounds: IntArray | None = None
    """If every true feature has its own weights: those of all features, one row per round."""

    def top(self, k: int) -> IntArray:
        """Return the true features for a k; by weights, at most k and none of weight 0."""
        if self.known is not None:
            return self.known
        if self.rounds is not None:
            return _best_of_rounds(self.rounds[:k])
        assert self.weights is not None
        return largest(self.weights, k)


def _best_of_rounds(rounds: IntArray) -> IntArray:
    """Return the best feature of each round that no earlier round took, unless it scores 0."""
    left, chosen = np.ones(rounds.shape[1], dtype=np.int64), []
    for scores in rounds:
        best = int(np.argmax(scores * left))
        if scores[best] * left[best]:
            chosen.append(best)
            left[best] = 0
    return np.array(sorted(chosen), dtype=np.int64)


@frozen
class Truth:
    """How the true features are defined."""

    kind: str = LASSO
    penalty: float = PENALTY
    names: tuple[str, ...] = ()

    def described(self) -> str:
        """Return the definition in words."""
        by_lasso = f"the k largest coefficients of a LASSO, lambda = {self.penalty:g}"
        known = {LASSO: by_lasso, SIS: "the k largest |x'y|", STUMP: _BY_STUMP}
        known[BY_TABLE] = (
            f"{by_lasso}, or {known[SIS]} if all are 0; where columns hold words or dates, "
            f"{_BY_STUMP}"
        )
        return known.get(self.kind) or ", ".join(self.names)

    def of_table(self, *, words: bool) -> "Truth":
        """Return the definition for one table, which has columns of words or dates, or none."""
        if self.kind != BY_TABLE:
            return self
        return replace(self, kind=STUMP if words else LASSO)

    def instead_of(self, chosen: "Truth", found: FoundTruth) -> "Truth | None":
        """Return what replaces the definition of a table, if any: SIS a LASSO without features."""
        by_lasso = self.kind == BY_TABLE and chosen.kind == LASSO and found.weights is not None
        return replace(self, kind=SIS) if by_lasso and not len(found.top(1)) else None

    def of_all(self, kinds: Sequence[str]) -> "Truth":
        """Return the definition for all tables, given what it was for each of them."""
        return replace(self, kind=kinds[0]) if len(set(kinds)) == 1 else self

    def found(self, rows: "DataSet", features: Sequence[str]) -> FoundTruth:
        """Return the true features of one data set, except by `stump`: see `stump_truth`."""
        if self.kind == LASSO:
            return FoundTruth(lasso_coefficients(rows.X, rows.y, self.penalty), None)
        if self.kind == SIS:
            return FoundTruth(np.abs(target_products(rows.X, rows.y)), None)
        return FoundTruth(None, named_places(self.names, features))


def named_places(names: Sequence[str], features: Sequence[str]) -> IntArray:
    """Return the positions of the features that a truth names, ascending."""
    place = {name: i for i, name in enumerate(features)}
    for name in names:
        if name not in place:
            raise InputError(f"the truth names '{name}', which is not among the features")
    return np.array(sorted(place[name] for name in names), dtype=np.int64)


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, which are separated by commas, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def parse_truth(text: str | None, penalty: float) -> Truth:
    """Parse the option `--truth`: `lasso`, `sis`, `stump`, or names separated by commas."""
    if text is None:
        return Truth(BY_TABLE, penalty)
    if text.strip() in (LASSO, SIS, STUMP):
        return Truth(text.strip(), penalty)
    names = listed_names(text)
    if not names:
        raise UsageError(f"--truth is {LASSO}, {SIS}, {STUMP}, or names of columns with commas")
    return Truth(NAMES, penalty, names)


def stump_truth(rows: "DataSet", target: Target, k: int) -> FoundTruth:
    """Return the true features by the score `stump`, for at most k of them.

    They are what the method `stump` would select without any noise: the rows' weights follow from
    the true counts of two classes, or from the true median of a number.

    Privacy:
        Guarantee: none; the scores are private.
        Tested by: tests/evaluation/test_truth.py
    """
    weights = _exact_rule(rows.y, target, k).weights(rows.y)
    scores = np.zeros((len(weights.values), rows.X.shape[1]), dtype=np.int64)
    for some, X in column_groups(rows.X):
        scores[:, some] = matrix_scores(X, weights)
    if target.in_rounds:
        return FoundTruth(None, None, scores)
    return FoundTruth(scores[0].astype(np.float64), None)


def _exact_rule(y: FloatArray, target: Target, k: int) -> WeightRule:
    """Return the rule for the weights of rows, from the true counts or the true median."""
    if target.in_rounds:
        return WeightRule(half_splits(target.classes, k), target.classes)
    nothing = WeightRule(np.zeros((1, 3), dtype=np.int64), 2)
    if target.classes == 2:
        _, first, second = np.bincount(nothing.groups(y), minlength=3).tolist()
        if not first or not second:
            return nothing
        return WeightRule(balanced_by_share(Fraction(second, first + second)), 2)
    known = np.sort(y[~np.isnan(y)])
    if not len(known):
        return nothing
    middle = known[len(known) // 2]
    below, to = np.searchsorted(known, middle, "left"), np.searchsorted(known, middle, "right")
    share = Fraction(len(known) - 2 * int(below), 2 * int(to - below))
    return sign_rule(Median(float(middle), round(share * TAUS)))
