"""The choices of `preprocess`, some of which `evaluate` shares.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from enum import StrEnum


class Center(StrEnum):
    """What becomes 0."""

    MEAN = "mean"
    MEDIAN = "median"
    NONE = "none"


class Scale(StrEnum):
    """What becomes 1."""

    MAX_ABS = "max-abs"
    """The farthest value from the centre: the paper's."""

    ROBUST = "robust"
    """So many robust standard deviations; what is farther is clipped."""

    NONE = "none"
    """1 itself; what is farther is clipped."""


DEFAULT_CLIP = 0.75
"""Of `benchmarks/clipping.py`: the largest at which robust scaling does as well at epsilon 5 as the
paper's at 10, on real tables and synthetic ones."""


class Missing(StrEnum):
    """What a missing value becomes."""

    ZERO = "zero"
    """The centre."""

    MEAN = "mean"
    MEDIAN = "median"
