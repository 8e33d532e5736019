"""Sweeps: every method, k and epsilon on every data set, on all cores, resumed if killed."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import Unit, check_k
from dpsel.core.matrix import TiledMatrix, row_chunks, target_products
from dpsel.core.randomness import SeededRandomness, derived_seed
from dpsel.core.scores.registry import STUMP
from dpsel.core.votes import Voting, independent_blocks, random_partition, votes_for_each_k
from dpsel.errors import InputError
from dpsel.evaluation import STAMP
from dpsel.evaluation.data import DataSet, EvaluationData
from dpsel.evaluation.grid import AskedK
from dpsel.evaluation.journal import Journal, run_missing
from dpsel.evaluation.methods import (
    Draws,
    EvaluatedMethod,
    ExactDraws,
    MethodDraws,
    RoundDraws,
    ScoreDraws,
    StumpDraws,
    VoteDraws,
    table_scores,
)
from dpsel.evaluation.metrics import cell_summary, correlations, without_intervals
from dpsel.evaluation.notes import LASSO_FOUND_NOTHING, table_notes
from dpsel.evaluation.request import Sweep
from dpsel.evaluation.truth import FoundTruth, Truth, stump_truth
from dpsel.evaluation.unseen import (
    FoldWork,
    errors_of_picks,
    errors_of_references,
    fold_tests,
    reference_summary,
    training_rows,
    unseen_summary,
)
from dpsel.preprocessing.options import Scale
from dpsel.records import frozen
from dpsel.reporter import Reporter, ticks
from dpsel.selection.lasso import SOLVER, block_fit, lasso_coefficients, quiet_solver
from dpsel.selection.options import Baseline
from dpsel.system.threads import Threads, plan_threads
from dpsel.system.workers import Workers


@frozen
class VoteWork:
    """What a worker needs to fit the blocks of two-stage."""

    name: str
    views: Mapping[Scale, DataSet] = field(repr=False)
    ks: tuple[int, ...]
    blocks: int
    equal_blocks: bool
    penalty: float
    seed: int
    threads: int = 1
    """How many blocks are fitted at a time within one process."""


@frozen
class CellWork:
    """What a worker needs to compute the cells of one data set."""

    draws: MethodDraws
    truth: FoundTruth = field(repr=False)
    correlation: FloatArray = field(repr=False)


def fit_votes(work: VoteWork, task: tuple[Scale, int]) -> list[list[list[int]]]:
    """Put rows into blocks for one trial, and return the sparse votes of the blocks for each k."""
    scale, trial = task
    rows = work.views[scale]
    rng = SeededRandomness(derived_seed(work.seed, work.name, "blocks", str(scale), trial))
    partition = random_partition if work.equal_blocks else independent_blocks
    block_of_row = partition(len(rows.y), work.blocks, rng)
    with block_fit(work.penalty) as fit:
        voting = Voting(work.blocks, fit, Threads(work.threads))
        votes = votes_for_each_k(rows.X, rows.y, block_of_row, work.ks, voting)
    return [_sparse(one) for one in votes]


def fill_cell(work: CellWork, task: tuple[str, int, float]) -> dict[str, Any]:
    """Draw the trials of one cell, and return their summary."""
    method, k, epsilon = task
    drawn = work.draws.draw(method, k, epsilon)
    return cell_summary(drawn, work.truth.top(k), work.correlation)


def dense_votes(sparse: list[list[int]], d: int) -> IntArray:
    """Return sparse votes as an array of one number per feature."""
    votes = np.zeros(d, dtype=np.int64)
    votes[sparse[0]] = sparse[1]
    return votes


def _sparse(votes: IntArray) -> list[list[int]]:
    """Return the positions and the numbers of the votes that are not 0."""
    places = np.flatnonzero(votes)
    return [places.tolist(), votes[places].tolist()]


Votes = dict[Scale, dict[int, IntArray]]


@frozen
class SweepResult:
    """The results as tidy rows: one per cell, and one for each feature picked in it."""

    results: list[dict[str, Any]]
    frequencies: list[dict[str, Any]]
    notes: list[str]
    """Notes for the holder about the tables."""
    truths: dict[str, str]
    """The kind of truth for each table."""

    @staticmethod
    def joined(parts: Sequence["SweepResult"]) -> "SweepResult":
        """Return the results of several data sets as one."""
        return SweepResult(
            [row for part in parts for row in part.results],
            [row for part in parts for row in part.frequencies],
            [note for part in parts for note in part.notes],
            {name: kind for part in parts for name, kind in part.truths.items()},
        )


def run_sweep(
    sets: Sequence[Callable[[], EvaluationData]],
    sweep: Sweep,
    journal: Journal,
    reporter: Reporter,
    workers: Workers,
) -> SweepResult:
    """Compute every cell that the journal lacks, and return all of them.

    The seed of a cell is derived from the seed of the sweep and the name of the cell, so results do
    not depend on the number of workers, or on whether the sweep was killed and resumed.

    Privacy:
        Guarantee: none; everything returned is for the data holder only.
        Tested by: tests/cli/test_evaluate.py
    """
    total = max(1, len(sets) * sweep.tasks_per_set())
    tick = ticks(total, reporter)
    solver: AbstractContextManager[None] = (
        quiet_solver(sweep.truth.penalty) if sweep.fits_lassos else nullcontext()
    )
    with solver:
        return SweepResult.joined(
            [_SetSweep(load(), sweep, journal, workers, tick).result() for load in sets]
        )


class _SetSweep:
    """The sweep of one data set."""

    def __init__(
        self,
        data: EvaluationData,
        sweep: Sweep,
        journal: Journal,
        workers: Workers,
        tick: Callable[[], None],
    ) -> None:
        self._data, self._sweep, self._journal = data, sweep, journal
        self._workers, self._tick = workers, tick
        self._ks = [asked.of(len(data.features)) for asked in sweep.ks]
        for k in self._ks:
            check_k(k, len(data.features))
        self._key = _digest(data)
        self._views: dict[Scale, DataSet] = {}

    def result(self) -> SweepResult:
        """Compute all cells, and return their rows in the order of the sweep."""
        sweep, name = self._sweep, self._data.name
        notes = [f"{name}: {note}" for note in table_notes(self._data, sweep)]
        definition = sweep.truth.of_table(words=bool(self._data.wordy))
        truth = self._data.truth or self._truth(definition)
        if (instead := sweep.truth.instead_of(definition, truth)) is not None:
            definition, truth = instead, self._truth(instead)
            notes.append(f"{name}: {LASSO_FOUND_NOTHING}")
        self._fill_cells(truth)
        unseen = self._unseen() if sweep.unseen else {}
        results: list[dict[str, Any]] = []
        frequencies: list[dict[str, Any]] = []
        for method, asked, k, epsilon in self._cells():
            key = self._cell_key(method, k, epsilon)
            summary = {**self._journal.found[key], **unseen.get(key, {})}
            head = {"dataset": name, "method": method.name, "k": k}
            head |= {"k_asked": asked.text, "epsilon": epsilon}
            results.append(self._row(head, method, summary))
            frequencies.extend(self._shares(head, summary, truth.top(k), method))
        return SweepResult(results, frequencies, notes, {name: definition.kind})

    def _fill_cells(self, truth: FoundTruth) -> None:
        """Draw the trials of all cells: those that need rows on disk in this process."""
        cells, draws = self._cells(), self._method_draws()
        elsewhere = {
            name: own for name, own in draws.by_method.items() if not self._needs_rows(own)
        }
        here = CellWork(draws, truth, self._correlation())
        sent = replace(here, draws=replace(draws, by_method=elsewhere))
        tasks = {self._cell_key(m, k, e): (m.name, k, e) for m, _, k, e in cells}
        away = {key: task for key, task in tasks.items() if task[0] in elsewhere}
        self._run(fill_cell, sent, away)
        rest = {key: task for key, task in tasks.items() if key not in away}
        self._run(fill_cell, here, rest, here=True)
        for _ in range(len(cells) - len(tasks)):
            self._tick()

    def _method_draws(self) -> MethodDraws:
        """Return all methods of the sweep, ready to draw from this data set."""
        votes, sweep = self._votes(), self._sweep
        return MethodDraws(
            name=self._data.name,
            by_method={method.name: self._draws(method, votes) for method in sweep.methods},
            trials={method.name: self._trials(method) for method in sweep.methods},
            seed=sweep.seed,
        )

    def _cells(self) -> list[tuple[EvaluatedMethod, AskedK, int, float]]:
        """Return all cells in the order of the sweep; equal k, such as 5 and logd, come twice."""
        return [
            (method, asked, k, epsilon)
            for method in self._sweep.methods
            for asked, k in zip(self._sweep.ks, self._ks, strict=True)
            for epsilon in self._sweep.epsilons
        ]

    def _unseen(self) -> dict[str, dict[str, Any]]:
        """Return, for the key of every cell, how a model with its picks does on unseen rows."""
        if self._on_disk:
            raise InputError(f"{self._data.name}: --unseen needs a table that fits in memory")
        sweep, ks = self._sweep, tuple(sorted(set(self._ks)))
        folds = fold_tests(self._data, sweep.unseen, sweep.seed)
        parts = [
            _SetSweep(
                training_rows(self._data, fold, number),
                sweep,
                self._journal,
                self._workers,
                self._tick,
            )
            for number, fold in enumerate(folds, start=1)
        ]
        compared = [f"{part._key} references {ks}" for part in parts]
        self._run(errors_of_references, folds, {key: (i, ks) for i, key in enumerate(compared)})
        cells = {(m.name, k, e): m for m, _, k, e in self._cells()}
        work = [
            FoldWork(part._method_draws(), fold) for part, fold in zip(parts, folds, strict=True)
        ]
        tasks = {
            part._cell_key(m, k, e): (i, name, k, e)
            for i, part in enumerate(parts)
            for (name, k, e), m in cells.items()
        }
        self._run(errors_of_picks, work, tasks)
        for _ in range(len(folds) * (len(self._cells()) - len(cells))):
            self._tick()
        target, done = folds[0].target, self._journal.found
        references = {k: reference_summary(target, [done[key] for key in compared], k) for k in ks}
        return {
            self._cell_key(m, k, e): {
                **unseen_summary(target, [done[part._cell_key(m, k, e)] for part in parts]),
                **references[k],
            }
            for (_, k, e), m in cells.items()
        }

    def _truth(self, truth: Truth) -> FoundTruth:
        """Return the true features by this definition."""
        data = self._data
        if truth.kind == STUMP:
            return stump_truth(data.whole, data.target, max(self._ks))
        return truth.found(self._main, data.features)

    @property
    def _main(self) -> DataSet:
        """Return the rows by which features are true, and correlate."""
        return self._view(self._data.truth_scale(self._sweep.scale))

    def _correlation(self) -> FloatArray:
        """Return the correlation of every feature; all are 0, so unknown, if some hold words."""
        if self._data.wordy:
            return np.zeros(len(self._data.features))
        return correlations(self._main.X, self._main.y)

    def _run(
        self,
        work: Callable[[Any, Any], Any],
        state: Any,
        tasks: dict[str, Any],
        *,
        here: bool = False,
    ) -> None:
        """Run the tasks that the journal lacks; with `here`, in this process."""
        workers = 1 if here else self._workers
        run_missing(
            work,
            state,
            tasks,
            self._journal,
            workers=workers,
            tick=self._tick,
            preload=SOLVER if work is fit_votes else (),
        )

    def _threads_here(self) -> int:
        """Return how many threads to use for work that stays in this process."""
        return self._workers if isinstance(self._workers, int) else plan_threads(None)

    @property
    def _on_disk(self) -> bool:
        """Return whether the rows are in a temporary file, which only this process can read."""
        return any(isinstance(X, TiledMatrix) for X in (self._data.raw.X, self._data.whole.X))

    def _needs_rows(self, draws: Draws) -> bool:
        """Return whether a method draws from rows that other processes cannot read."""
        return self._on_disk and isinstance(draws, RoundDraws | StumpDraws)

    def _trials(self, method: EvaluatedMethod) -> int:
        """Return the number of runs of a method: 1 if it always selects the same."""
        return self._sweep.trials if method.private else 1

    def _row(
        self, head: dict[str, Any], method: EvaluatedMethod, summary: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the tidy row of a cell."""
        sizes = {"n": len(self._data.raw.y), "d": len(self._data.features)}
        metrics = {name: value for name, value in summary.items() if name != "counts"}
        if not method.private:
            metrics = without_intervals(metrics)
        tail = {"trials": self._trials(method), "private": method.private, "stamp": STAMP}
        return {**head, **sizes, **metrics, **tail}

    def _shares(
        self,
        head: dict[str, Any],
        summary: dict[str, Any],
        true: IntArray,
        method: EvaluatedMethod,
    ) -> Iterable[dict[str, Any]]:
        """Yield a row for each feature with how often it was picked."""
        trials = self._trials(method)
        known = set(true.tolist())
        for position, count in summary["counts"]:
            yield {
                **head,
                "feature": self._data.features[position],
                "position": position,
                "share": count / trials,
                "is_true": position in known,
                "stamp": STAMP,
            }

    def _view(self, scale: Scale) -> DataSet:
        """Return the rows in a scaling, which is computed once."""
        if scale not in self._views:
            self._views[scale] = self._data.scaled(scale, self._sweep.clip)
        return self._views[scale]

    def _draws(self, method: EvaluatedMethod, votes: Votes) -> Draws:
        """Return the object that draws selections by a method."""
        sweep = self._sweep
        scale = sweep.scale_of(method)
        if method.ranking == Baseline.DPKENDALL:
            threads = self._threads_here() if self._on_disk else 1
            return RoundDraws(self._data.raw, sweep.neighbors, Unit(), threads)
        if method.ranking == Baseline.SIS:
            rows = self._view(scale)
            return ExactDraws(np.abs(target_products(rows.X, rows.y)))
        if method.ranking == Baseline.LASSO:
            rows = self._view(scale)
            return ExactDraws(np.abs(lasso_coefficients(rows.X, rows.y, sweep.truth.penalty)))
        assert method.mechanism is not None
        parameters = method.parameters(sweep.delta)
        if method.ranking == Baseline.TWO_STAGE:
            return VoteDraws(votes[scale], 1.0, method.mechanism, parameters)
        if method.ranking == STUMP:
            data = self._data
            return StumpDraws(
                data.whole, data.target, sweep.neighbors, Unit(), method.mechanism, parameters
            )
        rows = self._view(scale) if method.bounded else self._data.raw
        threads = self._threads_here()
        bounds = None if method.bounded else self._data.bounds
        scores = table_scores(
            method.ranking, rows, bounds, sweep.neighbors, Unit(), threads=threads
        )
        return ScoreDraws(scores, method.mechanism, parameters)

    def _cell_key(self, method: EvaluatedMethod, k: int, epsilon: float) -> str:
        """Return the key of a cell in the journal."""
        return f"{self._key} {method.name} {k} {epsilon!r}"

    def _votes(self) -> Votes:
        """Return the votes of two-stage for each k: one row per trial, which has its own blocks."""
        sweep, d = self._sweep, len(self._data.features)
        scales = sweep.vote_scales()
        ks = tuple(sorted(set(self._ks)))
        work = VoteWork(
            name=self._data.name,
            views={scale: self._view(scale) for scale in scales},
            ks=ks,
            blocks=sweep.blocks or max(1, int(len(self._data.raw.y) ** 0.5)),
            equal_blocks=sweep.equal_blocks,
            penalty=sweep.truth.penalty,
            seed=sweep.seed,
            threads=self._threads_here() if self._on_disk else 1,
        )

        def key(scale: Scale, trial: int) -> str:
            return f"{self._key} votes {scale} {trial}"

        trials = range(sweep.trials)
        tasks = {key(s, t): (s, t) for s in scales for t in trials}
        self._run(fit_votes, work, tasks, here=self._on_disk)
        found: Votes = {}
        for scale in scales:
            sparse = [self._journal.found[key(scale, trial)] for trial in trials]
            found[scale] = {
                k: np.stack([dense_votes(one[i], d) for one in sparse]) for i, k in enumerate(ks)
            }
        return found


def _digest(data: EvaluationData) -> str:
    """Return a digest of the content of a data set."""
    digest = hashlib.blake2b(digest_size=12)
    facts = (data.name, data.features, data.labels, data.target, data.bounds.target)
    digest.update(repr(facts).encode())
    for X in (data.raw.X, *([] if data.cells is None else [data.cells])):
        for _, rows in row_chunks(X):
            digest.update(np.ascontiguousarray(rows).tobytes())
    for array in (data.raw.y, data.bounds.lower, data.bounds.upper):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
