"""A model with the picks on unseen rows: folds, the ridge model, and what it is compared with."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Neighbors
from dpsel.core.matrix import TiledMatrix
from dpsel.core.target import Target
from dpsel.core.words import boxed_words, words_of
from dpsel.errors import InputError
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.evaluation.grid import parse_ks
from dpsel.evaluation.journal import Journal
from dpsel.evaluation.methods import parse_methods
from dpsel.evaluation.metrics import correlations
from dpsel.evaluation.request import Sweep
from dpsel.evaluation.sweep import run_sweep
from dpsel.evaluation.truth import Truth
from dpsel.evaluation.unseen import (
    MOST_WORDS,
    FoldTest,
    UnseenTarget,
    fold_tests,
    ridge,
    standardized,
    training_rows,
    with_indicators,
)
from dpsel.preprocessing.options import Scale
from dpsel.reporter import Reporter


def made(X: Any, y: FloatArray, *, labels: bool = False, classes: int = 0) -> EvaluationData:
    d = X.shape[1]
    return EvaluationData(
        "made",
        tuple(f"x{i}" for i in range(d)),
        DataSet(X, y),
        Bounds.of([UNIT_INTERVAL] * d, UNIT_INTERVAL),
        labels,
        Target(classes),
    )


def planted(n: int = 200, d: int = 12, seed: int = 0) -> EvaluationData:
    """Return numbers within [-1, 1] whose target follows features 3 and 7."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return made(X, (2 * X[:, 3] + X[:, 7] + 0.1 * rng.normal(size=n)) / 4)


def swept(
    data: EvaluationData, methods: str = "dot/permute-and-flip", **changes: Any
) -> list[dict[str, Any]]:
    journal = Journal(None, {}, resume=False, force=False)
    sweep = replace(asked(methods), **changes)
    return run_sweep([lambda: data], sweep, journal, Reporter(), 1).results


def asked(methods: str) -> Sweep:
    return Sweep(
        methods=parse_methods([methods]),
        ks=parse_ks("2"),
        epsilons=(0.01, 1000.0),
        trials=20,
        seed=0,
        truth=Truth("sis"),
        scale=Scale.NONE,
        clip=1.0,
        neighbors=Neighbors.ADD_REMOVE,
        delta=None,
        blocks=None,
        equal_blocks=False,
        unseen=4,
    )


def test_the_ridge_model_is_scikit_learn_s() -> None:
    from sklearn import linear_model

    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(50, 4)), rng.normal(size=(30, 4))
    for weight in (0.0, 0.3, 3.0):
        y = weight * X[:, 0] + rng.normal(size=50)
        seen, unseen = standardized(X, new)
        expected = linear_model.RidgeCV(alphas=(0.1, 1.0, 10.0)).fit(seen, y).predict(unseen)
        assert np.allclose(ridge(seen, y[:, np.newaxis], unseen)[:, 0], expected)


def test_cells_are_standardized_by_the_training_rows_alone() -> None:
    nan, inf = np.nan, np.inf
    X = np.array([[1.0, 5.0, nan, 1e300], [3.0, 5.0, inf, -1e300], [5.0, 5.0, 2.0, 0.0]])
    new = np.array([[5.0, 7.0, 9.0, inf], [nan, 5.0, -inf, 1e308]])
    seen, unseen = standardized(X, new)
    assert np.isfinite(seen).all()
    assert np.isfinite(unseen).all()
    assert seen[:, 0] == pytest.approx([-(1.5**0.5), 0.0, 1.5**0.5])
    # Constant columns say nothing; what is missing is the mean.
    assert not seen[:, 1:3].any()
    assert not unseen[:, 1:3].any()
    assert unseen[:, 0] == pytest.approx([1.5**0.5, 0.0])
    assert unseen[0, 3] == 0.0


@pytest.mark.parametrize("labels", [True, False])
def test_every_row_with_a_target_is_tested_once_and_not_trained_with(labels: bool) -> None:
    rng = np.random.default_rng(0)
    y = rng.choice([0.0, 1.0, 2.0], 101, p=[0.7, 0.2, 0.1]) if labels else rng.normal(size=101)
    y[[3, 50]] = np.nan
    target = UnseenTarget.of(y, labels=labels)
    folds = list(target.folds(5, seed=1))
    known = set(np.flatnonzero(np.isfinite(y)).tolist())
    assert sorted(row for _, test in folds for row in test.tolist()) == sorted(known)
    for train, test in folds:
        assert set(train.tolist()) == known - set(test.tolist())
    assert len({len(test) for _, test in folds}) <= 2
    for value in (0.0, 1.0, 2.0) if labels else ():
        counts = [np.count_nonzero(y[test] == value) for _, test in folds]
        assert max(counts) - min(counts) <= 1
    again, other = list(target.folds(5, seed=1)), list(target.folds(5, seed=2))
    assert all((a[1] == b[1]).all() for a, b in zip(folds, again, strict=True))
    assert not all(np.array_equal(a[1], b[1]) for a, b in zip(folds, other, strict=True))


def test_labels_and_targets_of_two_values_are_classes_and_others_are_numbers() -> None:
    kinds = {
        "accuracy": [([0.0, 1.0, 2.0, 0.0], True), ([5.0, 9.0, 5.0, np.nan], False)],
        "R^2": [([0.0, 1.0, 2.0, 0.0], False), ([7.0, 7.0, 7.0, 7.0], False)],
    }
    for measure, targets in kinds.items():
        for y, labels in targets:
            assert UnseenTarget.of(np.array(y), labels=labels).measure == measure


def test_r_squared_and_accuracy_are_what_they_say() -> None:
    y = np.array([1.0, 2.0, 4.0, 9.0])
    target = UnseenTarget.of(1e307 * y, labels=False)
    said = target.values + np.array([0.1, -0.1, 0.2, 0.0])
    assert target.share(float(((said - target.values) ** 2).sum())) == pytest.approx(1 - 0.06 / 4)
    labels = UnseenTarget.of(np.array([3.0, 1.0, np.nan, 3.0, 3.0]), labels=True)
    assert labels.share(1.0) == 0.75
    assert UnseenTarget.of(np.ones(4), labels=False).share(0.0) is None


def test_much_epsilon_does_as_well_as_sis_and_little_as_a_random_choice() -> None:
    little, much = swept(planted())
    assert (much["unseen_measure"], little["trials"]) == ("R^2", 20)
    assert much["unseen"] == pytest.approx(much["unseen_sis"])
    assert much["unseen_sis"] > 0.9
    assert much["unseen_all"] > 0.9
    assert -0.1 < much["unseen_none"] <= 0.0
    assert much["unseen_low"] == pytest.approx(much["unseen_high"])
    # Two random features of twelve: at best one of the two that count, mostly.
    assert little["unseen"] < 0.5
    assert little["unseen_low"] < little["unseen"] < little["unseen_high"]
    assert (little["unseen_sd"] > 0.1) == (much["unseen_sd"] < 1e-9)


def test_features_are_selected_inside_the_training_rows() -> None:
    # Among so many columns of noise some tell the few rows they were chosen on, and no others.
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 1000)), np.repeat([0.0, 1.0], 30)
    best = np.argsort(-correlations(X, y))[:5].tolist()
    target = UnseenTarget.of(y, labels=True)
    folds = [FoldTest(X, target, train, test) for train, test in target.folds(5, 0)]
    peeked = target.share(sum(fold.error(best) for fold in folds))
    found = swept(made(X, y, labels=True), "sis@max-abs", ks=parse_ks("5"), trials=2)
    honest = [row["unseen"] for row in found if row["epsilon"] == 1000.0]
    assert peeked is not None
    assert peeked > 0.75
    assert max(*honest, found[0]["unseen_sis"]) < 0.65


@pytest.mark.parametrize("methods", ["stump", "two-stage/peeling", "dpkendall", "kendall", "lasso"])
def test_every_kind_of_method_is_tested_on_unseen_rows(methods: str) -> None:
    (much,) = swept(planted(120, 8), methods, epsilons=(500.0,), trials=2, unseen=2)
    assert much["unseen"] > 0.7


def test_models_tell_three_classes_apart_and_leave_out_missing_targets() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat([0.0, 1.0, 2.0], 40)
    X = rng.normal(size=(120, 9))
    X[:, 4] += 6 * (y == 1)
    X[:, 5] += 6 * (y == 2)
    y[:3] = np.nan
    X[5, 4], X[9, 5] = np.nan, np.inf
    data = made(1e5 * X, y, labels=True, classes=3)
    little, much = swept(data, "stump")
    assert much["unseen_measure"] == "accuracy"
    assert much["unseen"] > 0.85 > 0.7 > little["unseen"]
    assert little["unseen_none"] == pytest.approx(40 / 117)


def test_a_constant_target_has_nothing_to_tell() -> None:
    data = planted()
    data.raw.y[:] = 0.5
    for row in swept(data):
        assert {row[name] for name in row if name.startswith("unseen")} == {"R^2", None}


def test_a_table_with_fewer_rows_than_folds_or_on_disk_is_refused() -> None:
    with pytest.raises(InputError, match=r"^made: has fewer rows with a target than --unseen has"):
        fold_tests(planted(3), 4, 0)
    tiles = TiledMatrix(12)
    data = planted()
    tiles.add(0, data.raw.X)
    with pytest.raises(InputError, match=r"^made: --unseen needs a table that fits in memory$"):
        swept(replace(data, raw=DataSet(tiles, data.raw.y)))


def test_what_a_journal_has_is_not_done_again_and_the_rest_comes_out_the_same() -> None:
    data, sweep = planted(80), replace(asked("dot/peeling,stump"), trials=5)
    whole = Journal(None, {}, resume=False, force=False)
    expected = run_sweep([lambda: data], sweep, whole, Reporter(), 1).results
    half = Journal(None, {}, resume=False, force=False)
    half.found = dict(list(whole.found.items())[::2])
    # Plain enough to be written.
    assert json.loads(json.dumps(whole.found, allow_nan=False)) == whole.found
    done = dict(half.found)
    assert run_sweep([lambda: data], sweep, half, Reporter(), 1).results == expected
    assert half.found == whole.found
    assert all(half.found[key] is value for key, value in done.items())
    # 4 cells; and 4 folds with a comparison and 4 cells each.
    assert len(whole.found) == 4 + 4 * (1 + 4)


def test_progress_comes_to_its_end_once() -> None:
    class Shares(Reporter):
        def __init__(self) -> None:
            self.shares: list[float] = []

        def progress(self, done: float) -> None:
            self.shares.append(done)

    reporter = Shares()
    sweep = replace(asked("dot/peeling,stump"), ks=parse_ks("2,logd"), trials=3)
    journal = Journal(None, {}, resume=False, force=False)
    run_sweep([lambda: planted(60)], sweep, journal, reporter, 1)
    assert reporter.shares == sorted(reporter.shares)
    assert reporter.shares[-1] == 1.0
    assert reporter.shares.count(1.0) == 1


def worded(codes: Any) -> FloatArray:
    """Return a column of words, one for each code."""
    return boxed_words((np.array(codes, dtype=np.uint64) + np.uint64(1)) << np.uint64(20))


def test_words_of_the_training_rows_become_features_and_unseen_words_none() -> None:
    nan = np.nan
    X = np.column_stack([worded([1, 2, 2, 1, 2]), [1.0, nan, 3.0, 4.0, 5.0]])
    X[0, 0], X[4, 1] = 7.0, worded([3])[0]
    new = np.column_stack([worded([9, 2, 1]), [1.0, 2.0, 3.0]])
    seen, unseen = with_indicators(X, new)
    # The more frequent word comes first; the cells themselves stay in front.
    assert seen[:, 2:].tolist() == [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 1]]
    assert unseen[:, 2:].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert np.array_equal(seen[:, :2], X, equal_nan=True)
    assert np.isfinite(standardized(seen, unseen)[0]).all()


def test_numbers_are_left_as_they_are_and_only_frequent_words_become_features() -> None:
    X = np.array([[1.0], [np.nan]])
    assert with_indicators(X, X)[0] is X
    codes = [*range(2 * MOST_WORDS), *range(MOST_WORDS, 2 * MOST_WORDS)]
    many = worded(codes)[:, np.newaxis]
    seen, unseen = with_indicators(many, many[:1])
    assert seen.shape == (len(codes), 1 + MOST_WORDS)
    assert seen[:, 1:].sum(axis=0).tolist() == [2.0] * MOST_WORDS
    assert not unseen[:, 1:].any()


def test_a_model_learns_from_words() -> None:
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 3, 90)
    cells = np.asfortranarray(np.column_stack([worded(codes), rng.normal(size=90)]))
    numbers = np.where(np.isnan(cells), np.nan, cells)
    numbers[:, 0] = np.nan
    data = replace(
        made(numbers, np.where(codes == 1, 1.0, -1.0), classes=2), cells=cells, wordy=("x0",)
    )
    for number, fold in enumerate(fold_tests(data, 3, 0)):
        assert fold.error([0]) == 0.0
        assert fold.error([1]) > 0.0
        found = fold.references([1])
        # SIS knows only numbers.
        assert found["unseen_sis"] == [[1, fold.error([1])]]
        assert found["unseen_all"] == 0.0
        part = training_rows(data, fold, number)
        assert part.cells is not None
        assert np.array_equal(words_of(part.whole.X)[1], words_of(cells[fold.train])[1])
