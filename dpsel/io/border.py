"""The border to polars, pyarrow and the operating system: their errors quote cells, ours do not."""

from collections.abc import Iterator
from contextlib import contextmanager

from dpsel.core.errors import DpselError, InputError
from dpsel.io.streams import store_reason


@contextmanager
def reading(label: str, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises into one plain line that names the file, and no more."""
    import polars as pl
    import pyarrow as pa

    try:
        yield
    except DpselError:
        raise
    except MemoryError:
        raise InputError(f"{label}: does not fit in memory") from None
    except (
        pa.ArrowException,
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        EOFError,
        ValueError,
    ) as error:
        why = store_reason(error)
        if why is not None:
            raise InputError(f"{label}: cannot be read: {why}") from None
        raise InputError(
            f"{label}: cannot be read as {kind}; it is damaged, cut short or in another format"
        ) from None
