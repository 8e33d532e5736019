"""Whole rows of a delimited text, a block of bytes at a time.

Quotes follow RFC 4180: a cell may be put in quotes, and then hold separators, line breaks and
doubled quotes. A text with any other quote does not say where its rows end, and is refused.
"""

import csv
import hashlib
import re
from collections.abc import Iterator

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.errors import InputError
from dpsel.io.sources import ByteStream

BLOCK_BYTES = 1 << 24
_LONGEST_ROW = 1 << 28
_LONGEST_QUOTE = 1 << 26
# As many as a block of whole rows can have at the most, if every cell has its separator.
_CELLS_AT_ONCE = BLOCK_BYTES
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
        while more := self._next_bytes():
            if b'"' in self._rest or b'"' in more:
                self._keep(more)
                cut = _last_row_end(self._rest)
                block, self._rest = self._checked(self._rest[:cut]), self._rest[cut:]
                self._refuse_endless_quote(cut)
            elif cut := more.rfind(b"\n") + 1:
                # Most texts have no quotes: every byte is copied once.
                block = b"".join([self._rest, memoryview(more)[:cut]])
                self._rest = more[cut:]
            else:
                self._keep(more)
                block = b""
            if block:
                yield block
        if self._rest:
            yield self._checked(self._rest if self._rest.endswith(b"\n") else self._rest + b"\n")

    def _read_header(self, separator: str) -> list[str]:
        """Take the first row off the stream; lines with nothing in them are passed over."""
        line = self._first_row().removeprefix(_BOM)
        while line and not line.strip():
            # Very many at once: taking them off one by one would copy the rest each time.
            blank = len(self._rest) - len(self._rest.lstrip())
            self._rest = self._rest[self._rest.rfind(b"\n", 0, blank) + 1 :]
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
        end = rows_end(self._rest, 1)
        while not end and self._read_more():
            end = rows_end(self._rest, 1)
            self._refuse_endless_quote(end)
        end = end or len(self._rest)
        line, self._rest = self._rest[:end], self._rest[end:]
        return line

    def _read_more(self) -> bool:
        """Read on; False at the end of the stream."""
        more = self._next_bytes()
        self._keep(more)
        return bool(more)

    def _next_bytes(self) -> bytes:
        """Take the next bytes off the stream, none at its end."""
        more = self._stream.read(self._block_bytes)
        if self._hash is not None:
            self._hash.update(more)
        self._ended = not more
        return more

    def _keep(self, more: bytes) -> None:
        """Put bytes behind those that are part of a row."""
        self._rest += more
        if len(self._rest) > _LONGEST_ROW:
            raise InputError(f"{self._label}: a row is longer than 256 MiB; this is no table")

    def _refuse_endless_quote(self, end: int) -> None:
        """Refuse to read on for ever if there is a quote, and no row has ended."""
        if not end and len(self._rest) > _LONGEST_QUOTE and b'"' in self._rest:
            self._checked(self._rest)

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


def rows_end(text: bytes, count: int) -> int:
    """Return the length of the first `count` rows with their line feeds, or of all whole ones.

    A line feed inside quotes ends no row. The text is gone through once, however many quotes and
    line feeds it has.
    """
    end = at = 0
    feed = text.find(b"\n")
    while count and feed >= 0:
        opened = text.find(b'"', at, feed)
        if opened < 0:
            end = at = feed + 1
            count -= 1
        else:
            at = text.find(b'"', opened + 1) + 1
            if not at:
                break
        if feed < at:
            feed = text.find(b"\n", at)
    return end


def _last_row_end(text: bytes) -> int:
    """Return the length of all whole rows, 0 if there is none yet."""
    last = text.rfind(b"\n")
    inside = text.count(b'"', 0, max(0, last)) % 2
    while last >= 0 and inside:
        # The quote before it is open: go back to the line before that quote.
        quote = text.rfind(b'"', 0, last)
        last = text.rfind(b"\n", 0, quote)
        inside = text.count(b'"', max(0, last), quote) % 2
    return last + 1


def row_ends(text: bytes) -> IntArray:
    """Return where the rows of a text end; a line feed inside quotes ends none."""
    codes = np.frombuffer(text, dtype=np.uint8)
    outside = np.cumsum(codes == ord('"'), dtype=np.uint8) % 2 == 0
    ends: IntArray = np.flatnonzero((codes == ord("\n")) & outside) + 1
    return ends


def cut_rows(text: bytes, columns: int) -> Iterator[bytes]:
    """Yield whole rows, few enough that a number for every cell fits well in memory.

    Rows without anything in them are short, and have as many cells as any.
    """
    most = max(1, _CELLS_AT_ONCE // columns)
    if np.count_nonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n")) <= most:
        yield text
        return
    start = 0
    for end in (*row_ends(text)[most - 1 :: most].tolist(), len(text)):
        if end > start:
            yield text[start:end]
        start = end
