"""The epsilon a method needs, on curves made by hand."""

from typing import Any

import polars as pl
import pytest

from dpsel.paper.comparisons import epsilon_needed


def frame(curves: dict[str, list[float]], sets: int = 1) -> pl.DataFrame:
    epsilons = [1.0, 10.0, 100.0]
    rows = [
        {
            "dataset": f"s{i}",
            "method": method,
            "k_asked": "5",
            "epsilon": epsilon,
            "accuracy": value + 0.02 * (i - (sets - 1) / 2),
            "relative_correlation": 1.0 if method == "sis" else value / 2,
            "private": method != "sis",
        }
        for i in range(sets)
        for method, values in curves.items()
        for epsilon, value in zip(epsilons, values, strict=True)
    ]
    return pl.DataFrame(rows)


def needed(curves: dict[str, list[float]], **options: Any) -> dict[tuple[str, str], float | None]:
    found = epsilon_needed(frame(curves, **options))
    return {(row["metric"], row["method"]): row["epsilon_needed"] for row in found}


def test_curves_are_straight_on_a_logarithmic_axis() -> None:
    found = needed(
        {
            "dp-sis": [0.0, 0.4, 0.9],
            "better": [0.2, 0.6, 0.9],
            "same": [0.0, 0.4, 0.4],
            "worse": [0.0, 0.0, 0.8],
            "never": [0.0, 0.1, 0.3],
            "at once": [0.5, 0.5, 0.5],
            "sis": [1.0, 1.0, 1.0],
        },
        sets=3,
    )
    assert found["accuracy", "dp-sis"] == pytest.approx(10.0)
    assert found["accuracy", "same"] == pytest.approx(10.0)
    assert found["accuracy", "better"] == pytest.approx(10**0.5)
    assert found["accuracy", "worse"] == pytest.approx(10**1.5)
    assert found["accuracy", "never"] is None
    assert found["accuracy", "at once"] == pytest.approx(1.0)
    assert ("accuracy", "sis") not in found
    assert found["relative_correlation", "better"] == pytest.approx(10**0.5)


def test_without_dp_sis_there_is_nothing_to_compare_with() -> None:
    assert epsilon_needed(frame({"other": [0.0, 0.1, 0.2]})) == []
