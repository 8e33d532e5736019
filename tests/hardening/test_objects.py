"""No Python object in a cell of a frame decides a type, a role or an error."""

import datetime
import warnings
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpsel
from dpsel.sklearn import PrivateSelectKBest
from tests.scikit_learn.test_selector import ODD

pd = pytest.importorskip("pandas")

N = 12
Y = np.arange(N) % 2 * 2.0 - 1
CELLS: list[Any] = [
    *ODD,
    1,
    -0.5,
    True,
    "word",
    "1e0",
    2**64,
    10**5000,
    Decimal("0.25"),
    Decimal("sNaN"),
    b"12",
    b"",
    np.float32(0.1),
    np.datetime64("2021-03-04"),
    pd.Timestamp("2021-03-04", tz="Europe/Paris"),
    datetime.date(2021, 3, 4),
    datetime.time(5),
    pd.Interval(0, 1),
    pd.Period("2021-03"),
]
USUAL = {
    "numbers": [1.0, 0.5, -1.0] * 4,
    "words": ["p", "q", "r"] * 4,
    "truths": [True, False, None] * 4,
    "dates": [datetime.date(2021, 3, day) for day in range(1, N + 1)],
    "bytes": [b"p", b"q", b"r"] * 4,
    "nothing": [None] * N,
    "lists": [[1], [2], [3, 4]] * 4,
}


def objects(usual: str, cell: Any) -> Any:
    cells = np.empty(N, dtype=object)
    cells[:] = USUAL[usual]
    cells[1] = cell
    return cells


def released(run: Callable[..., Any], frame: Any, **options: Any) -> str:
    """Return all that would be published, except for what was drawn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = run(frame, target="y", k=1, epsilon=1, seed=1, **options)
    return str(replace(record, selected_features=[], selected_indices=[]).to_dict())


METHODS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "stump": (dpsel.select, {}),
    "kendall": (dpsel.select, {"method": "kendall"}),
    "covariance": (dpsel.select, {"score": "covariance", "lower": -1, "upper": 1}),
    "dp-sis": (dpsel.select, {"method": "dp-sis", "lower": -1, "upper": 1}),
    "dpkendall": (dpsel.baseline, {"method": "dpkendall"}),
}


@pytest.mark.parametrize("usual", USUAL)
@pytest.mark.parametrize("method", METHODS)
def test_no_object_in_a_feature_decides_whether_a_run_ends_well(method: str, usual: str) -> None:
    run, options = METHODS[method]
    seen = set()
    for cell in CELLS:
        frame = pd.DataFrame({"a": np.arange(N), "y": Y})
        frame["it"] = pd.Series(objects(usual, cell), dtype=object)
        seen.add(released(run, frame, **options))
    assert len(seen) == 1


@pytest.mark.parametrize("usual", USUAL)
@pytest.mark.parametrize("labels", [{}, {"positive": "p"}, {"classes": ["p", "q", "r"]}])
def test_no_object_in_a_target_decides_whether_a_run_ends_well(
    usual: str, labels: dict[str, Any]
) -> None:
    seen = set()
    for cell in CELLS:
        frame = pd.DataFrame({"a": np.arange(N), "b": Y})
        frame["y"] = pd.Series(objects(usual, cell), dtype=object)
        seen.add(released(dpsel.select, frame, **labels))
    assert len(seen) == 1


@pytest.mark.parametrize("usual", USUAL)
def test_no_object_in_an_index_or_person_decides_whether_a_run_ends_well(usual: str) -> None:
    seen = set()
    for cell in CELLS:
        for level in (cell, "p"):
            person = objects(usual, level)
            frame = pd.DataFrame({"a": np.arange(N), "b": Y, "y": Y})
            one = pd.Index(person, dtype=object, tupleize_cols=False, name="who")
            seen.add(released(dpsel.select, frame.set_axis(one), person="who"))
            frame["who"] = pd.Series(person, dtype=object)
            seen.add(released(dpsel.select, frame, person="who"))
    assert len(seen) == 1


@pytest.mark.parametrize("cells", [["p", 1, None], [1, 2, 3], ["p", "\ud800", "q"], [None] * 3])
def test_no_object_in_an_index_of_several_levels_ends_a_run(cells: list[Any]) -> None:
    levels = [pd.Index(cells * 4, dtype=object), pd.RangeIndex(N)]
    index = pd.MultiIndex.from_arrays(levels, names=["who", None])
    frame = pd.DataFrame({"a": np.arange(N), "b": Y, "y": Y}, index=index)
    for method in METHODS:
        run, options = METHODS[method]
        assert released(run, frame, **options)
    assert released(dpsel.select, frame, person="who")


@pytest.mark.parametrize("method", METHODS)
def test_which_categories_occur_does_not_decide_whether_a_run_ends_well(method: str) -> None:
    run, options = METHODS[method]
    seen = set()
    for usual in ("numbers", "words", "nothing", "dates"):
        for cell in (None, "word", "\ud800", 1, 2.5):
            frame = pd.DataFrame({"a": np.arange(N), "y": Y})
            found = [cell for cell in objects(usual, cell) if cell is not None]
            known = pd.Index(list(dict.fromkeys(found)), dtype=object)
            codes = np.arange(N) % (len(known) + 1) - 1
            frame["it"] = pd.Categorical.from_codes(codes, known)
            seen.add(released(run, frame, **options))
    assert len(seen) == 1


@pytest.mark.parametrize("categories", [False, True])
def test_a_text_that_is_not_utf_8_does_not_decide_whether_its_column_is_refused(
    categories: bool,
) -> None:
    said = set()
    for cell in ("word", "\ud800"):
        texts = pd.Series(["p", cell] * (N // 2), dtype=pd.StringDtype("python"))
        if categories:
            texts = pd.Categorical.from_codes(np.arange(N) % 2, pd.Index(texts[:2]))
        frame = pd.DataFrame({"a": np.arange(N), "y": Y, "it": texts})
        with pytest.raises(dpsel.InputError) as caught:
            dpsel.select(frame, target="y", k=1, epsilon=1, method="kendall")
        said.add(str(caught.value))
    assert len(said) == 1


def test_words_among_objects_count_as_missing_and_the_holder_is_told() -> None:
    frame = pd.DataFrame({"a": np.arange(N), "y": Y})
    frame["it"] = pd.Series(USUAL["words"], dtype=object)
    with pytest.warns(UserWarning, match=r"'it' \(100.0% not numbers\)"):
        dpsel.select(frame, target="y", k=1, epsilon=1, method="kendall")


def test_commands_that_release_nothing_still_refuse_a_column_of_words(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": np.arange(N), "y": Y})
    frame["it"] = pd.Series(USUAL["words"], dtype=object)
    with pytest.raises(dpsel.InputError, match="column 'it' holds text, not numbers"):
        dpsel.preprocess(frame, tmp_path / "t.csv", target="y", center="mean", scale="max-abs")


@pytest.mark.parametrize("kind", ["pandas", "numpy", "list", "categories"])
@pytest.mark.parametrize("method", ["stump", "kendall", "dp-sis"])
def test_no_object_decides_whether_a_fit_ends_well(method: str, kind: str) -> None:
    bounds: dict[str, Any] = {"lower": -1, "upper": 1} if method == "dp-sis" else {}
    seen = set()
    for usual in ("numbers", "words", "nothing"):
        for cell in CELLS:
            X: Any = np.empty((N, 2), dtype=object)
            X[:, 0], X[:, 1] = np.arange(N), objects(usual, cell)
            if kind == "list":
                X = [list(row) for row in X]
            if kind in ("pandas", "categories"):
                index = pd.Index(X[:, 1], dtype=object, tupleize_cols=False)
                X = pd.DataFrame(X, dtype=object, index=index)
            if kind == "categories":
                known = pd.Index([usual], dtype=object)
                X[1] = pd.Categorical([usual, None] * (N // 2), dtype=pd.CategoricalDtype(known))
            selector = PrivateSelectKBest(epsilon=1, k=1, seed=1, method=method, **bounds)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = selector.fit(X, Y).selection_
            seen.add(str(replace(found, selected_features=[], selected_indices=[]).to_dict()))
    assert len(seen) == 1


def test_no_cell_of_a_list_of_rows_decides_how_many_dimensions_it_has() -> None:
    for last in ([4], [4, 5], 6):
        X: Any = [[[1], [2]], [[3], last]]
        fitted = PrivateSelectKBest(epsilon=1, k=1).fit(X, [0.0, 1.0])
        assert fitted.n_features_in_ == 2
    with pytest.raises(ValueError, match="rows of different lengths"):
        PrivateSelectKBest(epsilon=1, k=1).fit([[1, 2], [3]], [0.0, 1.0])
