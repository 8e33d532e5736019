"""Tasks on the workers of a cluster, and what they return."""

import pickle
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel import __version__
from dpsel.cluster.arrivals import Arrivals
from dpsel.cluster.tasks import added_totals, do_task, share_total, unpacked

if TYPE_CHECKING:
    from dpsel.shares import Share, Total, Work

_FAN_IN = 8

State = TypeVar("State")
Task = TypeVar("Task")


class Crew:
    """Workers that are there, and have the same dpsel."""

    def __init__(self, client: Any, patience: float, note: Callable[[str], None]) -> None:
        """Work through a Dask client; give up on a cluster that is silent for so many seconds."""
        self._client = client
        self._patience = patience
        self._note = note

    def run(
        self, work: Callable[[State, Task], Any], state: State, tasks: Mapping[str, Task]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the key of each task with `work(state, task)`, as they come.

        `work` is a function of a module, and `state` and the tasks can be pickled. A task whose
        worker dies is done again elsewhere, so nothing may depend on where it is done, or when.
        """
        run = Run(self._client, state)
        futures = run.map(do_task, list(tasks.values()), work=work)
        keys = dict(zip((future.key for future in futures), tasks, strict=True))
        with self._arrivals(run) as arrivals:
            arrivals.watch(futures)
            # What has arrived is let go of, so that the workers can forget it.
            del futures
            for future in arrivals:
                yield keys[future.key], arrivals.result(future)

    def totals(
        self, work: "Work", shares: Sequence["Share"], progress: Callable[[float], None]
    ) -> Iterator["Total"]:
        """Yield the last few totals of a tree that adds up all shares on the workers.

        The sums are integers, so they are the same for any tree and any order.

        Privacy:
            Guarantee: none; totals are private, and the cluster's operators can see them. No
                noise is drawn there, and nothing that is sent holds an epsilon, k or seed.
            Tested by: tests/cluster/test_select.py
        """
        run = Run(self._client, work)
        leaves = run.map(share_total, shares)
        tops, height = leaves, 0
        while len(tops) > _FAN_IN:
            height += 1
            tops = [
                # Adding comes before reading more, so that sums do not pile up.
                run.submit(added_totals, tops[first : first + _FAN_IN], priority=height)
                for first in range(0, len(tops), _FAN_IN)
            ]
        ends = {future.key for future in tops}
        done = 0
        with self._arrivals(run) as arrivals:
            arrivals.watch(leaves if height == 0 else [*leaves, *tops])
            # What has arrived is let go of: a sum is forgotten once it is in a larger one.
            del leaves, tops
            for future in arrivals:
                if height == 0 or future.key not in ends:
                    done += 1
                    progress(done / len(shares))
                if future.key in ends:
                    yield arrivals.result(future)
                elif future.status in ("error", "cancelled"):
                    # Said at once. One that is pending again, since its worker died, is not one.
                    arrivals.result(future)

    def _arrivals(self, run: "Run") -> Arrivals:
        """Return what waits for the tasks of a run."""
        return Arrivals(self._client, self._patience, run.name, self._note)


class Run:
    """Tasks that share a state. Their names say nothing about them."""

    def __init__(self, client: Any, state: Any) -> None:
        """Send the state."""
        self._client = client
        self.name = f"dpsel-{uuid.uuid4().hex}"
        self._count = 0
        self._state = client.submit(
            unpacked, pickle.dumps(state), key=f"{self.name}-state", pure=False
        )

    def map(self, function: Callable[..., Any], items: Sequence[Any], **options: Any) -> list[Any]:
        """Return futures of `function(packed, version=, state=, **options)`, one an item."""
        found: list[Any] = self._client.map(
            function,
            [pickle.dumps(item) for item in items],
            key=[self._new_key() for _ in items],
            pure=False,
            version=__version__,
            state=self._state,
            **options,
        )
        return found

    def submit(self, function: Callable[..., Any], inputs: list[Any], priority: int) -> Any:
        """Return a future of `function(results of inputs, version=, state=)`."""
        return self._client.submit(
            function,
            inputs,
            key=self._new_key(),
            pure=False,
            priority=priority,
            version=__version__,
            state=self._state,
        )

    def _new_key(self) -> str:
        """Return a name that no other task of the cluster has."""
        self._count += 1
        return f"{self.name}-{self._count}"
