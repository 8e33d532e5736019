"""Cells that are texts: words for numbers, truths and missing values, and bytes of any encoding."""

import re
from typing import Any

from dpsel.core.arrays import FloatArray
from dpsel.tables.formats import Dialect

TRUTH_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}

WORDS_FOR_MISSING = frozenset(
    ("", "na", "n/a", "#n/a", "<na>", "nan", "+nan", "-nan", "nat", "null")
)
"""In small letters: missing, in features, targets and persons alike."""
WORDS_FOR_NOTHING = WORDS_FOR_MISSING | {"none", "nil", "-", ".", "?"}
"""In small letters: nobody's id, and no word among numbers. Elsewhere they may be values."""

DAY = 86_400_000_000
"""Its microseconds: what times are counted in."""

# Written so that no text, however long, can be read in more than one way: that takes for ever.
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_LONGEST_EXPONENT = 18
# More digits than any type of whole numbers has.
_MOST_DIGITS = 80

# What Python makes of bytes that are no UTF-8, and what we do: each gets a mark and a sign of its
# own, and none of these can be a separator.
_MARK = "\ufffd".encode()
_ESCAPED = {b"\xed\xb2": _MARK + b"\xe2\xa2", b"\xed\xb3": _MARK + b"\xe2\xa3"}


_EXCHANGED = bytes.maketrans(b".,", b",.")
_EXCHANGED_SIGNS = str.maketrans(".,", ",.")


def in_utf8(text: bytes) -> bytes:
    """Return a text in UTF-8. Bytes that are none get signs of their own.

    So two persons stay two, whose names in another encoding differ in such a byte only. It takes no
    step in Python for a byte: a cell may hold very many.
    """
    if text.isascii():
        return text
    text = text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
    for escaped, sign in _ESCAPED.items():
        text = text.replace(escaped, sign)
    return text


def exact_number(text: str) -> str | None:
    """Return the one way to write a number, with all of its digits; None for what is no number.

    Equal numbers are written alike: 7, 7.0, +7 and 70e-1. No two others are, however long.
    """
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) <= _MOST_DIGITS:
        return text  # Most are, and need not be taken apart.
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    sign, whole, fraction, exponent = found.groups(default="")
    if not whole and not fraction:
        return None
    digits = (whole + fraction).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return "0"
    if len(exponent.lstrip("+-0")) > _LONGEST_EXPONENT:
        return None
    power = _whole(exponent) - len(fraction) + len(digits) - len(short)
    sign = sign.strip("+")
    if power >= 0 and len(short) + power <= _MOST_DIGITS:
        return sign + short + "0" * power
    return f"{sign}{short}e{power}"


def _whole(exponent: str) -> int:
    """Return an exponent, whatever the number of its leading zeros."""
    size = int(exponent.lstrip("+-0") or 0)
    return -size if exponent.startswith("-") else size


def decoded(cell: bytes) -> str:
    """Return bytes as text, with signs for those that are no UTF-8."""
    return in_utf8(cell).decode()


def with_decimal_points(text: bytes, dialect: Dialect) -> tuple[bytes, str]:
    """Return a text whose numbers have a decimal point, and what separates its cells.

    If they have a comma, all points and commas change places, the separator's too: so a number is
    read by the same code as one with a point, and what had a point is none, thousands above all.
    """
    if dialect.decimal == ".":
        return text, dialect.separator
    return text.translate(_EXCHANGED), dialect.separator.translate(_EXCHANGED_SIGNS)


def pointed_texts(column: Any) -> Any:
    """Return an Arrow column of texts in which numbers with a decimal comma have a point."""
    from dpsel.system.frames import pl

    texts = pl.Series(pl.from_arrow(column), dtype=pl.String)
    pointed = _exchanged(texts)
    number = pointed.str.strip_chars(" ").cast(pl.Float64, strict=False).is_not_null()
    return pointed.zip_with(number, texts).to_arrow()


def _exchanged(texts: Any) -> Any:
    """Return a series of texts whose points and commas have changed places."""
    return texts.str.replace_many([".", ","], [",", "."])


def text_numbers(texts: Any, decimal: str = ".") -> FloatArray:
    """Return texts as numbers, the words for true and false as 1 and 0, NaN for anything else.

    Blanks around them do not count.
    """
    from dpsel.system.frames import pl

    found = texts if isinstance(texts, pl.Series) else pl.from_arrow(texts)
    series = pl.Series(found, dtype=pl.String).str.strip_chars(" ")
    series = series if decimal == "." else _exchanged(series)
    words = series.replace_strict(TRUTH_WORDS, default=None, return_dtype=pl.Float64)
    parsed = series.cast(pl.Float64, strict=False)
    return parsed.fill_null(words).fill_null(float("nan")).to_numpy()
