"""Values that must never be seen outside of the table, and who looks for them."""

TEXT = "HIVcanary"
NUMBER = 31337.42424242
# What a library would print of these, in whole or in part, in any case.
_TRACES = ("hivcanary", "31337", "canary")


def leaks(shown: str) -> bool:
    """Return whether a cell's value can be seen in what a command printed."""
    folded = shown.casefold()
    return any(trace in folded for trace in _TRACES)
