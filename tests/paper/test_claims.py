"""Claims about data sets, on results made by hand."""

from typing import Any

import polars as pl

from dpsel.paper.comparisons import claims, claims_summary


def cell(dataset: str, method: str, epsilon: float, accuracy: float) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "method": method,
        "k_asked": "5",
        "epsilon": epsilon,
        "accuracy": accuracy,
        "accuracy_sd": 0.1,
        "trials": 100,
    }


CELLS = [
    *(cell("a", "dp-sis", e, x) for e, x in ((1.0, 0.1), (2.0, 0.5), (3.0, 0.9))),
    *(cell("a", "two-stage", e, x) for e, x in ((1.0, 0.1), (2.0, 0.2), (3.0, 0.2))),
    *(cell("b", "dp-sis", e, 0.1) for e in (1.0, 2.0, 3.0)),
    *(cell("b", "two-stage", e, x) for e, x in ((1.0, 0.1), (2.0, 0.11), (3.0, 0.3))),
]


def test_significant_cells_are_counted_for_either_method() -> None:
    fits = [{"dataset": "a", "mean_and_max_abs": 0.8}]
    a, b = claims(pl.DataFrame(CELLS), fits)
    assert (a["dp_sis_better"], a["two_stage_better"], a["first_epsilon"]) == (2, 0, 2.0)
    assert (round(a["largest"], 9), a["smallest"], a["r_squared"]) == (0.7, 0.0, 0.8)
    assert (b["dp_sis_better"], b["two_stage_better"], b["first_epsilon"]) == (0, 1, None)
    assert b["r_squared"] is None
    assert claims_summary([a, b]) == [
        {
            "k_asked": "5",
            "dp_sis_better": 2,
            "two_stage_better": 1,
            "rank_correlation": None,
            "p": None,
        }
    ]


def test_the_rank_correlation_is_that_of_fit_and_gain() -> None:
    rows = [
        {"k_asked": "5", "dp_sis_better": 1, "two_stage_better": 0, "r_squared": r, "largest": g}
        for r, g in ((0.1, 0.2), (0.4, 0.3), (0.9, 0.8))
    ]
    assert claims_summary(rows)[0]["rank_correlation"] == 1.0
