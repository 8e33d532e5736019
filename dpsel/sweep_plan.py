"""What a sweep will do."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from dpsel import __version__
from dpsel.core.choices import Method, Scale
from dpsel.core.evaluation.grids import AskedK
from dpsel.core.evaluation.methods import EvaluatedMethod
from dpsel.core.evaluation.truth import LASSO, Truth
from dpsel.core.privacy import Neighbors


@dataclass(frozen=True)
class SweepPlan:
    """All choices of a sweep; nothing in it depends on the number of workers."""

    methods: tuple[EvaluatedMethod, ...]
    ks: tuple[AskedK, ...]
    epsilons: tuple[float, ...]
    trials: int
    seed: int
    truth: Truth
    scale: Scale
    clip: float
    neighbors: Neighbors
    delta: float | None
    blocks: int | None
    """None for the square root of the number of rows."""
    equal_blocks: bool
    """Whether blocks have equal sizes, as where the number of rows is public."""

    @property
    def fits_lassos(self) -> bool:
        """Return whether any LASSO is needed."""
        ranked = {method.ranking for method in self.methods}
        return self.truth.kind == LASSO or bool(ranked & {Method.TWO_STAGE, Method.LASSO})

    def described(self) -> dict[str, Any]:
        """Return the plan as plain values: two plans that say the same give the same results."""
        found = asdict(self)
        found["methods"] = [method.name for method in self.methods]
        found["ks"] = [asked.text for asked in self.ks]
        return {**json.loads(json.dumps(found)), "version": __version__}

    def scale_of(self, method: EvaluatedMethod) -> Scale:
        """Return the scaling that a method works on."""
        return self.scale if method.scale is None else method.scale

    def vote_scales(self) -> list[Scale]:
        """Return the scalings that two-stage works on."""
        voted = [m for m in self.methods if m.ranking == Method.TWO_STAGE]
        return list(dict.fromkeys(self.scale_of(method) for method in voted))

    def tasks_per_set(self) -> int:
        """Return how many pieces of work a data set makes."""
        cells = len(self.methods) * len(self.ks) * len(self.epsilons)
        return cells + len(self.vote_scales()) * self.trials
