"""What an audit draws from: a mechanism by its name, as any caller would use it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.audit.exact_law import Law
from dpsel.core.audit.laws import PRINTED, exact_law
from dpsel.core.audit.tally import Outcome
from dpsel.core.errors import UsageError
from dpsel.core.mechanisms.registry import MECHANISMS, find_mechanism
from dpsel.core.randomness import exponentials, make_randomness
from dpsel.core.topk import top_k


@dataclass(frozen=True)
class MechanismTarget:
    """A mechanism with its parameters; scores have the sensitivity 1."""

    name: str
    parameters: Mapping[str, Any]
    k: int
    epsilon: float

    def law(self, x: Sequence[float]) -> Law | None:
        """Return the exact chances of all subsets, if they are known."""
        return exact_law(self.name, x, self.k, self.epsilon, self.parameters)

    def draw(self, x: Sequence[float], draws: int, seed: int | None) -> IntArray:
        """Return rows of k indices, as `top_k` returns them."""
        if self.name == PRINTED:
            return self._drawn_by_law(x, draws, seed)
        return top_k(
            x, self.k, self.epsilon, mechanism=self.name, seed=seed, draws=draws, **self.parameters
        )

    @cached_property
    def delta(self) -> float:
        """Return the delta of the guarantee."""
        return float(self.parameters.get("delta", 0.0))

    def _drawn_by_law(self, x: Sequence[float], draws: int, seed: int | None) -> IntArray:
        """Return draws of the printed algorithm, which no code here follows."""
        law = self.law(x)
        if law is None:
            raise UsageError(
                f"the law of {PRINTED} is not known here; take fewer features, or scores that are "
                "nearer to each other"
            )
        uniform = -np.expm1(-exponentials(make_randomness(seed), draws))
        borders = np.cumsum(list(law.values()))
        places = np.searchsorted(borders / borders[-1], uniform, side="right")
        return np.array(list(law), dtype=np.int64)[np.minimum(places, len(law) - 1)]


def mechanism_target(
    name: str, given: Mapping[str, Any], k: int, epsilon: float
) -> MechanismTarget:
    """Return the mechanism of that name with the parameters given, those that are not None."""
    if name == PRINTED:
        asked = {key: value for key, value in given.items() if value is not None}
        if set(asked) - {"gamma"}:
            raise UsageError(f"the mechanism {name} has no other parameter than --gamma")
        return MechanismTarget(name, {"gamma": 0.5, **asked}, k, epsilon)
    if name not in MECHANISMS:
        known = ", ".join([*MECHANISMS, PRINTED])
        raise UsageError(f"mechanism must be one of {known}, got {name}")
    return MechanismTarget(name, find_mechanism(name).parameters(name, given), k, epsilon)


@dataclass(frozen=True)
class Chunk:
    """Some draws from one input."""

    scores: tuple[float, ...]
    draws: int
    seed: int | None


def draw_chunk(target: Any, chunk: Chunk) -> Counter[Outcome]:
    """Return how often each outcome was drawn. `target` is a MechanismTarget, or draws like one."""
    rows = target.draw(chunk.scores, chunk.draws, chunk.seed)
    found, counts = np.unique(rows, axis=0, return_counts=True)
    return Counter(dict(zip(map(tuple, found.tolist()), counts.tolist(), strict=True)))
