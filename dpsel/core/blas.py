"""The threads of the matrix library."""

import os
from contextlib import AbstractContextManager, nullcontext
from typing import Any


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
