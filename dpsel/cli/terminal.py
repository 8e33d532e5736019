"""What the data holder sees: plain lines, tables and a progress bar, on stderr only."""

import sys
from contextlib import suppress
from typing import Any

from dpsel.display import printable
from dpsel.reporter import Reporter


def say(kind: str, message: str) -> None:
    """Write one plain line to stderr, if there is a stderr."""
    if sys.stderr is None:
        return
    with suppress(OSError):
        print(f"{kind}: {printable(message)}", file=sys.stderr, flush=True)  # noqa: T201


class TerminalReporter(Reporter):
    """A reporter that shows notes as lines, and progress as a bar if stderr is a terminal.

    The bar shows the share of the work, bytes per second and the time left, never a number of rows.
    """

    def __init__(self, *, quiet: bool, bar: bool, work: str = "reading") -> None:
        """Show a bar if `bar` is set and not `quiet`; `work` is its label."""
        self.quiet = quiet
        self._work = work
        self._bar_wanted = bar and not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._notes: list[str] = []
        self._tables: list[tuple[str, list[tuple[str, str]]]] = []
        self._bar: Any = None

    def __enter__(self) -> "TerminalReporter":
        """Show an empty bar."""
        if self._bar_wanted:
            from dpsel.cli.bar import Bar

            self._bar = Bar(self._work)
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the bar, then show the tables and notes."""
        if self._bar is not None:
            self._bar.stop()
        for title, rows in self._tables:
            _print_table(title, rows)
        for message in self._notes:
            say("note", message)

    def note(self, message: str) -> None:
        """Show a note after the bar is gone, unless quiet; a table read twice is noted once."""
        if not self.quiet and message not in self._notes:
            self._notes.append(message)

    def hint(self, message: str) -> None:
        """Show a hint like a note."""
        self.note(message)

    def warn(self, message: str) -> None:
        """Show a note after the bar is gone, even if quiet."""
        self._notes.append(message)

    def receipt(self, message: str) -> None:
        """Show what was charged, like a note."""
        self.note(message)

    def table(self, title: str, rows: list[tuple[str, str]]) -> None:
        """Show a small table after the bar is gone, unless quiet."""
        if not self.quiet:
            self._tables.append((title, rows))

    def size(self, file_bytes: int) -> None:
        """Start the bar again, for files of `file_bytes` bytes."""
        if self._bar is not None:
            self._bar.size(file_bytes)

    def progress(self, done: float) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.move(done)


def _print_table(title: str, rows: list[tuple[str, str]]) -> None:
    """Print names and values on stderr: as a table on a terminal, as plain lines elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        for name, value in rows:
            say(name, value)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in rows:
        table.add_row(name, printable(value))
    Console(stderr=True).print(table)
