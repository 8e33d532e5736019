"""Cells that somebody wrote to fail a run or to hold it up: each costs its own share."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpsel
from dpsel.core.arrays import FloatArray
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.sklearn import PrivateSelectKBest
from dpsel.tables.delimited_cells import cells_of, numbers_of
from dpsel.tables.formats import Dialect

COMMAS = Dialect(",")
WIDTH, HEIGHT = 2000, 8
"""More columns than are read one by one."""

HOSTILE = {
    "a truth word": ("true", 1.0),
    "a truth word between blanks": ("  FALSE ", 0.0),
    "a blank at the end": ("0.5 ", 0.5),
    "a blank alone": (" ", np.nan),
    "a quoted truth word": ('"True"', 1.0),
    "a quoted blank": ('"0.5 "', 0.5),
    "quotes with nothing in them": ('""', np.nan),
    "a quoted line break": ('"\n"', np.nan),
    "letters of truth words": ("TrUeFaLsE", np.nan),
    "a sign that stands for no separator": ("true\x01", np.nan),
    "many digits": ("1" * 10_000, np.inf),
    "many digits and a blank": ("0." + "1" * 10_000 + " ", float("0." + "1" * 50)),
}


def text_with(cell: str, *, missing: bool) -> bytes:
    """Return rows of ones with that cell in them, and perhaps a missing cell in every column."""
    rows = [["1"] * WIDTH for _ in range(HEIGHT)]
    for place in range(WIDTH if missing else 0):
        rows[place % (HEIGHT - 1)][place] = ""
    rows[HEIGHT - 1][7] = cell
    return "".join(",".join(row) + "\n" for row in rows).encode()


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many functions are called for some work, in Python or by it."""
    count = 0

    def add(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(add)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def parsed(text: bytes) -> FloatArray:
    return numbers_of(cells_of(text, COMMAS, WIDTH), range(WIDTH))


@pytest.mark.parametrize("kind", list(HOSTILE))
def test_a_cell_costs_no_more_than_its_share(kind: str) -> None:
    cell, value = HOSTILE[kind]
    text = text_with(cell, missing=True)
    expected = np.array([[1.0] * WIDTH for _ in range(HEIGHT)])
    for place in range(WIDTH):
        expected[place % (HEIGHT - 1), place] = np.nan
    expected[HEIGHT - 1, 7] = value
    # The first time modules are imported.
    assert np.array_equal(parsed(text), expected, equal_nan=True)
    plain = calls_of(lambda: parsed(text_with("1", missing=True)))
    # Frames take some calls for each of their columns; what went wrong were 3000 a column.
    assert 0 < calls_of(lambda: parsed(text)) < plain + 1000 + 10 * WIDTH


def test_the_calls_that_are_counted_are_those_that_are_made() -> None:
    assert calls_of(lambda: None) < 5
    assert calls_of(lambda: [abs(number) for number in range(1000)]) >= 1000


def test_a_missing_cell_that_is_looked_at_again_stays_missing() -> None:
    words = ["true", "", "x ", "NA", " ", "1 ", "e", "tre", "1\r", "nan "]
    rows = [words[place % len(words)] for place in range(WIDTH)]
    text = (",".join(rows) + "\n").encode()
    found = parsed(text)[0]
    alone = [numbers_of(cells_of(f"{word},1\n".encode(), COMMAS, 2), [0])[0, 0] for word in words]
    assert np.array_equal(found, np.resize(alone, WIDTH), equal_nan=True)
    assert np.isfinite(found).sum() == 3 * WIDTH // len(words)


@pytest.mark.parametrize("rows", [20, 9000])
@pytest.mark.parametrize("cell", [1e-50, 5e-324, 1e308])
def test_no_cell_fails_a_run_of_a_caller_who_told_numpy_to_raise(cell: float, rows: int) -> None:
    x = np.linspace(0.5, 3.0, rows)
    x[1] = cell
    frame = pl.DataFrame({"x": x, "z": x[::-1], "y": np.arange(rows) % 2.0})
    asked: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 1.0, "threads": 1}
    # In a thread of its own, numpy has its own settings; so there is only one.
    with np.errstate(all="raise"):
        for more in ({}, {"row_ranks": True}, {"method": "kendall"}):
            assert dpsel.select(frame, **asked, **more).k == 1


def test_no_score_fails_a_caller_who_told_numpy_to_raise() -> None:
    with np.errstate(all="raise"):
        for mechanism in MECHANISMS:
            scores = [1e-320, 0.0, 5e-324, 1e308, -1e308]
            assert len(dpsel.top_k(scores, 2, 1.0, mechanism=mechanism)) == 2


def test_no_cell_fails_a_fit_of_a_caller_who_told_numpy_to_raise() -> None:
    X = np.linspace(0.5, 3.0, 40, dtype=np.longdouble).reshape(20, 2)
    X[0], X[1] = np.longdouble("1e-400"), np.longdouble("1e400")
    with np.errstate(all="raise"):
        selector = PrivateSelectKBest(k=1, epsilon=1.0, threads=1)
        assert selector.fit(X, np.arange(20) % 2.0).selection_.k == 1
