"""The process: signals, and its standard streams."""

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
    """Let Python handle Ctrl-C and termination, and clean up, whatever is imported later."""
    global _taken
    _taken = True
    keep_interrupts()


def keep_interrupts() -> None:
    """Take them again, if they were taken: polars has just taken them for itself."""
    if _taken and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _terminate)


def ignore_interrupts() -> None:
    """Let nothing disturb the end of the process."""
    global _taken
    _taken = False
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Treat a request to end like Ctrl-C."""
    raise KeyboardInterrupt


def stdin_bytes() -> Any:
    """Return the bytes of standard input, to be read."""
    if sys.stdin is None:
        raise InputError("stdin: is closed")
    return sys.stdin.buffer


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
    number = _number(error)
    return "unknown reason" if number is None else os.strerror(number).lower()


# A damaged file makes readers ask for places that it does not have.
_OF_DAMAGE = (errno.EINVAL, errno.EOVERFLOW, errno.EFBIG)


def device_reason(error: BaseException) -> str | None:
    """Return why the system did not give a file's bytes; None if it gave them, whatever they are.

    In the words for the number of the error: a library's own may quote anything.
    """
    number = _number(error) if isinstance(error, OSError) else None
    return None if number is None or number in _OF_DAMAGE else os.strerror(number).lower()


def _number(error: OSError) -> int | None:
    """Return the system's number for an error, which polars puts into a text of its own."""
    if error.errno is not None:
        return error.errno
    found = re.search(r"[(\[](?:os error|errno) (\d{1,4})[)\]]", str(error))
    return None if found is None else int(found[1])


class Prefixed:
    """A file whose first bytes were already taken off."""

    def __init__(self, prefix: bytes, raw: Any) -> None:
        """Give `prefix` first, and then what is left of `raw`."""
        self._prefix = prefix
        self._raw = raw
        self.closed = False

    def read(self, count: int = -1) -> bytes:
        """Return up to `count` bytes, or all that are left."""
        if count < 0:
            taken, self._prefix = self._prefix, b""
            return taken + bytes(self._raw.read())
        taken, self._prefix = self._prefix[:count], self._prefix[count:]
        return taken + bytes(self._raw.read(count - len(taken)))

    def close(self) -> None:
        """Close this, and leave the file to whoever opened it."""
        self.closed = True


def user_name() -> str:
    """Return who runs this process, as the system knows it; the environment is not believed."""
    try:
        import pwd

        name = pwd.getpwuid(os.getuid()).pw_name
    except ImportError:  # Windows has no such list.
        name = os.environ.get("USERNAME", "unknown")
    except KeyError:
        name = f"uid {os.getuid()}"
    return name.encode(errors="backslashreplace").decode()
