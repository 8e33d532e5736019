"""One file of a table, or standard input: opened for reading from start to end, or at random."""

import mmap
import os
import shutil
import sys
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

from dpsel.errors import InputError
from dpsel.system.process import reason, stdin_bytes
from dpsel.tables.formats import compression_of, is_series_matrix, refuse_foreign
from dpsel.tables.identity import (
    Identity,
    digest_of_ends,
    identity_of,
    identity_of_stdin,
    refuse_changed,
)

Keys = tuple[tuple[str, str | None], ...]
"""Columns from folder names, each with its name and value; None is a missing value."""

_MAGIC_BYTES = 8
_SERIES_BYTES = 64


class Source:
    """One file, or standard input if `path` is None. A pipe can only be read once."""

    remote = False
    """Whether the file is in a store, not on this machine."""

    def __init__(self, path: Path | None, keys: Keys = ()) -> None:
        """Find out what kind of file it is, reading nothing; `keys` come from its folders."""
        self.path = path
        self.keys = keys
        self.label = "stdin" if path is None else path.name
        self.is_file = path is not None and path.is_file()
        self._pipe: Any = None
        self.identity = None if self.remote else self._identity_now()
        """The identity before anything was read; None for a pipe or an unopened remote file."""

    def check_unchanged(self) -> None:
        """Refuse a file that has changed since it was first looked at."""
        if self.identity is not None and self._identity_now() != self.identity:
            refuse_changed(self.label)

    def digest_of_ends(self) -> bytes:
        """Return a digest of the first and the last bytes of a file."""
        with self._raw() as file:
            return digest_of_ends(file)

    def size(self) -> int:
        """Return the size of a file in bytes, 0 for a pipe."""
        if self.path is None or not self.is_file:
            return 0
        with suppress(OSError):
            return self.path.stat().st_size
        return 0

    def first_bytes(self) -> bytes:
        """Return the first few bytes, without consuming those of a pipe."""
        if not self.is_file:
            return bytes(self._raw().peek(_MAGIC_BYTES)[:_MAGIC_BYTES])
        with self._raw() as file:
            return self._first_of(file)

    def open_stream(self) -> "ByteStream":
        """Open it for reading once, from start to end, decompressed."""
        raw = self._raw()
        with ExitStack() as opened:
            if self.is_file:
                opened.callback(raw.close)
            first = self._first_of(raw)
            refuse_foreign(self.label, first)
            opened.pop_all()
        compression = compression_of(first)
        content: Any = _Prefixed(first, raw)
        if compression is not None:
            import pyarrow as pa

            content = pa.CompressedInputStream(
                pa.PythonFile(_Prefixed(first, raw), mode="r"), str(compression)
            )
        return ByteStream(raw, content, self.size())

    def open_random(self) -> Any:
        """Return something for random access: a path, a buffer of its bytes, or a function.

        The function opens the file. A pipe is copied to a file without a name, which disappears
        with the process, however that ends.
        """
        if self.path is not None and self.is_file and named_in_utf8(self.path):
            return str(self.path)
        import pyarrow as pa

        raw = self._raw()
        with raw if self.is_file else _spooled(self.label, raw) as file:
            if file.seek(0, os.SEEK_END) == 0:
                return pa.py_buffer(b"")
            return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def is_series_matrix(self) -> bool:
        """Return whether it is a GEO series matrix, by its first line."""
        if self.remote:
            return False
        with suppress(OSError, InputError), closing(self.open_stream()) as stream:
            return is_series_matrix(stream.read(_SERIES_BYTES))
        return False

    def kept(self) -> "Source":
        """Return a source that can be read repeatedly: itself, or a copy of a pipe."""
        return self if self.is_file else _KeptSource(self)

    def _identity_now(self) -> Identity | None:
        """Return the identity that the file has now; standard input may be a file too."""
        if self.path is None:
            return identity_of_stdin()
        return identity_of(self.path) if self.is_file else None

    def _first_of(self, raw: Any) -> bytes:
        """Read the first few bytes, however slowly they arrive."""
        first = b""
        try:
            while len(first) < _MAGIC_BYTES and (more := raw.read(_MAGIC_BYTES - len(first))):
                first += more
        except OSError as error:
            raise InputError(f"{self.label}: cannot be read: {reason(error)}") from None
        return first

    def _raw(self) -> Any:
        """Return a reader of the bytes: a new one for a file, always the same one for a pipe."""
        if self.path is None:
            return stdin_bytes()
        try:
            if self.is_file:
                return self.path.open("rb")
            self._pipe = self._pipe or self.path.open("rb")
            return self._pipe
        except OSError as error:
            raise InputError(f"{self.label}: cannot be opened: {reason(error)}") from None


class _KeptSource(Source):
    """The bytes of a pipe, in a file without a name."""

    def __init__(self, origin: Source) -> None:
        self._origin = origin
        super().__init__(None)
        self.label, self.identity = origin.label, origin.identity
        self._spool = _spooled(origin.label, origin._raw())

    def kept(self) -> Source:
        return self

    def _identity_now(self) -> Identity | None:
        return self._origin._identity_now()

    def _raw(self) -> Any:
        self._spool.seek(0)
        return os.fdopen(os.dup(self._spool.fileno()), "rb")


def _spooled(label: str, raw: Any) -> Any:
    """Return a file without a name that holds all bytes of a pipe."""
    from dpsel.tables.spill import unnamed_file

    with ExitStack() as opened:
        try:
            spool = opened.enter_context(unnamed_file())
            shutil.copyfileobj(raw, spool, 1 << 20)
            spool.flush()
        except OSError as error:
            raise InputError(
                f"{label}: cannot be copied to a temporary file: {reason(error)}; "
                "set TMPDIR to a folder with more room"
            ) from None
        opened.pop_all()
        return spool


class ByteStream:
    """The bytes of a source in order, and how much of it has been read."""

    def __init__(self, raw: Any, content: Any, size: int) -> None:
        """Read `content`, which reads from the file `raw` of `size` bytes."""
        self._raw = raw
        self._content = content
        self._size = size
        self._keep_open = raw is _stdin_or_none()
        self.closed = False

    def read(self, count: int) -> bytes:
        """Return up to `count` bytes; none at the end."""
        return bytes(self._content.read(count))

    @property
    def share_read(self) -> float:
        """Return the share of the file that has been read, 0 if unknown."""
        return min(1.0, self._raw.tell() / self._size) if self._size else 0.0

    def close(self) -> None:
        """Close the file, but never standard input."""
        self.closed = True
        if not self._keep_open:
            self._raw.close()


def _stdin_or_none() -> Any:
    """Return the bytes of standard input, None if it is closed."""
    return None if sys.stdin is None else sys.stdin.buffer


class _Prefixed:
    """A file whose first bytes were already read."""

    def __init__(self, prefix: bytes, raw: Any) -> None:
        """Return `prefix` first, then what is left of `raw`."""
        self._prefix = prefix
        self._raw = raw
        self.closed = False

    def read(self, count: int = -1) -> bytes:
        """Return up to `count` bytes, or all that are left if it is negative."""
        if count < 0:
            taken, self._prefix = self._prefix, b""
            return taken + bytes(self._raw.read())
        taken, self._prefix = self._prefix[:count], self._prefix[count:]
        return taken + bytes(self._raw.read(count - len(taken)))

    def close(self) -> None:
        """Close this object, but not the file, which its opener closes."""
        self.closed = True


def named_in_utf8(path: Path) -> bool:
    """Return whether polars and pyarrow, which assume UTF-8, can find a file by its name.

    File names are bytes, and the locale decides how they become text: in the C locale, only ASCII
    stays as it is.
    """
    return os.fsencode(path) == str(path).encode("utf-8", "replace")
