"""Which features count as the true ones: by a LASSO, by SIS, or by name."""

import numpy as np
import pytest

from dpsel.errors import InputError, UsageError
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.truth import FoundTruth, Truth, parse_truth

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
        UsageError, match=r"^--truth is lasso, sis, or names of columns with commas$"
    ):
        parse_truth(text, 0.1)


def test_a_truth_is_described_in_words() -> None:
    expected = "the k largest coefficients of a LASSO, lambda = 0.02"
    assert parse_truth("lasso", 0.02).described() == expected
    assert Truth().described() == "the k largest coefficients of a LASSO, lambda = 0.1"
    assert parse_truth("sis", 0.1).described() == "the k largest |x'y|"
    assert parse_truth("b, a", 0.1).described() == "b, a"
