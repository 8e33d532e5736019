"""Which features count as the true ones: by a LASSO, by SIS, by stump, or by name."""

import numpy as np
import pytest

from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.randomness import make_randomness
from dpsel.core.target import Target
from dpsel.core.words import boxed_words
from dpsel.errors import InputError, UsageError
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.methods import StumpDraws
from dpsel.evaluation.truth import FoundTruth, Truth, parse_truth, stump_truth

FEATURES = ("a", "b", "c", "d", "e", "f")


def table() -> DataSet:
    """Return rows whose features weigh 0.9, -0.6 and 0.3 at places 1, 4 and 2, and 0 elsewhere."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (400, 6))
    return DataSet(X, X @ np.array([0.0, 0.9, 0.3, 0.0, -0.6, 0.0]))


def test_the_truth_of_a_lasso_is_scikit_learn_s() -> None:
    from sklearn import linear_model

    rows = table()
    for penalty in (0.1, 0.02):
        found = parse_truth("lasso", penalty).found(rows, FEATURES)
        expected = linear_model.Lasso(alpha=penalty).fit(rows.X, rows.y).coef_
        assert found.weights is not None
        assert np.array_equal(found.weights, expected)
        assert found.known is None
    assert [found.top(k).tolist() for k in (1, 2, 3)] == [[1], [1, 4], [1, 2, 4]]
    # Only three weights are not 0.
    assert found.top(6).tolist() == [1, 2, 4]


def test_the_truth_of_sis_is_the_largest_products_with_the_target() -> None:
    rows = DataSet(
        np.array([[1.0, 0.0, -0.5, 1.0], [1.0, 0.0, -1.0, -1.0]]),
        np.array([0.5, 0.5]),
    )
    # |x'y| is 1, 0, 0.75 and 0: those of 0 are never true.
    found = parse_truth("sis", 0.1).found(rows, FEATURES[:4])
    assert found.weights is not None
    assert found.weights.tolist() == [1.0, 0.0, 0.75, 0.0]
    assert [found.top(k).tolist() for k in (1, 2, 3, 4)] == [[0], [0, 2], [0, 2], [0, 2]]


def test_the_largest_weights_count_by_size_and_the_smaller_index_wins_a_tie() -> None:
    found = FoundTruth(np.array([0.5, -2.0, 0.0, 0.5, -0.5]), None)
    assert [found.top(k).tolist() for k in (1, 2, 3, 4)] == [[1], [0, 1], [0, 1, 3], [0, 1, 3, 4]]
    assert found.top(5).tolist() == [0, 1, 3, 4]


def test_a_truth_by_name_is_the_same_for_every_k() -> None:
    found = parse_truth("e, b,f,b ,", 0.1).found(table(), FEATURES)
    assert found.weights is None
    assert [found.top(k).tolist() for k in (1, 3, 6)] == [[1, 4, 5]] * 3


def test_a_name_that_is_no_feature_is_refused_and_quoted() -> None:
    with pytest.raises(InputError, match=r"^the truth names 'z', which is not among the features$"):
        parse_truth("a,z", 0.1).found(table(), FEATURES)


@pytest.mark.parametrize("text", ["", " ", ",", " , ,"])
def test_a_truth_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(
        UsageError, match=r"^--truth is lasso, sis, stump, or names of columns with commas$"
    ):
        parse_truth(text, 0.1)


def test_a_truth_is_described_in_words() -> None:
    expected = "the k largest coefficients of a LASSO, lambda = 0.02"
    assert parse_truth("lasso", 0.02).described() == expected
    assert Truth().described() == "the k largest coefficients of a LASSO, lambda = 0.1"
    assert parse_truth("sis", 0.1).described() == "the k largest |x'y|"
    assert parse_truth("b, a", 0.1).described() == "b, a"


def raw_rows(classes: int) -> DataSet:
    """Return words at place 0, numbers at 1 and noise elsewhere, of which the target follows."""
    rng = np.random.default_rng(classes)
    words = rng.integers(0, 3, 900)
    X = 1e4 * rng.normal(size=(900, 6))
    signal = (words == 1) + 0.5 * (X[:, 1] > 5e3)
    X[:, 0] = boxed_words((words.astype(np.uint64) + np.uint64(1)) << np.uint64(60))
    y = np.digitize(signal, [0.4, 0.9]) * 1.0 if classes == 3 else signal
    y = np.where(y > 0.4, 1.0, -1.0) if classes == 2 else y
    y[::50] = np.nan
    return DataSet(X, y)


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_the_truth_of_stump_is_what_stump_selects_with_endless_epsilon(classes: int) -> None:
    rows, target = raw_rows(classes), Target(classes=classes)
    found = stump_truth(rows, target, 3)
    parameters = dict(MECHANISMS["permute-and-flip"].defaults)
    draws = StumpDraws(rows, target, Neighbors.ADD_REMOVE, Unit(), "permute-and-flip", parameters)
    for k in (1, 2, 3):
        picks = draws.draw(k, 1e5, 3, make_randomness(1)).picks
        assert picks.tolist() == [found.top(k).tolist()] * 3
    assert found.top(1).tolist() == [0]
    assert found.top(2).tolist() == [0, 1]


def test_the_weights_of_a_truth_by_stump_add_up_to_nothing() -> None:
    # A column with the same word everywhere answers every question alike: its score is the sum.
    same = boxed_words(np.full((7, 1), 1 << 60, dtype=np.uint64))
    for y in ([1, 2, 3, 4, 5, 6, 7], [1, 1, 1, 1, 2, 2, 9], [5, 5, 5, 5, 5, 5, 5]):
        numeric = stump_truth(DataSet(same, np.array(y, dtype=np.float64)), Target(), 1)
        assert numeric.weights is not None
        assert numeric.weights[0] < 20
    y = [-1, -1, 1, -1, -1, 1, -1]
    two = stump_truth(DataSet(same, np.array(y, dtype=np.float64)), Target(classes=2), 1)
    assert two.weights is not None
    assert two.weights[0] < 20


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_without_a_target_that_varies_nothing_is_true_by_stump(classes: int) -> None:
    rows = raw_rows(classes)
    for y in (np.full(900, np.nan), np.full(900, 1.0)):
        found = stump_truth(DataSet(rows.X, y), Target(classes=classes), 3)
        if classes == 3 and y[0] == 1.0:
            continue  # One class only: its rows weigh 1 or -1 by the public splits.
        assert not found.top(3).size


def test_by_default_a_table_with_words_has_its_truth_by_stump_and_others_by_a_lasso() -> None:
    default = parse_truth(None, 0.02)
    assert default.of_table(words=True) == parse_truth("stump", 0.02)
    assert default.of_table(words=False) == parse_truth("lasso", 0.02)
    for asked in ("lasso", "sis", "a,b", "stump"):
        truth = parse_truth(asked, 0.1)
        assert truth.of_table(words=True) == truth.of_table(words=False) == truth
    assert default.of_all(["stump", "stump"]) == parse_truth("stump", 0.02)
    assert default.of_all(["stump", "lasso"]) == default
    assert default.described() == (
        "the k largest coefficients of a LASSO, lambda = 0.02, or the k largest |x'y| if all are "
        "0; where columns hold words or dates, the k best by the exact score stump"
    )
    assert parse_truth("stump", 0.1).described() == "the k best by the exact score stump"


def test_by_default_sis_takes_the_place_of_a_lasso_that_uses_no_feature() -> None:
    default, lasso = parse_truth(None, 0.02), parse_truth("lasso", 0.02)
    nothing = FoundTruth(np.zeros(3), None)
    assert default.instead_of(lasso, nothing) == parse_truth("sis", 0.02)
    for found in (FoundTruth(np.array([0.0, -1e-9, 0.0]), None), FoundTruth(None, np.array([1]))):
        assert default.instead_of(lasso, found) is None
    assert default.instead_of(parse_truth("stump", 0.02), nothing) is None
    assert lasso.instead_of(lasso, nothing) is None
