"""How well private selection would do: for the data's holder only, and never for release."""

STAMP = "not private, not for release"
"""Stands on everything that an evaluation prints, draws or writes."""
