"""Where the data's holder hears how things go."""

import itertools
from collections.abc import Callable


class Reporter:
    """Hears how things go, and says nothing: others say it. Nothing of it is for release."""

    def note(self, message: str) -> None:
        """Say something the holder should know."""

    def hint(self, message: str) -> None:
        """Say something useful, where nothing is wrong."""

    def warn(self, message: str) -> None:
        """Say something that the holder must know, and cannot ask to be spared."""

    def receipt(self, message: str) -> None:
        """Say what was charged, or why nothing was."""

    def table(self, title: str, rows: list[tuple[str, str]]) -> None:
        """Show names and values."""

    def size(self, file_bytes: int) -> None:
        """Say that files of so many bytes are read now, from their start; 0 if that is unknown."""

    def progress(self, done: float) -> None:
        """Say which share of the table has been read."""


def ticks(total: int, reporter: Reporter) -> Callable[[], None]:
    """Return what to call when one of so many tasks is done."""
    done = itertools.count(1)
    return lambda: reporter.progress(next(done) / total)
