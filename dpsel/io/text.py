"""Text that is safe to show on a terminal and to put on a line of its own."""


def printable(text: str) -> str:
    """Return a text with its line breaks and control characters written as escapes."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )
