"""Cross-validation draws once a fit: a ledger shows every draw, and without one a warning does."""

import copy
import os
import pickle
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

import dpsel
from dpsel.sklearn import PrivateSelectKBest
from dpsel.sklearn.tally import Spent, Tally
from tests.ledgers import make_ledger, rows

RNG = np.random.default_rng(0)
Y = RNG.permutation(np.repeat([0, 1], 30))
X = RNG.normal(size=(60, 5))
GRID = {"model__C": [0.1, 1.0, 10.0]}


def pipeline(**given: Any) -> Pipeline:
    selector = PrivateSelectKBest(epsilon=0.5, k=2, **given)
    return Pipeline([("select", selector), ("model", LogisticRegression())])


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the warnings of dpsel, as texts."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said += [str(warning.message) for warning in caught]


@pytest.fixture
def ledger(tmp_path: Path) -> dict[str, Any]:
    make_ledger(tmp_path / "ledger", "10")
    return {"ledger": "patients", "ledger_file": tmp_path / "ledger"}


def charges(ledger: dict[str, Any]) -> list[str]:
    return [str(epsilon) for epsilon, _ in rows(ledger["ledger_file"])]


def test_a_grid_of_three_with_five_folds_is_charged_sixteen_times(ledger: dict[str, Any]) -> None:
    search = GridSearchCV(pipeline(**ledger), GRID, cv=5, error_score="raise")
    with heard() as said:
        search.fit(X, Y)
    assert charges(ledger) == ["0.5"] * 16
    assert said == []
    assert search.best_estimator_["select"].guarantee_.epsilon == 0.5


def test_what_a_ledger_does_not_cover_is_refused(ledger: dict[str, Any]) -> None:
    search = GridSearchCV(pipeline(**ledger).set_params(select__epsilon=2), GRID, cv=5)
    with heard() as said, pytest.raises(dpsel.BudgetError, match="epsilon 2 asked, 0 left"):
        search.fit(X, Y)
    assert "10 fits failed out of a total of 15" in said[0]
    assert charges(ledger) == ["2"] * 5


def test_a_cache_of_fitted_steps_saves_draws(ledger: dict[str, Any], tmp_path: Path) -> None:
    steps = pipeline(**ledger).set_params(memory=str(tmp_path / "cache"))
    GridSearchCV(steps, GRID, cv=5, error_score="raise").fit(X, Y)
    assert charges(ledger) == ["0.5"] * 6


def test_a_run_id_is_drawn_once_and_says_that_other_rows_were_not_looked_at(
    ledger: dict[str, Any],
) -> None:
    once = pipeline(**ledger, run_id="spring")
    with heard() as said:
        search = GridSearchCV(once, GRID, cv=5, error_score="raise").fit(X, Y)
    assert charges(ledger) == ["0.5"]
    assert set(said) == {
        "run id 'spring': this fit has not looked at X and y; it returns the selection of the "
        "first one, whatever its rows were"
    }
    first = search.best_estimator_["select"].selection_
    with heard() as said:
        again = PrivateSelectKBest(epsilon=0.5, k=2, **ledger, run_id="spring").fit(X[:9], Y[:9])
    assert again.selection_ == first
    assert said == []
    with pytest.raises(dpsel.UsageError, match="differs in k"):
        clone(again).set_params(k=3).fit(X, Y)
    short = PrivateSelectKBest(epsilon=0.5, k=2, **ledger, run_id="spring")
    last = first.selected_indices[-1]
    with pytest.raises(dpsel.UsageError, match="other columns than those of X"):
        short.fit(X[:, :last], Y)


def test_a_second_fit_without_a_ledger_warns_once_with_the_sum() -> None:
    selector = PrivateSelectKBest(epsilon=0.5, k=2)
    with heard() as said:
        selector.fit(X, Y)
    assert said == []
    with heard() as said:
        selector.fit(X, Y).fit(X, Y)
        clone(selector).set_params(epsilon=0.25).fit(X, Y)
        copy.deepcopy(selector).fit(X, Y)
    (warning,) = said
    assert warning.startswith(
        "this estimator and its clones were fitted 2 times without a ledger: together that costs "
        "epsilon 1, and every further fit adds to it."
    )
    assert "fitted 5 times without a ledger, clones included: together epsilon 2.25" in (
        selector._repr_html_()
    )


def test_clones_in_a_search_are_counted_with_their_origin() -> None:
    search = GridSearchCV(pipeline(), GRID, cv=5, refit=False)
    with heard() as said:
        search.fit(X, Y)
        # The one that was searched with has not been fitted itself.
        search.estimator["select"].fit(X, Y)
    assert len(said) == 1
    assert "fitted 16 times" in search.estimator["select"]._repr_html_()
    with heard() as said:
        PrivateSelectKBest(epsilon=0.5, k=2).fit(X, Y)
    assert said == []


def test_seeded_and_charged_fits_are_not_counted(
    ledger: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded = PrivateSelectKBest(epsilon=1, k=2, seed=1)
    charged = PrivateSelectKBest(epsilon=1, k=2, **ledger)
    with heard() as said:
        seeded.fit(X, Y).fit(X, Y)
        charged.fit(X, Y).fit(X, Y)
        monkeypatch.setenv("DPSEL_LEDGER", ledger["ledger"])
        monkeypatch.setenv("DPSEL_LEDGER_FILE", str(ledger["ledger_file"]))
        PrivateSelectKBest(epsilon=1, k=2).fit(X, Y).fit(X, Y)
    assert said == []
    assert charges(ledger) == ["1"] * 4


def test_threads_that_share_an_estimator_count_every_draw() -> None:
    selector = PrivateSelectKBest(epsilon=0.5, k=2, threads=1)
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(clone(selector)._shared_tally().add(0.5, 0.0)))
        for _ in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([spent for spent in found if spent is not None]) == 1
    assert selector._shared_tally().spent() == Spent(50, 25.0, 0.0)


def test_copies_that_were_sent_to_other_processes_count_with_their_origin() -> None:
    tally = Tally()
    copies = [Tally(), Tally()]
    for sent in copies:
        # As in a process that was started by the owner of a tally; the long test starts some.
        sent.__setstate__({**tally.__getstate__(), "owner": os.getppid()})
    told = [sent.add(0.1, 1e-9) for sent in (*copies, *copies)]
    assert told == [None, Spent(2, 0.2, 2e-9), None, None]
    assert str(tally.add(0.1, 1e-9)) == "epsilon 0.5 and delta 5e-09"
    assert tally.add(0.1, 1e-9) is None
    assert tally.spent().count == 6
    (place,) = Path(tempfile.gettempdir()).glob(f"dpsel-draws-{tally.__getstate__()['key']}")
    assert place.stat().st_mode & 0o777 == 0o600
    del tally
    assert not place.exists()


def test_a_copy_of_another_origin_starts_anew() -> None:
    tally = Tally()
    tally.add(1.0, 0.0)
    other = Tally()
    other.__setstate__({"key": "0" * 32, "owner": os.getpid()})
    assert other.spent() == Spent(0, 0.0, 0.0)
    assert pickle.loads(pickle.dumps(tally)).spent().count == 0


@pytest.mark.long
def test_a_search_in_several_processes_says_how_often_was_drawn() -> None:
    search = GridSearchCV(pipeline(), GRID, cv=5, n_jobs=2)
    with heard() as said:
        search.fit(X, Y)
    (warning,) = [text for text in said if "fitted" in text]
    assert "fitted 16 times without a ledger: together that costs epsilon 8" in warning


def test_the_recipe_draws_once(ledger: dict[str, Any]) -> None:
    selector = PrivateSelectKBest(epsilon=0.5, k=2, **ledger).fit(X, Y)
    cross_val_score(LogisticRegression(), selector.transform(X), Y)
    assert charges(ledger) == ["0.5"]
