"""This process: its signals, its standard streams, and the system's words for errors."""

import errno
import os
import re
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

from dpsel.errors import InputError

_taken = False


def take_interrupts_back() -> None:
    """Let Python handle SIGINT and SIGTERM, so that it cleans up, whatever is imported later."""
    global _taken
    _taken = True
    keep_interrupts()


def keep_interrupts() -> None:
    """Restore Python's handlers, if `take_interrupts_back` was called: polars replaces them."""
    if _taken and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _terminate)


def ignore_interrupts() -> None:
    """Ignore SIGINT and SIGTERM while the process ends."""
    global _taken
    _taken = False
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM like Ctrl-C."""
    raise KeyboardInterrupt


def stdin_bytes() -> Any:
    """Return standard input as a stream of bytes."""
    if sys.stdin is None:
        raise InputError("stdin: is closed")
    return sys.stdin.buffer


def abandon_stdout() -> None:
    """Redirect standard output to nowhere, so that Python's last flush does not fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def mute_libraries() -> None:
    """Keep standard error for Python alone, and discard what libraries print there themselves.

    A reader in Rust that fails on a damaged file prints where it failed, and on which value.
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
    number = _number(error)
    return "unknown reason" if number is None else os.strerror(number).lower()


# A damaged file makes readers seek to positions that it does not have.
_OF_DAMAGE = (errno.EINVAL, errno.EOVERFLOW, errno.EFBIG)


def device_reason(error: BaseException) -> str | None:
    """Return why the system failed to read a file; None if the error is about its content.

    The words are the system's for the error's number: a library's own may quote anything.
    """
    number = _number(error) if isinstance(error, OSError) else None
    return None if number is None or number in _OF_DAMAGE else os.strerror(number).lower()


def _number(error: OSError) -> int | None:
    """Return the system's number of an error, which polars puts into its message."""
    if error.errno is not None:
        return error.errno
    found = re.search(r"[(\[](?:os error|errno) (\d{1,4})[)\]]", str(error))
    return None if found is None else int(found[1])


def user_name() -> str:
    """Return the user that runs this process, from the system, not from the environment."""
    try:
        import pwd

        name = pwd.getpwuid(os.getuid()).pw_name
    except ImportError:  # Windows has no pwd.
        name = os.environ.get("USERNAME", "unknown")
    except KeyError:
        name = f"uid {os.getuid()}"
    return name.encode(errors="backslashreplace").decode()
