"""`select` on a cluster: workers read and add up, the caller draws."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from dpsel.budget.account import NoAccount
from dpsel.cluster import shards
from dpsel.cluster.connection import connected
from dpsel.cluster.place import Scheduler
from dpsel.core.scores.base import Score
from dpsel.reporter import Reporter
from dpsel.selection.request import Request
from dpsel.selection.run import Found, SelectJob
from dpsel.tables.table import Table


class ClusterJob(SelectJob):
    """A job of `select` whose rows are read by the workers of a cluster.

    The cluster is connected after all that only public things can spoil, and before the charge: a
    cluster that is not there costs nothing, and one that is lost later does.

    Privacy:
        Guarantee: that of `SelectJob`: noise is drawn here, once, from this process's own
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
        self._files = shards.table_files(self._place, reading.input_format, reading.separator)
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
            yield shards.Cluster(crew.totals, shards.TARGET_BYTES)

    def _add_rows(self, table: Table, score: Score) -> Found:
        """Add the sums of all shards to a score."""
        total = shards.cluster_total(
            self._work, self._files, self._cluster, self._reporter.progress
        )
        score.add(total.sums)
        return Found(total.made, total.label_seen, total.cells)
