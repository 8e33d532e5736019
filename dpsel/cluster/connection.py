"""Connecting to a cluster: waiting for its workers, checking their versions, and disconnecting."""

import pkgutil
import ssl
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from dpsel.cluster.dask import (
    DaskCrew,
    answer,
    client_credentials,
    load_distributed,
    no_collections,
    patience,
    quiet_dask,
)
from dpsel.cluster.place import Scheduler
from dpsel.cluster.slurm import slurm_cluster
from dpsel.errors import ClusterError

_POLL = 0.5


@contextmanager
def connected(scheduler: Scheduler, note: Callable[[str], None]) -> Iterator[DaskCrew]:
    """Connect to a cluster, or start one; wait for its workers, and check their versions.

    Nothing is read or charged before that. At the end, also after an error, the connection is
    closed, and whatever was started here is stopped.
    """
    load_distributed()
    with quiet_dask(), ExitStack() as stack:
        if scheduler.in_the_clear:
            note(
                f"{scheduler.address} is not encrypted: partial sums and data travel in the clear; "
                "see docs/guides/cluster.md"
            )
        if scheduler.starts_workers:
            started = stack.enter_context(slurm_cluster(scheduler.workers))
            client = _client(started.address, started.security)
            stack.callback(_close, client)
            _wait_for_workers(client, 1, None, started.check)
        else:
            client = _client(scheduler.address, client_credentials(scheduler.address))
            stack.callback(_close, client)
            _wait_for_workers(client, scheduler.workers, patience(), lambda: None)
        _check_versions(client)
        yield DaskCrew(client, patience(), note)


@contextmanager
def chosen_workers(
    scheduler: Scheduler | None, threads: int, note: Callable[[str], None]
) -> Iterator[int | DaskCrew]:
    """Return the `Workers` of `system.workers`: a cluster, or the number of local processes."""
    if scheduler is None:
        yield threads
    else:
        with connected(scheduler, note) as crew:
            yield crew


def _client(address: str, security: Any) -> Any:
    """Connect to a scheduler."""
    distributed = load_distributed()
    try:
        with no_collections():
            return distributed.Client(
                address, security=security, timeout=patience(), set_as_default=False, name="dpsel"
            )
    except (OSError, ValueError, TypeError) as error:
        # A timeout is an OSError, and so is every error of TLS.
        raise ClusterError(f"{address}: cannot connect to the scheduler{_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Return the reason for a failed connection, as far as it is known."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ssl.SSLCertVerificationError):
            return ": the certificates do not fit"
        if isinstance(seen, ssl.SSLError):
            return ": it does not accept this client's certificate, or it does not speak TLS"
        seen = seen.__cause__ or seen.__context__
    return " within its time; is it running, and is this its address?"


def _close(client: Any) -> None:
    """Close the connection, even if the scheduler is gone."""
    with suppress(Exception):
        client.close(timeout=5)


def _wait_for_workers(
    client: Any, wanted: int, seconds: float | None, check: Callable[[], None]
) -> None:
    """Wait until there are enough workers; in SLURM's queue as long as it takes."""
    end = None if seconds is None else time.monotonic() + seconds
    while (there := len(answer(client, patience(), client.scheduler.ncores))) < wanted:
        check()
        if end is not None and time.monotonic() > end:
            raise ClusterError(f"the cluster has {there} workers, and {wanted} are needed")
        time.sleep(_POLL)


def _check_versions(client: Any) -> None:
    """Refuse workers with another version of dpsel or Python: their results could differ."""
    # Functions of the standard library, which any worker has, whatever else is installed.
    questions: dict[str, tuple[Callable[..., str], list[str]]] = {
        "Python": (sysconfig.get_python_version, []),
        "dpsel": (pkgutil.resolve_name, ["dpsel:__version__"]),
    }
    for name, (function, arguments) in questions.items():
        here = function(*arguments)
        found = answer(client, patience(), client._run, function, *arguments, on_error="return")
        for there in found.values():
            if isinstance(there, ImportError):
                raise ClusterError(f"a worker has no dpsel; install dpsel {here} on all of them")
            # Other answers are those of workers that are gone, which will do no work.
            if isinstance(there, str) and there != here:
                raise ClusterError(f"a worker has {name} {there}, and this is {name} {here}")
