"""Writing results: to a file that appears whole or not at all, a device, or standard output."""

import errno
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpsel.errors import OutputError, ReaderGoneError
from dpsel.system.process import abandon_stdout, reason

STDOUT = "-"
_FOR_ALL, _FOR_ITS_OWNER = 0o666, 0o600


class Output:
    """A place for one result, opened before any budget is spent.

    A file is written under a temporary name in the same folder; `commit` syncs it to disk and
    renames it. Without `commit` nothing is left behind. What is written to stdout or to a device
    cannot be taken back.
    """

    def __init__(
        self, place: str, *, force: bool, inputs: Sequence[Path] = (), owner_only: bool = False
    ) -> None:
        """Make sure that `place`, which must not be an input, can be written to.

        With `owner_only`, for private numbers, only the owner can read the file. The permissions of
        a public file follow the process's umask.
        """
        self._place = place
        self._force = force
        self._temporary: str | None = None
        self.stream: Any = None
        if place == STDOUT:
            self._open_stdout()
            return
        mode = self._mode()
        # A pipe or a device can only be written to, not replaced.
        if mode is not None and not stat.S_ISREG(mode):
            self._open(place)
            return
        if any(_same(place, table) for table in inputs):
            raise OutputError(f"{place}: is the table itself; name another file")
        if mode is not None and not force:
            raise OutputError(f"{place}: exists already; replace it with --force")
        self._open_beside(place, _FOR_ITS_OWNER if owner_only else _FOR_ALL)

    def __enter__(self) -> "Output":
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove what was not committed."""
        if self._place != STDOUT:
            with suppress(OSError):
                self.stream.close()
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary)

    def write(self, content: bytes) -> None:
        """Write the whole result, and commit it."""
        try:
            self.stream.write(content)
        except OSError as error:
            raise self.failure(error) from None
        self.commit()

    def commit(self) -> None:
        """Make sure that everything is written, and put the file in place."""
        try:
            self.stream.flush()
            if self._temporary is not None:
                self._put_in_place(self._temporary)
        except OSError as error:
            raise self.failure(error) from None

    def failure(self, error: OSError) -> OutputError:
        """Return the error for a place that cannot be written to."""
        if self._place == STDOUT:
            return stdout_failure(error)
        return OutputError(f"{self._place}: cannot be written: {reason(error)}")

    def _mode(self) -> int | None:
        """Return what kind of file is at the place, None if there is none."""
        if not self._place:
            raise OutputError("--output: the name of the file is empty")
        try:
            mode = os.stat(self._place).st_mode
        except FileNotFoundError:
            # A broken link exists all the same.
            return stat.S_IFREG if os.path.lexists(self._place) else None
        except OSError as error:
            raise self.failure(error) from None
        if stat.S_ISDIR(mode):
            raise OutputError(f"{self._place}: is a folder; name a file")
        return mode

    def _open(self, place: str) -> None:
        """Open a pipe or a device."""
        try:
            self.stream = os.fdopen(os.open(place, os.O_WRONLY), "wb")
        except OSError as error:
            raise self.failure(error) from None

    def _open_beside(self, place: str, mode: int) -> None:
        """Create the temporary file, with the permissions `mode` without the process's umask.

        The kernel applies the umask. Reading it would mean changing it, for all threads.
        """
        temporary = str(Path(place).parent / f".dpsel-{os.urandom(8).hex()}.tmp")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            self.stream = os.fdopen(descriptor, "wb")
        except OSError as error:
            raise self.failure(error) from None
        self._temporary = temporary

    def _open_stdout(self) -> None:
        """Write to standard output, as bytes."""
        if sys.stdout is None:
            raise self.failure(OSError(errno.EBADF, "it is closed"))
        self.stream = sys.stdout.buffer

    def _put_in_place(self, temporary: str) -> None:
        """Sync the temporary file to disk, and rename it."""
        os.fsync(self.stream.fileno())
        self.stream.close()
        if self._force:
            os.replace(temporary, self._place)
        else:
            _move_to_free_place(temporary, self._place)
        self._temporary = None
        sync_folder(Path(self._place).parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to the disk."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def stdout_failure(error: OSError) -> OutputError:
    """Return the error for a standard output that cannot be written to, and give it up."""
    abandon_stdout()
    kind = ReaderGoneError if error.errno == errno.EPIPE else OutputError
    return kind(f"stdout: cannot be written: {reason(error)}")


def print_text(text: str) -> None:
    """Print a result on standard output."""
    with Output(STDOUT, force=False) as place:
        place.write(text.encode())


def is_plain(place: str) -> bool:
    """Return whether a place is an ordinary file, whether it exists or not."""
    return place != STDOUT and (os.path.isfile(place) or not os.path.exists(place))


def _same(place: str, table: Path) -> bool:
    """Return whether two names are the same file."""
    return os.path.exists(place) and table.exists() and os.path.samefile(place, table)


def _move_to_free_place(temporary: str, place: str) -> None:
    """Rename a file, unless one of the new name was created meanwhile."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise OutputError(f"{place}: exists already; replace it with --force") from None
    except OSError:
        # This file system has no hard links: rely on the check at the start.
        os.replace(temporary, place)
    else:
        os.unlink(temporary)
