"""Dask's door: where it is imported, kept quiet, and asked for its settings."""

import gc
import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dpsel.core.errors import UsageError

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
        raise _missing() from None
    found: Any = distributed
    return found


def load_jobqueue() -> Any:
    """Return `dask_jobqueue`, or say how to get it.

    When it is imported it makes Ctrl-C end the process on the spot, jobs or not: undone here.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        import dask_jobqueue
    except ImportError:
        raise _missing() from None
    except ValueError:
        raise UsageError("slurm can only be used from the main thread of a program") from None
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)
    found: Any = dask_jobqueue
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


def _missing() -> UsageError:
    return UsageError("--cluster needs Dask: pip install 'dpsel[dask]'")
