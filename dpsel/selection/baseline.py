"""The baselines that private selection by scores is compared with.

`two-stage` and `dpkendall` are private; `sis` and `lasso` are not. All need every row at once.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpsel.budget.account import NOT_PRIVATE, SEEDED, Run
from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import ONE, UNIT_INTERVAL, Bounds, bounded_integers
from dpsel.core.guarantee import Guarantee, Neighbors
from dpsel.core.matrix import Matrix, TiledMatrix, target_products
from dpsel.core.randomness import Randomness
from dpsel.core.release import DrawnBy, release_rounds, release_votes, without_privacy
from dpsel.core.rounds import kendall_rounds
from dpsel.core.scores.base import Scores
from dpsel.core.scores.kendall import KendallScore
from dpsel.core.selection import Question, Selection
from dpsel.core.votes import (
    Voting,
    block_votes,
    contiguous_blocks,
    random_partition,
    two_stage_scores,
)
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.selection.exact import exact_top_k, tied_share
from dpsel.selection.lasso import block_fit, lasso_coefficients, quiet_solver
from dpsel.selection.options import (
    Baseline,
    BaselinePrivacy,
    Blocks,
    Bounding,
    ColumnChoice,
    Drawing,
    Method,
    Privacy,
    Scoring,
    TargetFacts,
    VoteDrawing,
)
from dpsel.selection.request import Request, make_request, public_parameters
from dpsel.selection.run import Job
from dpsel.system.threads import Threads
from dpsel.tables.formats import Reading
from dpsel.tables.opening import unchanged
from dpsel.tables.spill import memory_asked, read_matrix
from dpsel.tables.table import RowReader, Table

_MOST_BLOCKS = 100_000
# Memory that a method needs, as a multiple of the table: the rows are put together, and a LASSO
# centers a copy.
_COPIES = 3


@frozen
class BaselineRequest:
    """A request of `select`, with the options that only baselines have."""

    common: Request
    method: Baseline
    private: bool
    blocks: Blocks

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        count, contiguous = self.blocks.blocks, self.blocks.contiguous
        if count is not None and not 1 <= count <= _MOST_BLOCKS:
            raise UsageError(f"blocks must be between 1 and {_MOST_BLOCKS}, got {count}")
        add_remove = self.common.guarantee.neighbors is Neighbors.ADD_REMOVE
        if self.method is not Baseline.TWO_STAGE:
            if count is not None or contiguous:
                raise UsageError("--blocks and --contiguous go with --method two-stage")
        elif self.private and add_remove and contiguous:
            raise UsageError("contiguous blocks need replace-one neighbors and rows as the unit")
        elif self.private and add_remove and count is None:
            raise UsageError(
                "under add-remove the number of rows is private, so --blocks B is needed; or use "
                "--neighbors replace-one"
            )


def make_baseline_request(
    columns: ColumnChoice,
    privacy: BaselinePrivacy,
    blocks: Blocks,
    bounding: Bounding,
    drawing: VoteDrawing,
    reading: Reading,
) -> BaselineRequest:
    """Make a request from the options; check all that can be checked without the table."""
    rounds = privacy.method is Baseline.DPKENDALL
    if privacy.private and privacy.epsilon is None:
        raise UsageError("--epsilon is needed; or run two-stage with --no-privacy")
    if rounds and privacy.no_privacy:
        raise UsageError("dpkendall is private; --no-privacy goes with two-stage")
    if rounds and drawing != VoteDrawing():
        raise UsageError(
            "dpkendall has a mechanism of its own; leave out --mechanism and its options"
        )
    common = make_request(
        columns,
        TargetFacts(),
        bounding,
        Privacy(
            k=privacy.k,
            epsilon=1.0 if privacy.epsilon is None else privacy.epsilon,
            neighbors=privacy.neighbors,
            seed=privacy.seed,
        ),
        Scoring(method=Method.DPKENDALL if rounds else Method.DP_SIS),
        Drawing() if rounds else drawing,
        reading,
    )
    return BaselineRequest(common, privacy.method, privacy.private, blocks)


def baseline_run(table: Any, request: BaselineRequest) -> Run:
    """Return a run of `baseline` as a ledger sees it. The table is named, but not opened."""
    rounds = request.method is Baseline.DPKENDALL
    parameters = public_parameters(
        table,
        request.common,
        score="kendall" if rounds else str(request.method),
        mechanism=str(request.method) if rounds else request.common.mechanism,
        blocks=request.blocks.blocks,
        contiguous=request.blocks.contiguous,
        penalty=request.blocks.penalty,
    )
    seeded = None if request.common.seed is None else SEEDED
    not_private = seeded if request.private else NOT_PRIVATE
    return Run("baseline", request.common.guarantee, None, parameters, not_private)


@frozen
class AllRows:
    """All rows of a table, and the guarantee of a selection from them. Private."""

    X: Matrix
    y: FloatArray
    guarantee: Guarantee


class BaselineJob(Job):
    """The job of a baseline.

    Privacy:
        Domain: any table of at most 2^31 - 1 rows.
        Neighbors: those of the request's guarantee.
        Guarantee: that of the request, for the record, if `request.private` and without a seed;
            else none.
        Assumes: see `two_stage_scores` and `kendall_rounds`.
        Tested by: tests/cli/test_baseline.py
    """

    def __init__(self, table: Any, request: BaselineRequest, reporter: Reporter) -> None:
        """Keep the request; open nothing yet."""
        super().__init__(table, request.common, reporter)
        self._baseline = request

    def question(self) -> Question:
        """Return the question that the record will state."""
        return replace(super().question(), method=str(self._baseline.method))

    @contextmanager
    def opened(self) -> Iterator[Table]:
        """Check the method's own limits, and open the table."""
        _check_method(self._baseline)
        with super().opened() as table:
            yield table

    def _with_and_without_bounds(self) -> tuple[str, str]:
        """Name the method: its score is not the user's choice."""
        return f"the method {self._baseline.method}", "`dpsel select`"

    def read(self, table: Table) -> AllRows:
        """Read all rows, clipped to their bounds unless the method uses raw values."""
        request = self._request
        raw = self._baseline.method is Baseline.DPKENDALL
        rows = RowReader(request.coding)
        with unchanged(table.sources):
            X, y, cells = read_matrix(
                table,
                self._layout,
                rows,
                self._reporter,
                request.threads,
                copies=_COPIES,
                clipping=None if raw else self._bounds,
                change=None if raw else partial(_bounded, self._bounds),
            )
        self._note_cells(cells, table.provenance)
        unusable = cells.unusable_targets
        self._warn_of_target(rows=cells.any_rows, label_seen=rows.label_seen, unusable=unusable)
        return AllRows(X, y, self._guarantee(table.provenance))

    def release(self, rows: AllRows) -> Selection:
        """Select features by the method."""
        request, names, method = self._request, self._layout.names, str(self._baseline.method)
        if self._baseline.method is Baseline.DPKENDALL:
            rounds, drawn_by = partial(self._rounds, rows), DrawnBy("kendall", method, {})
            return release_rounds(rounds, names, rows.guarantee, drawn_by, request.seed)
        if not self._baseline.private:
            return without_privacy(partial(self._exact, rows), names, method, request.seed)
        votes = partial(self._votes, rows)
        drawn_by = DrawnBy(method, request.mechanism, request.parameters)
        return release_votes(votes, names, request.k, rows.guarantee, drawn_by, request.seed)

    def _votes(self, rows: AllRows, rng: Randomness) -> Scores:
        """Return the votes of random blocks of rows."""
        with self._voting(rows) as voting:
            return two_stage_scores(
                rows.X,
                rows.y,
                self._request.k,
                voting,
                neighbors=rows.guarantee.neighbors,
                unit=rows.guarantee.unit,
                rng=rng,
                contiguous=self._baseline.blocks.contiguous,
            )

    @contextmanager
    def _voting(self, rows: AllRows) -> Iterator[Voting]:
        """Prepare the LASSO solver, and yield how the blocks vote with it."""
        threads, progress = Threads(self._request.threads), self._reporter.progress
        with block_fit(self._baseline.blocks.penalty) as fit:
            yield Voting(self._block_count(len(rows.y)), fit, threads, progress)

    def _rounds(self, rows: AllRows, rng: Randomness) -> IntArray:
        """Choose in k rounds, by Kendall's correlation with the target and with earlier choices."""
        guarantee, threads = rows.guarantee, Threads(self._request.threads)

        def kendall(x: FloatArray, others: Matrix) -> IntArray:
            bounds = Bounds.of([UNIT_INTERVAL] * others.shape[1], UNIT_INTERVAL)
            score = KendallScore(bounds, guarantee.neighbors, guarantee.unit)
            score.work_with(threads)
            if isinstance(others, TiledMatrix):
                score.take(others, x)
            else:
                score.add(Batch(0, others, x))
            values: IntArray = score.scores().values
            return values

        return kendall_rounds(
            rows.X,
            rows.y,
            self._request.k,
            guarantee.epsilon,
            rng,
            neighbors=guarantee.neighbors,
            unit=guarantee.unit,
            kendall=kendall,
        )

    def _exact(self, rows: AllRows, rng: Randomness) -> IntArray:
        """Choose the k best features without privacy; note a tie for the last place."""
        values, k = self._values(rows, rng), self._request.k
        if tied_share(values, k):
            last = float(np.sort(values)[-k])
            self._reporter.note(
                f"{np.count_nonzero(values == last)} features tie for the last of the {k} places "
                f"by {self._baseline.method}: nothing tells them apart, and the first columns were "
                "taken"
            )
        return exact_top_k(values, k)

    def _values(self, rows: AllRows, rng: Randomness) -> FloatArray:
        """Return the numbers by which a method without privacy ranks the features."""
        if self._baseline.method is Baseline.SIS:
            return np.abs(target_products(rows.X, rows.y))
        if self._baseline.method is Baseline.LASSO:
            return np.abs(lasso_coefficients(rows.X, rows.y, self._baseline.blocks.penalty))
        with self._voting(rows) as voting:
            block_of_row = (
                contiguous_blocks(len(rows.y), voting.blocks)
                if self._baseline.blocks.contiguous
                else random_partition(len(rows.y), voting.blocks, rng)
            )
            votes = block_votes(rows.X, rows.y, block_of_row, self._request.k, voting)
        return votes.astype(np.float64)

    def _block_count(self, rows: int) -> int:
        """Return the number of blocks: the one given, or the square root of the number of rows.

        `BaselineRequest` demands a given number where the number of rows is private.
        """
        given = self._baseline.blocks.blocks
        return given if given is not None else max(1, math.isqrt(rows))


def _check_method(request: BaselineRequest) -> None:
    """Refuse, before anything is charged, what the method cannot do on any table."""
    memory_asked()
    if request.method in (Baseline.TWO_STAGE, Baseline.LASSO):
        with quiet_solver(request.blocks.penalty):
            pass


def _bounded(bounds: Bounds, batch: Batch) -> Batch:
    """Return features and target clipped and scaled to [-1, 1], on the grid of all scores."""
    target = bounds.target
    whole_y = bounded_integers(batch.y, np.array(target.lower), np.array(target.upper))
    lower, upper = bounds.lower[batch.features], bounds.upper[batch.features]
    whole_X = bounded_integers(np.asarray(batch.X), lower, upper)
    whole_X /= ONE
    return Batch(batch.first_feature, whole_X, whole_y / ONE)
