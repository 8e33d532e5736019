"""Tasks in separate processes, for work that is mostly Python, or on a cluster."""

import multiprocessing
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Protocol, TypeVar

from dpsel.errors import DpselError
from dpsel.system.threads import stay_on_one_blas_thread

State = TypeVar("State")
Task = TypeVar("Task")


class Crew(Protocol):
    """The workers of a cluster, as `run_tasks` uses them."""

    def run(
        self, work: Callable[[State, Task], Any], state: State, tasks: Mapping[str, Task]
    ) -> Iterator[tuple[str, Any]]:
        """Yield the key of each task with `work(state, task)`, as tasks are done."""
        ...


Workers = int | Crew
"""Who does the work: this many processes of this machine, or a cluster."""

# A fork server listens at an address in the temporary folder. On some systems an address has at
# most 92 bytes, and 32 of them are for its own name.
_LONGEST_FOLDER = 60

# The function that a worker runs, and its state; set once in each worker.
_current: tuple[Callable[[Any, Any], Any], Any] | None = None


class WorkerError(DpselError):
    """A worker ended before its work was done."""

    exit_code = 70


def run_tasks(
    work: Callable[[State, Task], Any],
    state: State,
    tasks: Mapping[str, Task],
    *,
    workers: Workers,
    preload: Sequence[str] = (),
) -> Generator[tuple[str, Any], None, None]:
    """Yield the key of each task with `work(state, task)`, as tasks are done.

    `work` is a function of a module, and `state` and the tasks can be pickled. Nothing may depend
    on where tasks are done, or in which order. New processes start with the modules `preload`, and
    that of `work`, already imported: importing them in each would take time and memory.
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
    """Yield the key and the result of each task, done in separate processes."""
    with ProcessPoolExecutor(
        min(processes, len(tasks)),
        mp_context=_context([__name__, work.__module__, *preload]),
        initializer=_start,
        initargs=(work, state),
    ) as pool:
        try:
            with _without_main(work):
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
    """Return how to start processes: from a fork server that has the imports, if possible."""
    clean_one = "forkserver" in multiprocessing.get_all_start_methods()
    if not clean_one or len(os.fsencode(tempfile.gettempdir())) > _LONGEST_FOLDER:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([name for name in modules if name != "__main__"])
    return context


@contextmanager
def _without_main(work: Callable[[Any, Any], Any]) -> Iterator[None]:
    """Start processes that do not run the user's script again, unless the work is in it.

    Python makes each process import the main module. A script that calls `dpsel.evaluate` outside
    of `if __name__ == "__main__"` would call it again in every process.
    """
    main = sys.modules["__main__"]
    if work.__module__ == "__main__":
        yield
        return
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _start(work: Callable[[Any, Any], Any], state: Any) -> None:
    """Prepare a worker, which leaves Ctrl-C to its parent and never outlives it."""
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
