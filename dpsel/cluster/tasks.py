"""The functions that workers of a cluster run. Neither mechanisms nor randomness are imported."""

import pickle
import traceback
from collections.abc import Callable
from typing import Any

from dpsel import __version__
from dpsel.cluster.shards import merge_totals, score_shard
from dpsel.errors import ClusterError, DpselError
from dpsel.system.threads import stay_on_one_blas_thread


class TaskError(DpselError):
    """A bug on a worker. The original message stays there, because it may quote a cell."""

    exit_code = 70


def unpacked(packed: bytes) -> Any:
    """Return the state that all tasks share.

    This is a task, not scattered data: if the worker that holds the state dies, it is repeated
    elsewhere.
    """
    return pickle.loads(packed)


def do_task(packed: bytes, *, version: str, state: Any, work: Callable[[Any, Any], Any]) -> Any:
    """Return `work(state, task)`."""

    def done() -> Any:
        stay_on_one_blas_thread()
        return work(state, pickle.loads(packed))

    return guarded(version, done)


def shard_total(packed: bytes, *, version: str, state: Any) -> Any:
    """Return the sums of one shard of a table: see `dpsel.cluster.shards.score_shard`."""
    return guarded(version, lambda: score_shard(state, pickle.loads(packed)))


def added_totals(totals: list[Any], *, version: str, state: Any) -> Any:
    """Return the sum of some totals."""
    return guarded(version, lambda: merge_totals(state, totals))


def guarded(version: str, work: Callable[[], Any]) -> Any:
    """Return `work()`; its errors leave this worker, and reach Dask's log, without any cell."""
    if version != __version__:
        raise ClusterError(f"a worker has dpsel {__version__}, and this is dpsel {version}")
    try:
        return work()
    except DpselError:
        raise
    except MemoryError:
        raise ClusterError("a worker had not enough memory") from None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__}, {last.name} in line {last.lineno}, on a worker"
        raise TaskError(f"this is a bug in dpsel ({place}); nothing was released") from None
