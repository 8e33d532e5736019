"""The names of the mechanisms and of their samplers, for those who need no more."""

from enum import StrEnum


class Sampler(StrEnum):
    """Two ways to draw from one law."""

    LAZY = "lazy"
    """Looks at few classes: a few milliseconds after the sort."""

    DIRECT = "direct"
    """Looks at all k(d-k)+1 classes: the reference."""


MECHANISM_NAMES = (
    "canonical-lipschitz",
    "margin-lipschitz",
    "peeling",
    "permute-and-flip",
    "oneshot-laplace",
    "joint",
)
