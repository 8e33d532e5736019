"""Work on all cores, in processes of their own, since most of it is Python; or on a cluster."""

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from dpsel.cluster.dask import Crew
from dpsel.core.guarantee import check_at_least
from dpsel.errors import DpselError
from dpsel.evaluation.journal import Journal
from dpsel.selection.lasso import quiet_solver


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


def plan_threads(threads: int | None) -> int:
    """Return how many threads to use: as many as there are cores for this process."""
    if threads is not None:
        return check_at_least(1, threads, "threads")
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


State = TypeVar("State")
Task = TypeVar("Task")

Workers = int | Crew
"""Who does the work: so many processes of this machine, or a cluster."""

# What a worker runs, and on what; set once in each worker.
_current: tuple[Callable[[Any, Any], Any], Any] | None = None


class WorkerError(DpselError):
    """A worker ended before its work did."""

    exit_code = 70


def ticks(total: int, progress: Callable[[float], None]) -> Callable[[], None]:
    """Return what to call when one of so many tasks is done."""
    done = itertools.count(1)
    return lambda: progress(next(done) / total)


def run_tasks(
    work: Callable[[State, Task], Any],
    state: State,
    tasks: Mapping[str, Task],
    journal: Journal,
    *,
    workers: Workers,
    tick: Callable[[], None],
    lassos: bool = False,
) -> None:
    """Put `work(state, task)` into the journal under each key that it does not have yet.

    `work` is a function of a module, and `state` and the tasks can be pickled. Nothing may depend
    on the order in which tasks are done, or on where. Where `lassos` are fitted, the processes have
    what they need for that; to load it takes a second, and memory in each of them.
    """
    new = {key: task for key, task in tasks.items() if key not in journal.found}
    for _ in range(len(tasks) - len(new)):
        tick()
    if isinstance(workers, Crew):
        for key, result in workers.run(work, state, new) if new else ():
            journal.append(key, result)
            tick()
        return
    if workers == 1 or len(new) < 2:
        for key, task in new.items():
            journal.append(key, work(state, task))
            tick()
        return
    with ProcessPoolExecutor(
        min(workers, len(new)),
        mp_context=_context(lassos),
        initializer=_start,
        initargs=(work, state, lassos),
    ) as pool:
        try:
            pending = {pool.submit(_work_on, task): key for key, task in new.items()}
            for future in as_completed(pending):
                journal.append(pending[future], future.result())
                tick()
        except BrokenProcessPool:
            raise WorkerError(
                "a worker was killed, perhaps for want of memory; try fewer --threads"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _context(lassos: bool) -> Any:
    """Return how processes are started: from a clean one that has the imports, where there is."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    ours = ["dpsel.evaluation.sweep", "dpsel.system.workers"]
    context.set_forkserver_preload([*ours, "sklearn.linear_model"] if lassos else ours)
    return context


def _start(work: Callable[[Any, Any], Any], state: Any, lassos: bool) -> None:
    """Prepare a worker: it leaves Ctrl-C to its parent, and never outlives it."""
    global _current
    _current = work, state
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:

        def watch() -> None:
            parent.join()
            os._exit(1)

        threading.Thread(target=watch, daemon=True).start()
    # Entered for as long as the worker lives.
    _forever.append(quiet_solver() if lassos else one_blas_thread())
    _forever[-1].__enter__()


_forever: list[Any] = []


def _work_on(task: Any) -> Any:
    """Do one task in a worker."""
    assert _current is not None
    work, state = _current
    return work(state, task)
