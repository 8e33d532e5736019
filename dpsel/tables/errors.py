"""Plain errors instead of those of polars, pyarrow and the system, which may quote cells."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dpsel.errors import DpselError, InputError
from dpsel.system.process import device_reason

_STORE_REASONS = {
    "NO_SUCH_BUCKET": "there is no such bucket",
    "NO_SUCH_KEY": "it is no longer there",
    "RESOURCE_NOT_FOUND": "it is no longer there",
    "NETWORK_CONNECTION": "the store cannot be reached, or broke off",
    "ACCESS_DENIED": "the store denies access; check the credentials in the environment",
    "INVALID_ACCESS_KEY_ID": "the store does not know the access key in the environment",
    "SIGNATURE": "the store does not accept the credentials in the environment",
    "403": "the store denies access; check the credentials in the environment",
}


def store_reason(error: BaseException) -> str | None:
    """Return in our own words why a store failed; None if the error is not a store's.

    The store's own words may quote anything, even keys and credentials.
    """
    text = str(error)
    if "AWS Error" not in text:
        return None
    code = text.partition("AWS Error")[2].partition(" operation")[0]
    found = (words for sign, words in _STORE_REASONS.items() if sign in code)
    return next(found, "the store does not do what it was asked for")


@contextmanager
def plain_errors(label: str, kind: str) -> Iterator[None]:
    """Turn whatever a reader raises into one plain line that names the file and quotes nothing."""
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
    """Return the types of errors that the readers in use may raise."""
    from dpsel.system.frames import pl

    of_polars = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
    # If pyarrow is not imported yet, it read nothing and this is not its error. Importing it takes
    # a tenth of a second.
    pyarrow = sys.modules.get("pyarrow")
    # Another thread may be importing it.
    of_pyarrow = getattr(pyarrow, "ArrowException", None)
    return (*of_polars, *([of_pyarrow] if of_pyarrow else ()), OSError, EOFError, ValueError)
