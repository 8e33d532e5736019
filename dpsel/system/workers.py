"""Work on all cores: in threads, or in processes where most of it is Python; or on a cluster."""

import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from dpsel.core.guarantee import check_at_least
from dpsel.errors import DpselError


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


State = TypeVar("State")
Task = TypeVar("Task")


class Crew(Protocol):
    """Workers of a cluster, as far as tasks go."""

    def run(
        self, work: Callable[[State, Task], Any], state: State, tasks: Mapping[str, Task]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the key of each task with `work(state, task)`, as they come."""
        ...


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
    *,
    workers: Workers,
    preload: Sequence[str] = (),
) -> Generator[tuple[str, Any], None, None]:
    """Yield the key of each task with `work(state, task)`, as they come.

    `work` is a function of a module, and `state` and the tasks can be pickled. Nothing may depend
    on the order in which tasks are done, or on where. New processes have the modules `preload`,
    and that of `work`, from their start: to load them again takes time, and memory in each.
    """
    if not isinstance(workers, int):
        if tasks:
            yield from workers.run(work, state, tasks)
    elif workers == 1 or len(tasks) < 2:
        for key, task in tasks.items():
            yield key, work(state, task)
    else:
        yield from _in_processes(work, state, tasks, workers, preload)


def _in_processes(
    work: Callable[[State, Task], Any],
    state: State,
    tasks: Mapping[str, Task],
    processes: int,
    preload: Sequence[str],
) -> Iterator[tuple[str, Any]]:
    """Yield the key and the result of each task from processes of their own."""
    with ProcessPoolExecutor(
        min(processes, len(tasks)),
        mp_context=_context([__name__, work.__module__, *preload]),
        initializer=_start,
        initargs=(work, state),
    ) as pool:
        try:
            pending = {pool.submit(_work_on, task): key for key, task in tasks.items()}
            for future in as_completed(pending):
                yield pending[future], future.result()
        except BrokenProcessPool:
            raise WorkerError(
                "a worker was killed, perhaps for want of memory; try fewer --threads"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _context(modules: Sequence[str]) -> Any:
    """Return how processes are started: from a clean one that has the imports, where there is."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([name for name in modules if name != "__main__"])
    return context


def _start(work: Callable[[Any, Any], Any], state: Any) -> None:
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
    stay_on_one_blas_thread()


def _work_on(task: Any) -> Any:
    """Do one task in a worker."""
    assert _current is not None
    work, state = _current
    return work(state, task)
