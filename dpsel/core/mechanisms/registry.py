"""The mechanisms by name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dpsel.core.arrays import IntArray
from dpsel.core.guarantee import check_choice
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.joint import joint
from dpsel.core.mechanisms.lipschitz import canonical_lipschitz, check_gamma, margin_lipschitz
from dpsel.core.mechanisms.noisy import check_oneshot, oneshot_laplace, peeling
from dpsel.core.mechanisms.permute_and_flip import permute_and_flip
from dpsel.errors import UsageError
from dpsel.records import frozen

# Refuse values that no mechanism takes; those of other parameters are checked by the draw.
_CHECKED: dict[str, Callable[[Any], Any]] = {
    "gamma": check_gamma,
    "sampler": partial(check_choice, Sampler, name="sampler"),
}


@frozen
class Mechanism:
    """A mechanism, and its parameters with their defaults."""

    draw_sets: Callable[..., IntArray]
    """(scores, k, epsilon, rng, *, draws, and the parameters) -> rows of ascending indices.

    Only `core/release.py` calls it.
    """
    defaults: Mapping[str, Any]
    check: Callable[[float, float], None] = lambda epsilon, delta: None
    """Refuses an epsilon and a delta that the mechanism cannot keep."""

    def parameters(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters: the defaults, overridden by what was given and is not None."""
        chosen = {
            key: _CHECKED[key](value) if key in _CHECKED else value
            for key, value in given.items()
            if value is not None
        }
        for key in chosen:
            if key not in self.defaults:
                raise UsageError(f"--{key} does not apply to the mechanism {name}")
        return {**self.defaults, **chosen}


_LIPSCHITZ = {"gamma": 0.5, "sampler": Sampler.LAZY}

MECHANISMS: dict[str, Mechanism] = {
    "canonical-lipschitz": Mechanism(canonical_lipschitz, _LIPSCHITZ),
    "margin-lipschitz": Mechanism(margin_lipschitz, _LIPSCHITZ),
    "peeling": Mechanism(peeling, {"delta": 0.0}),
    "permute-and-flip": Mechanism(permute_and_flip, {}),
    "oneshot-laplace": Mechanism(oneshot_laplace, {"delta": 0.0}, check_oneshot),
    "joint": Mechanism(joint, {}),
}


def find_mechanism(name: str) -> Mechanism:
    """Return the mechanism with this name."""
    if name not in MECHANISMS:
        raise UsageError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {name}")
    return MECHANISMS[name]
