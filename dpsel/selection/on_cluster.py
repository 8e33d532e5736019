"""`select` on a cluster: workers read and add up, the caller draws."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from dpsel.budget.account import NoAccount
from dpsel.cluster import shard_files, shards
from dpsel.cluster.connection import connected
from dpsel.cluster.place import Scheduler
from dpsel.core.arrays import IntArray
from dpsel.core.scores.base import Score
from dpsel.core.scores.stump import WeightRule
from dpsel.reporter import Reporter
from dpsel.selection.request import Request
from dpsel.selection.run import Found, SelectJob, TableJob
from dpsel.selection.stump import ColumnsToScore, StumpJob
from dpsel.tables.opening import unchanged
from dpsel.tables.table import Table
from dpsel.tables.whole_columns import WholeColumns


class OnCluster(TableJob):
    """A job of `select` whose rows are read by the workers of a cluster.

    The cluster is connected after all that only public things can spoil, and before the charge: a
    cluster that is not there costs nothing, and one that is lost later does.

    Privacy:
        Guarantee: that of the job without a cluster: noise is drawn here, from this process's own
            randomness. Rows and partial sums are in the cluster's memory, unprotected.
        Assumes: operators of the cluster who may see the rows; see docs/cluster.md.
        Tested by: tests/cluster/test_select.py
    """

    def __init__(
        self, table: Any, request: Request, reporter: Reporter, scheduler: Scheduler
    ) -> None:
        """Know what is asked for; open nothing, and connect to nothing."""
        super().__init__(table, request, reporter)
        self._scheduler = scheduler

    @contextmanager
    def opened(self) -> Iterator[Table]:
        """Open the table, as files that any worker can open."""
        reading = self._request.reading
        self._files = shard_files.table_files(self._place, reading)
        with closing(self._files.open()) as table:
            yield table

    @contextmanager
    def checked(self, table: Table, account: NoAccount) -> Iterator[None]:
        """Check columns, bounds and k; then connect the cluster."""
        with super().checked(table, account):
            self._work = shards.ShardWork.of(
                table,
                self._files,
                self._layout,
                self._bounds,
                self._request.coding,
                self._request.guarantee,
                self._request.score,
            )
            with self.connected() as self._cluster:
                yield

    @contextmanager
    def connected(self) -> Iterator[shards.Cluster]:
        """Connect to the cluster."""
        with connected(self._scheduler, self._reporter.warn) as crew:
            yield shards.Cluster(crew.totals, shard_files.TARGET_BYTES)


class ClusterJob(OnCluster, SelectJob):
    """One score of all rows, added up on a cluster, and one mechanism here."""

    def _add_rows(self, table: Table, score: Score) -> Found:
        """Add the sums of all shards to a score."""
        total = shards.cluster_total(
            self._work, self._files, self._cluster, self._reporter.progress
        )
        score.add(total.sums)
        return Found(total.made, total.label_seen, total.cells)


class StumpClusterJob(OnCluster, StumpJob):
    """The score `stump` by the workers of a cluster, once the weights were found here."""

    def read(self, table: Table) -> "ClusterColumns":
        """Return what reads the target here, and scores the columns there."""
        self._hint()
        request = self._request
        limit = request.person_limit()
        # A column beside the target: a table is never read without any.
        columns = WholeColumns(
            table,
            self._layout.some(0, 1),
            request.coding,
            limit,
            request.threads,
            self._reporter,
        )
        return ClusterColumns(table, columns, self._scored_there)

    def _scored_there(self, rule: WeightRule) -> IntArray:
        """Return the scores of all columns, from all shards."""
        work = replace(self._work, rule=rule)
        total = shards.cluster_total(work, self._files, self._cluster, self._reporter.progress)
        scores: IntArray = total.sums[1]
        return scores


class ClusterColumns(ColumnsToScore):
    """The columns of a table, of which only the target is read here."""

    def __init__(
        self, table: Table, columns: WholeColumns, there: Callable[[WeightRule], IntArray]
    ) -> None:
        """Read nothing yet."""
        super().__init__(table, columns, 1)
        self._there = there

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all columns, a row for every round.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism. The rule is sent to the
                cluster, whose operators may see all rows anyway.
            Tested by: tests/cluster/test_stump.py
        """
        with unchanged(self._table.sources):
            return self._there(rule)
