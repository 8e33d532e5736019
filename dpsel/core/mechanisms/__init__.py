"""The names of the mechanisms and samplers, for callers that need nothing else."""

from enum import StrEnum


class Sampler(StrEnum):
    """Two ways to draw from the same law."""

    LAZY = "lazy"
    """Looks at few classes: takes a few milliseconds after the sort."""

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
