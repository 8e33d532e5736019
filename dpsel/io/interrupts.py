"""Signals: an interrupt ends the command cleanly, with nothing left behind."""

import signal
import threading
from types import FrameType

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
