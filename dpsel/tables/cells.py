"""Text cells: words for true, false and missing, texts as numbers, and bytes in any encoding."""

import re
from typing import Any

from dpsel.core.arrays import FloatArray
from dpsel.tables.formats import Dialect

TRUTH_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}

WORDS_FOR_MISSING = frozenset(
    ("", "na", "n/a", "#n/a", "<na>", "nan", "+nan", "-nan", "nat", "null")
)
"""In lower case. These mean a missing value in features, targets and persons alike."""
WORDS_FOR_NOTHING = WORDS_FOR_MISSING | {"none", "nil", "-", ".", "?"}
"""In lower case. These mean a missing value in a column of persons, and among the numbers of a CSV.

Elsewhere the words added here may be values.
"""

DAY = 86_400_000_000
"""The microseconds in a day; times are counted in microseconds."""

# A text matches in one way only, so that no text, however long, causes endless backtracking.
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_LONGEST_EXPONENT = 18
# More digits than any integer type has.
_MOST_DIGITS = 80

# How Python escapes bytes that are not UTF-8, and how we do: each becomes a mark and a character of
# its own. None of these can be a separator.
_MARK = "\ufffd".encode()
_ESCAPED = {b"\xed\xb2": _MARK + b"\xe2\xa2", b"\xed\xb3": _MARK + b"\xe2\xa3"}


_EXCHANGED = bytes.maketrans(b".,", b",.")
_EXCHANGED_SIGNS = str.maketrans(".,", ",.")


def in_utf8(text: bytes) -> bytes:
    """Return a text in UTF-8, with a distinct character for each byte that is not UTF-8.

    So two persons whose names in another encoding differ only in such a byte stay two. There is no
    Python loop over bytes: a cell may hold very many.
    """
    if text.isascii():
        return text
    text = text.decode("utf-8", "surrogateescape").encode("utf-8", "surrogatepass")
    for escaped, sign in _ESCAPED.items():
        text = text.replace(escaped, sign)
    return text


def exact_number(text: str) -> str | None:
    """Return the canonical form of a number, with all of its digits; None for other texts.

    Equal numbers such as 7, 7.0, +7 and 70e-1 have the same form. Different numbers have different
    forms, however long they are.
    """
    if text.isdecimal() and text.isascii() and text[0] != "0" and len(text) <= _MOST_DIGITS:
        return text  # Most numbers are whole and need no parsing.
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
    """Return an exponent as a number; it may have any number of leading zeros."""
    size = int(exponent.lstrip("+-0") or 0)
    return -size if exponent.startswith("-") else size


def decoded(cell: bytes) -> str:
    """Return bytes as text; see `in_utf8` for bytes that are not UTF-8."""
    return in_utf8(cell).decode()


def with_decimal_points(text: bytes, dialect: Dialect) -> tuple[bytes, str]:
    """Return a text whose numbers have a decimal point, and its separator.

    With decimal commas, all points and commas are swapped, in the separator too. Numbers are then
    read by the same code as those with a point, and a cell that had a point, mostly as a thousands
    separator, is not a number.
    """
    if dialect.decimal == ".":
        return text, dialect.separator
    return text.translate(_EXCHANGED), dialect.separator.translate(_EXCHANGED_SIGNS)


def pointed_texts(column: Any) -> Any:
    """Return an Arrow column of texts whose decimal commas are replaced by points in numbers."""
    from dpsel.system.frames import pl

    texts = pl.Series(pl.from_arrow(column), dtype=pl.String)
    pointed = _exchanged(texts)
    number = pointed.str.strip_chars(" ").cast(pl.Float64, strict=False).is_not_null()
    return pointed.zip_with(number, texts).to_arrow()


def _exchanged(texts: Any) -> Any:
    """Return a series of texts with points and commas swapped."""
    return texts.str.replace_many([".", ","], [",", "."])


def text_numbers(texts: Any, decimal: str = ".") -> FloatArray:
    """Return texts as numbers, the words for true and false as 1 and 0, NaN for anything else.

    Blanks around a text are ignored.
    """
    from dpsel.system.frames import pl

    found = texts if isinstance(texts, pl.Series) else pl.from_arrow(texts)
    series = pl.Series(found, dtype=pl.String).str.strip_chars(" ")
    series = series if decimal == "." else _exchanged(series)
    words = series.replace_strict(TRUTH_WORDS, default=None, return_dtype=pl.Float64)
    parsed = series.cast(pl.Float64, strict=False)
    return parsed.fill_null(words).fill_null(float("nan")).to_numpy()
