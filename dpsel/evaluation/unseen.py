"""How well a model with the picks does on rows that neither it nor the selection saw."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.matrix import column_groups
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.core.target import MOST_CLASSES
from dpsel.core.words import words_of
from dpsel.errors import InputError
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.evaluation.methods import MethodDraws
from dpsel.evaluation.metrics import (
    ACCURACY,
    BY_ALL,
    BY_NONE,
    BY_SIS,
    R_SQUARED,
    UNSEEN_NUMBERS,
    correlations,
    normal_summary,
)
from dpsel.records import frozen
from dpsel.selection.exact import exact_top_k

_PENALTIES = (0.1, 1.0, 10.0)
_MOST_WORK = 1e10
"""The most multiplications for a model of all features in one fold; else it is left out."""
MOST_WORDS = 30
"""How many words of a column a model may use."""
_FARTHEST = 1e6
"""Test cells are clipped at this many standard deviations, so that nothing overflows."""


@frozen
class UnseenTarget:
    """The target that a model predicts on unseen rows: classes or numbers. Private."""

    values: FloatArray = field(repr=False)
    """Codes of classes, or numbers with mean 0 and standard deviation 1; NaN if missing."""
    classes: int
    """The number of classes; 0 for numbers."""

    @staticmethod
    def of(y: FloatArray, *, labels: bool) -> "UnseenTarget":
        """Return labels, and targets with just two values, as classes; other targets as numbers."""
        known = np.isfinite(y)
        distinct, places = np.unique(y[known], return_inverse=True)
        values = np.full(len(y), np.nan)
        if len(distinct) == 2 or (labels and len(distinct) <= MOST_CLASSES):
            values[known] = places
            return UnseenTarget(values, len(distinct))
        near = y[known] / max(np.abs(y[known]).max(initial=0.0), np.finfo(float).tiny)
        values[known] = (near - near.mean()) / near.std() if len(distinct) > 1 else 0.0
        return UnseenTarget(values, 0)

    @property
    def measure(self) -> str:
        """Return the measure: the share of rows whose class is right, or R^2 of numbers."""
        return ACCURACY if self.classes else R_SQUARED

    def folds(self, count: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield rows for training and for testing; each row with a target is tested once.

        The numbers of rows of a class differ between folds by at most one.
        """
        rng = seeded_generator(seed)
        order = rng.permutation(np.flatnonzero(np.isfinite(self.values)))
        if self.classes:
            order = order[np.argsort(self.values[order], kind="stable")]
        fold_of = np.arange(len(order)) % count
        for fold in range(count):
            yield np.sort(order[fold_of != fold]), np.sort(order[fold_of == fold])

    def share(self, errors: float) -> float | None:
        """Return accuracy or R^2 from the errors on all rows; None if the target is constant."""
        known = np.isfinite(self.values)
        if not self.classes and not self.values[known].any():
            return None
        return 1.0 - errors / int(np.count_nonzero(known))


@frozen
class FoldTest:
    """One fold: a ridge model is fitted to the training rows and predicts the others. Private.

    The cells are raw for every method; missing and infinite ones, and words, count as the mean of
    the training rows. Each of the most frequent words of a column is also a feature: see
    `with_indicators`.
    """

    X: FloatArray = field(repr=False)
    target: UnseenTarget
    train: IntArray = field(repr=False)
    test: IntArray = field(repr=False)

    def error(self, picks: Sequence[int]) -> float:
        """Return how many test rows a model with these features gets wrong, or squared errors."""
        y, classes = self.target.values, self.target.classes
        chosen = self.X[:, np.array(picks, dtype=np.int64)]
        X, unseen = standardized(*with_indicators(chosen[self.train], chosen[self.test]))
        if not classes:
            predicted = ridge(X, y[self.train, np.newaxis], unseen)[:, 0]
            return float(((predicted - y[self.test]) ** 2).sum())
        signs = np.where(y[self.train, np.newaxis] == np.arange(classes), 1.0, -1.0)
        predicted = ridge(X, signs, unseen).argmax(axis=1)
        return float(np.count_nonzero(predicted != y[self.test]))

    def references(self, ks: Sequence[int]) -> dict[str, Any]:
        """Return the errors of SIS for each k, of all features and of no feature.

        SIS selects the features that correlate most with the target in the training rows. Words do
        not correlate.
        """
        n, d = len(self.train), self.X.shape[1]
        width = d + MOST_WORDS * sum(
            np.count_nonzero(words_of(some)[0].any(axis=0)) for _, some in column_groups(self.X)
        )
        X, _ = standardized(self.X[self.train], self.X[:0])
        values = correlations(X, self.target.values[self.train])
        all_features = None
        if n * width * min(n, width) <= _MOST_WORK:
            all_features = self.error(range(d))
        return {
            BY_SIS: [[k, self.error(exact_top_k(values, k).tolist())] for k in ks],
            BY_ALL: all_features,
            BY_NONE: self.error([]),
        }


def with_indicators(X: FloatArray, unseen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Append a column of 0 and 1 for each of the most frequent words of every column of X.

    Any other word, such as one that only unseen rows have, is 0 in all of them.
    """
    is_word, codes = words_of(X)
    _, unseen_codes = words_of(unseen)
    columns, unseen_columns = [X], [unseen]
    for column in np.flatnonzero(is_word.any(axis=0)).tolist():
        words, counts = np.unique(codes[is_word[:, column], column], return_counts=True)
        frequent = words[np.argsort(-counts, kind="stable")[:MOST_WORDS]]
        columns.append(codes[:, [column]] == frequent)
        unseen_columns.append(unseen_codes[:, [column]] == frequent)
    if len(columns) == 1:
        return X, unseen
    return np.hstack(columns), np.hstack(unseen_columns)


def standardized(X: FloatArray, unseen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale X to mean 0 and deviation 1, and `unseen` alike; a constant column becomes 0."""
    known = np.isfinite(X)
    peak = np.abs(np.where(known, X, 0.0)).max(axis=0, initial=0.0)
    peak[peak == 0.0] = 1.0
    count = np.maximum(1, known.sum(axis=0))
    near = np.where(known, X, 0.0) / peak
    center = near.sum(axis=0) / count
    near = np.where(known, near - center, 0.0)
    size = np.sqrt((near**2).sum(axis=0) / len(X)) if len(X) else np.zeros(X.shape[1])
    size[size <= 1e-12] = np.inf
    with np.errstate(over="ignore"):
        there = np.where(np.isfinite(unseen), unseen / peak - center, 0.0) / size
    return near / size, np.clip(there, -_FARTHEST, _FARTHEST)


def ridge(X: FloatArray, Y: FloatArray, unseen: FloatArray) -> FloatArray:
    """Return the predictions of a ridge model of standardized features for unseen rows.

    Its penalty, 0.1, 1 or 10, is the one with the least squared error when each row is left out in
    turn. RidgeCV and RidgeClassifierCV of scikit-learn do the same, in ten times the time.
    """
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    middle = Y.mean(axis=0)
    weights, least = np.zeros((X.shape[1], Y.shape[1])), math.inf
    for penalty in _PENALTIES:
        inner = (s / (s**2 + penalty))[:, np.newaxis] * (U.T @ (Y - middle))
        hat = U**2 @ (s**2 / (s**2 + penalty)) + 1 / len(Y)
        left_out = (Y - middle - U @ (s[:, np.newaxis] * inner)) / np.maximum(
            1 - hat[:, np.newaxis], 1e-12
        )
        error = float((left_out**2).sum())
        if error < least:
            weights, least = Vt.T @ inner, error
    return np.asarray(unseen @ weights + middle)


def fold_tests(data: EvaluationData, count: int, seed: int) -> list[FoldTest]:
    """Return the folds of a table, which depend on the seed.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/evaluation/test_unseen.py
    """
    target = UnseenTarget.of(data.raw.y, labels=data.labels)
    folds = [
        FoldTest(data.whole.X, target, train, test)
        for train, test in target.folds(count, derived_seed(seed, data.name, "folds"))
    ]
    if not all(len(fold.train) and len(fold.test) for fold in folds):
        raise InputError(f"{data.name}: has fewer rows with a target than --unseen has folds")
    return folds


def training_rows(data: EvaluationData, fold: FoldTest, number: int) -> EvaluationData:
    """Return the training rows of a fold as a data set to select from."""
    rows = DataSet(np.asfortranarray(data.raw.X[fold.train]), data.raw.y[fold.train])
    cells = None if data.cells is None else np.asfortranarray(data.whole.X[fold.train])
    return replace(data, name=f"{data.name}, fold {number}", raw=rows, cells=cells)


@frozen
class FoldWork:
    """What a worker needs to test the picks of one fold."""

    draws: MethodDraws
    """The methods on the training rows of the fold."""
    test: FoldTest


def errors_of_picks(work: Sequence[FoldWork], task: tuple[int, str, int, float]) -> list[float]:
    """Draw the trials of one cell from the training rows of a fold, and return their errors."""
    fold, method, k, epsilon = task
    drawn = work[fold].draws.draw(method, k, epsilon)
    error = cache(work[fold].test.error)
    return [error(tuple(picks)) for picks in drawn.picks.tolist()]


def errors_of_references(
    work: Sequence[FoldTest], task: tuple[int, tuple[int, ...]]
) -> dict[str, Any]:
    """Return the errors of the references that the picks of one fold are compared with."""
    fold, ks = task
    return work[fold].references(ks)


def unseen_summary(target: UnseenTarget, errors: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Return the mean over trials, its 95 % interval and their deviation, from errors of folds.

    The interval covers the randomness of the draws; the folds are taken as given.
    """
    shares = [target.share(sum(trial)) for trial in zip(*errors, strict=True)]
    known = np.array([share for share in shares if share is not None])
    if not len(known):
        return {"unseen_measure": target.measure, **dict.fromkeys(UNSEEN_NUMBERS)}
    numbers = map(_rounded, normal_summary(known))
    return {"unseen_measure": target.measure, **dict(zip(UNSEEN_NUMBERS, numbers, strict=True))}


def reference_summary(
    target: UnseenTarget, errors: Sequence[Mapping[str, Any]], k: int
) -> dict[str, Any]:
    """Return the references for picks of k features, from the errors of folds."""
    found: dict[str, list[float | None]] = {
        BY_SIS: [dict(fold[BY_SIS])[k] for fold in errors],
        BY_ALL: [fold[BY_ALL] for fold in errors],
        BY_NONE: [fold[BY_NONE] for fold in errors],
    }
    return {name: _rounded(_together(target, each)) for name, each in found.items()}


def _together(target: UnseenTarget, errors: Sequence[float | None]) -> float | None:
    """Return the accuracy or R^2 of all folds; None if one was left out."""
    known = [error for error in errors if error is not None]
    return target.share(sum(known)) if len(known) == len(errors) else None


def _rounded(share: float | None) -> float | None:
    """Round to digits that do not depend on the order of summation."""
    return None if share is None else round(share, 6)
