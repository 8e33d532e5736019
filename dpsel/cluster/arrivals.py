"""Results as they come, from a cluster that may be lost on the way."""

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any

from dpsel.cluster.door import load_distributed
from dpsel.cluster.silence import RollCall
from dpsel.core.errors import ClusterError, DpselError

_POLL = 1.0
_LOST = "the connection to the scheduler was lost, and with it the work"


class Arrivals:
    """Futures in the order in which they are done."""

    def __init__(self, client: Any, patience: float, run: str, note: Callable[[str], None]) -> None:
        """Give up on a scheduler that is silent for so many seconds, or has no workers.

        The names of all tasks begin with `run`. Workers that are silent are noted.
        """
        self._client, self._patience, self._run = client, patience, run
        self._roll = RollCall(client, patience, note)
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting: dict[str, Any] = {}
        self._alone_since: float | None = None
        self._asked = time.monotonic()

    def __enter__(self) -> "Arrivals":
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of what has not arrived: the cluster stops working on it."""
        self._waiting.clear()

    def watch(self, futures: Sequence[Any]) -> None:
        """Hold these futures until they are done."""
        for future in futures:
            self._waiting[future.key] = future
            future.add_done_callback(self._done.put)

    def __iter__(self) -> Iterator[Any]:
        """Yield each future that is done."""
        while self._waiting:
            try:
                future = self._done.get(timeout=_POLL)
            except queue.Empty:
                self._look_around()
                continue
            # A task that is done again, since its worker died, may be done twice.
            if self._waiting.pop(future.key, None) is not None:
                yield future

    def result(self, future: Any) -> Any:
        """Return what a task returned, or raise what went wrong in plain words."""
        distributed = load_distributed()
        while True:
            try:
                return future.result(timeout=self._patience)
            except TimeoutError:
                self._look_around(now=True)
            except DpselError:
                raise
            except distributed.KilledWorker:
                raise ClusterError(
                    "workers died again and again on the same piece of work, perhaps for want of "
                    "memory; give each worker more, or fewer threads"
                ) from None
            except (CancelledError, OSError):
                raise ClusterError(_LOST) from None
            except Exception as error:
                # Dask's own: our tasks raise nothing else.
                raise ClusterError(
                    f"a worker cannot run dpsel ({type(error).__name__}); install the same "
                    "versions of dpsel and its packages on all of them"
                ) from None

    def _look_around(self, *, now: bool = False) -> None:
        """Ask the scheduler from time to time whether it is there, and who else is."""
        if self._client.status not in ("running", "newly-created"):
            raise ClusterError(_LOST)
        time_now = time.monotonic()
        if not now and time_now - self._asked < self._patience / 6:
            return
        self._asked = time_now
        try:
            about = self._client.sync(
                self._client.scheduler.identity, callback_timeout=self._patience
            )
        except (OSError, TimeoutError):
            raise ClusterError(_LOST) from None
        if about["workers"]:
            self._alone_since = None
            self._roll.call(about["workers"], self._run)
            return
        self._alone_since = self._alone_since or time_now
        if time_now - self._alone_since > self._patience:
            raise ClusterError("the cluster has no workers left, and no new one came in time")
