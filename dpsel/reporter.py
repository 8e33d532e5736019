"""The interface through which a run talks to the data holder: notes, warnings and progress."""

import itertools
from collections.abc import Callable


class Reporter:
    """A reporter that discards everything; subclasses show it. Nothing reported is for release."""

    def note(self, message: str) -> None:
        """Report something the holder should know."""

    def hint(self, message: str) -> None:
        """Report something useful when nothing is wrong."""

    def warn(self, message: str) -> None:
        """Report something the holder must know; `--quiet` does not silence it."""

    def receipt(self, message: str) -> None:
        """Report what was charged, or why nothing was."""

    def table(self, title: str, rows: list[tuple[str, str]]) -> None:
        """Show a small table of names and values."""

    def size(self, file_bytes: int) -> None:
        """Start the progress of reading `file_bytes` bytes; 0 if the size is unknown."""

    def progress(self, done: float) -> None:
        """Report the share of the work that is done, from 0 to 1."""


def ticks(total: int, reporter: Reporter) -> Callable[[], None]:
    """Return a function to call after each of `total` tasks, which reports the progress."""
    done = itertools.count(1)
    return lambda: reporter.progress(next(done) / total)
