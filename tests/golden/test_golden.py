"""Seeded runs, help texts and the man page, word for word: what only a meant change may change.

Written again, after a change that is meant, by `DPSEL_GOLDEN=write pytest -n 0 tests/golden`.
"""

import json
import os
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsel.cli.app import run
from dpsel.cli.man import man_page

HERE = Path(__file__).parent
MAN_PAGE = HERE.parents[1] / "man" / "dpsel.1"
WRITE = os.environ.get("DPSEL_GOLDEN") == "write"

SCORES = ("dot", "covariance", "kendall")
MECHANISMS = (
    "canonical-lipschitz",
    "margin-lipschitz",
    "peeling",
    "permute-and-flip",
    "oneshot-laplace",
    "joint",
)
FILES = ("t.csv", "t.tsv", "t.parquet", "t.arrow", "wide.parquet", "parts")
PERSONS: tuple[tuple[str, ...], ...] = ((), ("--person", "who", "--rows-per-person", "2"))
ASK = ("--target", "y", "--k", "2", "--epsilon", "3", "--seed", "7")
COMMANDS = (
    "",
    "select",
    "plan",
    "preprocess",
    "baseline",
    "evaluate",
    "audit",
    "budget",
    *(
        f"budget {name}"
        for name in ("init", "show", "log", "charge", "reserve", "free", "export", "verify")
    ),
    "dictionary",
    *(f"dictionary {name}" for name in ("init", "import", "check")),
    "card",
    "reproduce",
    *(
        f"reproduce {name}"
        for name in ("datasets", "synthetic", "stability", "all", "order-statistics")
    ),
)


def bounds_for(score: str) -> tuple[str, ...]:
    return () if score == "kendall" else ("--lower", "-2", "--upper", "2")


def cases() -> dict[str, tuple[str, ...]]:
    """Return the commands that are run, each under its own words."""
    found: list[tuple[str, ...]] = []
    for score, mechanism, person in product(SCORES, MECHANISMS, PERSONS):
        # On row numbers: a person column is no feature.
        columns = ("--exclude", "who") if not person else ()
        asked = ("--score", score, "--mechanism", mechanism, *bounds_for(score))
        found.append(("select", "t.parquet", *ASK, *columns, *asked, *person))
    for file, score in product(FILES, SCORES):
        found.append(
            (
                *("select", file, *ASK, "--exclude", "who", "--score", score, *bounds_for(score)),
                *("--mechanism", "canonical-lipschitz"),
            )
        )
    for form in ("names", "indices"):
        paper = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")
        found.append(("select", "t.csv", *ASK, "--exclude", "who", "--format", form, *paper))
    common = ("baseline", "t.parquet", "--target", "y", "--k", "2", "--exclude", "who")
    bounded = ("--lower", "-2", "--upper", "2")
    for method in ("sis", "lasso"):
        found.append((*common, "--method", method, *bounded))
    found.append((*common, "--method", "dpkendall", "--epsilon", "5", "--seed", "7"))
    votes = ("--method", "two-stage", "--epsilon", "5", "--seed", "7", "--blocks", "4")
    found.append((*common, *votes, *bounded))
    found.append((*common, *votes, *bounded, "--contiguous", "--neighbors", "replace-one"))
    found.append(("select", "scaled.parquet", *ASK, "--method", "dp-sis"))
    found.append(("preprocess", "--show", "scaled.parquet"))
    found.append(("budget", "show", "trial", "--ledger-file", "ledger.sqlite3"))
    return {" ".join(words): words for words in found}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table in every format, a scaled one, and a ledger."""
    place = tmp_path_factory.mktemp("golden")
    rng = np.random.default_rng(11)
    X = rng.normal(size=(120, 5))
    y = X[:, 0] - 0.7 * X[:, 3] + rng.normal(size=120)
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(5)])
    frame = frame.with_columns(who=pl.Series(rng.integers(0, 70, 120)), y=pl.Series(y))
    frame.write_csv(place / "t.csv")
    frame.write_csv(place / "t.tsv", separator="\t")
    frame.write_parquet(place / "t.parquet", row_group_size=50)
    frame.write_ipc(place / "t.arrow")
    (place / "parts").mkdir()
    frame[:70].write_parquet(place / "parts" / "a.parquet")
    frame[70:].write_parquet(place / "parts" / "b.parquet")
    wide = pl.DataFrame(np.tile(X, (1, 2400))[:, :12000], schema=[f"g{j}" for j in range(12000)])
    wide.with_columns(frame["who"], frame["y"]).write_parquet(place / "wide.parquet")
    return place


def outcome(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capfd.readouterr()
    code = run(list(words))
    out, err = capfd.readouterr()
    return {"code": code, "out": out.splitlines(), "err": err.splitlines()}


def compare(name: str, found: dict[str, Any]) -> None:
    place = HERE / name
    if WRITE:
        place.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    expected = json.loads(place.read_text())
    assert found.keys() == expected.keys()
    for case, outcome_found in found.items():
        assert outcome_found == expected[case], case


def test_seeded_runs_release_the_same_records_as_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    scale = ("--target", "y", "--exclude", "who", "--scale", "robust", "--quiet")
    assert run(["preprocess", "t.csv", "scaled.parquet", *scale]) == 0
    ledger = ("--ledger-file", "ledger.sqlite3")
    limit = ("--epsilon", "10", "--neighbors", "add-remove")
    assert run(["budget", "init", "trial", *limit, *ledger]) == 0
    for _ in range(2):
        charged = ("--ledger", "trial", "--run-id", "once", *ledger, "--epsilon", "3")
        columns = ("--target", "y", "--k", "2", "--exclude", "who")
        bounds = ("--method", "dp-sis", "--lower", "-2", "--upper", "2", "--quiet")
        assert run(["select", "t.csv", *columns, *charged, *bounds]) == 0
    found = {case: outcome(words, capfd) for case, words in cases().items()}
    for done in found.values():
        done["out"] = [line for line in done["out"] if '"created"' not in line]
    compare("records.json", found)


def test_help_texts_are_the_same_as_before(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = {name: outcome((*name.split(), "--help"), capfd) for name in COMMANDS}
    compare("help.json", found)


def test_the_man_page_is_that_of_the_help_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    # It keeps the day on which it was made.
    day = MAN_PAGE.read_text().split()[3]
    if WRITE:
        MAN_PAGE.write_text(man_page(day))
    assert MAN_PAGE.read_text() == man_page(day)
