"""The sweeps of the paper's experiments."""

from dpsel.core.choices import DEFAULT_CLIP, Scale
from dpsel.core.evaluation.grids import parse_epsilons, parse_ks
from dpsel.core.evaluation.methods import parse_methods
from dpsel.core.evaluation.truth import Truth
from dpsel.core.privacy import Neighbors
from dpsel.reproduce import BEYOND, PAPER_EPSILONS, PAPER_METHODS
from dpsel.sweep_plan import SweepPlan


def paper_plan(
    *,
    k: str,
    trials: int,
    seed: int,
    beyond: bool,
    methods: tuple[str, ...] = (),
    epsilon: str = PAPER_EPSILONS,
) -> SweepPlan:
    """Return a sweep under the paper's conditions.

    Columns are centred and divided by their largest value, the truth is a LASSO's with lambda =
    0.1, one row is there or not (sensitivity 1), and two-stage has sqrt(n) blocks of equal size.
    """
    names = [*(methods or PAPER_METHODS), *(BEYOND if beyond else ())]
    return SweepPlan(
        methods=parse_methods(names),
        ks=parse_ks(k),
        epsilons=parse_epsilons(epsilon),
        trials=trials,
        seed=seed,
        truth=Truth(),
        scale=Scale.MAX_ABS,
        clip=DEFAULT_CLIP,
        neighbors=Neighbors.ADD_REMOVE,
        delta=None,
        blocks=None,
        equal_blocks=True,
    )
