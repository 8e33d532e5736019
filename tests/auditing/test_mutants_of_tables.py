"""Mutants of scores and of the whole command, and the layer of the audit that catches each."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsel.auditing.certificate import Verdict
from dpsel.auditing.score import judge_moves
from dpsel.budget.account import Account
from dpsel.budget.amounts import Amount
from dpsel.budget.ledger import LedgerFile
from dpsel.budget.payment import Demands
from dpsel.cli.releasing import record_text
from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import SeededRandomness
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.scores.registry import ScoreKind
from dpsel.core.scores.sums import CovarianceScore, DotScore
from dpsel.core.selection import Selection
from dpsel.errors import InputError
from dpsel.selection.options import OutputFormat
from dpsel.selection.run import Scored, SelectJob
from dpsel.tables.table import Table
from tests.audited import audited_command, caught_by, moves, only

Patch = pytest.MonkeyPatch
EPSILON = 0.2
"""So small that few runs show a loss above it."""


class WholeTable:
    """A score of the whole table: `prepared` does something to its rows before `dot` does."""

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        self._score = DotScore(bounds, neighbors, unit)
        self._rows: dict[int, list[Batch]] = {}

    def part(self, batch: Batch) -> Batch:
        return batch

    def add(self, part: Batch) -> None:
        self._rows.setdefault(part.first_feature, []).append(part)

    def scores(self) -> Scores:
        for first, batches in self._rows.items():
            X = np.concatenate([batch.X for batch in batches])
            y = np.concatenate([batch.y for batch in batches])
            self._score.add(self._score.part(Batch(first, self.prepared(X), y)))
        return self._score.scores()

    def prepared(self, X: FloatArray) -> FloatArray:
        return X


class ScaledByTheData(WholeTable):
    """Divides by the largest absolute value, as the paper does."""

    def prepared(self, X: FloatArray) -> FloatArray:
        largest = np.nanmax(np.abs(np.nan_to_num(X, posinf=1e308, neginf=-1e308)), axis=0)
        return X / np.where(largest > 0, largest, 1.0)


class FilledByTheMean(WholeTable):
    """Puts the mean of its column into a missing cell."""

    def prepared(self, X: FloatArray) -> FloatArray:
        finite = np.isfinite(X)
        count = np.maximum(1, finite.sum(axis=0))
        with np.errstate(over="ignore"):
            means = np.where(finite, X / count, 0.0).sum(axis=0)
        return np.where(np.isnan(X), means, X)


class Centered(WholeTable):
    """Subtracts the mean of its column."""

    def prepared(self, X: FloatArray) -> FloatArray:
        clipped = np.clip(np.nan_to_num(X), -1, 1)
        return np.asarray(clipped - clipped.mean(axis=0))


class Unbounded(DotScore):
    """Leaves values outside of their bounds as they are."""

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        wide = [
            Interval(100 * low, 100 * high) for low, high in zip([-1] * 3, [1] * 3, strict=True)
        ]
        super().__init__(Bounds.of(wide, bounds.target), neighbors, unit)
        self._sensitivity = self._sensitivity // 100


class FailsOnMissing(DotScore):
    """Refuses a table with a missing cell."""

    def part(self, batch: Batch) -> Any:
        if np.isnan(batch.X).any():
            raise ValueError("missing")
        return super().part(batch)


class MeasuresItself(DotScore):
    """States a sensitivity that it reads off the data."""

    def scores(self) -> Scores:
        scores = super().scores()
        return Scores(scores.values, float(max(1, scores.values.max())))


class CutsByBlocks(CovarianceScore):
    """Centers every batch by itself: the score depends on how the table is cut."""

    def part(self, batch: Batch) -> Any:
        centered = batch.X - np.nan_to_num(batch.X, posinf=0, neginf=0).clip(-1, 1).mean(axis=0)
        return super().part(Batch(batch.first_feature, centered, batch.y))


def half_sensitivity(score: Callable[..., Any]) -> ScoreKind:
    """Return a score that states the sensitivity of add-remove for every relation."""
    return ScoreKind(lambda bounds, neighbors, unit: score(bounds, Neighbors.ADD_REMOVE, unit))


def one_row(score: Callable[..., Any]) -> ScoreKind:
    """Return a score that forgets how many rows a person has."""
    return ScoreKind(lambda bounds, neighbors, unit: score(bounds, neighbors, Unit()))


@pytest.mark.parametrize(
    ("kind", "neighbors", "rows"),
    [
        (half_sensitivity(DotScore), Neighbors.REPLACE_ONE, 1),
        (half_sensitivity(KendallScore), Neighbors.REPLACE_ONE, 1),
        (ScoreKind(ScaledByTheData), Neighbors.ADD_REMOVE, 1),
        (ScoreKind(ScaledByTheData), Neighbors.REPLACE_ONE, 1),
        (ScoreKind(FilledByTheMean), Neighbors.ADD_REMOVE, 1),
        (ScoreKind(Centered), Neighbors.ADD_REMOVE, 1),
        (ScoreKind(Unbounded), Neighbors.ADD_REMOVE, 1),
        (ScoreKind(CutsByBlocks), Neighbors.REPLACE_ONE, 1),
        (one_row(DotScore), Neighbors.ADD_REMOVE, 3),
        (one_row(KendallScore), Neighbors.ADD_REMOVE, 2),
    ],
)
def test_wrong_scores_are_caught_by_the_audit_of_scores(
    kind: ScoreKind, neighbors: Neighbors, rows: int
) -> None:
    found = moves(kind, neighbors, rows)
    assert found.failure is None
    assert found.share > 1
    assert judge_moves([found])[0] is Verdict.FAIL


@pytest.mark.parametrize(
    ("score", "failure"),
    [
        (FailsOnMissing, "the score failed on a table, with ValueError"),
        (MeasuresItself, "the stated sensitivity depends on the table"),
    ],
)
def test_scores_that_fail_or_measure_themselves_are_caught(
    score: type[DotScore], failure: str
) -> None:
    found = moves(ScoreKind(score), Neighbors.ADD_REMOVE)
    assert found.failure == failure
    assert judge_moves([found]) == (Verdict.FAIL, f"{failure}.")


def select_by(job: type[SelectJob], monkeypatch: Patch) -> None:
    """Let the command select by a job of our own."""

    def select_job(table: Any, request: Any, reporter: Any, scheduler: None) -> SelectJob:
        return job(table, request, reporter)

    monkeypatch.setattr("dpsel.selection.api.select_job", select_job)


def frame_of(path: str) -> pl.DataFrame:
    read = pl.read_csv if path.endswith(".csv") else pl.read_parquet
    return read(path).cast({"^x.*$": pl.Float64, "y": pl.Float64})


def on_frames(change: Callable[[pl.DataFrame], pl.DataFrame]) -> type[SelectJob]:
    """Return the command's job with a step before it that it does not tell of."""

    class Changed(SelectJob):
        def __init__(self, table: Any, request: Any, reporter: Any) -> None:
            super().__init__(change(frame_of(table)), request, reporter)

    return Changed


def scaled(frame: pl.DataFrame) -> pl.DataFrame:
    features = pl.col("^x.*$")
    return frame.with_columns(features / features.abs().max())


def filled(frame: pl.DataFrame) -> pl.DataFrame:
    features = pl.col("^x.*$")
    return frame.with_columns(features.fill_null(features.mean()))


@pytest.mark.parametrize(("change", "pair"), [(scaled, "outlier"), (filled, "missing")])
def test_private_steps_that_are_not_are_caught_by_the_audit_of_the_command(
    change: Callable[[pl.DataFrame], pl.DataFrame], pair: str, monkeypatch: Patch
) -> None:
    select_by(on_frames(change), monkeypatch)
    only(pair, monkeypatch)
    found = audited_command(150, epsilon=EPSILON)
    assert caught_by(found) == {"sampling", "fit to the law"}
    assert found.verdict is Verdict.FAIL


def test_a_fixed_seed_is_caught_by_the_audit_of_the_command(monkeypatch: Patch) -> None:
    class Fixed(SeededRandomness):
        private = True

    monkeypatch.setattr("dpsel.core.release.make_randomness", lambda seed: Fixed(7))
    only("empty", monkeypatch)
    found = audited_command(20, seed=None)
    assert "check: fresh-randomness" in caught_by(found)
    assert found.verdict is Verdict.FAIL


def test_a_cap_on_rows_that_is_not_kept_is_caught_by_sampling(monkeypatch: Patch) -> None:
    def everybody(self: object, persons: object, codes: IntArray) -> BoolArray:
        return codes >= 0

    monkeypatch.setattr("dpsel.core.persons.PersonLimit.keep", everybody)
    only("empty", monkeypatch)
    found = audited_command(150, epsilon=EPSILON, rows_per_person=1)
    assert "sampling" in caught_by(found)


def test_a_record_with_something_of_the_data_in_it_is_caught_by_its_shape(
    monkeypatch: Patch,
) -> None:
    class Counting(SelectJob):
        def release(self, private: Scored) -> Selection:
            rows = len(frame_of(self._place))
            return replace(super().release(private), version=f"0.1.0+{rows}")

    select_by(Counting, monkeypatch)
    only("empty", monkeypatch)
    found = audited_command(150, epsilon=EPSILON)
    assert {"check: sets", "sampling"} <= caught_by(found)


def test_a_file_with_something_of_the_data_in_it_is_caught_by_its_shape(monkeypatch: Patch) -> None:
    # The record is right, and what is written of it is not.
    def longer_for_more_rows(record: str, output_format: OutputFormat) -> str:
        return record_text(record, output_format) + " " * (seen[-1] % 7)

    class Seeing(SelectJob):
        def read(self, table: Table) -> Scored:
            seen.append(len(frame_of(self._place)))
            return super().read(table)

    seen: list[int] = []
    monkeypatch.setattr("dpsel.cli.releasing.record_text", longer_for_more_rows)
    select_by(Seeing, monkeypatch)
    only("empty", monkeypatch)
    assert {"check: sets", "sampling"} <= caught_by(audited_command(100, epsilon=EPSILON))


def test_an_exit_code_that_tells_of_the_data_is_caught_by_its_shape(monkeypatch: Patch) -> None:
    class Refusing(SelectJob):
        @contextmanager
        def opened(self) -> Iterator[Table]:
            if frame_of(self._place).is_empty():
                raise InputError("the table has no row")
            with super().opened() as table:
                yield table

    select_by(Refusing, monkeypatch)
    only("empty", monkeypatch)
    assert {"check: sets", "sampling"} <= caught_by(audited_command(100, epsilon=EPSILON))


@pytest.mark.parametrize("seed", [None, 1])
def test_a_ledger_that_forgets_what_it_is_paid_for_is_caught(
    seed: int | None, monkeypatch: Patch
) -> None:
    # Only a run that is paid for stores its release: a seeded one does not.
    def forgetful(self: LedgerFile, name: str, charge: Any, record: str) -> str:
        stored = json.loads(store(self, name, charge, record))
        names = [f"x{index}" for index in (2, 3)]
        return json.dumps({**stored, "selected_indices": [2, 3], "selected_features": names})

    store = LedgerFile.store
    monkeypatch.setattr(LedgerFile, "store", forgetful)
    only("empty", monkeypatch)
    found = audited_command(40, seed=seed, epsilon=EPSILON)
    assert "check: fresh-randomness" in caught_by(found)
    assert ("fit to the law" in caught_by(found)) is (seed is None)


def test_a_record_that_claims_too_much_is_caught_by_its_claims(monkeypatch: Patch) -> None:
    def boasting(record: str, output_format: OutputFormat) -> str:
        return record_text(record, output_format).replace('"epsilon": 1.0', '"epsilon": 0.5')

    monkeypatch.setattr("dpsel.cli.releasing.record_text", boasting)
    only("empty", monkeypatch)
    found = audited_command(20)
    assert "check: claims" in caught_by(found)
    assert found.explanation == "the record claims another epsilon."


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("dpsel.budget.account.cost_of", lambda guarantee: Amount(Decimal("1e-9"))),
        ("dpsel.cli.releasing.open_account", lambda run, *_: Account(run, Demands())),
    ],
)
def test_charges_that_are_too_small_or_missing_are_caught_by_the_ledger(
    name: str, mutant: Callable[..., Any], monkeypatch: Patch
) -> None:
    monkeypatch.setattr(name, mutant)
    only("empty", monkeypatch)
    found = audited_command(20)
    assert "check: charge" in caught_by(found)
    assert found.explanation == "a ledger was charged with another epsilon or delta."


def test_data_dependent_scaling_that_says_so_fails_only_as_a_claim(monkeypatch: Patch) -> None:
    # As `dpsel preprocess --scale max-abs` does: what is released is honest about its scope.
    class Honest(on_frames(scaled)):  # type: ignore[misc]
        def release(self, private: Scored) -> Selection:
            selection: Selection = super().release(private)
            if selection.guarantee is None:
                return selection
            scope = replace(selection.guarantee.scope, end_to_end=False)
            return replace(selection, guarantee=replace(selection.guarantee, scope=scope))

    select_by(Honest, monkeypatch)
    only("empty", monkeypatch)
    assert "check: claims" in caught_by(audited_command(20))
