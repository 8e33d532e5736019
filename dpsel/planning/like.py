"""Plans with a stand-in: a public or synthetic table, from whose rows tables are resampled."""

from dataclasses import field, replace
from pathlib import Path

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import UNIT_INTERVAL, Bounds, Interval
from dpsel.core.guarantee import Unit, check_at_least, check_k
from dpsel.core.matrix import TiledMatrix
from dpsel.core.randomness import SeededRandomness, derived_seed, seeded_generator
from dpsel.core.target import Target
from dpsel.errors import InputError, UsageError
from dpsel.evaluation.data import DataSet, TableRequest, load_table
from dpsel.evaluation.methods import Draws, ScoreDraws, StumpDraws, parse_methods, table_scores
from dpsel.evaluation.metrics import accuracies, correlations
from dpsel.evaluation.truth import listed_names, named_places
from dpsel.planning.effects import STRONGEST, Effects
from dpsel.planning.options import Guesses, Simulation, StandIn, TargetGuess, Wish
from dpsel.planning.plan import Curve, Plan, completed, curve_of, tried_epsilons
from dpsel.planning.request import (
    GuessedTable,
    PlanRequest,
    TargetKind,
    request_about,
)
from dpsel.planning.shares import CLIP, methods_for
from dpsel.records import frozen
from dpsel.reporter import Reporter, ticks
from dpsel.selection.options import Method
from dpsel.tables.bounds_file import uniform_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import FileFormat

_TABLES, _DRAWS = 4, 4
_WEAKEST = 1e-3


@frozen
class StandInTable:
    """The rows of a stand-in, and its right features. Public, by the word of whoever named it."""

    place: str
    rows: DataSet
    bounds: Bounds
    target: Target
    right: IntArray = field(repr=False)
    effects: FloatArray = field(repr=False)
    """How strongly each of the right features is correlated with the target."""
    assumed: tuple[str, ...] = ()
    """The names of the right features, if nobody named them."""


def read_stand_in(stand_in: StandIn, k: int, reporter: Reporter) -> StandInTable:
    """Read a stand-in; its right features are those named, or else the k most correlated ones."""
    if stand_in.like is None or stand_in.target is None:
        raise UsageError("--like FILE and --target COLUMN go together")
    wanted = Wanted(stand_in.target, labels=stand_in.positive is not None, words=True)
    request = TableRequest(
        *(wanted, stand_in.positive, False, uniform_bounds(UNIT_INTERVAL), FileFormat(), 1)
    )
    place = str(stand_in.like) if isinstance(stand_in.like, str | Path) else "a frame"
    data = load_table(stand_in.like, "stand-in", request, reporter)
    if data.wordy:
        raise InputError(
            f"{place}: a stand-in must hold numbers only; remove {data.wordy_names}, which hold "
            "words or dates"
        )
    rows = data.raw
    if isinstance(rows.X, TiledMatrix):
        raise InputError(f"{place}: a stand-in must fit in memory; take some of its rows")
    check_k(k, len(data.features))
    check_at_least(2, len(rows.y), "the stand-in's rows")
    found = correlations(np.nan_to_num(rows.X), np.nan_to_num(rows.y))
    assumed: tuple[str, ...] = ()
    if stand_in.truth is None:
        right = np.argsort(-found)[:k]
        assumed = tuple(data.features[place] for place in right)
    else:
        right = named_places(listed_names(stand_in.truth), data.features)
    if not len(right):
        raise UsageError("--truth names no column")
    bounds = _bounds(rows, data.target)
    return StandInTable(place, rows, bounds, data.target, right, found[right], assumed)


def _bounds(rows: DataSet, target: Target) -> Bounds:
    """Return bounds some standard deviations from the mean; of a public table they are public."""
    lower, upper = _around(rows.X)
    two = target.classes == 2
    own = UNIT_INTERVAL
    if not two:
        low, high = _around(rows.y[:, np.newaxis])
        own = Interval(float(low[0]), float(high[0]))
    return Bounds(lower, upper, own, two)


def _around(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean of each column, minus and plus some standard deviations."""
    known = np.where(np.isfinite(X), X, np.nan)
    some = np.isfinite(X).any(axis=0)
    mean = np.nan_to_num(np.nanmean(np.where(some, known, 0.0), axis=0))
    deviation = np.nan_to_num(np.nanstd(np.where(some, known, 0.0), axis=0))
    deviation[deviation == 0.0] = 1.0
    return mean - CLIP * deviation, mean + CLIP * deviation


def make_like_request(
    wish: Wish, guesses: Guesses, kind: TargetGuess, simulation: Simulation, table: StandInTable
) -> PlanRequest:
    """Return the checked request; the stand-in itself gives what is otherwise guessed."""
    if _guesses_the_table(guesses) or kind != TargetGuess():
        raise UsageError("--like tells the features and the target; leave out guesses of these")
    if wish.up_to is not None:
        raise UsageError("--like goes with --k, not with --up-to")
    rows, features = table.rows.X.shape
    share = min(0.999, max(0.001, float((table.rows.y > 0).mean())))
    design = GuessedTable(
        rows if guesses.rows is None else guesses.rows,
        features,
        Effects.of(np.clip(table.effects, _WEAKEST, STRONGEST).tolist()),
        TargetKind(2, share) if table.target.classes == 2 else TargetKind(),
    )
    return request_about(design, wish, guesses, simulation, _TABLES)


def _guesses_the_table(guesses: Guesses) -> bool:
    """Return whether a guess is given for something that the stand-in shows."""
    given = (guesses.features, guesses.matter, guesses.effect, guesses.auc)
    return any(guess is not None for guess in given)


def make_like_plan(
    request: PlanRequest, table: StandInTable, reporter: Reporter | None = None
) -> Plan:
    """Resample rows of the stand-in, as many as guessed, and select from them as `evaluate` would.

    Privacy:
        Guarantee: none is needed; the stand-in is public, and everything is drawn with a seed.
        Tested by: tests/planning/test_like.py
    """
    methods = methods_for(request.design.target.classes, up_to=False)
    tick = ticks(3 * len(methods) + len(request.epsilons), reporter or Reporter())
    epsilons = tried_epsilons(request)
    curves: dict[Method, Curve] = {}
    for method in methods:
        shares = []
        for design in request.scenarios:
            each = [_shares(method, table, design.rows, request, i) for i in range(request.tables)]
            shares.append(np.array(each).T)
            tick()
        curves[method] = curve_of(epsilons, *shares)
    return replace(completed(request, curves, tick, like=table.place), assumed=table.assumed)


def _shares(
    method: Method, table: StandInTable, rows: int, request: PlanRequest, number: int
) -> list[float]:
    """Return the share of right picks at every epsilon, from rows drawn with replacement."""
    rng = seeded_generator(derived_seed(request.seed, "rows", rows, number))
    chosen = rng.integers(0, len(table.rows.y), rows)
    resampled = DataSet(np.asfortranarray(table.rows.X[chosen]), table.rows.y[chosen])
    draws = _draws(method, resampled, table, request)
    seeded = SeededRandomness(derived_seed(request.seed, "draws", method, number))
    shares = []
    for epsilon in tried_epsilons(request):
        picks = draws.draw(request.k, epsilon, _DRAWS, seeded).picks
        shares.append(float(accuracies(picks, table.right).mean()))
    return shares


def _draws(method: Method, rows: DataSet, table: StandInTable, request: PlanRequest) -> Draws:
    """Return the object that draws selections by a method, as in `evaluate`."""
    evaluated = parse_methods([str(method)])[0]
    assert evaluated.mechanism is not None
    parameters = evaluated.parameters(None)
    if method is Method.STUMP:
        return StumpDraws(
            rows, table.target, request.neighbors, Unit(), evaluated.mechanism, parameters
        )
    scores = table_scores(evaluated.ranking, rows, table.bounds, request.neighbors, Unit())
    return ScoreDraws(scores, evaluated.mechanism, parameters)
