"""Whole rows of a delimited text, a block of bytes at a time."""

import csv
from collections.abc import Iterator

import numpy as np

from dpsel.core.errors import InputError
from dpsel.io.sources import ByteStream

BLOCK_BYTES = 1 << 24
_LONGEST_QUOTE = 1 << 26
_LONGEST_ROW = 1 << 30
_BOM = b"\xef\xbb\xbf"


class TextRows:
    """Splits a stream into its header and blocks of whole rows."""

    def __init__(self, stream: ByteStream, separator: str, label: str, block_bytes: int) -> None:
        """Read the header."""
        self._stream = stream
        self._label = label
        self._block_bytes = block_bytes
        self._rest = b""
        self.header = self._read_header(separator)

    @property
    def share_read(self) -> float:
        """Return the share of the stream that has been read."""
        return self._stream.share_read

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of whole rows, each row ended by a line feed."""
        while more := self._stream.read(self._block_bytes):
            self._rest += more
            cut = _last_row_end(self._rest, self._label)
            if cut:
                block, self._rest = self._rest[:cut], self._rest[cut:]
                yield block
        if self._rest:
            yield self._rest if self._rest.endswith(b"\n") else self._rest + b"\n"

    def _read_header(self, separator: str) -> list[str]:
        """Take the first row off the stream."""
        end = 0
        while not end:
            more = self._stream.read(self._block_bytes)
            self._rest += more
            end = _first_row_end(self._rest)
            if not more:
                end = end or len(self._rest)
                break
        line, self._rest = self._rest[:end], self._rest[end:]
        line = line.removeprefix(_BOM)
        if not line.strip():
            raise InputError(f"{self._label}: is empty; a first line with column names is needed")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self._label}: its first line is not text in UTF-8") from None
        if "\0" in text:
            raise InputError(f"{self._label}: its first line is not text in UTF-8")
        # A name of any length: the module's own limit is 128 KiB.
        csv.field_size_limit(_LONGEST_ROW)
        return next(csv.reader([text.rstrip("\r\n")], delimiter=separator))


def _first_row_end(text: bytes) -> int:
    """Return the length of the first row with its line feed, 0 if it does not end."""
    at = text.find(b"\n")
    while at >= 0 and text.count(b'"', 0, at) % 2:
        at = text.find(b"\n", at + 1)
    return at + 1


def _last_row_end(text: bytes, label: str) -> int:
    """Return the length of all whole rows, 0 if there is none yet."""
    last = text.rfind(b"\n")
    if last < 0:
        if len(text) > _LONGEST_ROW:
            raise InputError(f"{label}: a line is longer than a gigabyte; this is no table")
        return 0
    if text.count(b'"', 0, last) % 2 == 0:
        return last + 1
    # Inside quotes a line feed ends no row: find the last one outside.
    codes = np.frombuffer(text, dtype=np.uint8)
    feeds = np.flatnonzero(codes == ord("\n"))
    quotes = np.flatnonzero(codes == ord('"'))
    outside = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
    if outside.size:
        return int(outside[-1]) + 1
    # A quote that is never closed: go on, rather than fail for what one cell holds.
    return last + 1 if len(text) > _LONGEST_QUOTE else 0
