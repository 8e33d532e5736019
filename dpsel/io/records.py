"""Records as text, written whole or not at all."""

import errno
import json
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from dpsel.core.errors import OutputError
from dpsel.core.selection import Selection
from dpsel.io.formats import OutputFormat
from dpsel.io.streams import abandon_stdout, reason
from dpsel.io.text import printable

STDOUT = "-"


def selection_text(selection: Selection, output_format: OutputFormat) -> str:
    """Return a selection as text: the whole record, or its names or indices, one a line."""
    if output_format is OutputFormat.NAMES:
        return "".join(f"{printable(name)}\n" for name in selection.selected_features)
    if output_format is OutputFormat.INDICES:
        return "".join(f"{index}\n" for index in selection.selected_indices)
    return json.dumps(selection.to_dict(), indent=2, ensure_ascii=False) + "\n"


class Output:
    """A place for one text. Opened before anything is spent, written whole, or left as it was.

    A file is written beside its place under another name, brought to the disk, and renamed.
    """

    def __init__(self, place: str, *, force: bool, inputs: Sequence[Path] = ()) -> None:
        """Make sure that the text can be written to `place`, which must not be an input."""
        self._place = place
        self._force = force
        self._temporary: str | None = None
        path = Path(place)
        if place == STDOUT:
            return
        if not place:
            raise OutputError("--output: the name of the file is empty")
        try:
            mode: int | None = path.stat().st_mode
        except FileNotFoundError:
            # A link that leads nowhere is there all the same.
            mode = stat.S_IFREG if os.path.lexists(place) else None
        except OSError as error:
            raise _cannot_write(place, error) from None
        if mode is not None and stat.S_ISDIR(mode):
            raise OutputError(f"{place}: is a folder; name a file")
        # A pipe or a device cannot be replaced, only written to.
        self._direct = mode is not None and not stat.S_ISREG(mode)
        if self._direct:
            return
        if any(os.path.exists(place) and os.path.samefile(place, table) for table in inputs):
            raise OutputError(f"{place}: is the table itself; name another file")
        if mode is not None and not force:
            raise OutputError(f"{place}: exists already; replace it with --force")
        try:
            descriptor, self._temporary = tempfile.mkstemp(
                prefix=f".{path.name[:100]}.", suffix=".tmp", dir=path.parent
            )
            os.close(descriptor)
        except OSError as error:
            raise _cannot_write(place, error) from None

    def __enter__(self) -> "Output":
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave nothing behind."""
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary)

    def write(self, text: str) -> None:
        """Write the text, all of it."""
        try:
            if self._place == STDOUT:
                _write_stdout(text)
            elif self._direct:
                with open(self._place, "w", encoding="utf-8") as file:
                    file.write(text)
            else:
                self._write_file(text)
        except OSError as error:
            raise _cannot_write(self._place, error) from None

    def _write_file(self, text: str) -> None:
        """Write the temporary file and put it in place."""
        assert self._temporary is not None
        with open(self._temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(self._temporary, 0o666 & ~_umask())
        if self._force:
            os.replace(self._temporary, self._place)
        else:
            _move_to_free_place(self._temporary, self._place)
        self._temporary = None
        folder = os.open(Path(self._place).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _move_to_free_place(temporary: str, place: str) -> None:
    """Rename, unless somebody made a file of that name meanwhile."""
    try:
        os.link(temporary, place)
    except FileExistsError:
        raise OutputError(f"{place}: exists already; replace it with --force") from None
    except OSError:
        # No hard links on this file system: the check at the start has to do.
        os.replace(temporary, place)
    else:
        os.unlink(temporary)


def _write_stdout(text: str) -> None:
    """Write to standard output and make sure that it arrived."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except OSError:
        abandon_stdout()
        raise


def _umask() -> int:
    """Return the process's mask for new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(place: str, error: OSError) -> OutputError:
    """Return the error for a place that cannot be written to."""
    name = "stdout" if place == STDOUT else place
    return OutputError(f"{name}: cannot be written: {reason(error)}")
