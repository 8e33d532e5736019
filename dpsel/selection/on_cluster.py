"""`select` on a cluster: workers read the rows and add them up, and this process draws."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from dpsel.budget.account import Account
from dpsel.cluster import shard_files, shards
from dpsel.cluster.connection import connected
from dpsel.cluster.place import Scheduler
from dpsel.core.arrays import IntArray
from dpsel.core.groups import Features
from dpsel.core.scores.base import Score
from dpsel.core.scores.stump import WeightRule
from dpsel.reporter import Reporter
from dpsel.selection.request import Request
from dpsel.selection.run import Job, ReadResult, SelectJob
from dpsel.selection.stump import ColumnsToScore, StumpJob
from dpsel.tables.opening import unchanged
from dpsel.tables.table import Table
from dpsel.tables.whole_columns import WholeColumns


class OnCluster(Job):
    """A job of `select` whose rows are read by the workers of a cluster.

    It connects to the cluster after all public checks and before the charge. So a cluster that
    cannot be reached costs nothing; one that is lost later does.

    Privacy:
        Guarantee: that of the job without a cluster: noise is drawn in this process, from its own
            randomness. Rows and partial sums are in the cluster's memory, unprotected.
        Assumes: operators of the cluster who may see the rows; see docs/guides/cluster.md.
        Tested by: tests/cluster/test_select.py
    """

    def __init__(
        self, table: Any, request: Request, reporter: Reporter, scheduler: Scheduler
    ) -> None:
        """Keep the request; open nothing and connect to nothing yet."""
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
    def checked(self, table: Table, account: Account) -> Iterator[None]:
        """Check columns, bounds, scope and k; then connect to the cluster."""
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
    """A score whose partial sums the cluster adds up, and one mechanism in this process."""

    def _add_rows(self, table: Table, score: Score) -> ReadResult:
        """Add the sums of all shards to a score."""
        total = shards.cluster_total(
            self._work, self._files, self._cluster, self._reporter.progress
        )
        score.add(total.sums)
        return ReadResult(total.made, total.label_seen, total.cells)


class StumpClusterJob(OnCluster, StumpJob):
    """The score `stump`, computed by a cluster with weights that were found in this process."""

    def read(self, table: Table) -> "ClusterColumns":
        """Return the columns: the target is read here, and the cluster scores the rest."""
        self._hint()
        request = self._request
        limit = request.person_limit()
        # One feature next to the target: a table cannot be read without features.
        columns = WholeColumns(
            table,
            self._layout.some(0, 1),
            request.coding,
            limit,
            request.threads,
            self._reporter,
        )
        return ClusterColumns(table, columns, self._features, self._cluster_scores)

    def _cluster_scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all columns, put together from all shards."""
        work = replace(self._work, rule=rule)
        total = shards.cluster_total(work, self._files, self._cluster, self._reporter.progress)
        scores: IntArray = total.sums[1]
        return scores


class ClusterColumns(ColumnsToScore):
    """The columns of a table; only the target is read in this process."""

    def __init__(
        self,
        table: Table,
        columns: WholeColumns,
        features: Features,
        cluster_scores: Callable[[WeightRule], IntArray],
    ) -> None:
        """Keep the columns; read nothing yet."""
        super().__init__(table, columns, features)
        self._cluster_scores = cluster_scores

    def _column_scores(self, rule: WeightRule) -> IntArray:
        """Return the scores of all columns, one row per round.

        Privacy:
            Guarantee: none; the scores are private input for a mechanism. The rule is sent to the
                cluster, whose operators may see all rows anyway.
            Tested by: tests/cluster/test_stump.py
        """
        with unchanged(self._table.sources):
            return self._cluster_scores(rule)
