"""Work for the workers of a test: functions that they can import."""

import os
import time
from pathlib import Path
from typing import Any


def added(state: int, task: int) -> int:
    return state + task


def slowly(state: str, task: int) -> int:
    """Leave a file for each task that was begun, in the folder that is the state."""
    Path(state, f"{task}-{os.getpid()}").touch()
    time.sleep(0.15)
    return task


def deadly(state: Any, task: Any) -> None:
    os._exit(1)


def faulty(state: Any, task: str) -> None:
    raise KeyError(f"a cell: {task}")


def blas_threads(state: Any, task: Any) -> list[int]:
    from threadpoolctl import threadpool_info

    return [found["num_threads"] for found in threadpool_info()]
