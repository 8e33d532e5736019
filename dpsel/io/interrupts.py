"""Signals: an interrupt ends the command cleanly, with nothing left behind."""

import signal
import threading
from types import FrameType


def take_interrupts_back() -> None:
    """Let Python handle Ctrl-C and termination, and clean up.

    Polars installs a handler of its own when it is imported, which leaves a command that waits
    for its input deaf to Ctrl-C; so it is imported first.
    """
    import polars  # noqa: F401

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, _terminate)


def ignore_interrupts() -> None:
    """Let nothing disturb the end of the process."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Treat a request to end like Ctrl-C."""
    raise KeyboardInterrupt
