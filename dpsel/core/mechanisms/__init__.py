"""The names of the samplers."""

from enum import StrEnum


class Sampler(StrEnum):
    """Two ways to draw from one law."""

    LAZY = "lazy"
    """Looks at few classes: a few milliseconds after the sort."""

    DIRECT = "direct"
    """Looks at all k(d-k)+1 classes: the reference."""
