"""The package as a user with a type checker writes it: mypy checks this file, and it runs.

`assert_type` does nothing when it runs; what it says is checked with `mypy`, as all of tests/ is.
"""

from pathlib import Path
from typing import Any, assert_type

import polars as pl
import pytest

import dpsel

VISITS = Path(__file__).parents[1] / "sample_data" / "visits.csv"
BOUNDS = {"age": (0, 120), "glucose": (20, 600)}


def test_a_user_s_types_hold(tmp_path: Path) -> None:
    visits = pl.read_csv(VISITS)
    bounded = dpsel.preprocess(
        visits, target="came_back", positive="yes", features=["age", "glucose"], bounds=BOUNDS
    )
    assert_type(bounded, dpsel.Preprocessed)
    selection = dpsel.select(bounded, target="came_back", k=1, epsilon=1, seed=1)
    assert_type(selection, dpsel.Selection)
    assert_type(selection.selected_indices, list[int])
    assert_type(selection.to_dict(), dict[str, Any])
    other = dpsel.baseline(bounded, target="came_back", k=1, method="sis")
    assert_type(other, dpsel.Selection)
    found = dpsel.evaluate(
        bounded, target="came_back", k=1, epsilon=2.0, method="stump", truth="sis", trials=2
    )
    assert_type(found, dpsel.Evaluation)
    assert_type(found.results, pl.DataFrame)
    plan = dpsel.plan(rows=60, features=5, k=1, epsilon=[1, 2], tables=1)
    assert_type(plan, dpsel.Plan)
    assert_type(plan.to_frame(), pl.DataFrame)
    certificate = dpsel.audit(mechanism="joint", d=3, k=1, samples=100, threads=1)
    assert_type(certificate, dpsel.Certificate)
    ledger = dpsel.Ledger.init("patients", epsilon="0.3", ledger_file=tmp_path / "ledger")
    assert_type(ledger, dpsel.Ledger)
    assert_type(ledger.name, str)
    assert_type(dpsel.card(selection), str)
    try:
        ledger.charge(epsilon=1, by="another tool")
    except dpsel.BudgetError as error:
        assert_type(error.exit_code, int)
    assert_type(dpsel.__version__, str)


def test_what_is_no_name_or_no_value_is_an_error_for_a_type_checker_and_python() -> None:
    # An ignored error that is none would be reported.
    with pytest.raises(AttributeError):
        dpsel.selects()  # type: ignore[attr-defined]
    with pytest.raises(dpsel.UsageError):
        dpsel.select(VISITS, target="came_back", epsilon="1")  # type: ignore[arg-type]
