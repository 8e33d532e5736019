"""A plan: what each method finds at which epsilon, which method to use, and what more takes."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpsel import __version__
from dpsel.core.arrays import FloatArray
from dpsel.core.epsilon_parts import affordable_picks
from dpsel.planning.effects import auc_of_correlation
from dpsel.planning.request import PlanRequest
from dpsel.planning.shares import CLIP, DrawSettings, methods_for, shares_of
from dpsel.planning.simulate import simulate, simulate_each
from dpsel.records import frozen
from dpsel.reporter import Reporter, ticks
from dpsel.selection.options import Method

if TYPE_CHECKING:
    from dpsel.system.frames import pl

SCHEMA_ID = "dpsel.plan/1"
LARGEST = 20.0
"""No larger epsilon is recommended."""

_GRID = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, LARGEST)
# The range of a curve leaves out this share of the simulated tables at either end.
_OUTSIDE = 0.1
_DRAWS = 10
_STRENGTHS, _STRONGEST = 8, 0.9
_MOST_SHOWN = 6
# Shares that differ by less than this are equal, up to the noise of the simulation.
_ALIKE = 0.03


@frozen
class Curve:
    """The expected share of right picks at every epsilon, and its range over the guesses."""

    epsilons: tuple[float, ...]
    low: FloatArray = field(repr=False)
    middle: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)

    def at(self, epsilon: float) -> tuple[float, float, float]:
        """Return the expected share at one of the epsilons and its range: low, middle, high."""
        place = self.epsilons.index(epsilon)
        return float(self.low[place]), float(self.middle[place]), float(self.high[place])

    def needed(self, share: float) -> tuple[float | None, float | None, float | None]:
        """Return the smallest epsilons up to 20 for a share: expected, at best, and at worst."""
        middle, high, low = (
            self._first(values, share) for values in (self.middle, self.high, self.low)
        )
        return middle, high, low

    def _first(self, values: FloatArray, share: float) -> float | None:
        """Return the epsilon at which a rising curve reaches a share; None if it is above 20."""
        logs = np.log(self.epsilons)
        reached = first_reached(logs, values, share)
        if reached is None or reached > math.log(LARGEST) + 1e-9:
            return None
        return float(f"{math.exp(reached):.2g}")


def first_reached(x: FloatArray, values: FloatArray, least: float) -> float | None:
    """Return the x at which a line through points first reaches a value; None if it does not."""
    reached = np.flatnonzero(values >= least)
    if not reached.size:
        return None
    place = int(reached[0])
    if place == 0:
        return float(x[0])
    share = (least - values[place - 1]) / (values[place] - values[place - 1])
    return float(x[place - 1] + share * (x[place] - x[place - 1]))


def rising(values: FloatArray) -> FloatArray:
    """Smooth values to a rising line, halfway between the tightest ones above and below them."""
    above = np.maximum.accumulate(values)
    below = np.minimum.accumulate(values[::-1])[::-1]
    return np.asarray((above + below) / 2)


def odds(epsilon: float) -> float:
    """Return the largest odds for a row's presence after a release, if they were 1:1 before."""
    return math.exp(epsilon) if epsilon < 700 else math.inf


@frozen
class Balance:
    """What a ledger has and would have left, as exact decimals in text."""

    ledger: str
    terms: str
    """The neighboring relation and unit that the ledger is for."""
    limit: str
    left: str
    after: Mapping[float, str | None]
    """What is left after a selection at each epsilon; None if the ledger does not cover it."""

    def to_dict(self) -> dict[str, Any]:
        """Return the balance as plain values."""
        after = [{"epsilon": epsilon, "left": left} for epsilon, left in self.after.items()]
        names = {"ledger": self.ledger, "terms": self.terms}
        return {**names, "limit": self.limit, "left": self.left, "after": after}


@frozen
class Advice:
    """Which method to use, and why."""

    method: Method
    why: str


@frozen
class Plan:
    """What an epsilon will buy. Made from public guesses alone: nothing in it is private."""

    request: PlanRequest
    curves: Mapping[Method, Curve]
    smallest_effects: Mapping[float, float | None]
    """For each epsilon, the correlation that features need for the wanted share of picks."""
    advice: Advice
    picks: Mapping[float, int]
    """For each epsilon, how many features are picked."""
    balance: Balance | None = None
    like: str | None = None
    """The public stand-in, if there is one."""
    assumed: tuple[str, ...] = ()
    """The features of the stand-in that count as right, if nobody named them."""

    @property
    def by_chance(self) -> float:
        """Return the share of right picks among random features."""
        return self.request.design.effects.count / self.request.design.features

    @property
    def best(self) -> float:
        """Return the largest share that can be reached; it is below 1 if fewer than k matter."""
        return min(1.0, self.request.design.effects.count / self.request.k)

    def _repr_html_(self) -> str:
        """Return the plan for a notebook."""
        # Imported here, since that module imports this one.
        from dpsel.planning.text import plan_block

        return plan_block(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, in the order they are printed."""
        request = self.request
        return {
            "schema": SCHEMA_ID,
            "guessed": {**_guessed(request), "like": self.like},
            "share_by_chance": round(self.by_chance, 6),
            "methods": [self._method(method) for method in self.curves],
            "use": {"method": str(self.advice.method), "why": self.advice.why},
            "epsilons": [self._epsilon(epsilon) for epsilon in request.epsilons],
            "ledger": None if self.balance is None else self.balance.to_dict(),
            "tables": request.tables,
            "seed": request.seed,
            "version": __version__,
        }

    def to_frame(self) -> "pl.DataFrame":
        """Return the share of right picks for every method and epsilon: low, expected, high."""
        # Imported here, as most plans are printed and need no polars. The same holds below.
        from dpsel.system.frames import pl

        methods = (self._method(method) for method in self.curves)
        return pl.DataFrame(
            [{"method": one["method"], **row} for one in methods for row in one["shares"]]
        )

    def to_text(self) -> str:
        """Return the plan as text with a table, as the command prints it."""
        from dpsel.planning.text import plan_text

        return plan_text(self)

    def to_html(self) -> str:
        """Return the plan with a figure as one HTML page."""
        from dpsel.planning.report import plan_html

        return plan_html(self)

    def __repr__(self) -> str:
        """Return which method to use and what to expect of it, in a few lines."""
        request, method = self.request, self.advice.method
        design, curve = request.design, self.curves[method]
        picked = f"{'up to ' if request.up_to else ''}{request.k} of {design.features:,} features"
        lines = [
            "Plan: made from public guesses, so it may be passed on",
            f"  {picked}, {design.rows:,} rows; use {method}",
        ]
        for epsilon in request.epsilons[:_MOST_SHOWN]:
            low, expected, high = (f"{100 * share:.0f} %" for share in curve.at(epsilon))
            lines.append(f"  epsilon {epsilon:g}: {expected} right picks ({low} to {high})")
        if len(request.epsilons) > _MOST_SHOWN:
            lines.append(f"  and {len(request.epsilons) - _MOST_SHOWN} more epsilons")
        return "\n".join(lines)

    def _method(self, method: Method) -> dict[str, Any]:
        """Return what to expect of a method, as plain values."""
        curve = self.curves[method]
        rows = []
        for epsilon in self.request.epsilons:
            low, middle, high = (round(share, 4) for share in curve.at(epsilon))
            rows.append({"epsilon": epsilon, "low": low, "expected": middle, "high": high})
        expected, at_best, at_worst = curve.needed(self.request.find)
        needed = {"share": self.request.find, "expected": expected}
        return {
            "method": str(method),
            "assumes": ASSUMED[method],
            "shares": rows,
            "smallest_epsilon": {**needed, "at_best": at_best, "at_worst": at_worst},
        }

    def _epsilon(self, epsilon: float) -> dict[str, Any]:
        """Return what an epsilon means, whatever the method, as plain values."""
        effect, target = self.smallest_effects[epsilon], self.request.design.target
        found = {"epsilon": epsilon, "picks": self.picks[epsilon], "smallest_effect": effect}
        if target.classes == 2:
            area = None if effect is None else auc_of_correlation(effect, target.share)
            found["smallest_auc"] = None if area is None else round(area, 3)
        most = odds(epsilon)
        found["odds"] = most if math.isfinite(most) else None
        return {**found, "chance": 1 / (1 + math.exp(-epsilon))}


ASSUMED = {
    Method.STUMP: "nothing about bounds",
    Method.KENDALL: "nothing about bounds",
    Method.DP_SIS: f"public bounds at {CLIP:g} standard deviations to either side of the mean",
}


def _guessed(request: PlanRequest) -> dict[str, Any]:
    """Return the guesses as plain values."""
    design = request.design
    return {
        "rows": design.rows,
        "features": design.features,
        "k": request.k,
        "up_to": request.up_to,
        "target": {
            "classes": design.target.classes,
            "share": design.target.share if design.target.classes == 2 else None,
            "known": design.target.known,
        },
        "matter": design.effects.count,
        "effects": [round(effect, 4) for effect in design.effects.each[:100]],
        "within": request.within,
        "neighbors": str(request.neighbors),
    }


def make_plan(request: PlanRequest, reporter: Reporter | None = None) -> Plan:
    """Simulate tables, draw from them as `select` would, and return the plan.

    Opens no file. The same request always gives the same plan.

    Privacy:
        Guarantee: none is needed; no table is seen, and everything is drawn with a seed.
        Tested by: tests/planning/test_plan.py
    """
    methods = methods_for(request.design.target.classes, up_to=request.up_to)
    tick = ticks(3 * len(methods) + len(request.epsilons), reporter or Reporter())
    return completed(request, _curves(request, methods, tick), tick)


def completed(
    request: PlanRequest,
    curves: Mapping[Method, Curve],
    tick: Callable[[], None],
    like: str | None = None,
) -> Plan:
    """Return the plan that follows from the curves."""
    advice = advise(curves, request)
    return Plan(
        request=request,
        curves=curves,
        smallest_effects=_smallest_effects(request, advice.method, tick),
        advice=advice,
        picks={epsilon: _picks(request, epsilon) for epsilon in request.epsilons},
        like=like,
    )


def _wanted(request: PlanRequest) -> DrawSettings:
    """Return what to draw from every table."""
    return DrawSettings(request.k, request.up_to, request.neighbors, _DRAWS, request.seed)


def _picks(request: PlanRequest, epsilon: float) -> int:
    """Return how many features are picked at an epsilon."""
    design = request.design
    if not request.up_to:
        return request.k
    return affordable_picks(request.k, design.features, epsilon, design.rows)


def tried_epsilons(request: PlanRequest) -> tuple[float, ...]:
    """Return the requested epsilons, and others between to find the smallest sufficient one."""
    return tuple(sorted({*_GRID, *request.epsilons}))


def _curves(
    request: PlanRequest, methods: Sequence[Method], tick: Callable[[], None]
) -> dict[Method, Curve]:
    """Return the curve of every method."""
    epsilons = tried_epsilons(request)
    found: dict[Method, list[FloatArray]] = {method: [] for method in methods}
    for design in request.scenarios:
        simulated = simulate(design, request.tables, request.seed)
        for method in methods:
            shares = shares_of(method, simulated, _wanted(request))
            found[method].append(np.array([shares.at(epsilon) for epsilon in epsilons]))
            tick()
    return {method: curve_of(epsilons, *shares) for method, shares in found.items()}


def curve_of(
    epsilons: tuple[float, ...], worse: FloatArray, guessed: FloatArray, better: FloatArray
) -> Curve:
    """Return the curve of a method, from shares with a row per epsilon and a column per table."""
    middle = rising(guessed.mean(axis=1))
    low = rising(np.quantile(worse, _OUTSIDE, axis=1))
    high = rising(np.quantile(better, 1 - _OUTSIDE, axis=1))
    return Curve(epsilons, np.minimum(low, middle), middle, np.maximum(high, middle))


def _smallest_effects(
    request: PlanRequest, method: Method, tick: Callable[[], None]
) -> dict[float, float | None]:
    """Return, for each epsilon, how strong equal effects must be for the wanted share."""
    design = request.design
    tables = max(1, request.tables // 2)
    strengths = np.geomspace(min(0.1, 1 / math.sqrt(design.rows)), _STRONGEST, _STRENGTHS)
    effects = np.repeat(strengths, tables)[:, np.newaxis].repeat(design.effects.count, axis=1)
    drawn = shares_of(method, simulate_each(design, effects, request.seed), _wanted(request))
    shares = []
    for epsilon in request.epsilons:
        shares.append(drawn.at(epsilon).reshape(_STRENGTHS, tables).mean(axis=1))
        tick()
    # The true shares fall neither with epsilon nor with the strength of effects.
    by_epsilon = np.apply_along_axis(rising, 0, np.array(shares))
    found: dict[float, float | None] = {}
    for epsilon, row in zip(request.epsilons, by_epsilon, strict=True):
        reached = first_reached(np.log(strengths), rising(row), request.find)
        found[epsilon] = None if reached is None else float(f"{math.exp(reached):.2g}")
    return found


def advise(curves: Mapping[Method, Curve], request: PlanRequest) -> Advice:
    """Return the method with the most right picks over all requested epsilons, and why."""
    mean = {method: _mean(curve, request.epsilons) for method, curve in curves.items()}
    most = max(mean.values())
    # The first of the methods that are equally good: those that need no bounds come first.
    chosen = next(method for method, share in mean.items() if share >= most - _ALIKE)
    if len(curves) == 1:
        reason = "only stump takes " + (
            "as many picks as epsilon carries" if request.up_to else "classes that have no order"
        )
        return Advice(chosen, reason)
    shares = ", ".join(f"{method} {100 * mean[method]:.0f} %" for method in curves)
    why = f"most right picks over these epsilons ({shares})"
    if mean[chosen] < most:
        why = f"as many right picks as any, within {100 * _ALIKE:.0f} % ({shares}), without bounds"
    return Advice(chosen, why + _exception(chosen, curves, request.find))


def _exception(chosen: Method, curves: Mapping[Method, Curve], find: float) -> str:
    """Return which method to use for the wanted share, if the chosen one never reaches it."""
    needed = {method: curve.needed(find)[0] for method, curve in curves.items()}
    known = {method: epsilon for method, epsilon in needed.items() if epsilon is not None}
    if chosen in known or not known:
        return ""
    return f"; but for {100 * find:.0f} % take {min(known, key=known.__getitem__)}"


def _mean(curve: Curve, epsilons: Sequence[float]) -> float:
    """Return the mean of the expected shares over the epsilons."""
    return float(np.mean([curve.at(epsilon)[1] for epsilon in epsilons]))
