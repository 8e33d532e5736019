"""Standard output and error, and the system's words for what went wrong."""

import os
import re
import sys
from contextlib import suppress


def abandon_stdout() -> None:
    """Let standard output lead nowhere: Python would flush it once more, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def mute_libraries() -> None:
    """Keep standard error for Python alone: what libraries print there by themselves is lost.

    A reader in Rust that meets a damaged file prints where it gave up, and on which value.
    """
    if sys.stderr is None:
        return
    with suppress(OSError):
        sys.stderr.flush()
        own = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        sys.stderr = os.fdopen(
            own, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
        )


def reason(error: OSError) -> str:
    """Return the system's words for an error, without the path."""
    if error.strerror:
        return error.strerror.lower()
    # Polars and pyarrow put the number into a text of their own.
    number = re.search(r"(?:os error|errno) (\d+)", str(error))
    return os.strerror(int(number[1])).lower() if number else "unknown reason"
