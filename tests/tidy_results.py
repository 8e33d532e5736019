"""Small results and frequencies of the shape that an evaluation has, with known values."""

from typing import Any

import polars as pl

STAMP = "not private, not for release"
EPSILONS = (0.1, 1.0, 10.0)
HOSTILE = '<script>alert("1")</script>\'&\u202e\n$\\x_{$ 日本'


def cell(**changes: Any) -> dict[str, Any]:
    """Return one cell; accuracy has an interval of 0.1 on each side."""
    accuracy = changes.get("accuracy", 0.5)
    usual: dict[str, Any] = {
        "dataset": "golub",
        "n": 72,
        "d": 7129,
        "method": "dp-sis",
        "k": 5,
        "k_asked": "5",
        "epsilon": 1.0,
        "trials": 100,
        "true_size": 5,
        "accuracy": accuracy,
        "accuracy_low": accuracy - 0.1,
        "accuracy_high": accuracy + 0.1,
        "accuracy_sd": 0.2,
        "top": accuracy / 4,
        "great": accuracy / 2,
        "good": accuracy,
        "tied": 0.0,
        "relative_correlation": 0.75,
        "jaccard": 0.25,
        "bound": None,
        "private": True,
        "stamp": STAMP,
    }
    return usual | changes


def frame(cells: list[dict[str, Any]]) -> pl.DataFrame:
    """Return cells as results."""
    return pl.DataFrame(cells, schema_overrides={"bound": pl.Float64})


def tidy(
    datasets: tuple[str, ...] = ("golub", "alon"),
    methods: tuple[str, ...] = ("dp-sis", "two-stage"),
    asked: tuple[str, ...] = ("5", "logd"),
) -> pl.DataFrame:
    """Return results whose accuracy grows with epsilon; `sis` is the method that is not private."""
    cells = []
    for dataset in datasets:
        for k_asked in asked:
            for place, method in enumerate((*methods, "sis")):
                for step, epsilon in enumerate(EPSILONS):
                    private = method != "sis"
                    accuracy = 0.1 + 0.3 * step + 0.05 * place if private else 0.6
                    changes = {"bound": 0.25} if method == "dp-sis" and step == 2 else {}
                    cells.append(
                        cell(
                            dataset=dataset,
                            method=method,
                            k=5 if k_asked == "5" else 8,
                            k_asked=k_asked,
                            epsilon=epsilon,
                            accuracy=accuracy,
                            private=private,
                            **changes,
                        )
                    )
    return frame(cells)


def picked(
    datasets: tuple[str, ...] = ("golub", "alon"),
    methods: tuple[str, ...] = ("dp-sis", "two-stage", "sis"),
    features: int = 30,
    name: str = "gene",
) -> pl.DataFrame:
    """Return frequencies: feature p is picked in a share 1 / (1 + p), the first five are true."""
    return pl.DataFrame(
        [
            {
                "dataset": dataset,
                "method": method,
                "k": 5,
                "k_asked": "5",
                "epsilon": epsilon,
                "feature": f"{name}_{position}",
                "position": position,
                "share": 1 / (1 + position),
                "is_true": position < 5,
            }
            for dataset in datasets
            for method in methods
            for epsilon in EPSILONS
            for position in range(features)
        ]
    )
