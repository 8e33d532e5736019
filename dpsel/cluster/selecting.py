"""`select` on a cluster: workers read and add up, the caller draws."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from dpsel.cluster.plan import ClusterPlan
from dpsel.core.selection import Selection
from dpsel.plan import SelectPlan
from dpsel.run import Reporter

if TYPE_CHECKING:
    from dpsel.cluster.running import Crew
    from dpsel.shares import Share, Total, Work


def run_select_on(
    cluster: ClusterPlan | None,
    table: Any,
    plan: SelectPlan,
    reporter: Reporter,
    charge: Callable[[], None],
) -> Selection:
    """Read a table on a cluster, or here if there is none, and select from it as `run_select` does.

    The cluster is connected after all that only public things can spoil, and before the charge: a
    cluster that is not there costs nothing, and one that is lost later does.

    Privacy:
        Guarantee: that of `run_select`: noise is drawn here, once, from this process's own
            randomness. Rows and partial sums are in the cluster's memory, unprotected.
        Assumes: operators of the cluster who may see the rows; see docs/cluster.md.
        Tested by: tests/cluster/test_select.py
    """
    from dpsel.run import run_select

    if cluster is None:
        return run_select(table, plan, reporter, charge)
    from dpsel.cluster.client import connected
    from dpsel.io import splits
    from dpsel.shares import Cluster

    with ExitStack() as stack:
        crews: list[Crew] = []

        def connect_and_charge() -> None:
            crews.append(stack.enter_context(connected(cluster, reporter.warn)))
            charge()

        def spread(
            work: "Work", shares: "Sequence[Share]", progress: Callable[[float], None]
        ) -> "Iterator[Total]":
            return crews[0].totals(work, shares, progress)

        return run_select(
            table, plan, reporter, connect_and_charge, Cluster(spread, splits.TARGET_BYTES)
        )
