"""Work in threads of this process, and how many of them there are."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from dpsel.core.guarantee import check_at_least

# glibc learns up to 32 MiB.
_LARGEST_KEPT = 31 << 20


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return what keeps the matrix library on one thread, as far as that can be told to it.

    Our own threads share the work; more of them only wait for one another. The command line says so
    in its environment, before the library is loaded; in other programs `threadpoolctl` can, which
    scikit-learn brings along.
    """
    if os.environ.get("OPENBLAS_NUM_THREADS") == "1":
        return nullcontext()
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1, user_api="blas")
    return limits


_entering = threading.Lock()
_forever: list[AbstractContextManager[Any]] = []


def stay_on_one_blas_thread() -> None:
    """Enter `one_blas_thread` for as long as this process, a worker, lives."""
    with _entering:
        if not _forever:
            _forever.append(one_blas_thread())
            _forever[-1].__enter__()


def keep_freed_memory() -> None:
    """Let the C library keep the memory of arrays that are freed, for the next ones.

    glibc gives large blocks back to the system at once, until one was freed that is as large: here
    is one. New memory is slow: without this the scores of 10^5 x 5000 cells take twice as long, and
    those of kendall on 10^6 x 50 a twentieth longer.
    """
    np.empty(_LARGEST_KEPT, dtype=np.uint8)  # not zeros, which would be written each time


def plan_threads(threads: int | None) -> int:
    """Return how many threads to use: as many as there are cores for this process."""
    if threads is not None:
        return check_at_least(1, threads, "threads")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """Threads of this process, as `core.mapper.Mapper` asks for them."""

    def __init__(self, threads: int) -> None:
        """Work on so many items at a time."""
        self.at_once = check_at_least(1, threads, "threads")

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], most: int
    ) -> Iterator[Result]:
        """Yield `work(item)` in the order of the items; whoever stops early cancels the rest."""
        threads = min(self.at_once, most)
        if threads == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, items)
