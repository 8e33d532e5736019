"""Raw tables: words and dates are cells for `stump`, and missing for methods of numbers."""

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpsel
from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import UNIT_INTERVAL
from dpsel.core.matrix import column_groups
from dpsel.core.words import words_of
from dpsel.evaluation.data import EvaluationData, TableRequest, load_table
from dpsel.reporter import Reporter
from dpsel.tables.bounds_file import uniform_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import FileFormat

N = 60
FEATURES = ("age", "ward", "born", "gaps", "nested")


def frame(*, nested: bool = False) -> pl.DataFrame:
    """Return numbers, words, dates and missing cells."""
    rng = np.random.default_rng(5)
    day = datetime.date(1950, 1, 1)
    gaps = [None if i % 3 else float(i) for i in range(N)]
    wards = rng.choice(["north", "south", "east"], N).tolist()
    found = pl.DataFrame(
        {
            "age": rng.integers(20, 90, N),
            "ward": [None if i == 7 else ward for i, ward in enumerate(wards)],
            "born": [day + datetime.timedelta(days=int(i)) for i in rng.integers(0, 9999, N)],
            "gaps": gaps,
            "nested": [None] * N,
            "y": ["yes" if ward == "north" else "no" for ward in wards],
        }
    )
    return found.with_columns(nested=pl.Series([[i] for i in range(N)])) if nested else found


def loaded(place: Any, *, words: bool = True, **wanted: Any) -> EvaluationData:
    request = TableRequest(
        Wanted("y", labels=True, words=words, **wanted),
        *("yes", False, uniform_bounds(UNIT_INTERVAL), FileFormat(), 1),
    )
    return load_table(place, "t", request, Reporter())


def gathered(X: Any) -> FloatArray:
    return np.hstack([columns for _, columns in column_groups(X)])


@pytest.fixture(params=["csv", "parquet", "arrow", "frame"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same table in several formats."""
    path = tmp_path / f"t.{request.param}"
    if request.param == "csv":
        frame().write_csv(path)
    elif request.param == "parquet":
        frame(nested=True).write_parquet(path)
    elif request.param == "arrow":
        frame(nested=True).write_ipc(path)
    return frame() if request.param == "frame" else str(path)


def test_words_and_dates_are_cells_but_no_numbers_in_every_format(place: Any) -> None:
    data = loaded(place)
    assert data.features == FEATURES
    assert data.wordy == ("ward", "born")
    assert np.isnan(data.raw.X[:, [1, 2, 4]]).all()
    # No NaN of the numbers is a word, which methods of numbers would not expect.
    assert not words_of(data.raw.X)[0].any()
    is_word, codes = words_of(data.whole.X)
    assert is_word.sum(axis=0).tolist() == [0, N - 1, 0, 0, 0]
    assert len(set(codes[:, 1].tolist())) == 4
    assert not np.isnan(data.whole.X[:, 2]).any()
    for column in (0, 3):
        assert np.array_equal(data.raw.X[:, column], data.whole.X[:, column], equal_nan=True)
    assert np.isnan(data.whole.X[:, 3]).sum() == 40
    assert np.isnan(data.whole.X[:, 4]).all()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_of_numbers_is_kept_once_whatever_is_missing(tmp_path: Path, suffix: str) -> None:
    numbers = frame().drop("ward", "born")
    path = tmp_path / f"t.{suffix}"
    numbers.write_csv(path) if suffix == "csv" else numbers.write_parquet(path)
    data = loaded(str(path))
    assert (data.cells, data.wordy) == (None, ())
    assert data.whole is data.raw
    assert np.isnan(data.raw.X[:, 1]).sum() == 40


def test_a_few_words_in_a_column_of_numbers_are_seen_by_stump_alone(tmp_path: Path) -> None:
    cells = ["?" if i in (3, 4) else str(i) for i in range(N)]
    pl.DataFrame({"x": cells, "y": frame()["y"]}).write_csv(tmp_path / "t.csv")
    data = loaded(str(tmp_path / "t.csv"))
    assert data.wordy == ()
    assert np.flatnonzero(np.isnan(data.raw.X[:, 0])).tolist() == [3, 4]
    assert np.flatnonzero(words_of(data.whole.X)[0][:, 0]).tolist() == [3, 4]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_rows_on_disk_are_read_alike(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"t.{suffix}"
    frame().write_csv(path) if suffix == "csv" else frame().write_parquet(path)
    expected = loaded(str(path))
    monkeypatch.setenv("DPSEL_MEMORY", "1000")
    data = loaded(str(path))
    assert data.wordy == expected.wordy
    assert type(data.raw.X) is type(data.whole.X) is not np.ndarray
    for found, there in ((data.raw, expected.raw), (data.whole, expected.whole)):
        bits = gathered(found.X).view(np.uint64)
        assert np.array_equal(bits, there.X.view(np.uint64))


def test_notes_about_cells_are_about_columns_of_numbers_only(place: Any) -> None:
    notes = loaded(place).clipping
    assert any("'age' (100.0% clipped)" in note for note in notes)
    assert not any(name in note for note in notes for name in ("'ward'", "'born'", "north"))


def test_words_among_the_objects_of_a_pandas_frame_are_read_too() -> None:
    pandas = pytest.importorskip("pandas")
    words = pandas.Series(["a", "b", "c", "a"] * 10, dtype=object)
    frame = pandas.DataFrame({"word": words, "number": range(40), "y": (words == "a") * 1.0})
    with warnings.catch_warnings(action="ignore"):  # notes for the holder
        found = dpsel.evaluate(frame, target="y", k=1, epsilon=100, trials=2, method="stump")
    assert found.results["accuracy"].to_list() == [1.0]
