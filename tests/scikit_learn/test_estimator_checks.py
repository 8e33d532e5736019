"""scikit-learn's own checks of an estimator: with a seed, and without."""

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpsel.sklearn import PrivateSelectKBest

# Some checks fit twice and expect the same: this epsilon leaves no chance to anything else.
SURE = 1e6
EXPECTED_TO_FAIL = {
    "check_estimators_empty_data_messages": "a table without rows selects at random: to refuse it "
    "would tell it from a table with one row",
}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        PrivateSelectKBest(epsilon=SURE, k=1),
        PrivateSelectKBest(epsilon=1.0, k=1, seed=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_TO_FAIL,
)
def test_scikit_learn_s_checks_pass(estimator: PrivateSelectKBest, check: Any) -> None:
    check(estimator)
