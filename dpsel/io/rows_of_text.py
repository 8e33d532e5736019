"""Whole rows of a delimited text, a block of bytes at a time.

Quotes follow RFC 4180: a cell may be put in quotes, and then hold separators, line breaks and
doubled quotes. A text with any other quote does not say where its rows end, and is refused.
"""

import csv
import hashlib
import re
from collections.abc import Iterator

import numpy as np

from dpsel.core.errors import InputError
from dpsel.io.sources import ByteStream

BLOCK_BYTES = 1 << 24
_LONGEST_ROW = 1 << 30
_LONGEST_QUOTE = 1 << 26
_BOM = b"\xef\xbb\xbf"


class TextRows:
    """Splits a stream into its header and blocks of whole rows."""

    def __init__(
        self, stream: ByteStream, separator: str, label: str, block_bytes: int, *, digest: bool
    ) -> None:
        """Read the header; `digest` says whether one of all bytes will be asked for."""
        self._stream = stream
        self._label = label
        self._block_bytes = block_bytes
        self._quoted_cell = _quoted_cell(separator)
        self._rest = b""
        self._hash = hashlib.sha256() if digest else None
        self._ended = False
        self.header = self._read_header(separator)

    @property
    def share_read(self) -> float:
        """Return the share of the stream that has been read."""
        return self._stream.share_read

    def digest(self) -> str | None:
        """Return a digest of all bytes, None before the last one was read, or if not wanted."""
        return self._hash.hexdigest() if self._hash is not None and self._ended else None

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of whole rows, each row ended by a line feed."""
        while self._read_more():
            cut = _last_row_end(self._rest)
            if cut:
                block, self._rest = self._rest[:cut], self._rest[cut:]
                yield self._checked(block)
            elif len(self._rest) > _LONGEST_QUOTE and b'"' in self._rest:
                self._checked(self._rest)
        if self._rest:
            yield self._checked(self._rest if self._rest.endswith(b"\n") else self._rest + b"\n")

    def _read_header(self, separator: str) -> list[str]:
        """Take the first row off the stream; lines with nothing in them are passed over."""
        line = self._first_row().removeprefix(_BOM)
        while line and not line.strip():
            line = self._first_row()
        if not line:
            raise InputError(f"{self._label}: is empty; a first line with column names is needed")
        try:
            text = self._checked(line).decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self._label}: its first line is not text in UTF-8") from None
        if "\0" in text:
            raise InputError(f"{self._label}: its first line is not text in UTF-8")
        # A name of any length: the module's own limit is 128 KiB.
        csv.field_size_limit(_LONGEST_ROW)
        try:
            return next(csv.reader([text.rstrip("\r\n")], delimiter=separator))
        except csv.Error:
            raise InputError(
                f"{self._label}: its first line cannot be split into names; end lines with \\n"
            ) from None

    def _first_row(self) -> bytes:
        """Take one row off the stream, empty at its end."""
        end = _first_row_end(self._rest)
        while not end and self._read_more():
            end = _first_row_end(self._rest)
        end = end or len(self._rest)
        line, self._rest = self._rest[:end], self._rest[end:]
        return line

    def _read_more(self) -> bool:
        """Read on; False at the end of the stream."""
        more = self._stream.read(self._block_bytes)
        if self._hash is not None:
            self._hash.update(more)
        self._ended = not more
        self._rest += more
        if len(self._rest) > _LONGEST_ROW:
            raise InputError(f"{self._label}: a line is longer than a gigabyte; this is no table")
        return bool(more)

    def _checked(self, text: bytes) -> bytes:
        """Refuse a quote that neither opens nor closes a cell, nor is doubled in one."""
        if b'"' in text and b'"' in self._quoted_cell.sub(b"", text):
            raise InputError(
                f"{self._label}: a quote is not closed, or not doubled inside a cell, so it is not "
                'certain where rows end; write such cells as "5"" pipe"'
            )
        return text


def _quoted_cell(separator: str) -> re.Pattern[bytes]:
    """Return what matches a cell in quotes, between separators and line ends."""
    sign = re.escape(separator.encode())
    # The quote comes before what must stand before it: that is what is searched for, fast.
    return re.compile(rb'"(?<![^\n%b]")[^"]*(?:""[^"]*)*"(?![^\r\n%b])' % (sign, sign))


def _first_row_end(text: bytes) -> int:
    """Return the length of the first row with its line feed, 0 if it does not end."""
    at = text.find(b"\n")
    while at >= 0 and text.count(b'"', 0, at) % 2:
        at = text.find(b"\n", at + 1)
    return at + 1


def _last_row_end(text: bytes) -> int:
    """Return the length of all whole rows, 0 if there is none yet."""
    last = text.rfind(b"\n")
    if last < 0 or text.count(b'"', 0, last) % 2 == 0:
        return last + 1
    # Inside quotes a line feed ends no row: find the last one outside.
    codes = np.frombuffer(text, dtype=np.uint8)
    feeds = np.flatnonzero(codes == ord("\n"))
    quotes = np.flatnonzero(codes == ord('"'))
    outside = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
    return int(outside[-1]) + 1 if outside.size else 0
