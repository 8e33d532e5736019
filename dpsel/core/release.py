"""From scores to a record that may be published: the only caller of a mechanism."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dpsel import __version__
from dpsel.core.arrays import FloatArray, IntArray, NumberArray
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit, check_at_least, check_choice
from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.picks import affordable_picks, noisy_rows
from dpsel.core.randomness import (
    Randomness,
    SeededRandomness,
    derived_seed,
    exponentials,
    make_randomness,
)
from dpsel.core.scores.base import Scores
from dpsel.core.scores.stump import WeightRule, stump_sensitivity
from dpsel.core.summary import selection_html, selection_summary
from dpsel.core.target import ROWS, SELECTION, BudgetParts, Part, Target
from dpsel.errors import UsageError
from dpsel.python import python_function
from dpsel.records import frozen

SCHEMA_ID = "dpsel.selection/2"
SEEDED = "drawn with a fixed seed, for tests only"
ROWS_SHARE = Fraction(1, 20)
"""Of epsilon, what a noisy number of rows gets."""


@frozen
class Question:
    """What was asked, in public: for which target, among which columns, by which method."""

    target: str
    positive: str | None = None
    classes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    """Names or globs of the columns to choose from, as they were given; all if empty."""
    exclude: tuple[str, ...] = ()
    row_ranks: bool = False
    """Whether numbers were scored by their ranks within the row."""
    method: str | None = None
    """A name for score and mechanism together; None if these two have none."""
    run_id: str | None = None
    date: str | None = None

    def asked(self) -> dict[str, Any]:
        """Return what was asked as plain values; of what may be left out, what was given."""
        given = {
            "positive": self.positive,
            "classes": list(self.classes),
            "features": list(self.features),
            "exclude": list(self.exclude),
            "row_ranks": self.row_ranks,
        }
        found = {name: value for name, value in given.items() if value not in (None, [], False)}
        return {"target": self.target, **found, "method": self.method}

    def occasion(self) -> dict[str, Any]:
        """Return under which id and on which day it was asked, as far as that was said."""
        given = {"run_id": self.run_id, "date": self.date}
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Question | None":
        """Return the question in a record; None if it is of a version that has none."""
        if "target" not in fields:
            return None
        given: dict[str, Any] = {"row_ranks": bool(fields.get("row_ranks", False))}
        for name in ("classes", "features", "exclude"):
            given[name] = tuple(fields.get(name, ()))
        for name in ("positive", "method", "run_id", "date"):
            given[name] = fields.get(name)
        return cls(fields["target"], **given)


@frozen
class Selection:
    """What may be published: the selected features, how they were found, and the guarantee.

    `guarantee` is None where nothing is promised, and `no_guarantee_because` then says why.
    """

    selected_indices: list[int]
    selected_features: list[Any]
    """Names of columns: texts, but for a frame of pandas that has others. A frame takes the list
    for its columns: `X[selection.selected_features]`."""
    k: int
    n_features: int
    score: str
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee | None
    no_guarantee_because: str | None
    version: str
    budget: tuple[Part, ...] = ()
    """What each step took of epsilon, if there were several."""
    question: Question | None = None
    """What was asked; None in records of the first version."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of every selected feature that is a group."""

    def __repr__(self) -> str:
        """Return the guarantee, the features and the method, a line each."""
        return selection_summary(self)

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        return selection_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, in the order they are printed."""
        question = self.question
        return {
            "schema": SCHEMA_ID,
            "selected_indices": list(self.selected_indices),
            "selected_features": [str(name) for name in self.selected_features],
            **_groups_dict(self.groups),
            "k": self.k,
            "n_features": self.n_features,
            **({} if question is None else question.asked()),
            "score": self.score,
            "mechanism": {"name": self.mechanism, **self.parameters},
            "guarantee": None if self.guarantee is None else _guarantee_dict(self.guarantee),
            **_budget_dict(self.budget),
            "no_guarantee_because": self.no_guarantee_because,
            **({} if question is None else question.occasion()),
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Selection":
        """Return the selection in a record; fields that are not known yet are left out."""
        mechanism = dict(fields["mechanism"])
        stated = fields["guarantee"]
        return cls(
            selected_indices=list(fields["selected_indices"]),
            selected_features=list(fields["selected_features"]),
            k=fields["k"],
            n_features=fields["n_features"],
            score=fields["score"],
            mechanism=mechanism.pop("name"),
            parameters=mechanism,
            guarantee=None if stated is None else _guarantee_of(stated),
            no_guarantee_because=fields["no_guarantee_because"],
            version=fields["version"],
            budget=tuple(Part(**part) for part in fields.get("budget", ())),
            groups={name: tuple(found) for name, found in fields.get("groups", {}).items()},
            question=Question.from_dict(fields),
        )


class StumpColumns(Protocol):
    """A table that can be scored column by column, once the weights of rows are known. Private."""

    def target(self) -> FloatArray:
        """Return the target of all rows that count."""
        ...

    def scores(self, rule: WeightRule) -> IntArray:
        """Return the score `stump` of all columns, a row for every round of the rule."""
        ...


@frozen
class StumpRequest:
    """The public choices of a selection by `stump`."""

    target: Target
    k: int
    up_to: bool = False
    """Whether to select fewer than k if epsilon does not carry as many."""
    rows: int | None = None
    """A public number of rows, about; None if there is none."""


@frozen
class DrawnBy:
    """How features were found: what scored them, and what drew them."""

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
    """Spend the guarantee's epsilon: one call of one mechanism, and the record of it.

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
    """Draw blocks of rows, let them vote, and select among the votes; see `two_stage_scores`.

    Privacy:
        Neighbors: those of `guarantee`, for which the votes state their sensitivity.
        Sensitivity: that of the votes, for any fixed draw of the blocks.
        Guarantee: `guarantee`, for the whole record; none with a seed.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_twostage_sensitivity.py
    """
    scores = votes(make_randomness(seed))
    # The seed of a test must not draw bits again: not those of its blocks, nor of another seed's.
    noise = None if seed is None else derived_seed(seed, "noise")
    return release(scores, names, k, guarantee, drawn_by, noise)


def release_rounds(
    rounds: Callable[[Randomness], IntArray],
    names: Sequence[str],
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seed: int | None,
) -> Selection:
    """Select in rounds that draw their own noise, each given the choices so far.

    Privacy:
        Guarantee: `guarantee`, which `rounds` must keep, for the whole record; none with a seed.
        Assumes: an operating system whose random numbers cannot be predicted.
        Tested by: tests/privacy/test_kendall_rounds.py
    """
    rng = make_randomness(seed)
    return _selection(rounds(rng), names, drawn_by, guarantee, rng)


def release_stump(
    columns: StumpColumns,
    names: Sequence[str],
    asked: StumpRequest,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seed: int | None,
) -> Selection:
    """Find what rows weigh, score all columns with it, and select: all of it within epsilon.

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
    drawn = _draw_stump(columns, len(names), asked, guarantee, drawn_by, rng)
    selection = _selection(drawn.chosen, names, drawn_by, guarantee, rng)
    return replace(selection, budget=drawn.parts.parts)


def stump_draws(
    columns: StumpColumns,
    features: int,
    asked: StumpRequest,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    seeds: Sequence[int],
) -> list["StumpDraw"]:
    """Return what `release_stump` would select with each of these seeds: never for release.

    Privacy:
        Guarantee: none; everything is drawn with a seed.
        Tested by: tests/evaluation/test_stump_draws.py
    """
    return [
        _draw_stump(columns, features, asked, guarantee, drawn_by, SeededRandomness(seed))
        for seed in seeds
    ]


@frozen
class StumpDraw:
    """A selection by `stump`, with the private scores that it was drawn by."""

    chosen: IntArray = field(repr=False)
    values: IntArray = field(repr=False)
    """A row for every round."""
    parts: BudgetParts


def _draw_stump(
    columns: StumpColumns,
    features: int,
    asked: StumpRequest,
    guarantee: Guarantee,
    drawn_by: DrawnBy,
    rng: Randomness,
) -> StumpDraw:
    """Find the weights, score and draw: see `release_stump`."""
    y = columns.target()
    parts, k = _afforded(asked, features, len(y), guarantee, rng)
    parts = asked.target.paid_from(parts, k, features)
    rule = asked.target.rule(y, parts, k, guarantee, rng)
    values = columns.scores(rule)
    sensitivity = float(stump_sensitivity(guarantee.neighbors, guarantee.unit))
    draw = partial(find_mechanism(drawn_by.mechanism).draw_sets, rng=rng, **drawn_by.parameters)
    if asked.target.in_rounds:
        chosen = _in_rounds(values, sensitivity, parts.rounds(k), draw)
    else:
        scores = Scores(values[0], sensitivity)
        chosen = draw(scores, k, parts.part(SELECTION))[0]
    return StumpDraw(chosen, values, parts)


def _afforded(
    asked: StumpRequest, d: int, n: int, guarantee: Guarantee, rng: Randomness
) -> tuple[BudgetParts, int]:
    """Return the parts of epsilon, and how many features to select: k, or as many as it carries."""
    parts = BudgetParts.of(guarantee.epsilon, SELECTION)
    if not asked.up_to:
        return parts, asked.k
    rows = asked.rows
    if rows is None and guarantee.neighbors is Neighbors.REPLACE_ONE and guarantee.unit == Unit():
        rows = n
    if rows is None:
        parts = parts.take(ROWS_SHARE, ROWS)
        rows = noisy_rows(n, parts.part(ROWS), guarantee.neighbors, guarantee.unit, rng)
    return parts, affordable_picks(asked.k, d, guarantee.epsilon, rows)


def _in_rounds(
    values: IntArray, sensitivity: float, epsilons: Sequence[float], draw: Callable[..., IntArray]
) -> IntArray:
    """Take one feature a round, each by the scores of that round, out of those that are left."""
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
    """Return the record of a selection that nothing protects; it may draw blocks of rows.

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
    """Return the record of a draw, with its guarantee unless the draw was seeded."""
    because = None if rng.private else SEEDED
    return _record(indices, names, drawn_by, guarantee if rng.private else None, because)


def _record(
    indices: IntArray,
    names: Sequence[str],
    drawn_by: DrawnBy,
    guarantee: Guarantee | None,
    because: str | None,
) -> Selection:
    """Return the record of selected indices, with their guarantee or why there is none."""
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


def _groups_dict(groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return selected groups as a field of a record; none if there are none."""
    members = {name: list(columns) for name, columns in groups.items()}
    return {"groups": members} if members else {}


def _budget_dict(budget: Sequence[Part]) -> dict[str, Any]:
    """Return the parts of epsilon as a field of a record; none if there are none."""
    return {"budget": [asdict(part) for part in budget]} if budget else {}


def _plain(value: object) -> object:
    """Return an enum's text, and anything else as it is."""
    return str(value) if isinstance(value, str) else value


def _guarantee_of(stated: Mapping[str, Any]) -> Guarantee:
    """Return the guarantee that a record states."""
    return Guarantee(
        epsilon=stated["epsilon"],
        neighbors=Neighbors(stated["neighbors"]),
        scope=Scope(stated["end_to_end"], stated["why"]),
        unit=Unit(stated["unit"], stated["rows_per_unit"]),
        delta=stated["delta"],
    )


def _guarantee_dict(guarantee: Guarantee) -> dict[str, Any]:
    """Return a guarantee as plain values."""
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "neighbors": str(guarantee.neighbors),
        "unit": guarantee.unit.name,
        "rows_per_unit": guarantee.unit.rows,
        "end_to_end": guarantee.scope.end_to_end,
        "why": guarantee.scope.why,
    }


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
    """Return selections for the data's holder, or of made-up scores: never for release.

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
    """Return places by their chances, which are public: an audit's, of what no code here draws.

    Privacy:
        Guarantee: none is needed; no table is seen.
        Tested by: tests/auditing/test_mechanisms.py
    """
    uniform = -np.expm1(-exponentials(make_randomness(seed), count))
    borders = np.cumsum(chances)
    places = np.searchsorted(borders / borders[-1], uniform, side="right")
    return np.minimum(places, len(borders) - 1).astype(np.int64)


# Differences of integers up to here cannot overflow. Larger ones are cut off here, which moves no
# two of them apart.
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
    chosen_sampler = None if sampler is None else check_choice(Sampler, sampler, "sampler")
    chosen = find_mechanism(mechanism)
    given = {"gamma": gamma, "delta": delta, "sampler": chosen_sampler}
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
