"""The progress bar.

A file of its own, imported only if a bar is shown: importing Rich takes 30 ms.
"""

import sys
from typing import Any

from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

# The largest widths of the share, the speed and the time, each with a blank.
_SHARE, _SPEED, _TIME = 5, 12, 13
_LONGEST_BAR, _SHORTEST_BAR = 40, 8


class Bar:
    """A bar on a terminal, removed when the work is done.

    Its speed is in bytes of the table's files, whose sizes any listing of the folder shows. A
    number of rows, or of rows per second, would be private under add-remove.
    """

    def __init__(self, work: str) -> None:
        """Show an empty bar."""
        # The stderr of this moment: an audit redirects it later, while it runs the command.
        console = Console(file=sys.stderr)
        self._bytes = 0
        self._progress = Progress(
            *_columns(work, console.width), console=console, transient=True, expand=False
        )
        self._task = self._progress.add_task("", total=1.0)
        self._progress.start()

    def size(self, file_bytes: int) -> None:
        """Start again for files of `file_bytes` bytes; 0 if the size is unknown."""
        self._bytes = file_bytes
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task("", total=file_bytes or None)

    def move(self, done: float) -> None:
        """Show the share that is done, from 0 to 1."""
        if self._bytes:
            self._progress.update(self._task, completed=done * self._bytes)
        elif done > 0.0:
            self._progress.update(self._task, total=1.0, completed=done)

    def stop(self) -> None:
        """Remove the bar."""
        self._progress.stop()


class _Speed(ProgressColumn):
    """The bytes read per second; empty if the work is not reading files."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        # Without a size in bytes the total is 1.
        if speed is None or task.total is None or task.total <= 1.0:
            return Text("")
        return Text(f"{decimal(int(speed))}/s", style="progress.data.speed")


class _TimeLeft(ProgressColumn):
    """The hours, minutes and seconds left, as far as they can be estimated."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        left = task.time_remaining
        if left is None:
            return Text("")
        minutes, seconds = divmod(int(left), 60)
        hours, minutes = divmod(minutes, 60)
        return Text(f"{hours}:{minutes:02}:{seconds:02} left", style="progress.remaining")


def _columns(work: str, width: int) -> list[Any]:
    """Return the columns of the bar: as many as fit on one line of the terminal."""
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
