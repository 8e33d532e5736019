"""`dpsel reproduce`, on small numbers of everything."""

import csv
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn import linear_model

from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.paper.comparisons import PAPER, r_squared_row, unseen_means
from dpsel.paper.experiments import mean_over_sets
from dpsel.paper.synthetic import pooled
from tests.cli.conftest import ROOT, Dpsel, dpsel

__all__ = ["dpsel"]
SHARED = ROOT.parent / "shared" / "data"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as lines:
        return list(csv.DictReader(lines))


def labelled(folder: Path, name: str, seed: int, d: int = 30) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, d)) * rng.uniform(1, 1000, d)
    y = np.where(X[:, 0] / X[:, 0].std() + 0.3 * rng.standard_normal(60) > 0, "ill", "well")
    frame = pl.DataFrame({f"g{i}": X[:, i] for i in range(d)})
    frame.with_columns(y=pl.Series(y)).write_parquet(folder / f"{name}.parquet")


def test_stability_finds_sis_ahead_of_two_stage(dpsel: Dpsel, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = dpsel("reproduce", "stability", "--repetitions", 40, "--output", out, "--threads", 1)
    assert result.code == 0, result.err
    found = {(row["experiment"], row["method"]): row for row in rows(out / "stability.csv")}
    for experiment in ("W1", "W1/W2"):
        sis = float(found[experiment, "SIS"]["share_of_true"])
        for method in ("two-stage", "two-stage, 5 votes a block"):
            row = found[experiment, method]
            assert float(row["share_of_true"]) < sis
            assert float(row["p_sis_not_better"]) < 1e-6
    counts = pl.read_csv(out / "stability_counts.csv")
    assert set(counts.group_by("experiment", "method").agg(pl.col("chosen").sum())["chosen"]) == {
        200
    }
    assert (out / "stability.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(p.name for p in out.iterdir()) == [
        "stability.csv",
        "stability.png",
        "stability_counts.csv",
    ]
    assert {stat.S_IMODE(file.stat().st_mode) for file in out.iterdir()} == {0o600}


def test_synthetic_has_every_cell_of_the_paper(dpsel: Dpsel, tmp_path: Path) -> None:
    result = dpsel("reproduce", "synthetic", "--trials", 2, "--output", tmp_path, "--threads", 1)
    assert result.code == 0, result.err
    found = pl.read_csv(tmp_path / "synthetic.csv")
    assert found.height == 2 * 2 * 12
    assert set(found["k"]) == {5, 8}
    assert found["true_size"].to_list() == found["k"].to_list()
    assert (found["n"][0], found["d"][0], found["trials"][0]) == (100, 2000, 2)
    assert (found["epsilon"].min(), found["epsilon"].max()) == (0.1, 20.0)


def test_datasets_writes_curves_heat_maps_report_and_r_squared(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    tables, out = tmp_path / "tables", tmp_path / "out"
    tables.mkdir()
    labelled(tables, "alon", 1)
    labelled(tables, "mine", 2)
    options = ("--output", out, "--trials", 20, "--threads", 1, "--beyond")
    result = dpsel("reproduce", "datasets", tables, *options)
    assert result.code == 0, result.err
    assert sorted(p.name for p in out.iterdir()) == [
        "datasets.csv",
        "datasets.html",
        "datasets_accuracy.png",
        "datasets_claims.csv",
        "datasets_claims_summary.csv",
        "datasets_clipping_accuracy.png",
        "datasets_clipping_relative_correlation.png",
        "datasets_epsilon_needed.csv",
        "datasets_heatmap_5.png",
        "datasets_heatmap_logd.png",
        "datasets_kendall_accuracy.png",
        "datasets_kendall_relative_correlation.png",
        "datasets_mechanisms_accuracy.png",
        "datasets_mechanisms_relative_correlation.png",
        "datasets_r_squared.csv",
    ]
    found = pl.read_csv(out / "datasets.csv")
    assert set(found["k"]) == {5, 3}
    assert found.filter(pl.col("method") == "dpkendall")["trials"].to_list() == [1] * 48
    fits = rows(out / "datasets_r_squared.csv")
    assert [(row["dataset"], row["paper"]) for row in fits] == [("alon", "0.4822"), ("mine", "")]
    again = dpsel("reproduce", "datasets", tables, *options)
    assert again.code == 5
    assert "exists already" in again.err


def test_stump_and_dp_sis_are_compared_by_a_model_on_unseen_rows(
    dpsel: Dpsel, tmp_path: Path
) -> None:
    tables, out = tmp_path / "tables", tmp_path / "out"
    tables.mkdir()
    labelled(tables, "alon", 1, d=8)
    labelled(tables, "mine", 2, d=8)
    options = ("--output", out, "--trials", 2, "--threads", 1)
    result = dpsel("reproduce", "unseen", tables, *options)
    assert result.code == 0, result.err
    assert sorted(p.name for p in out.iterdir()) == ["unseen.csv", "unseen.png", "unseen_means.csv"]
    found = pl.read_csv(out / "unseen.csv")
    assert found.select("method", "epsilon").unique().height == 2 * 5
    assert set(found["unseen_measure"]) == {"accuracy"}
    means = {
        (row["measure"], row["method"], row["epsilon"]): row
        for row in rows(out / "unseen_means.csv")
    }
    assert len(means) == 3 * 2 * 5
    row = means["accuracy on unseen rows", "stump", "10.0"]
    own = found.filter(pl.col("method") == "stump", pl.col("epsilon") == 10.0)["unseen"].to_numpy()
    assert float(row["mean"]) == pytest.approx(own.mean(), abs=1e-4)
    assert float(row["standard_error"]) == pytest.approx(own.std(ddof=1) / 2**0.5, abs=1e-4)
    assert (row["data_sets"], float(row["mean"]) > 0.6) == ("2", True)
    # Both have two classes.
    two, all_sets = "correlation of the picks, two classes", "correlation with coded labels"
    assert means[two, "stump", "1.0"]["mean"] == means[all_sets, "stump", "1.0"]["mean"]


def test_correlations_are_also_shown_for_sets_with_two_classes_alone() -> None:
    cells = [
        {"dataset": name, "method": "stump", "epsilon": 1.0, "unseen": share, "unseen_sis": 0.75,
         "relative_correlation": share}
        for name, share in (("two", 0.5), ("three", 1.0), ("also two", 0.25))
    ]  # fmt: skip
    found = unseen_means(pl.DataFrame(cells), {"two": 2, "three": 3, "also two": 2})
    assert [(row["data_sets"], row["mean"]) for row in found] == [
        (3, 0.5833),
        (2, 0.375),
        (3, 0.5833),
    ]
    assert [row["sis"] for row in found] == [0.75, 1.0, 1.0]


def test_order_statistics_uses_ten_features(dpsel: Dpsel, tmp_path: Path) -> None:
    labelled(tmp_path, "wide", 3, d=50)
    out = tmp_path / "out"
    options = ("--output", out, "--trials", 10, "--threads", 1)
    result = dpsel("reproduce", "order-statistics", tmp_path / "wide.parquet", *options)
    assert result.code == 0, result.err
    found = pl.read_csv(out / "order_statistics.csv")
    assert set(found["k"]) == {10}
    assert (found["top"] <= found["great"]).all()
    assert (found["great"] <= found["good"]).all()


def test_an_empty_folder_is_an_input_error(dpsel: Dpsel, tmp_path: Path) -> None:
    result = dpsel("reproduce", "datasets", tmp_path, "--output", tmp_path / "out")
    assert (result.code, result.err) == (3, f"error: {tmp_path}: has no Parquet table\n")


def test_r_squared_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    X = rng.uniform(0, 100, (50, 20))
    y = (X[:, 0] > 50).astype(float)
    names = tuple(f"x{i}" for i in range(20))
    unit = Bounds.of([UNIT_INTERVAL] * 20, UNIT_INTERVAL)
    found = r_squared_row(EvaluationData("golub", names, DataSet(X, y), unit, labels=True))
    scaled_y = (y - y.mean()) / np.abs(y - y.mean()).max()

    def fit(columns: Any) -> float:
        return float(linear_model.Lasso(alpha=0.1).fit(columns, scaled_y).score(columns, scaled_y))

    centred = X - X.mean(axis=0)
    assert found["mean_and_max_abs"] == pytest.approx(
        fit(centred / np.abs(centred).max(axis=0)), abs=1e-3
    )
    between = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) * 2 - 1
    assert found["min_max"] == pytest.approx(fit(between), abs=1e-3)
    assert found["paper"] == PAPER["golub"] == 0.6819


def test_trials_on_different_tables_are_pooled() -> None:
    common = {"dataset": "synthetic 0", "method": "m", "top": 1.0, "great": 0.0, "good": 1.0}
    common |= {
        "tied": 0.0,
        "relative_correlation": 0.5,
        "bound": None,
        "jaccard": None,
        "trials": 1,
    }
    found = pooled([{**common, "accuracy": a} for a in (0.0, 0.4, 0.8)])
    assert (found["accuracy"], found["trials"], found["dataset"]) == (
        pytest.approx(0.4),
        3,
        "synthetic",
    )
    assert found["accuracy_sd"] == pytest.approx(0.4)
    assert found["accuracy_low"] < 0.4 < found["accuracy_high"]
    assert found["bound"] is None


@pytest.mark.long
@pytest.mark.skipif(not SHARED.exists(), reason="the paper's data sets are not ours to ship")
def test_dp_sis_beats_two_stage_on_the_papers_data(dpsel: Dpsel, tmp_path: Path) -> None:
    result = dpsel("reproduce", "datasets", SHARED, "--output", tmp_path, "--trials", 50)
    assert result.code == 0, result.err
    found = pl.read_csv(tmp_path / "datasets.csv").filter(pl.col("epsilon") == 20.0)
    wide = found.pivot("method", index=["dataset", "k_asked"], values="accuracy")
    assert (wide["dp-sis"] >= wide["two-stage"] - 0.05).all()
    assert np.mean((wide["dp-sis"] - wide["two-stage"]).to_numpy()) > 0.2


def test_the_mean_over_data_sets_has_the_interval_of_its_draws() -> None:
    from dpsel.evaluation.results import results_frame

    common = {"n": 9, "d": 30, "method": "m", "k": 5, "k_asked": "logd", "epsilon": 1.0}
    common |= {"trials": 100, "accuracy_sd": 0.3, "accuracy_low": 0.0, "accuracy_high": 1.0}
    cells = [
        {**common, "dataset": name, "accuracy": accuracy}
        for name, accuracy in (("a", 0.2), ("b", 0.6))
    ]
    found = mean_over_sets(results_frame(cells), "accuracy").to_dicts()
    assert len(found) == 1
    assert found[0]["accuracy"] == pytest.approx(0.4)
    # Two independent means, each with a standard error of 0.03.
    assert found[0]["accuracy_high"] == pytest.approx(0.4 + 1.96 * 0.03 / 2**0.5)
    assert found[0]["accuracy_low"] == pytest.approx(0.4 - 1.96 * 0.03 / 2**0.5)
    assert found[0]["dataset"] == "mean of 2 data sets"
