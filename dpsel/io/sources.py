"""Where tables come from: a file, several files, a folder, or standard input."""

import glob
import mmap
import os
import shutil
import stat
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpsel.core.errors import InputError
from dpsel.io.formats import InputFormat, compression_of, format_of

STDIN = "-"
_MAGIC_BYTES = 8


@dataclass(frozen=True)
class Source:
    """One file, or standard input if `path` is None."""

    path: Path | None

    @property
    def label(self) -> str:
        """Return the name for messages."""
        return "stdin" if self.path is None else self.path.name

    @property
    def size(self) -> int:
        """Return the number of bytes, 0 where it is not known."""
        return 0 if self.path is None else self.path.stat().st_size

    def first_bytes(self) -> bytes:
        """Return the first few bytes, and take none off stdin."""
        if self.path is None:
            return bytes(_stdin().peek(_MAGIC_BYTES)[:_MAGIC_BYTES])
        with self.path.open("rb") as file:
            return file.read(_MAGIC_BYTES)

    def open_stream(self) -> "ByteStream":
        """Open it for reading once from start to end, decompressed."""
        import pyarrow as pa

        raw = _stdin() if self.path is None else self.path.open("rb")
        first = _peek(raw)
        compression = compression_of(first)
        content: Any = _Prefixed(first, raw)
        if compression is not None:
            content = pa.CompressedInputStream(
                pa.PythonFile(_Prefixed(first, raw), mode="r"), str(compression)
            )
        return ByteStream(raw, content, self.size)

    def open_random(self) -> Any:
        """Open it for reading anywhere: a path, or a buffer over a spooled copy of stdin.

        The copy is a file without a name: it is gone when the process is, however that ends.
        """
        if self.path is not None:
            return str(self.path)
        import pyarrow as pa

        with tempfile.TemporaryFile() as spool:
            shutil.copyfileobj(_stdin(), spool, 1 << 20)
            if spool.tell() == 0:
                return pa.py_buffer(b"")
            spool.flush()
            return pa.py_buffer(mmap.mmap(spool.fileno(), 0, access=mmap.ACCESS_READ))


class ByteStream:
    """Bytes of a source in order, and how far along they are."""

    def __init__(self, raw: Any, content: Any, size: int) -> None:
        """Read `content`, which draws on the file `raw` of `size` bytes."""
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
        """Return the share of the file that has been read, 0 if not known."""
        return min(1.0, self._raw.tell() / self._size) if self._size else 0.0

    def close(self) -> None:
        """Close the file, but never standard input."""
        self.closed = True
        if not self._keep_open:
            self._raw.close()


class _Prefixed:
    """A file whose first bytes were already taken off."""

    def __init__(self, prefix: bytes, raw: Any) -> None:
        self._prefix = prefix
        self._raw = raw
        self.closed = False

    def read(self, count: int = -1) -> bytes:
        if self._prefix:
            taken = self._prefix if count < 0 else self._prefix[:count]
            self._prefix = self._prefix[len(taken) :]
            return taken
        return bytes(self._raw.read(count))

    def close(self) -> None:
        self.closed = True


def _stdin_or_none() -> Any:
    """Return the bytes of standard input, None if it is closed."""
    return None if sys.stdin is None else sys.stdin.buffer


def _stdin() -> Any:
    """Return the bytes of standard input."""
    if sys.stdin is None:
        raise InputError("stdin: is closed")
    return sys.stdin.buffer


def _peek(raw: Any) -> bytes:
    """Take the first few bytes off a file, however slowly they come."""
    first = b""
    while len(first) < _MAGIC_BYTES and (more := raw.read(_MAGIC_BYTES - len(first))):
        first += more
    return first


def find_sources(table: str | Path) -> list[Source]:
    """Return the files that a path, a folder or a glob pattern stands for, in sorted order."""
    if str(table) == STDIN:
        return [Source(None)]
    path = Path(table)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return [Source(found) for found in _matching(str(table))]
    except OSError as error:
        raise InputError(f"{path.name}: cannot be opened: {_reason(error)}") from None
    if stat.S_ISDIR(mode):
        found = sorted(
            file
            for file in path.rglob("*")
            if file.suffix.lower() in (".parquet", ".pq") and not file.name.startswith((".", "_"))
        )
        if not found:
            raise InputError(f"{path.name}: this folder holds no Parquet file")
        return [_checked(Source(file)) for file in found]
    return [_checked(Source(path))]


def common_format(sources: list[Source], wanted: InputFormat | None) -> InputFormat:
    """Return the format of all sources, which must be the same."""
    if wanted is not None:
        return wanted
    if sources[0].path is None:
        raise InputError("stdin: say which format it has with --input-format")
    formats = {format_of(source.label, source.first_bytes()) for source in sources}
    if len(formats) > 1:
        raise InputError(f"the files have different formats: {', '.join(sorted(formats))}")
    return formats.pop()


def _matching(pattern: str) -> list[Path]:
    """Return the files that match a glob pattern."""
    found = sorted(Path(name) for name in glob.glob(pattern, recursive=True))
    files = [file for file in found if file.is_file()]
    if not files:
        what = "no file matches this pattern" if glob.has_magic(pattern) else "no such file"
        raise InputError(f"{pattern}: {what}")
    return files


def _checked(source: Source) -> Source:
    """Refuse a file that cannot be opened, before anything else is done."""
    assert source.path is not None
    if not os.access(source.path, os.R_OK):
        raise InputError(f"{source.label}: cannot be opened: permission denied")
    return source


def _reason(error: OSError) -> str:
    """Return the system's words for an error, without the path."""
    return (error.strerror or "unknown reason").lower()
