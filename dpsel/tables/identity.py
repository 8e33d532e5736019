"""The identity of a file's content, as far as it can be known without reading all of it."""

import hashlib
import os
import stat
import sys
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, NoReturn

from dpsel.errors import InputError
from dpsel.records import frozen

_ENDS = 1 << 16
_PARQUET, _TAIL = b"PAR1", 8


@frozen
class Identity:
    """Differs once a file is changed or replaced; reading a file does not change it."""

    size: int = field(repr=False)
    version: tuple[int | str, ...] = field(repr=False)
    """The inode and the times of change in nanoseconds; for an object in a store, its tag."""


def identity_of(path: Path) -> Identity | None:
    """Return the identity that a file has now; None for a pipe, or if there is no such file.

    The file is opened: only then is a network file system sure to know what other machines did.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        return _identity_of_open(descriptor)
    finally:
        os.close(descriptor)


def identity_of_stdin() -> Identity | None:
    """Return the identity of the file that standard input comes from, None if it is not a file."""
    with suppress(OSError, ValueError, AttributeError):
        return _identity_of_open(sys.stdin.fileno())
    return None


def refuse_changed(label: str) -> NoReturn:
    """Refuse a file that has changed since it was first looked at."""
    raise InputError(
        f"{label}: was changed while it was read; nothing of it is used. Run it again when nobody "
        "writes to it"
    )


def _identity_of_open(descriptor: int) -> Identity | None:
    """Return the identity of an open file, None if it is not a regular file."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        return None
    # Programs can set the modification time, but not the time of the inode's last change.
    return Identity(status.st_size, (status.st_ino, status.st_mtime_ns, status.st_ctime_ns))


def digest_of_ends(file: Any) -> bytes:
    """Return a digest of the first and last block of an open file, with the footer of a Parquet.

    Privacy:
        Guarantee: none; the digest is of private bytes.
        Tested by: tests/cluster/test_shards.py
    """
    digest = hashlib.sha256(file.read(_ENDS))
    size = file.seek(0, os.SEEK_END)
    last = min(size, _ENDS)
    if size >= _TAIL:
        file.seek(size - _TAIL)
        tail = file.read(_TAIL)
        if tail.endswith(_PARQUET):
            last = min(size, max(last, _TAIL + int.from_bytes(tail[:4], "little")))
    file.seek(size - last)
    digest.update(file.read(last))
    return digest.digest()
