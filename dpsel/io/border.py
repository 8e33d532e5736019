"""The border to polars, pyarrow and the operating system: their errors quote cells, ours do not."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpsel.core.errors import DpselError, InputError
from dpsel.io.streams import device_reason, store_reason


@contextmanager
def reading(label: str, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises into one plain line that names the file, and no more."""
    try:
        yield
    except DpselError:
        raise
    except MemoryError:
        raise InputError(f"{label}: does not fit in memory") from None
    except BaseException as error:
        if not isinstance(error, _what_readers_raise()):
            raise
        why = store_reason(error) or device_reason(error)
        if why is not None:
            raise InputError(f"{label}: cannot be read: {why}") from None
        raise InputError(
            f"{label}: cannot be read as {kind}; it is damaged, cut short or in another format"
        ) from None


def _what_readers_raise() -> tuple[type[BaseException], ...]:
    """Return the errors of all readers that are in use."""
    from dpsel.io.frames import pl

    of_polars = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
    # An import of a tenth of a second: whoever has not read with it has no error of its kind.
    pyarrow = sys.modules.get("pyarrow")
    of_pyarrow = () if pyarrow is None else (pyarrow.ArrowException,)
    return (*of_polars, *of_pyarrow, OSError, EOFError, ValueError)
