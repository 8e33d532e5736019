"""The mechanisms by name."""

from collections.abc import Callable

from dpsel.core.arrays import IntArray
from dpsel.core.errors import UsageError
from dpsel.core.mechanisms.canonical_lipschitz import canonical_lipschitz

Mechanism = Callable[..., IntArray]

MECHANISMS: dict[str, Mechanism] = {
    "canonical-lipschitz": canonical_lipschitz,
}
"""By name: (scores, k, epsilon, rng, *, draws, and the mechanism's parameters) -> indices."""


def find_mechanism(name: str) -> Mechanism:
    """Return the mechanism of that name."""
    if name not in MECHANISMS:
        raise UsageError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name}")
    return MECHANISMS[name]
