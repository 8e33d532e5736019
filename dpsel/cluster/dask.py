"""A Dask cluster: connect, run tasks on its workers, gather results, notice when it is lost."""

import gc
import logging
import os
import pickle
import queue
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel import __version__
from dpsel.cluster.silence import RollCall
from dpsel.cluster.tasks import added_totals, do_task, shard_total, unpacked
from dpsel.errors import ClusterError, DpselError, UsageError

if TYPE_CHECKING:
    from dpsel.cluster.shards import Partial, Shard, ShardWork


_TALKERS = ("distributed", "dask", "dask_jobqueue", "tornado", "asyncio", "bokeh")
_SILENT = logging.CRITICAL + 1


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect garbage now, and not while a connection is made.

    Dask waits for a new thread with a lock in its hand. If that thread happens to collect an older
    connection, whose end asks for the same lock, both wait for ever.
    """
    gc.collect()
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def load_distributed() -> Any:
    """Return `distributed`, or say how to get it."""
    try:
        import distributed
    except ImportError:
        raise dask_missing() from None
    found: Any = distributed
    return found


def dask_config() -> Any:
    """Return Dask's configuration: its files, its environment, and what programs set."""
    load_distributed()
    import dask

    found: Any = dask.config
    return found


def patience() -> float:
    """Return for how many seconds a cluster may be silent: Dask's own time to connect, 30 s."""
    load_distributed()
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask_config().get("distributed.comm.timeouts.connect"), "s"))


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Keep Dask's log off stderr: it shows tracebacks, and we say what is wrong in plain words."""
    load_distributed()
    loggers = [logging.getLogger(name) for name in [*logging.root.manager.loggerDict, *_TALKERS]]
    ours = [one for one in loggers if one.name.split(".")[0] in _TALKERS]
    levels = {one: one.level for one in ours}
    settings = {
        # The state of a sweep travels in the graph, so that it outlives any worker.
        "distributed.admin.large-graph-warning-threshold": "1TiB",
    }
    try:
        for one in levels:
            one.setLevel(_SILENT)
        with dask_config().set(settings):
            yield
    finally:
        for one, level in levels.items():
            one.setLevel(level)


def dask_missing() -> UsageError:
    """Return what to say where Dask, or a part of it, is not installed."""
    return UsageError("--cluster needs Dask: pip install dask distributed dask-jobqueue")


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
                    "workers died again and again on the same task, perhaps for want of "
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


_WHERE = "see distributed.comm.tls in Dask's configuration, and docs/cluster.md"


def configured_credentials(*roles: str) -> Any:
    """Return the certificates of Dask's configuration for these roles; None if it has none."""
    distributed = load_distributed()
    config = dask_config()
    places = [f"distributed.comm.tls.{role}.cert" for role in roles]
    if not all(config.get(place) for place in ("distributed.comm.tls.ca-file", *places)):
        return None
    security = distributed.Security()
    try:
        for role in roles:
            security.get_connection_args(role)
    except (OSError, ssl.SSLError, ValueError):
        raise ClusterError(f"the certificates of the cluster cannot be used; {_WHERE}") from None
    return security


def client_credentials(address: str) -> Any:
    """Return what a client needs to connect to a scheduler."""
    security = configured_credentials("client")
    if security is None and address.startswith("tls://"):
        raise ClusterError(f"{address}: tls needs a CA file and a client's certificate; {_WHERE}")
    security = load_distributed().Security() if security is None else security
    if security.require_encryption and not address.startswith("tls://"):
        # Dask would refuse it too, but never get rid of the client that tried.
        raise ClusterError(f"{address}: Dask's configuration asks for encryption; use tls://")
    return security


def new_credentials(folder: Path) -> Any:
    """Return certificates that are valid for whoever can read `folder`, where they are kept."""
    try:
        made = load_distributed().Security.temporary()
    except ImportError:
        raise ClusterError("certificates need one more package: pip install cryptography") from None
    certificate = _kept(folder / "cluster.crt", made.tls_client_cert)
    key = _kept(folder / "cluster.key", made.tls_client_key)
    both = {
        f"tls_{role}_{part}": place
        for role in ("client", "scheduler", "worker")
        for part, place in (("cert", certificate), ("key", key))
    }
    return load_distributed().Security(require_encryption=True, tls_ca_file=certificate, **both)


def _kept(place: Path, text: str) -> str:
    """Write a file that nobody else can read, and return its place."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return str(place)


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
        group = TaskGroup(self._client, state)
        futures = group.map(do_task, list(tasks.values()), work=work)
        keys = dict(zip((future.key for future in futures), tasks, strict=True))
        with self._arrivals(group) as arrivals:
            arrivals.watch(futures)
            # What has arrived is let go of, so that the workers can forget it.
            del futures
            for future in arrivals:
                yield keys[future.key], arrivals.result(future)

    def totals(
        self, work: "ShardWork", shards: Sequence["Shard"], progress: Callable[[float], None]
    ) -> Iterator["Partial"]:
        """Yield the last few totals of a tree that adds up all shards on the workers.

        The sums are integers, so they are the same for any tree and any order.

        Privacy:
            Guarantee: none; totals are private, and the cluster's operators can see them. No
                noise is drawn there, and nothing that is sent holds an epsilon, k or seed.
            Tested by: tests/cluster/test_select.py
        """
        group = TaskGroup(self._client, work)
        leaves = group.map(shard_total, shards)
        tops, height = leaves, 0
        while len(tops) > _FAN_IN:
            height += 1
            tops = [
                # Adding comes before reading more, so that sums do not pile up.
                group.submit(added_totals, tops[first : first + _FAN_IN], priority=height)
                for first in range(0, len(tops), _FAN_IN)
            ]
        ends = {future.key for future in tops}
        done = 0
        with self._arrivals(group) as arrivals:
            arrivals.watch(leaves if height == 0 else [*leaves, *tops])
            # What has arrived is let go of: a sum is forgotten once it is in a larger one.
            del leaves, tops
            for future in arrivals:
                if height == 0 or future.key not in ends:
                    done += 1
                    progress(done / len(shards))
                if future.key in ends:
                    yield arrivals.result(future)
                elif future.status in ("error", "cancelled"):
                    # Said at once. One that is pending again, since its worker died, is not one.
                    arrivals.result(future)

    def _arrivals(self, group: "TaskGroup") -> Arrivals:
        """Return what waits for the tasks of a group."""
        return Arrivals(self._client, self._patience, group.name, self._note)


class TaskGroup:
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
