"""A table in memory, scaled as `select` or `preprocess` would scale it."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsel.cli.app import run
from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import ONE, Bounds, Interval
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.preprocessing.options import DEFAULT_CLIP, Scale

FEATURES = tuple(f"x{i}" for i in range(5))
INTERVALS = [(-3.0, 3.0), (0.0, 10.0), (-1.0, 1.0), (5.0, 7.0), (-100.0, 1.0)]
BOUNDS = Bounds.of([Interval(*ends) for ends in INTERVALS], Interval(-2.0, 6.0))


def raw_table(labels: bool) -> DataSet:
    """Return columns of all kinds: skewed, with outliers, with holes, of few values, constant."""
    rng = np.random.default_rng(12)
    n = 101
    X = np.column_stack(
        [
            rng.standard_normal(n),
            rng.exponential(3.0, n),
            rng.standard_t(2, n),
            rng.choice([0.0, 0.0, 0.0, 1.0], n),
            np.full(n, 0.3),
        ]
    )
    X[rng.random(X.shape) < 0.05] = np.nan
    X[3, 1] = 400.0
    # Labels: one is rare, so that robust scaling of the target itself would clip it.
    y = rng.choice(3, n, p=[0.8, 0.15, 0.05]).astype(np.float64) if labels else 9 * X[:, 1] - 4
    y[[5, 50]] = np.nan
    return DataSet(X, y)


def data(*, labels: bool = False, bounds: Bounds = BOUNDS) -> EvaluationData:
    return EvaluationData("made", FEATURES, raw_table(labels), bounds, labels)


def by_hand(value: float, lower: float, upper: float) -> float:
    """Clip a value, map it to [-1, 1], and round it to the grid: one cell, in plain Python."""
    if np.isnan(value):
        return 0.0
    clipped = min(max(value, lower), upper)
    return round((clipped - (lower + upper) / 2) / ((upper - lower) / 2) * ONE) / ONE


def test_without_scaling_every_cell_is_clipped_to_its_public_bounds_alone() -> None:
    found = data().scaled(Scale.NONE, DEFAULT_CLIP)
    raw = raw_table(labels=False)
    for place, (lower, upper) in enumerate(INTERVALS):
        expected = [by_hand(value, lower, upper) for value in raw.X[:, place].tolist()]
        assert found.X[:, place].tolist() == expected
    assert found.y.tolist() == [by_hand(value, -2.0, 6.0) for value in raw.y.tolist()]
    # The table leaves its bounds on both sides, or nothing would be clipped.
    assert {-1.0, 1.0} <= set(found.X[:, 2].tolist())
    assert np.isnan(raw.X).any()


@given(st.lists(st.floats(), min_size=1, max_size=6), st.sampled_from(Scale))
def test_any_table_comes_to_lie_on_the_grid_within_1(column: list[float], scale: Scale) -> None:
    X = np.array(column)[:, np.newaxis]
    bounds = Bounds.of([Interval(-2.0, 5.0)], Interval(-1e300, 1e300))
    made = EvaluationData("any", ("x",), DataSet(X, X[::-1, 0].copy()), bounds, False)
    found = made.scaled(scale, DEFAULT_CLIP)
    for cells in (found.X, found.y):
        assert (np.abs(cells) <= 1.0).all()
        assert np.array_equal(cells * ONE, np.rint(cells * ONE))
    assert found.X.shape == X.shape
    assert found.X.flags.f_contiguous


def preprocessed(table: Path, written: Path, *options: str) -> FloatArray:
    """Return the table that the command writes."""
    assert run(["preprocess", str(table), str(written), "--target", "y", "--quiet", *options]) == 0
    frame = pl.read_parquet(written)
    assert frame.columns == [*FEATURES, "y"]
    return frame.to_numpy().astype(np.float64)


@pytest.mark.parametrize("clip", [0.75, 3.0])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("scale", [Scale.MAX_ABS, Scale.ROBUST])
def test_scaled_rows_are_those_that_preprocess_writes(
    scale: Scale, labels: bool, clip: float, tmp_path: Path
) -> None:
    raw = raw_table(labels)
    names = {0.0: "benign", 1.0: "malign", 2.0: "other"}
    target = [names.get(code) for code in raw.y.tolist()] if labels else raw.y
    frame = pl.DataFrame(raw.X, schema=list(FEATURES)).with_columns(y=pl.Series(target))
    frame.fill_nan(None).write_parquet(tmp_path / "raw.parquet")
    options = ["--scale", str(scale), "--clip", str(clip), *(["--encode-target"] if labels else [])]
    written = preprocessed(tmp_path / "raw.parquet", tmp_path / "bounded.parquet", *options)
    found = data(labels=labels).scaled(scale, clip)
    # What is written is not on the grid yet; `select` puts it there.
    expected = np.rint(written * ONE) / ONE
    assert np.array_equal(found.X, expected[:, :-1])
    assert np.array_equal(found.y, expected[:, -1])
    assert not np.array_equal(found.X, data(labels=labels).scaled(Scale.NONE, clip).X)


@pytest.mark.parametrize("scale", [Scale.MAX_ABS, Scale.ROBUST])
def test_labels_are_never_clipped(scale: Scale) -> None:
    made = data(labels=True)
    present = ~np.isnan(made.raw.y)
    codes = made.raw.y[present]
    found = made.scaled(scale, DEFAULT_CLIP).y
    assert (found[~present] == 0.0).all()
    found = found[present]
    # Centred by the mean, divided by the farthest: three labels, as far apart as their codes.
    mean = codes.mean()
    assert np.allclose(found, (codes - mean) / (2.0 - mean), atol=2 / ONE, rtol=0)
    assert len(set(found.tolist())) == 3
    # The same numbers as a measured target: robust scaling clips the rare ones together.
    measured = EvaluationData(made.name, FEATURES, made.raw, made.bounds, labels=False)
    measured_y = measured.scaled(scale, DEFAULT_CLIP).y[present]
    assert len(set(measured_y.tolist())) == (2 if scale is Scale.ROBUST else 3)


def test_clip_says_how_many_robust_deviations_become_1() -> None:
    X = np.arange(-50.0, 51.0)[:, np.newaxis]
    made = EvaluationData("line", ("x",), DataSet(X, X[:, 0].copy()), BOUNDS, labels=False)
    for clip in (0.5, 1.0):
        # The median distance from the median 0 is 25.
        expected = np.clip(X[:, 0] / (clip * 1.4826 * 25), -1, 1)
        assert np.allclose(made.scaled(Scale.ROBUST, clip).y, expected, atol=1 / ONE, rtol=0)
    reach = made.scaled(Scale.MAX_ABS, 0.5).y
    assert np.allclose(reach, X[:, 0] / 50, atol=1 / ONE, rtol=0)


@pytest.mark.parametrize("scale", Scale)
def test_scaling_leaves_the_raw_rows_as_they_are_and_off_the_repr(scale: Scale) -> None:
    made = data()
    before = made.raw.X.copy(), made.raw.y.copy()
    made.scaled(scale, DEFAULT_CLIP)
    assert np.array_equal(made.raw.X, before[0], equal_nan=True)
    assert np.array_equal(made.raw.y, before[1], equal_nan=True)
    assert repr(made.raw) == "DataSet()"
