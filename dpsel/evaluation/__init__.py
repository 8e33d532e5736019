"""`dpsel evaluate`: how well private selection works on the holder's data. Not for release."""

STAMP = "not private, not for release"
"""Appears on everything that an evaluation prints, draws or writes."""
