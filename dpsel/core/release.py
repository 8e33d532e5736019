"""From private scores to a selection that may be published: the only way out of the core.

Only this file makes the system's randomness, calls a mechanism by name and makes a new `Selection`
with a guarantee; `tests/test_layers.py` checks this. The rounds of `rounds.py` also call one, with
an rng that they get from here.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpsel import __version__
from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.epsilon_parts import (
    ROWS,
    ROWS_SHARE,
    SELECTION,
    BudgetParts,
    affordable_picks,
    noisy_rows,
)
from dpsel.core.guarantee import Guarantee, check_at_least, rows_are_public
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.randomness import (
    Randomness,
    SeededRandomness,
    derived_seed,
    exponentials,
    make_randomness,
)
from dpsel.core.scores.base import Scores
from dpsel.core.scores.stump import WeightRule, stump_sensitivity
from dpsel.core.selection import Selection
from dpsel.core.target import Target
from dpsel.errors import UsageError
from dpsel.python import python_function
from dpsel.records import frozen

SEEDED = "drawn with a fixed seed, for tests only"


def usual_arithmetic() -> "np.errstate":
    """Return a context in which numpy treats numbers that are too small or too large as usual.

    A caller may have told numpy to raise an error for them. In the caller's own thread, a cell or a
    score could then make a run fail.
    """
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


@frozen
class DrawnBy:
    """How features are found: by which score, mechanism and parameters."""

    score: str
    mechanism: str
    parameters: Mapping[str, Any]


def release(
    scores: Scores,
    names: Sequence[str],
    k: int,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seed: int | None,
) -> Selection:
    """Spend the guarantee's epsilon: call one mechanism once, and return its selection.

    Privacy:
        Domain: finite scores, one for every name.
        Neighbors: those of `guarantee`, for which the scores state their sensitivity.
        Sensitivity: `scores.sensitivity`.
        Guarantee: `guarantee`, for the whole record; none with a seed.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_canonical_lipschitz.py
    """
    draw = find_mechanism(drawn_by.mechanism).draw_sets
    rng = make_randomness(seed)
    drawn = draw(scores, k, guarantee.epsilon, rng, **drawn_by.parameters)
    return _selection(drawn[0], names, drawn_by, guarantee, rng)


def release_votes(
    votes: Callable[[Randomness], Scores],
    names: Sequence[str],
    k: int,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seed: int | None,
) -> Selection:
    """Draw blocks of rows, let them vote, and select by the votes; see `two_stage_scores`.

    Privacy:
        Neighbors: those of `guarantee`, for which the votes state their sensitivity.
        Sensitivity: that of the votes, for any fixed draw of the blocks.
        Guarantee: `guarantee`, for the whole record; none with a seed.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_twostage_sensitivity.py
    """
    scores = votes(make_randomness(seed))
    # In a seeded test the noise must not reuse the bits of the blocks, nor those of another seed.
    noise_seed = None if seed is None else derived_seed(seed, "noise")
    return release(scores, names, k, guarantee, drawn_by, noise_seed)


def release_rounds(
    rounds: Callable[[Randomness], IntArray],
    names: Sequence[str],
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seed: int | None,
) -> Selection:
    """Select in rounds, each of which draws its own noise given the choices so far.

    Privacy:
        Guarantee: `guarantee`, which `rounds` must keep, for the whole record; none with a seed.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_kendall_rounds.py
    """
    rng = make_randomness(seed)
    return _selection(rounds(rng), names, drawn_by, guarantee, rng)


class StumpColumns(Protocol):
    """A table whose features can be scored by `stump`, given the weights of its rows. Private."""

    def target(self) -> FloatArray:
        """Return the target of all rows that count."""
        ...

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the score `stump` of all features, one row per round of the rule."""
        ...


@frozen
class StumpRequest:
    """The public choices of a selection by `stump`."""

    target: Target
    k: int
    up_to: bool = False
    """Whether to select fewer than k if epsilon does not pay for k."""
    rows: int | None = None
    """A public, approximate number of rows; None if there is none."""


def release_stump(
    columns: StumpColumns,
    names: Sequence[str],
    request: StumpRequest,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seed: int | None,
) -> Selection:
    """Find the weights of rows, score all columns with them, and select, all within epsilon.

    Privacy:
        Domain: any cells; any targets.
        Neighbors: those of `guarantee`.
        Sensitivity: `stump_sensitivity`, for any weights.
        Guarantee: `guarantee`, for the whole record, by composition of the parts that it states:
            the number of rows, the target's weights, and the selection. None with a seed.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_stump_release.py
    """
    rng = make_randomness(seed)
    drawn = _draw_stump(columns, len(names), request, guarantee, drawn_by, rng)
    selection = _selection(drawn.chosen, names, drawn_by, guarantee, rng)
    return replace(selection, budget=drawn.parts.parts)


@frozen
class StumpDraw:
    """A selection by `stump`, with the private scores that it was drawn from."""

    chosen: IntArray = field(repr=False)
    values: IntArray = field(repr=False)
    """The scores of all features, one row per round."""
    parts: BudgetParts


def stump_draws(
    columns: StumpColumns,
    features: int,
    request: StumpRequest,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seeds: Sequence[int],
) -> list[StumpDraw]:
    """Return what `release_stump` would select with each of these seeds: never for release.

    Privacy:
        Guarantee: none; everything is drawn with a seed.
        Tested by: tests/evaluation/test_stump_draws.py
    """
    return [
        _draw_stump(columns, features, request, guarantee, drawn_by, SeededRandomness(seed))
        for seed in seeds
    ]


def _draw_stump(
    columns: StumpColumns,
    features: int,
    request: StumpRequest,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    rng: Randomness,
) -> StumpDraw:
    """Find the weights, score and draw: see `release_stump`."""
    y = columns.target()
    parts, k = _affordable(request, features, len(y), guarantee, rng)
    parts = request.target.paid_from(parts, k, features)
    rule = request.target.rule(y, parts, k, guarantee, rng)
    values = columns.scores(rule)
    sensitivity = float(stump_sensitivity(guarantee.neighbors, guarantee.unit))
    draw = partial(find_mechanism(drawn_by.mechanism).draw_sets, rng=rng, **drawn_by.parameters)
    if request.target.in_rounds:
        chosen = _draw_in_rounds(values, sensitivity, parts.rounds(k), draw)
    else:
        scores = Scores(values[0], sensitivity)
        chosen = draw(scores, k, parts.part(SELECTION))[0]
    return StumpDraw(chosen, values, parts)


def _affordable(
    request: StumpRequest, d: int, n: int, guarantee: Guarantee, rng: Randomness
) -> tuple[BudgetParts, int]:
    """Return the parts of epsilon, and how many features to select: k, or what epsilon pays for."""
    parts = BudgetParts.of(guarantee.epsilon, SELECTION)
    if not request.up_to:
        return parts, request.k
    rows = request.rows
    if rows is None and rows_are_public(guarantee.neighbors, guarantee.unit):
        rows = n
    if rows is None:
        parts = parts.take(ROWS_SHARE, ROWS)
        rows = noisy_rows(n, parts.part(ROWS), guarantee.neighbors, guarantee.unit, rng)
    return parts, affordable_picks(request.k, d, guarantee.epsilon, rows)


def _draw_in_rounds(
    values: IntArray, sensitivity: float, epsilons: Sequence[float], draw: Callable[..., IntArray]
) -> IntArray:
    """Draw one feature per round, by the scores of that round, out of those that are left."""
    left = np.arange(values.shape[1])
    chosen = []
    for scores, epsilon in zip(values, epsilons, strict=True):
        place = int(draw(Scores(scores[left], sensitivity), 1, epsilon)[0, 0])
        chosen.append(int(left[place]))
        left = np.delete(left, place)
    return np.sort(np.array(chosen, dtype=np.int64))


def without_privacy(
    chosen: Callable[[Randomness], IntArray], names: Sequence[str], score: str, seed: int | None
) -> Selection:
    """Return the record of a selection without any privacy; `chosen` may draw blocks of rows.

    Privacy:
        Guarantee: none, and the record says so.
        Tested by: tests/cli/test_baseline.py
    """
    indices = chosen(make_randomness(seed))
    because = "the method was run without privacy"
    return _record(indices, names, DrawnBy(score, "exact", {}), None, because)


def _selection(
    indices: IntArray,
    names: Sequence[str],
    drawn_by: DrawnBy,
    guarantee: Guarantee,
    rng: Randomness,
) -> Selection:
    """Return the selection of a draw, with its guarantee unless the draw was seeded."""
    because = None if rng.private else SEEDED
    return _record(indices, names, drawn_by, guarantee if rng.private else None, because)


def _record(
    indices: IntArray,
    names: Sequence[str],
    drawn_by: DrawnBy,
    guarantee: Guarantee | None,
    because: str | None,
) -> Selection:
    """Return the selection of these indices, with their guarantee or why there is none."""
    selected = [int(index) for index in indices]
    return Selection(
        selected_indices=selected,
        selected_features=[names[index] for index in selected],
        k=len(selected),
        n_features=len(names),
        score=drawn_by.score,
        mechanism=drawn_by.mechanism,
        parameters={name: _plain(value) for name, value in drawn_by.parameters.items()},
        guarantee=guarantee,
        no_guarantee_because=because,
        version=__version__,
    )


def _plain(value: object) -> object:
    """Return an enum as its text, and anything else unchanged."""
    return str(value) if isinstance(value, str) else value


def draws(
    scores: Scores,
    k: int,
    epsilon: float,
    mechanism: str,
    parameters: Mapping[str, Any],
    rng: Randomness,
    *,
    count: int = 1,
) -> IntArray:
    """Return selections for the data holder, or from made-up scores: never for release.

    Privacy:
        Guarantee: none; the rng is seeded, and one that is private is refused.
        Tested by: tests/evaluation/test_draws.py
    """
    if rng.private:
        raise ValueError("what is drawn for an evaluation is drawn with a seed")
    drawn: IntArray = find_mechanism(mechanism).draw_sets(
        scores, k, epsilon, rng, draws=count, **parameters
    )
    return drawn


def draws_by_law(chances: Sequence[float], count: int, seed: int | None) -> IntArray:
    """Draw indices with public chances: for audits of mechanisms that are not implemented here.

    Privacy:
        Guarantee: none is needed; no table is seen.
        Tested by: tests/auditing/test_mechanisms.py
    """
    uniform = -np.expm1(-exponentials(make_randomness(seed), count))
    borders = np.cumsum(chances)
    places = np.searchsorted(borders / borders[-1], uniform, side="right")
    return np.minimum(places, len(borders) - 1).astype(np.int64)


# Differences of integers up to this size cannot overflow. Larger integers are clipped to it, which
# moves no two of them farther apart.
_LARGEST = (1 << 62) - 1


@python_function()
def top_k(
    scores: ArrayLike,
    k: int,
    epsilon: float,
    *,
    sensitivity: float = 1.0,
    gamma: float | None = None,
    mechanism: str = "canonical-lipschitz",
    sampler: str | None = None,
    seed: int | None = None,
    draws: int | None = None,
    delta: float | None = None,
) -> IntArray:
    """Select k of the largest scores, with differential privacy.

    Privacy:
        Domain: finite scores, at least k of them.
        Neighbors: the caller's; `sensitivity` is stated for them.
        Sensitivity: no score moves by more than `sensitivity` between neighbors (promised
            by the caller).
        Guarantee: (epsilon, delta)-DP for the set of indices; none with a `seed`. `draws`
            selections cost `draws` times as much.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_canonical_lipschitz.py

    Args:
        scores: One number for every feature; larger is better.
        k: How many to select.
        epsilon: The privacy loss of one selection.
        sensitivity: How far one unit can move any score.
        gamma: For the Lipschitz mechanisms: the weight of the worst included score against the
            best missing one, 0 to 1; 1/2 if not given.
        mechanism: The name of the mechanism.
        sampler: For the Lipschitz mechanisms: `lazy` (default), or the slow reference `direct`.
        seed: Makes the draw reproducible, for tests; it is then not private.
        draws: How many independent selections to make.
        delta: For peeling and oneshot-laplace: the delta of an (epsilon, delta) guarantee; 0 if
            not given.

    Returns:
        k ascending indices, or an array of `draws` rows of them.

    Raises:
        UsageError: If an argument does not fit, or a score is not a finite number.
    """
    if draws is not None:
        check_at_least(1, draws, "draws")
    chosen = find_mechanism(mechanism)
    given = {"gamma": gamma, "delta": delta, "sampler": sampler}
    with usual_arithmetic():
        selected = chosen.draw_sets(
            Scores(_numbers(scores), sensitivity),
            k,
            epsilon,
            make_randomness(seed),
            draws=1 if draws is None else draws,
            **chosen.parameters(mechanism, given),
        )
    return selected[0] if draws is None else selected


def _numbers(scores: ArrayLike) -> NumberArray:
    """Return whole scores as int64, others as float64."""
    values = np.asarray(scores)
    if values.dtype.kind in "iub":
        if values.dtype.kind == "u":
            values = np.minimum(values, np.uint64(_LARGEST))
        whole: NumberArray = np.clip(values.astype(np.int64, copy=False), -_LARGEST, _LARGEST)
        return whole
    if values.dtype.kind != "f":
        raise UsageError("scores must be a one-dimensional array of numbers")
    return values.astype(np.float64, copy=False)
