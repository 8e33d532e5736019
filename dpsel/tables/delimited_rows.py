"""Splitting a delimited text into whole rows, some bytes at a time.

Quotes follow RFC 4180: a quoted cell may hold separators, line breaks and doubled quotes. With any
other quote it is unclear where rows end, and the text is refused.

A row above a maximal length is read as an empty one. It is never held in memory, so no row can fail
a run by its length. The maximum depends only on the first line, which is public, so whether a row
is too long depends on that row alone.
"""

import csv
import hashlib
import re
from collections.abc import Iterator
from enum import Enum

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.errors import InputError
from dpsel.tables.formats import (
    BOM,
    FORMATS,
    Dialect,
    FileFormat,
    InputFormat,
    recognized_separator,
    stated_separator,
)
from dpsel.tables.sources import ByteStream

TEXT_BYTES = 1 << 24
_HEADER_BYTES, _LONGEST_HEADER = 1 << 16, 1 << 28
# A number has some 25 characters, and names are not much shorter on average.
_TIMES_THE_HEADER = 16
# The most cells that a text of whole rows can have, if every cell has its separator.
_CELLS_AT_ONCE = TEXT_BYTES
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# What follows the four or six letters in such a file is not in the name of any column.
_BINARY = {b"PAR1\x15": InputFormat.PARQUET, b"ARROW1\0": InputFormat.ARROW}


def names_of_text(stream: ByteStream, written: FileFormat, label: str) -> list[str]:
    """Return the names in the first line of a text; little more of it is read."""
    return TextRows(stream, written, label, _HEADER_BYTES, digest=False).header


class TextRows:
    """Splits a stream into its header and texts of whole rows."""

    def __init__(
        self, stream: ByteStream, written: FileFormat, label: str, text_bytes: int, *, digest: bool
    ) -> None:
        """Read the header; `digest` says whether `digest()` will be called."""
        self._stream = stream
        self._label = label
        self._text_bytes = text_bytes
        self._rest = b""
        self._ahead = b""
        self._hash = hashlib.sha256() if digest else None
        self._ended = False
        self.has_long_rows = False
        """Whether a row so far was longer than the maximum."""
        line = self._read_header()
        stated = stated_separator(line)
        line = line if stated is None else self._read_header()
        # The maximal length of a row depends only on the first line.
        self._longest = max(TEXT_BYTES, _TIMES_THE_HEADER * len(line))
        separator = written.separator or stated or recognized_separator(line, written.decimal)
        self.dialect = Dialect(separator, written.decimal)
        """How the cells are written."""
        self._quoted_cell = _quoted_cell(separator)
        self.header = self._names_in(line)
        # From here on, `_rest` is always the beginning of one row, never a whole row.
        self._ahead, self._rest = self._rest, b""

    @property
    def share_read(self) -> float:
        """Return the share of the stream that has been read."""
        return self._stream.share_read

    def digest(self) -> str | None:
        """Return a digest of all bytes, None if they are not all read or no digest is wanted."""
        return self._hash.hexdigest() if self._hash is not None and self._ended else None

    def texts(self) -> Iterator[bytes]:
        """Yield texts of whole rows, each row ended by a line feed."""
        while more := self._next_bytes():
            if b'"' in self._rest or b'"' in more:
                self._keep(more)
                cut = _last_row_end(self._rest)
                text, self._rest = self._checked(self._rest[:cut]), self._rest[cut:]
            elif cut := more.rfind(b"\n") + 1:
                # Most texts have no quotes; every byte is copied only once.
                text = b"".join([self._rest, memoryview(more)[:cut]])
                self._rest = more[cut:]
            else:
                self._keep(more)
                text = b""
            if text:
                yield self._without_long_row(text)
            if len(self._rest) > self._longest:
                self._pass_over_row()
                yield b"\n"
        if self._rest:
            yield self._without_long_row(self._checked(self._rest + b"\n"))

    def _read_header(self) -> bytes:
        """Take the first row off the stream, skipping blank lines."""
        line = self._first_row().removeprefix(BOM)
        if line.startswith(_UTF_16):
            raise InputError(
                f"{self._label}: is text in UTF-16; save it as CSV in UTF-8, or convert it: "
                "iconv -f UTF-16 -t UTF-8"
            )
        for magic, found in _BINARY.items():
            if line.startswith(magic):
                raise InputError(
                    f"{self._label}: is {FORMATS[found].kind}, whatever it is called; give "
                    f"--input-format {found}"
                )
        while line and not line.strip():
            # All blank lines at once: taking them off one by one would copy the rest each time.
            blank = len(self._rest) - len(self._rest.lstrip())
            self._rest = self._rest[self._rest.rfind(b"\n", 0, blank) + 1 :]
            line = self._first_row()
        if not line:
            raise InputError(f"{self._label}: is empty; a first line with column names is needed")
        return line

    def _names_in(self, line: bytes) -> list[str]:
        """Return the names in the first row."""
        try:
            # Lines may end with several carriage returns.
            text = self._checked(line.rstrip(b"\r\n")).decode("utf-8")
        except UnicodeDecodeError:
            text = "\0"
        except InputError:
            if b'" "' not in line:
                raise
            raise InputError(
                f"{self._label}: the names in its first line are separated by blanks, as "
                "write.table of R writes them; give --separator ' '"
            ) from None
        if "\0" in text:
            raise InputError(
                f"{self._label}: its first line is not text in UTF-8; convert it, for instance "
                "with iconv -f WINDOWS-1252 -t UTF-8"
            )
        # Names may be long, and csv's default limit is 128 KiB.
        csv.field_size_limit(_LONGEST_HEADER)
        try:
            return next(csv.reader([text], delimiter=self.dialect.separator))
        except csv.Error:
            raise InputError(
                f"{self._label}: its first line cannot be split into names; end lines with \\n"
            ) from None

    def _first_row(self) -> bytes:
        """Take one row off the stream, empty at its end."""
        end = rows_end(self._rest, 1)
        while not end and self._read_more():
            end = rows_end(self._rest, 1)
            if not end and len(self._rest) > _LONGEST_HEADER:
                raise InputError(f"{self._label}: its first line is longer than 256 MiB")
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
        if self._ahead:
            ahead, self._ahead = self._ahead, b""
            return ahead
        more = self._stream.read(self._text_bytes)
        if self._hash is not None:
            self._hash.update(more)
        self._ended = not more
        return more

    def _keep(self, more: bytes) -> None:
        """Append bytes to the unfinished row."""
        self._rest += more

    def _without_long_row(self, text: bytes) -> bytes:
        """Return whole rows, with the first one emptied if it is too long; no other can be."""
        end = rows_end(text, 1) if len(text) > self._longest else 0
        if end <= self._longest:
            return text
        self.has_long_rows = True
        return b"\n" + text[end:]

    def _pass_over_row(self) -> None:
        """Skip to the end of a row, holding only some bytes of it at a time."""
        self.has_long_rows = True
        row = _LongRow(self.dialect.separator)
        more, self._rest = self._rest, b""
        while more:
            end = row.end_in(more)
            if row.place is _Place.STRAY:
                raise self._stray_quote()
            if end:
                self._ahead = more[end:]
                return
            more = self._next_bytes()
        if row.place is _Place.QUOTED:
            raise self._stray_quote()

    def _checked(self, text: bytes) -> bytes:
        """Refuse a quote that neither opens nor closes a cell, nor is doubled in one."""
        if b'"' in text and b'"' in self._quoted_cell.sub(b"", text):
            raise self._stray_quote()
        return text

    def _stray_quote(self) -> InputError:
        """Return the error for a quote that does not say where a row ends."""
        return InputError(
            f"{self._label}: a quote is not closed, or not doubled inside a cell, so it is not "
            'certain where rows end; write such cells as "5"" pipe"'
        )


class _Place(Enum):
    """Where a byte is within a cell."""

    START = "at the start"
    PLAIN = "in a cell without quotes"
    QUOTED = "in quotes"
    CLOSED = "behind a quote that closes a cell, unless it is the first of two"
    ENDED = "behind such a quote and a carriage return"
    STRAY = "behind a quote that should not be there"


class _LongRow:
    """Finds the end of a row, text by text, keeping only its place within a cell."""

    def __init__(self, separator: str) -> None:
        """Begin at the start of a row."""
        self.place = _Place.START
        sign = re.escape(separator.encode())
        # All quantifiers are possessive: each byte is matched once, without backtracking.
        inside = rb'[^"]*+(?:""[^"]*+)*+'
        plain = rb'[^"\n%b]*+' % sign
        cell = rb'(?:"%b"\r?+|%b)' % (inside, plain)
        self._whole_cells = re.compile(rb"(?:%b%b)*+" % (cell, sign))
        self._inside, self._plain = re.compile(inside), re.compile(plain)

    def end_in(self, text: bytes) -> int:
        """Return where the row ends in its next text, 0 if it does not end there."""
        at = 0
        while at < len(text) and self.place is not _Place.STRAY:
            if self.place is _Place.START:
                at = _past(self._whole_cells, text, at)
                if at < len(text):
                    quoted = text[at] == ord('"')
                    self.place = _Place.QUOTED if quoted else _Place.PLAIN
                    at += quoted
            elif self.place is _Place.QUOTED:
                at = _past(self._inside, text, at)
                if at < len(text):
                    at, self.place = at + 1, _Place.CLOSED
            elif self.place is _Place.CLOSED and text[at : at + 1] in (b'"', b"\r"):
                self.place = _Place.QUOTED if text[at : at + 1] == b'"' else _Place.ENDED
                at += 1
            else:
                behind = _past(self._plain, text, at)
                next_sign = text[behind : behind + 1]
                closed = self.place in (_Place.CLOSED, _Place.ENDED)
                if next_sign == b'"' or (closed and behind > at):
                    self.place = _Place.STRAY
                elif next_sign:
                    self.place = _Place.START
                    if next_sign == b"\n":
                        return behind + 1
                at = behind + 1
        return 0


def _past(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Return where the match of a pattern ends; the pattern must match anywhere."""
    found = pattern.match(text, at)
    assert found is not None
    return found.end()


def _quoted_cell(separator: str) -> re.Pattern[bytes]:
    """Return a pattern for a quoted cell, between separators and line ends.

    One carriage return may follow it; polars fails if it is followed by anything else.
    """
    sign = re.escape(separator.encode())
    # The quote comes before its lookbehind, so that the search looks for the quote, which is fast.
    return re.compile(rb'"(?<![^\n%b]")[^"]*+(?:""[^"]*+)*+"(?!\r?+[^\n%b])' % (sign, sign))


def rows_end(text: bytes, count: int) -> int:
    """Return the length of the first `count` rows with their line feeds, or of all whole ones.

    A line feed inside quotes does not end a row. The text is read once, however many quotes and
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
        # This line feed is inside quotes: go back to the line feed before the nearest quote.
        quote = text.rfind(b'"', 0, last)
        last = text.rfind(b"\n", 0, quote)
        inside = text.count(b'"', max(0, last), quote) % 2
    return last + 1


def row_ends(text: bytes) -> IntArray:
    """Return where the rows of a text end; a line feed inside quotes does not end a row."""
    codes = np.frombuffer(text, dtype=np.uint8)
    outside = np.cumsum(codes == ord('"'), dtype=np.uint8) % 2 == 0
    ends: IntArray = np.flatnonzero((codes == ord("\n")) & outside) + 1
    return ends


def cut_rows(text: bytes, columns: int) -> Iterator[bytes]:
    """Yield whole rows, few enough that a number for every cell easily fits in memory.

    Empty rows are short in the text, but have as many cells as any other.
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
