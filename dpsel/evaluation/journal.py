"""The journal of a long sweep: a file of finished tasks, from which a killed sweep can resume."""

import fcntl
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

from dpsel.errors import OutputError, UsageError
from dpsel.system.process import reason
from dpsel.system.workers import Workers, run_tasks

_KIND = "dpsel.evaluation.sweep/1"

State = TypeVar("State")
Task = TypeVar("Task")


class Journal:
    """The results of finished tasks, by key. Without a place, they are kept in memory only.

    Every result is written at once as one line, so a killed process loses only the task it was
    working on; an incomplete last line is dropped. The file holds private numbers: mode 0600.
    """

    def __init__(
        self, place: Path | None, about: Mapping[str, Any], *, resume: bool, force: bool
    ) -> None:
        """Open the journal of the sweep that `about` describes, and read the finished tasks."""
        self.place = place
        self.found: dict[str, Any] = {}
        self._descriptor: int | None = None
        if place is None:
            return
        try:
            self._open(place, about, resume=resume, force=force)
        except OSError as error:
            self.close()
            raise OutputError(f"{place}: cannot be written: {reason(error)}") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Journal":
        """Return the journal; leaving the block without an error removes it."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Remove the journal, or after an error leave it for a run that resumes."""
        if kind is None:
            self.remove()
        self.close()

    def append(self, key: str, value: Any) -> None:
        """Store the result of one task."""
        self.found[key] = value
        if self._descriptor is not None:
            try:
                _write_line(self._descriptor, [key, value])
            except OSError as error:
                raise OutputError(f"{self.place}: cannot be written: {reason(error)}") from None

    def close(self) -> None:
        """Close the file and give up its lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def remove(self) -> None:
        """Remove the file, once everything in it has been written elsewhere."""
        if self.place is not None:
            with suppress(FileNotFoundError):
                os.unlink(self.place)
        self.close()

    def _open(self, place: Path, about: Mapping[str, Any], *, resume: bool, force: bool) -> None:
        """Open or create the file, and read its finished tasks."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(place, flags, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"{place}: another run is writing it; wait until it ends") from None
        about = {"journal": _KIND, **about}
        lines = _whole_lines(self._descriptor, place)
        if lines and not resume:
            if not force:
                raise UsageError(
                    f"{place}: an unfinished run; go on with --resume, or start anew with --force"
                )
            lines = []
        if lines and lines[0] != about:
            raise UsageError(
                f"{place}: an unfinished run with other settings; repeat them with --resume, or "
                "start anew with --force"
            )
        # Also for an empty file that somebody else made, with another mode.
        os.fchmod(self._descriptor, 0o600)
        if lines:
            self.found = dict(lines[1:])
            return
        os.ftruncate(self._descriptor, 0)
        _write_line(self._descriptor, about)


def run_missing(
    work: Callable[[State, Task], Any],
    state: State,
    tasks: Mapping[str, Task],
    journal: Journal,
    *,
    workers: Workers,
    tick: Callable[[], None],
    preload: Sequence[str] = (),
) -> None:
    """Run the tasks that the journal lacks, and store `work(state, task)` under the key of each.

    See `run_tasks` for the requirements on `work`, and for `preload`.
    """
    new = {key: task for key, task in tasks.items() if key not in journal.found}
    for _ in range(len(tasks) - len(new)):
        tick()
    with closing(run_tasks(work, state, new, workers=workers, preload=preload)) as results:
        for key, result in results:
            journal.append(key, result)
            tick()


def _write_line(descriptor: int, value: Any) -> None:
    """Write a value as one line of JSON."""
    line = (json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n").encode()
    while line:
        line = line[os.write(descriptor, line) :]


def _whole_lines(descriptor: int, place: Path) -> list[Any]:
    """Return the complete lines of the file, and truncate it after them."""
    content = b""
    os.lseek(descriptor, 0, os.SEEK_SET)
    while chunk := os.read(descriptor, 1 << 20):
        content += chunk
    start = json.dumps({"journal": _KIND}, separators=(",", ":"))[:-1].encode()
    if content[: len(start)] != start[: len(content)]:
        raise UsageError(f"{place}: is in the way, and not of an unfinished run; move it")
    lines: list[Any] = []
    good = 0
    for line in content.splitlines(keepends=True):
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
        if not line.endswith(b"\n"):
            lines.pop()
            break
        good += len(line)
    if good < len(content):
        os.ftruncate(descriptor, good)
    return lines
