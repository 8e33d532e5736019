"""Running tasks on a Dask cluster: results as they arrive, silent workers, and certificates."""

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
from typing import TYPE_CHECKING, Any, TypeVar

from dpsel import __version__
from dpsel.cluster.tasks import added_totals, do_task, shard_total, unpacked
from dpsel.errors import ClusterError, DpselError, UsageError

if TYPE_CHECKING:
    from dpsel.cluster.shards import Partial, Shard, ShardWork


_TALKERS = ("distributed", "dask", "dask_jobqueue", "tornado", "asyncio", "bokeh")
_SILENT = logging.CRITICAL + 1


@contextmanager
def no_collections() -> Iterator[None]:
    """Collect garbage now, and not while a connection is made.

    Dask holds a lock while it waits for a new thread. If that thread happens to collect an older
    connection, whose finalizer needs the same lock, both wait forever.
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
    """Return the module `distributed`, or raise an error that says how to install it."""
    try:
        import distributed
    except ImportError:
        raise dask_missing() from None
    found: Any = distributed
    return found


def dask_config() -> Any:
    """Return Dask's configuration: from its files, the environment, and programs."""
    load_distributed()
    import dask

    found: Any = dask.config
    return found


def patience() -> float:
    """Return for how many seconds a cluster may be silent: Dask's connect timeout, 30 s."""
    load_distributed()
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask_config().get("distributed.comm.timeouts.connect"), "s"))


@contextmanager
def quiet_dask() -> Iterator[None]:
    """Keep Dask's log off stderr: it shows tracebacks, and our own errors say what is wrong."""
    load_distributed()
    loggers = [logging.getLogger(name) for name in [*logging.root.manager.loggerDict, *_TALKERS]]
    ours = [one for one in loggers if one.name.split(".")[0] in _TALKERS]
    levels = {one: one.level for one in ours}
    settings = {
        # The state of a sweep is sent in the graph, so that it outlives any worker.
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
    """Return the error for a machine where Dask, or a part of it, is not installed."""
    return UsageError("--cluster needs Dask: pip install dask distributed dask-jobqueue")


_POLL = 1.0
_LOST = "the connection to the scheduler was lost, and with it the work"


class Arrivals:
    """Yields futures in the order in which they are done."""

    def __init__(self, client: Any, patience: float, run: str, note: Callable[[str], None]) -> None:
        """Give up on a scheduler that is silent, or has no workers, for `patience` seconds.

        The names of all tasks begin with `run`. Silent workers are reported by `note`.
        """
        self._client, self._patience, self._run = client, patience, run
        self._roll = RollCall(client, patience, note)
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._waiting: dict[str, Any] = {}
        self._alone_since: float | None = None
        self._checked = time.monotonic()

    def __enter__(self) -> "Arrivals":
        """Begin."""
        return self

    def __exit__(self, *error: object) -> None:
        """Release the futures that have not arrived, so that the cluster stops working on them."""
        self._waiting.clear()

    def watch(self, futures: Sequence[Any]) -> None:
        """Hold these futures until they are done."""
        for future in futures:
            self._waiting[future.key] = future
            future.add_done_callback(self._done.put)

    def __iter__(self) -> Iterator[Any]:
        """Yield each future when it is done."""
        while self._waiting:
            try:
                future = self._done.get(timeout=_POLL)
            except queue.Empty:
                self._check_cluster()
                continue
            # A task that is repeated because its worker died may be reported twice.
            if self._waiting.pop(future.key, None) is not None:
                yield future

    def result(self, future: Any) -> Any:
        """Return the result of a task, or raise a plain error that says what went wrong."""
        distributed = load_distributed()
        while True:
            try:
                return future.result(timeout=self._patience)
            except TimeoutError:
                self._check_cluster(now=True)
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
                # An error of Dask itself: our tasks raise only DpselError.
                raise ClusterError(
                    f"a worker cannot run dpsel ({type(error).__name__}); install the same "
                    "versions of dpsel and its packages on all of them"
                ) from None

    def _check_cluster(self, *, now: bool = False) -> None:
        """Ask the scheduler from time to time whether it is alive, and which workers it has."""
        if self._client.status not in ("running", "newly-created"):
            raise ClusterError(_LOST)
        time_now = time.monotonic()
        if not now and time_now - self._checked < self._patience / 6:
            return
        self._checked = time_now
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


# A worker sends a heartbeat every half second, and less often if there are many: by about so many
# seconds per worker.
_LEAST_BEFORE_NOTE, _LEAST_BEFORE_REMOVAL, _SECONDS_A_WORKER = 5.0, 10.0, 0.05


class RollCall:
    """Tracks the heartbeats of workers, and removes silent ones that have our work.

    Dask itself waits for five minutes or forever, depending on the scheduler's `worker-ttl`. A
    removed worker that wakes up ends by itself, and its results are ignored.
    """

    def __init__(self, client: Any, patience: float, note: Callable[[str], None]) -> None:
        """Wait `patience` seconds for a silent worker, and report it by `note`."""
        self._client, self._patience, self._note = client, patience, note
        self._heard: dict[str, tuple[float, float]] = {}
        self._noted: set[str] = set()

    def call(self, workers: Mapping[str, Any], run: str) -> None:
        """Check what a scheduler reports about its workers; our tasks' names begin with `run`."""
        now = time.monotonic()
        # By our own clock, because theirs may differ.
        for address, about in workers.items():
            seen = about["last_seen"]
            if address not in self._heard or self._heard[address][0] != seen:
                self._heard[address] = seen, now
                self._noted.discard(address)
        more = _SECONDS_A_WORKER * len(workers)
        silent = {address: now - self._heard[address][1] - more for address in workers}
        late = [one for one in silent if silent[one] > max(_LEAST_BEFORE_NOTE, self._patience / 3)]
        for address in self._with_work(late, run):
            if silent[address] > max(_LEAST_BEFORE_REMOVAL, self._patience):
                self._remove(address)
            elif address not in self._noted:
                self._noted.add(address)
                self._note("a worker of the cluster is silent; if it stays so, others get its work")

    def _with_work(self, addresses: list[str], run: str) -> list[str]:
        """Return the workers that have tasks or results of ours; others are left alone."""
        if not addresses:
            return []
        scheduler = self._client.scheduler
        found = [self._ask(question) for question in (scheduler.processing, scheduler.has_what)]
        return [
            address
            for address in addresses
            if any(str(key).startswith(run) for keys in found for key in keys.get(address, ()))
        ]

    def _remove(self, address: str) -> None:
        """Make the scheduler remove a worker and give its work to others."""
        self._note("a worker of the cluster was silent for too long: its work is done elsewhere")
        self._ask(self._client.scheduler.unregister, address=address, stimulus_id="dpsel-silent")

    def _ask(self, question: Callable[..., Any], **options: Any) -> Any:
        """Return the scheduler's answer."""
        return answer(self._client, self._patience, question, **options)


def answer(
    client: Any, patience: float, question: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """Return the scheduler's answer; raise an error if it is silent, or the connection is lost."""
    try:
        return client.sync(question, *arguments, callback_timeout=patience, **options)
    except (OSError, TimeoutError):
        raise ClusterError("the connection to the scheduler was lost") from None


_WHERE = "see distributed.comm.tls in Dask's configuration, and docs/guides/cluster.md"


def configured_credentials(*roles: str) -> Any:
    """Return the certificates in Dask's configuration for these roles; None if it has none."""
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
        # Dask would refuse it too, but would never close the client that tried.
        raise ClusterError(f"{address}: Dask's configuration asks for encryption; use tls://")
    return security


def new_credentials(folder: Path) -> Any:
    """Return new certificates, stored in `folder`: whoever can read it can use them."""
    try:
        made = load_distributed().Security.temporary()
    except ImportError:
        raise ClusterError("certificates need one more package: pip install cryptography") from None
    certificate = _write_private(folder / "cluster.crt", made.tls_client_cert)
    key = _write_private(folder / "cluster.key", made.tls_client_key)
    both = {
        f"tls_{role}_{part}": place
        for role in ("client", "scheduler", "worker")
        for part, place in (("cert", certificate), ("key", key))
    }
    return load_distributed().Security(require_encryption=True, tls_ca_file=certificate, **both)


def _write_private(place: Path, text: str) -> str:
    """Write a file that nobody else can read, and return its path."""
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return str(place)


_FAN_IN = 8

State = TypeVar("State")
Task = TypeVar("Task")


class DaskCrew:
    """The workers of a connected cluster, which all have the same version of dpsel."""

    def __init__(self, client: Any, patience: float, note: Callable[[str], None]) -> None:
        """Use a Dask client; give up on a cluster that is silent for `patience` seconds."""
        self._client = client
        self._patience = patience
        self._note = note

    def run(
        self, work: Callable[[State, Task], Any], state: State, tasks: Mapping[str, Task]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the key of each task with `work(state, task)`, as tasks are done.

        `work` is a function of a module, and `state` and the tasks can be pickled. A task whose
        worker dies is repeated elsewhere, so nothing may depend on where or when it is done.
        """
        group = TaskGroup(self._client, state)
        futures = group.map(do_task, list(tasks.values()), work=work)
        keys = dict(zip((future.key for future in futures), tasks, strict=True))
        with self._arrivals(group) as arrivals:
            arrivals.watch(futures)
            # So that futures which have arrived are released, and workers can forget the results.
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
                noise is drawn there, and nothing that is sent contains an epsilon, k or seed.
            Tested by: tests/cluster/test_select.py
        """
        group = TaskGroup(self._client, work)
        leaves = group.map(shard_total, shards)
        tops, height = leaves, 0
        while len(tops) > _FAN_IN:
            height += 1
            tops = [
                # Adding has priority over reading more, so that sums do not pile up.
                group.submit(added_totals, tops[first : first + _FAN_IN], priority=height)
                for first in range(0, len(tops), _FAN_IN)
            ]
        ends = {future.key for future in tops}
        done = 0
        with self._arrivals(group) as arrivals:
            arrivals.watch(leaves if height == 0 else [*leaves, *tops])
            # So that futures which have arrived are released: a sum is forgotten once it is part of
            # a larger one.
            del leaves, tops
            for future in arrivals:
                if height == 0 or future.key not in ends:
                    done += 1
                    progress(done / len(shards))
                if future.key in ends:
                    yield arrivals.result(future)
                elif future.status in ("error", "cancelled"):
                    # Raise its error at once. A task that is pending again because its worker died
                    # has neither status.
                    arrivals.result(future)

    def _arrivals(self, group: "TaskGroup") -> Arrivals:
        """Return an iterator over the results of a group of tasks."""
        return Arrivals(self._client, self._patience, group.name, self._note)


class TaskGroup:
    """Tasks that share a state. Their names reveal nothing about them."""

    def __init__(self, client: Any, state: Any) -> None:
        """Send the state to the cluster."""
        self._client = client
        self.name = f"dpsel-{uuid.uuid4().hex}"
        self._count = 0
        self._state = client.submit(
            unpacked, pickle.dumps(state), key=f"{self.name}-state", pure=False
        )

    def map(self, function: Callable[..., Any], items: Sequence[Any], **options: Any) -> list[Any]:
        """Return a future of `function(packed, version=, state=, **options)` for each item."""
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
