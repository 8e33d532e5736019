"""Single cells of text: words for true and false, and bytes that are no UTF-8."""

import codecs

TRUTH_WORDS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}

_KEPT_APART = "dpsel.kept_apart"
# 256 signs, one for each byte; none of them can be a separator.
_FIRST_SIGN = 0x2800


def _signs_for_bytes(error: UnicodeError) -> tuple[str, int]:
    """Return a sign for every byte that is no UTF-8."""
    assert isinstance(error, UnicodeDecodeError)
    wrong = error.object[error.start : error.end]
    return "\ufffd" + "".join(chr(_FIRST_SIGN + byte) for byte in wrong), error.end


codecs.register_error(_KEPT_APART, _signs_for_bytes)


def decoded(cell: bytes) -> str:
    """Return bytes as text. Those that are no UTF-8 get signs of their own.

    So two persons stay two, whose names in another encoding differ in such a byte only.
    """
    return cell.decode("utf-8", _KEPT_APART)
