"""What the data's holder sees: plain lines and a progress bar, on stderr only."""

import sys
from contextlib import suppress
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

from dpsel.reporter import Reporter
from dpsel.system.text import printable

# What a share, a speed and a time take up at the most, with the blanks between them.
_SHARE, _SPEED, _TIME = 5, 12, 13
_LONGEST_BAR, _SHORTEST_BAR = 40, 8


class Bar:
    """A bar on a terminal that is gone once the work is done.

    How fast it goes is told in bytes of the table's files. Their size says no more than a listing
    of the folder does; a number of rows, or of rows a second, would be private under add-remove.
    """

    def __init__(self, work: str) -> None:
        """Show an empty bar."""
        # Its own stderr: an audit lets no other be heard while it runs the command.
        console = Console(file=sys.stderr)
        self._bytes = 0
        self._progress = Progress(
            *_columns(work, console.width), console=console, transient=True, expand=False
        )
        self._task = self._progress.add_task("", total=1.0)
        self._progress.start()

    def size(self, file_bytes: int) -> None:
        """Start again, with files of so many bytes; 0 if that is not known."""
        self._bytes = file_bytes
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task("", total=file_bytes or None)

    def move(self, done: float) -> None:
        """Show which share is done."""
        if self._bytes:
            self._progress.update(self._task, completed=done * self._bytes)
        elif done > 0.0:
            self._progress.update(self._task, total=1.0, completed=done)

    def stop(self) -> None:
        """Take the bar away."""
        self._progress.stop()


class _Speed(ProgressColumn):
    """Bytes a second, if the work is one of reading files."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        # Without a size in bytes the total is 1.
        if speed is None or task.total is None or task.total <= 1.0:
            return Text("")
        return Text(f"{decimal(int(speed))}/s", style="progress.data.speed")


class _TimeLeft(ProgressColumn):
    """Hours, minutes and seconds until all is done, as far as that can be told."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = task.time_remaining
        if left is None:
            return Text("")
        minutes, seconds = divmod(int(left), 60)
        hours, minutes = divmod(minutes, 60)
        return Text(f"{hours}:{minutes:02}:{seconds:02} left", style="progress.remaining")


def _columns(work: str, width: int) -> list[Any]:
    """Return as much as a terminal has room for, on one line."""
    room = width - len(work) - _SHARE - _TIME - 1
    columns: list[Any] = [TextColumn(work), TaskProgressColumn()]
    if room < 0:
        columns = columns[1:]
    if room >= _SPEED:
        columns.append(_Speed(Column(no_wrap=True)))
        room -= _SPEED
    if room >= _SHORTEST_BAR:
        columns.insert(1, BarColumn(bar_width=min(_LONGEST_BAR, room - 1)))
    columns.append(_TimeLeft(Column(no_wrap=True)))
    return columns


def say(kind: str, message: str) -> None:
    """Write one plain line to stderr; without a stderr there is nobody to tell."""
    if sys.stderr is None:
        return
    with suppress(OSError):
        print(f"{kind}: {printable(message)}", file=sys.stderr, flush=True)  # noqa: T201


class TerminalReporter(Reporter):
    """Notes as lines, progress as a bar if stderr is a terminal.

    The bar shows a share of the work, bytes a second and the time left, never a number of rows.
    """

    def __init__(self, *, quiet: bool, bar: bool, work: str = "reading") -> None:
        """Be quiet, or show a bar, or neither; `work` is what the bar is about."""
        self.quiet = quiet
        self._work = work
        self._bar_wanted = bar and not quiet and sys.stderr is not None and sys.stderr.isatty()
        self._notes: list[str] = []
        self._tables: list[tuple[str, list[tuple[str, str]]]] = []
        self._bar: Any = None

    def __enter__(self) -> "TerminalReporter":
        """Show an empty bar."""
        if self._bar_wanted:
            self._bar = Bar(self._work)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away, then say what there was to say."""
        if self._bar is not None:
            self._bar.stop()
        for title, rows in self._tables:
            _print_table(title, rows)
        for message in self._notes:
            say("note", message)

    def note(self, message: str) -> None:
        """Say something after the bar is gone."""
        if not self.quiet:
            self._notes.append(message)

    def warn(self, message: str) -> None:
        """Say something after the bar is gone, quiet or not."""
        self._notes.append(message)

    def receipt(self, message: str) -> None:
        """Say what was charged."""
        self.note(message)

    def table(self, title: str, rows: list[tuple[str, str]]) -> None:
        """Show a small table after the bar is gone."""
        if not self.quiet:
            self._tables.append((title, rows))

    def size(self, file_bytes: int) -> None:
        """Start the bar again, for files of so many bytes."""
        if self._bar is not None:
            self._bar.size(file_bytes)

    def progress(self, done: float) -> None:
        """Move the bar."""
        if self._bar is not None:
            self._bar.move(done)


def _print_table(title: str, rows: list[tuple[str, str]]) -> None:
    """Print names and values on stderr: with rich on a terminal, as plain lines elsewhere."""
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


def show_results(results: Any, reporter: TerminalReporter) -> None:
    """Print accuracies on stderr if it is a terminal: a table for each data set and k."""
    if reporter.quiet or sys.stderr is None or not sys.stderr.isatty():
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True)
    for (dataset, k), cells in results.group_by("dataset", "k", maintain_order=True):
        title = f"{printable(dataset)}, k = {k}: accuracy; not private, not for release"
        table = Table(title=title, title_justify="left")
        table.add_column("epsilon", justify="right")
        methods = cells["method"].unique(maintain_order=True).to_list()
        for method in methods:
            table.add_column(printable(method), justify="right", overflow="fold")
        for (epsilon,), line in cells.group_by("epsilon", maintain_order=True):
            by_method = {row["method"]: _share(row) for row in line.to_dicts()}
            table.add_row(f"{epsilon:g}", *(by_method[method] for method in methods))
        console.print(table)


def _share(cell: dict[str, Any]) -> str:
    """Return an accuracy with its interval."""
    text = f"{cell['accuracy']:.2f}"
    if not cell["private"]:
        return text
    return f"{text} \\[{cell['accuracy_low']:.2f}, {cell['accuracy_high']:.2f}]"
