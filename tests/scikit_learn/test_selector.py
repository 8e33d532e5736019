"""PrivateSelectKBest: `dpsel.select`, at home in scikit-learn."""

import copy
import datetime
import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import dpsel
from dpsel.display import printable
from dpsel.sklearn import PrivateSelectKBest
from tests.cards.records import HOSTILE as HOSTILE_NAMES
from tests.cards.test_pages import Page
from tests.test_display import LONG, selection_of

# The chance of any other answer: two columns are the class itself, whose scores are 100 or more
# above all others, and a round at epsilon 50 or more takes another one with exp(-50 * 100 / 2).
SURE = 200.0
N = 200
Frame = Callable[[pl.DataFrame], Any]
FRAMES: dict[str, Frame] = {
    "polars": lambda frame: frame,
    "pandas": lambda frame: frame.to_pandas(),
    "pyarrow": lambda frame: frame.to_arrow(),
}


def classes() -> Any:
    return np.random.default_rng(1).permutation(np.repeat([0, 1], N // 2))


def numbers() -> pl.DataFrame:
    """Six columns, of which `b` and `e` are the class."""
    rng, y = np.random.default_rng(2), classes()
    columns = {name: rng.normal(size=N) for name in "abcdef"}
    return pl.DataFrame({**columns, "b": y + 0.5, "e": 1.0 - 2 * y})


def mixed() -> pl.DataFrame:
    """Columns of many types, of which `word` and `number` are the class."""
    rng, y = np.random.default_rng(3), classes()
    days = [
        datetime.date(2020, 1, 1) + datetime.timedelta(int(day)) for day in rng.integers(99, size=N)
    ]
    return pl.DataFrame(
        {
            "word": np.where(y == 1, "yes", "no"),
            "day": days,
            "number": np.where(y == 1, np.inf, np.nan),
            "truth": rng.integers(2, size=N) == 1,
            "other": rng.choice(["u", "v", "w"], size=N),
        }
    )


def test_the_parameters_are_those_of_select() -> None:
    own = inspect.signature(PrivateSelectKBest.__init__).parameters
    there = inspect.signature(dpsel.select).parameters
    # y is the target; X is no file, and is not sent elsewhere; `score` is a method in scikit-learn.
    apart = {"table", "target", "score", "cluster", "workers"}
    apart |= {"input_format", "separator", "decimal"}
    assert set(own) - {"self", "score_func"} == set(there) - apart
    for name in set(own) - {"self", "score_func", "epsilon"}:
        assert own[name].default == there[name].default, name


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("seed", range(4))
def test_a_seeded_fit_picks_what_select_picks(frame: Frame, seed: int) -> None:
    # A small epsilon, so that seeds differ.
    asked: dict[str, Any] = {"epsilon": 0.01, "k": 2, "seed": seed}
    table = numbers()
    expected = dpsel.select(frame(table.with_columns(y=pl.Series(classes()))), target="y", **asked)
    fitted = PrivateSelectKBest(**asked).fit(frame(table), classes())
    assert fitted.selection_ == expected
    assert fitted.get_support(indices=True).tolist() == expected.selected_indices
    array = PrivateSelectKBest(**asked).fit(table.to_numpy(), classes())
    assert array.selection_.selected_indices == expected.selected_indices


def test_seeds_are_not_all_alike() -> None:
    fits = [
        PrivateSelectKBest(epsilon=0.01, k=2, seed=s).fit(numbers(), classes()) for s in range(4)
    ]
    assert len({tuple(fit.selection_.selected_indices) for fit in fits}) > 1


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_frame_of_any_types_is_selected_from(frame: Frame) -> None:
    X, y = frame(mixed()), classes()
    fitted = PrivateSelectKBest(epsilon=SURE, k=2).fit(X, y)
    assert fitted.get_feature_names_out().tolist() == ["word", "number"]
    assert fitted.feature_names_in_.tolist() == mixed().columns
    assert fitted.n_features_in_ == 5
    assert fitted.get_support().tolist() == [True, False, True, False, False]
    assert fitted.guarantee_ is fitted.selection_.guarantee
    assert fitted.guarantee_ is not None
    assert fitted.guarantee_.epsilon == SURE
    assert fitted.transform(X).shape == (N, 2)


@pytest.mark.filterwarnings("ignore:this estimator and its clones")
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_keep_their_types_if_frames_are_asked_for(frame: Frame) -> None:
    selector = PrivateSelectKBest(epsilon=SURE, k=2)
    found = selector.set_output(transform="polars").fit_transform(frame(mixed()), classes())
    assert dict(found.schema) == {"word": pl.String, "number": pl.Float64}
    again = clone(selector).set_output(transform="pandas").fit(frame(mixed()), classes())
    found = again.transform(frame(mixed()))
    assert list(found.columns) == ["word", "number"]
    assert found["number"].dtype == np.float64
    assert isinstance(clone(selector).fit_transform(frame(mixed()), classes()), pl.DataFrame)


def test_transform_refuses_what_was_not_fitted() -> None:
    selector = PrivateSelectKBest(epsilon=SURE, k=2).set_output(transform="polars")
    with pytest.raises(NotFittedError):
        selector.transform(numbers())
    selector.fit(numbers(), classes())
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(mixed())


@pytest.mark.parametrize("frame", [*FRAMES.values(), pl.DataFrame.to_numpy], ids=[*FRAMES, "numpy"])
def test_a_pipeline_of_selector_and_classifier_learns(frame: Frame) -> None:
    X, y = frame(numbers()), classes()
    pipeline = make_pipeline(PrivateSelectKBest(epsilon=SURE, k=2), LogisticRegression())
    assert pipeline.fit(X, y).score(X, y) == 1.0


# The oldest scikit-learn that is allowed takes no columns of a table of pyarrow.
@pytest.mark.parametrize("kind", ["polars", "pandas", "numpy"])
def test_some_columns_are_selected_from_in_a_column_transformer(kind: str) -> None:
    X, y = numbers().to_numpy() if kind == "numpy" else FRAMES[kind](numbers()), classes()
    columns = [1, 3, 5] if isinstance(X, np.ndarray) else ["b", "d", "f"]
    chosen = ColumnTransformer([("private", PrivateSelectKBest(epsilon=SURE, k=1), columns)])
    assert chosen.fit_transform(X, y).shape == (N, 1)
    assert chosen.named_transformers_["private"].get_support().tolist() == [True, False, False]


Y = {
    "bool": classes() == 1,
    "float": classes().astype(np.float32),
    "list": classes().tolist(),
    "pandas": pd.Series(classes(), index=range(7, N + 7)),
    "nullable": pd.Series(classes(), dtype="Int64"),
    "polars": pl.Series(classes()),
    "pyarrow": pa.array(classes()),
    "column": classes()[:, np.newaxis],
    "frame": pl.DataFrame({"y": classes()}),
}


@pytest.mark.parametrize("y", Y.values(), ids=Y)
def test_y_may_be_of_any_kind_of_numbers(y: Any) -> None:
    fitted = PrivateSelectKBest(epsilon=SURE, k=2).fit(numbers(), y)
    assert fitted.selection_.selected_features == ["b", "e"]


WORDS = np.where(classes() == 1, "ill", "well")
LABELS = {
    "numpy": WORDS,
    "object": WORDS.astype(object),
    "list": WORDS.tolist(),
    "pandas": pd.Series(WORDS, dtype="category"),
    # As pandas before 3 makes categories of words.
    "pandas objects": pd.Series(pd.Categorical(WORDS, pd.Index(["ill", "well"], dtype=object))),
    "polars": pl.Series(WORDS),
    "polars objects": pl.Series(WORDS.tolist(), dtype=pl.Object),
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS)
def test_labels_are_named_and_never_looked_for(y: Any) -> None:
    named = PrivateSelectKBest(epsilon=SURE, k=2, positive="ill").fit(numbers(), y)
    assert named.selection_.selected_features == ["b", "e"]
    three = PrivateSelectKBest(epsilon=SURE, k=2, classes=["ill", "well", "gone"])
    with pytest.warns(UserWarning, match="no row has the label 'gone' in 'y'"):
        three.fit(numbers(), y)
    assert three.selection_.selected_features == ["b", "e"]


@pytest.mark.parametrize("kind", sorted(LABELS.keys() - {"list"}))
def test_a_y_of_words_is_refused_by_its_type(kind: str) -> None:
    with pytest.raises(dpsel.DpselError, match="positive="):
        PrivateSelectKBest(epsilon=SURE, k=2).fit(numbers(), LABELS[kind])
    empty = LABELS[kind][:0]
    with pytest.raises(dpsel.DpselError, match="positive="):
        PrivateSelectKBest(epsilon=SURE, k=2).fit(numbers()[:0], empty)


class Hostile:
    """An object that can be asked nothing."""

    def __str__(self) -> str:
        raise RuntimeError("secret")

    __eq__ = __float__ = __hash__ = __len__ = __str__  # type: ignore[assignment]


ODD: list[Any] = [
    None,
    np.nan,
    -np.inf,
    "",
    "a\0\ud800",
    b"\xff",
    10**400,
    {"a": 1},
    [1, 2],
    Hostile(),
]
ODD += [pd.NA, pd.NaT, datetime.date.max, datetime.timedelta.max, 1 + 2j, np.array([1, 2]), object]


@pytest.mark.parametrize("kind", ["pandas", "numpy", "list"])
def test_no_cell_fails_a_fit(kind: str) -> None:
    cells = np.empty((N, 3), dtype=object)
    cells[:, 0], cells[:, 1], cells[:, 2] = classes(), "word", np.arange(N)
    y: Any = np.empty(N, dtype=object)
    y[:] = WORDS
    for row, cell in enumerate(ODD):
        cells[row, 1] = y[row] = cell
    X = cells.tolist() if kind == "list" else cells
    X = pd.DataFrame(cells, dtype=object) if kind == "pandas" else X
    fitted = PrivateSelectKBest(epsilon=SURE, k=1, positive="ill").fit(X, y)
    assert fitted.get_support(indices=True).tolist() == [0]
    found = PrivateSelectKBest(epsilon=SURE, k=1).fit(X, [*ODD, *classes().tolist()[len(ODD) :]])
    assert found.get_support(indices=True).tolist() == [0]


def test_what_a_column_of_objects_holds_does_not_decide_whether_it_is_refused() -> None:
    for cell in (1.0, "word", None):
        selector = PrivateSelectKBest(epsilon=1, k=1, method="dp-sis", lower=0, upper=1)
        X = pd.DataFrame({"a": pd.Series([cell] * N, dtype=object), "b": np.arange(N)})
        with pytest.warns(UserWarning, match="worst: "):
            assert selector.fit(X, classes()).get_support().sum() == 1


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(numbers().to_numpy()).astype(">f8"),
        numbers().to_numpy().astype(np.float16),
        numbers().to_numpy().astype(np.longdouble),
        numbers().to_numpy().astype("U"),
        numbers().to_numpy().astype("U").astype(np.dtypes.StringDType()),
        np.round(numbers().to_numpy()).astype(np.int8),
        np.round(numbers().to_numpy() * 1e6).astype(np.int64).astype("M8[h]"),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_of_any_type_are_selected_from(array: Any) -> None:
    fitted = PrivateSelectKBest(epsilon=SURE, k=2).fit(array, classes())
    assert fitted.get_feature_names_out().tolist() == ["x1", "x4"]
    assert fitted.selection_.selected_features == ["x1", "x4"]


def test_a_table_without_rows_is_not_refused() -> None:
    with pytest.warns(UserWarning, match="there are no rows"):
        fitted = PrivateSelectKBest(epsilon=1, k=2).fit(np.empty((0, 6)), np.empty(0))
    assert fitted.get_support().sum() == 2


def test_shapes_and_parameters_that_do_not_fit_are_said_plainly() -> None:
    X, y = numbers().to_numpy(), classes()
    with pytest.raises(dpsel.UsageError, match=re.escape("PrivateSelectKBest(epsilon=1.0, k=5)")):
        PrivateSelectKBest(k=2).fit(X, y)
    with pytest.raises(dpsel.UsageError, match="k"):
        PrivateSelectKBest(epsilon=1).fit(X, y)
    with pytest.raises(TypeError, match=r"Use '.toarray\(\)'"):
        PrivateSelectKBest(epsilon=1, k=2).fit(scipy.sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="X and y have different numbers of rows"):
        PrivateSelectKBest(epsilon=1, k=2).fit(X, y[:-1])
    with pytest.raises(ValueError, match="y must be one column"):
        PrivateSelectKBest(epsilon=1, k=2).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(ValueError, match="requires y"):
        PrivateSelectKBest(epsilon=1, k=2).fit(X)
    with pytest.raises(dpsel.UsageError, match="X has a column 'b', as y is called"):
        PrivateSelectKBest(epsilon=1, k=2).fit(numbers(), numbers()["b"])
    objects = numbers().with_columns(pl.Series("o", [object()] * N, dtype=pl.Object))
    with pytest.raises(dpsel.InputError, match="X: column 'o' holds objects of Python"):
        PrivateSelectKBest(epsilon=1, k=2).fit(objects, y)
    with pytest.raises(dpsel.InputError, match="X: columns 1 and 2 have the same name"):
        PrivateSelectKBest(epsilon=1, k=2).fit(pd.DataFrame(X, columns=list("aabcde")), y)


def test_no_message_quotes_a_cell() -> None:
    secret, y = 31337.25, classes()
    X = np.full((N, 3), secret)
    fitted = PrivateSelectKBest(epsilon=1, k=2).fit(X, y)
    wrong: list[Any] = [X[0], [secret, secret], [[secret], [secret] * 2], X[:, :, np.newaxis]]
    wrong += [X * 1j, pd.Series(X[0]), pl.Series(X[0]), pa.array(X[0]), secret]
    for data in wrong:
        with pytest.raises((ValueError, TypeError)) as caught:
            clone(fitted).fit(data, y)
        assert "31337" not in str(caught.value)
        with pytest.raises((ValueError, TypeError)) as caught:
            fitted.transform(data)
        assert "31337" not in str(caught.value)
    for labels in (secret, np.full((N, 2), secret), pl.Series([Hostile()] * N, dtype=pl.Object)):
        with pytest.raises((ValueError, TypeError, dpsel.DpselError)) as caught:
            clone(fitted).fit(X, labels)
        assert "31337" not in str(caught.value)


def test_a_column_may_be_called_y() -> None:
    X = numbers().rename({"b": "y"})
    fitted = PrivateSelectKBest(epsilon=SURE, k=2).fit(X, classes())
    assert fitted.selection_.selected_features == ["y", "e"]


def test_persons_are_a_column_of_x_or_of_its_index() -> None:
    persons = np.arange(N) // 2
    asked: dict[str, Any] = {"epsilon": SURE, "k": 2, "person": "who", "rows_per_person": 2}
    frame = numbers().to_pandas()
    indexed = frame.set_index(pd.Index(persons, name="who"))
    for X in (indexed, frame.assign(who=persons)):
        fitted = PrivateSelectKBest(**asked).fit(X, classes())
        assert fitted.guarantee_ is not None
        assert fitted.guarantee_.unit.name == "person"
        assert fitted.selection_.n_features == 6
        assert fitted.get_feature_names_out().tolist() == ["b", "e"]


def test_persons_that_preprocess_scaled_are_refused_and_passed_ones_taken() -> None:
    raw = pa.table({"a": [1.0, 2.0, 3.0], "id": [1.0, 300.0, 400.0], "y": [0.0, 1.0, 0.0]})
    bounds = {"a": (0, 10), "id": (0, 10), "y": (0, 1)}
    selector = PrivateSelectKBest(epsilon=1, k=1, person="id")
    scaled = pa.table(dpsel.preprocess(raw, target="y", bounds=bounds))
    with pytest.raises(dpsel.InputError, match="'id' was scaled, so several persons may have"):
        selector.fit(scaled.drop_columns(["y"]), scaled["y"])
    passed = pa.table(dpsel.preprocess(raw, target="y", bounds=bounds, person="id"))
    fitted = selector.fit(passed.drop_columns(["y"]), passed["y"])
    assert fitted.selection_.selected_features == ["a"]


def test_names_globs_bounds_and_groups_are_those_of_select() -> None:
    bounds = {"b": (0, 2), "e": (-1, 1), "y": (0, 1)}
    asked: dict[str, Any] = {"epsilon": SURE, "method": "dp-sis", "bounds": bounds}
    fitted = PrivateSelectKBest(**asked, k=1, features=["b", "e"], exclude="b").fit(
        numbers(), classes()
    )
    assert fitted.get_support(indices=True).tolist() == [4]
    grouped = PrivateSelectKBest(
        epsilon=SURE, k=1, dictionary={"groups": {"pair": {"columns": ["a", "b"]}}}, exclude="e"
    ).fit(numbers(), classes())
    assert grouped.selection_.selected_features == ["pair"]
    assert grouped.get_feature_names_out().tolist() == ["a", "b"]


def test_estimators_are_cloned_copied_and_pickled() -> None:
    fitted = PrivateSelectKBest(epsilon=1, k=2, bounds=None, seed=1).fit(numbers(), classes())
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert again.selection_ == fitted.selection_
        assert again.transform(numbers()).tolist() == fitted.transform(numbers()).tolist()
    other = clone(fitted)
    assert other.get_params() == fitted.get_params()
    assert not hasattr(other, "selection_")
    # Numbers of numpy, as grids have them.
    other.set_params(epsilon=np.float64(1), k=np.int64(2))
    assert other.fit(numbers(), classes()).selection_ == fitted.selection_


HOSTILE = '<img src=x onerror="alert(1)">&</div><script>alert(2)</script>'


def test_the_page_states_the_guarantee_first_and_escapes_names() -> None:
    X = numbers().rename({"b": HOSTILE})
    selector = PrivateSelectKBest(epsilon=SURE, k=2, note=HOSTILE, features=[HOSTILE, "e"])
    selector.set_params(note=None)
    assert "<div>" not in selector._repr_html_()[:5]
    selector.fit(X, classes())
    for page in (selector._repr_html_(), selector._repr_mimebundle_()["text/html"]):
        assert Page(page).text.strip().startswith("private: epsilon 200")
        assert "onerror" in page
        assert "<img" not in page
        assert "<script>alert" not in page
    seeded = PrivateSelectKBest(epsilon=1, k=2, seed=3).fit(X, classes())
    assert Page(seeded._repr_html_()).text.strip().startswith("NOT PRIVATE")
    assert repr(seeded) == "PrivateSelectKBest(epsilon=1, k=2, seed=3)"


@pytest.mark.parametrize("name", [" ".join(HOSTILE_NAMES), LONG], ids=["hostile", "long"])
def test_the_page_shows_names_as_text_only(name: str) -> None:
    def page_of(name: str) -> Page:
        selector = PrivateSelectKBest(epsilon=1, k=1, features=[name], positive=name, run_id=name)
        selector.selection_ = selection_of(name)
        page: str = selector._repr_html_()
        page.encode()
        assert all(sign.isprintable() or sign == "\n" for sign in page)
        return Page(page)

    usual, found = page_of("x"), page_of(name)
    assert (found.tags, found.attributes) == (usual.tags, usual.attributes)
    assert found.text.count(printable(name)[:80]) >= 2


def test_dpsel_is_imported_without_scikit_learn() -> None:
    code = "import sys, dpsel; dpsel.select; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
