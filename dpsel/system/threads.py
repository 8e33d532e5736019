"""Threads of this process: how many to use, and keeping BLAS and malloc out of their way."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import numpy as np

from dpsel.core.guarantee import check_at_least

# glibc adapts its threshold up to 32 MiB.
_LARGEST_KEPT = 31 << 20


def one_blas_thread() -> AbstractContextManager[Any]:
    """Return a context that keeps the BLAS library on one thread, as far as possible.

    Our own threads share the work, and more threads would only wait for one another. The command
    line sets this in its environment, before the library is loaded. In other programs
    `threadpoolctl`, which is installed with scikit-learn, can do it.
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
    """Enter `one_blas_thread` for the lifetime of this process, which is a worker."""
    with _entering:
        if not _forever:
            _forever.append(one_blas_thread())
            _forever[-1].__enter__()


def keep_freed_memory() -> None:
    """Make the C library keep the memory of freed arrays for the next ones.

    glibc returns large blocks to the system at once, until a block as large was freed: this frees
    one. New memory is slow: without this, the scores of 10^5 x 5000 cells take twice as long, and
    those of kendall on 10^6 x 50 a twentieth longer.
    """
    np.empty(_LARGEST_KEPT, dtype=np.uint8)  # Not zeros, which would be written each time.


def plan_threads(threads: int | None) -> int:
    """Return how many threads to use: those given, or as many as this process has cores."""
    if threads is not None:
        return check_at_least(1, threads, "threads")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


Item = TypeVar("Item")
Result = TypeVar("Result")


class Threads:
    """Threads of this process, as a `core.scores.base.Mapper`."""

    def __init__(self, threads: int) -> None:
        """Work on this many items at a time."""
        self.at_once = check_at_least(1, threads, "threads")

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], most: int
    ) -> Iterator[Result]:
        """Yield `work(item)` in the order of the items; stopping early cancels the rest."""
        threads = min(self.at_once, most)
        if threads == 1:
            yield from map(work, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, items)
