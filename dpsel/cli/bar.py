"""The progress bar of a terminal. Rich is imported here, and takes 30 ms: only a bar needs it."""

import sys
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

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
