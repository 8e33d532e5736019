"""Tasks on the workers of a cluster, and what they return."""

import pickle
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dpsel import __version__
from dpsel.cluster.arrivals import Arrivals
from dpsel.cluster.tasks import do_task, unpacked

State = TypeVar("State")
Task = TypeVar("Task")


class Cluster:
    """Workers that are there, and have the same dpsel."""

    def __init__(self, client: Any, patience: float) -> None:
        """Work through a Dask client; give up on a cluster that is silent for so many seconds."""
        self._client = client
        self._patience = patience

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
        with Arrivals(self._client, self._patience) as arrivals:
            arrivals.watch(futures)
            # What has arrived is let go of, so that the workers can forget it.
            del futures
            for future in arrivals:
                yield keys[future.key], arrivals.result(future)


class Run:
    """Tasks that share a state. Their names say nothing about them."""

    def __init__(self, client: Any, state: Any) -> None:
        """Send the state."""
        self._client = client
        self._name = f"dpsel-{uuid.uuid4().hex}"
        self._count = 0
        self._state = client.submit(
            unpacked, pickle.dumps(state), key=f"{self._name}-state", pure=False
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

    def _new_key(self) -> str:
        """Return a name that no other task of the cluster has."""
        self._count += 1
        return f"{self._name}-{self._count}"
