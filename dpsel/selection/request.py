"""The request of a run of `select`: every public choice, checked before anything is opened.

Also states the request as the public parameters that a ledger keeps.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsel.budget.account import SEEDED, Run
from dpsel.cluster.place import Scheduler
from dpsel.core.bounds import UNIT_INTERVAL, Interval
from dpsel.core.guarantee import (
    MOST_ROWS,
    Guarantee,
    Neighbors,
    Scope,
    Unit,
    check_at_least,
    check_choice,
    check_epsilon,
)
from dpsel.core.mechanisms.registry import find_mechanism
from dpsel.core.persons import PersonLimit
from dpsel.core.release import StumpRequest
from dpsel.core.rounds import MOST_ROUNDS
from dpsel.core.scores.registry import STUMP, find_score
from dpsel.core.selection import Question
from dpsel.core.target import MOST_CLASSES, Target, public_center
from dpsel.dictionary.options import DictionaryFile
from dpsel.errors import UsageError
from dpsel.records import frozen
from dpsel.selection.options import (
    METHODS,
    Bounding,
    ColumnChoice,
    Drawing,
    Method,
    Privacy,
    Scoring,
    TargetFacts,
)
from dpsel.system.threads import plan_threads
from dpsel.tables.bounds_file import PublicBounds, given_bounds, uniform_bounds
from dpsel.tables.columns import Wanted
from dpsel.tables.formats import Reading
from dpsel.tables.labels import TargetCoding, class_list
from dpsel.tables.places import has_scheme, public_place
from dpsel.tables.table_files import STDIN

if TYPE_CHECKING:
    from dpsel.dictionary.facts import Dictionary

# The mechanism that can use other scores in each round.
_IN_ROUNDS = "permute-and-flip"
# A smaller epsilon could not be split among all steps and rounds, and buys nothing.
_LEAST_EPSILON = 1e-200

_BOUNDS_GIVEN = Scope(
    end_to_end=True,
    why="bounds were given as public inputs; bounding, scoring and selection are covered",
)
_BOUNDS_ASSUMED = Scope(
    end_to_end=False,
    why="selection only: no bounds were given, so the table was taken as already within [-1, 1], "
    "and whatever brought it there is not covered",
)
_NO_BOUNDS_NEEDED = Scope(
    end_to_end=True,
    why="the score needs neither bounds nor preprocessing; scoring and selection are covered, "
    "of the table as it was given",
)


@frozen
class Request:
    """Every public choice of one run, checked before anything is opened."""

    wanted: Wanted
    coding: TargetCoding
    bounds: PublicBounds
    k: int
    guarantee: Guarantee
    score: str
    mechanism: str
    parameters: Mapping[str, Any]
    seed: int | None
    reading: Reading
    threads: int
    method: Method
    stump: StumpRequest | None
    """Additional inputs of the score `stump`; None for other scores."""
    dictionary: "Dictionary | None" = None
    by_ranges: bool = False
    """Whether the ranges in the dictionary are the bounds."""
    row_ranks: bool = False
    """Whether each number is scored by its rank within its row."""

    def person_limit(self) -> PersonLimit | None:
        """Return the limit on a person's rows; None if rows are the protected unit."""
        return None if self.wanted.person is None else PersonLimit(self.guarantee.unit.rows)

    def question(self) -> Question:
        """Return the question that the record states."""
        named = METHODS[self.method] == (self.score, self.mechanism)
        return Question(
            target=self.wanted.target,
            positive=self.coding.positive,
            classes=self.coding.classes or (),
            features=self.wanted.features,
            exclude=self.wanted.exclude,
            row_ranks=self.row_ranks,
            method=str(self.method) if named else None,
        )


def make_request(
    columns: ColumnChoice,
    facts: TargetFacts,
    bounding: Bounding,
    privacy: Privacy,
    scoring: Scoring,
    drawing: Drawing,
    reading: Reading,
    dictionary: DictionaryFile | None = None,
) -> Request:
    """Make a request from the options; check all that can be checked without the table."""
    k = _number_of_features(privacy)
    if privacy.seed is not None:
        check_at_least(0, privacy.seed, "seed")
    method = check_choice(Method, scoring.method, "method")
    score, mechanism = METHODS[method]
    score, mechanism = scoring.score or score, drawing.mechanism or mechanism
    needs_bounds = find_score(score).needs_bounds
    public_facts = None
    if dictionary is not None and dictionary.dictionary is not None:
        # Imported here, as below, because most runs have no dictionary.
        from dpsel.selection.with_dictionary import fill_in_options, load_dictionary

        public_facts = load_dictionary(dictionary.dictionary)
        columns, facts, privacy = fill_in_options(
            public_facts, columns, facts, privacy, stump=score == STUMP
        )
    parameters = _parameters(method, mechanism, drawing, privacy.epsilon, k)
    chosen = _chosen_bounds(bounding, score, public_facts, columns.target, needed=needs_bounds)
    if scoring.row_ranks and (needs_bounds or method is Method.DPKENDALL):
        raise UsageError("--row-ranks goes with the methods stump and kendall")
    coding = TargetCoding(columns.positive, _three_classes(facts.classes))
    return Request(
        wanted=_wanted(columns, privacy, coding, chosen, score),
        coding=coding,
        bounds=chosen.bounds,
        k=k,
        guarantee=_guarantee(privacy, parameters, chosen.scope),
        score=score,
        mechanism=mechanism,
        parameters=parameters,
        seed=privacy.seed,
        reading=reading,
        threads=plan_threads(reading.threads),
        method=method,
        stump=_stump(score, mechanism, coding, facts, privacy, k),
        dictionary=public_facts,
        by_ranges=chosen.by_ranges,
        row_ranks=scoring.row_ranks,
    )


def check_place(request: Request, scheduler: Scheduler | None) -> None:
    """Refuse a request that cannot be carried out where it was asked for."""
    if request.row_ranks and scheduler is not None:
        raise UsageError("--row-ranks is worked out on this machine: leave out --cluster")
    if request.method is not Method.DPKENDALL:
        return
    if scheduler is not None or request.wanted.person is not None:
        raise UsageError("dpkendall protects rows, on this machine: no --person, no --cluster")
    if request.dictionary is not None and request.dictionary.groups:
        raise UsageError("dpkendall selects columns: it takes no dictionary with groups")


def _wanted(
    columns: ColumnChoice,
    privacy: Privacy,
    coding: TargetCoding,
    chosen: "_ChosenBounds",
    score: str,
) -> Wanted:
    """Return the columns that are wanted."""
    return Wanted(
        columns.target,
        columns.features,
        columns.exclude,
        labels=coding.of_text,
        person=privacy.person,
        declared=chosen.bounds.declared(columns.target) if chosen.given else frozenset(),
        bounded=chosen.given,
        words=score == STUMP,
    )


def _number_of_features(privacy: Privacy) -> int:
    """Return k: the number of features to select, or at most to select with `--up-to`."""
    if privacy.k is not None and privacy.up_to is not None:
        raise UsageError("give either --k or --up-to, not both")
    if privacy.up_to is not None:
        return check_at_least(1, privacy.up_to, "up-to")
    if privacy.k is None:
        raise UsageError("give --k K, how many features to select, or --up-to K")
    if privacy.rows is not None:
        raise UsageError("--rows goes with --up-to")
    return check_at_least(1, privacy.k, "k")


def _stump(
    score: str,
    mechanism: str,
    coding: TargetCoding,
    facts: TargetFacts,
    privacy: Privacy,
    k: int,
) -> StumpRequest | None:
    """Return the inputs of the score `stump`; refuse its options for other scores."""
    if score != STUMP:
        given = {
            "--classes": facts.classes,
            "--share": facts.share,
            "--target-center": facts.target_center,
            "--up-to": privacy.up_to,
        }
        for name, value in given.items():
            if value is not None:
                raise UsageError(f"{name} goes with the score {STUMP}")
        return None
    if privacy.rows is not None:
        check_at_least(1, privacy.rows, "rows")
        if privacy.rows > MOST_ROWS:
            raise UsageError(f"rows must be at most {MOST_ROWS}, got {privacy.rows}")
    target = _target(coding, facts)
    if target.in_rounds and mechanism != _IN_ROUNDS:
        raise UsageError(f"three classes or more are selected by {_IN_ROUNDS}, round by round")
    return StumpRequest(target, k, privacy.up_to is not None, privacy.rows)


def _target(coding: TargetCoding, facts: TargetFacts) -> Target:
    """Return the public facts about the target."""
    if coding.positive is not None and coding.classes is not None:
        raise UsageError("give either --positive or --classes, not both")
    if facts.share is not None and coding.positive is None:
        raise UsageError("--share goes with --positive LABEL: it is the share of that label")
    if facts.target_center is not None and coding.of_text:
        raise UsageError("--target-center goes with a numeric target")
    if coding.classes is not None:
        return Target(classes=len(coding.classes))
    if coding.positive is None:
        center = facts.target_center
        return Target(center=None if center is None else public_center(center).value)
    share = None
    if facts.share is not None:
        if not 0 < facts.share < 1:
            raise UsageError(f"share must be between 0 and 1, got {facts.share:g}")
        share = Fraction(facts.share)
    return Target(classes=2, share=share)


def _three_classes(given: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the labels of a target with three classes or more; None if none are given."""
    if given is None:
        return None
    classes = class_list(given.split(",") if isinstance(given, str) else given)
    if len(classes) < 3:
        raise UsageError("--classes needs three labels or more; for two, name one with --positive")
    if len(classes) > MOST_CLASSES:
        raise UsageError(f"classes must be between 3 and {MOST_CLASSES}, got {len(classes)}")
    return classes


def public_bounds(bounding: Bounding) -> tuple[PublicBounds, bool]:
    """Return the bounds, [-1, 1] if none were given, and whether any were given."""
    bounds, lower, upper = bounding.bounds, bounding.lower, bounding.upper
    if bounds is not None:
        if lower is not None or upper is not None:
            raise UsageError("give either --bounds or --lower and --upper, not both")
        return given_bounds(bounds), True
    if lower is None and upper is None:
        return uniform_bounds(UNIT_INTERVAL), False
    if lower is None or upper is None:
        raise UsageError("--lower and --upper go together")
    return uniform_bounds(Interval(lower, upper)), True


@frozen
class _ChosenBounds:
    """The bounds of a request, and where they come from."""

    bounds: PublicBounds
    needed: bool
    """Whether the score needs them."""
    given: bool
    """Whether they were given, by options or by a dictionary; else they are [-1, 1]."""
    by_ranges: bool = False
    """Whether they are the ranges in the dictionary."""

    @property
    def scope(self) -> Scope:
        """Return what the guarantee covers, judged by the request alone."""
        if not self.needed:
            return _NO_BOUNDS_NEEDED
        return _BOUNDS_GIVEN if self.given else _BOUNDS_ASSUMED


def _chosen_bounds(
    bounding: Bounding, score: str, dictionary: "Dictionary | None", target: str, *, needed: bool
) -> _ChosenBounds:
    """Return the bounds that were given; without any, the ranges in the dictionary, or [-1, 1]."""
    bounds, given = public_bounds(bounding)
    if given and not needed:
        raise UsageError(f"the score {score} needs no bounds; leave them out")
    if given or not needed or dictionary is None or not dictionary.has_ranges:
        return _ChosenBounds(bounds, needed, given)
    from dpsel.selection.with_dictionary import dictionary_ranges

    return _ChosenBounds(dictionary_ranges(dictionary, target), needed, given=True, by_ranges=True)


def _guarantee(privacy: Privacy, parameters: Mapping[str, Any], scope: Scope) -> Guarantee:
    """Return the guarantee that is asked for."""
    return Guarantee(
        privacy.epsilon,
        check_choice(Neighbors, privacy.neighbors, "neighbors"),
        scope,
        _unit(privacy),
        delta=float(parameters.get("delta", 0.0)),
    )


def _parameters(
    method: Method, mechanism: str, drawing: Drawing, epsilon: float, k: int
) -> dict[str, Any]:
    """Return the parameters of a mechanism; refuse an epsilon or a k that it cannot keep to."""
    check_epsilon(epsilon)
    if epsilon < _LEAST_EPSILON:
        raise UsageError(f"epsilon must be {_LEAST_EPSILON:g} or more, got {epsilon:g}")
    if method is Method.DPKENDALL:
        if drawing != Drawing():
            raise UsageError(
                "dpkendall has a mechanism of its own; leave out --mechanism and its options"
            )
        if k > MOST_ROUNDS:
            raise UsageError(f"k must be at most {MOST_ROUNDS} for dpkendall, got {k}")
        return {}
    kind = find_mechanism(mechanism)
    parameters = kind.parameters(mechanism, drawing.parameters())
    kind.check(epsilon, float(parameters.get("delta", 0.0)))
    return parameters


def _unit(privacy: Privacy) -> Unit:
    """Return the unit that the guarantee protects: a row or a person."""
    if privacy.person is not None:
        return Unit("person", 1 if privacy.rows_per_person is None else privacy.rows_per_person)
    if privacy.rows_per_person is not None:
        raise UsageError("--rows-per-person needs --person COLUMN, to know whose row it is")
    return Unit()


# A public parameter with more characters than this is stored as its digest.
_LONG = 300


def select_run(table: Any, request: Request) -> Run:
    """Return a run of `select` as a ledger sees it. The table is named, but not opened."""
    return Run(
        "select",
        request.guarantee,
        request.wanted.person,
        public_parameters(table, request),
        not_private=None if request.seed is None else SEEDED,
    )


def public_parameters(table: Any, request: Request, **more: Any) -> dict[str, Any]:
    """Return all parameters that decide the release: not, for instance, the number of threads."""
    guarantee, wanted = request.guarantee, request.wanted
    parameters = {
        "table": _table_name(table),
        "target": wanted.target,
        "k": int(request.k),
        "score": request.score,
        "mechanism": request.mechanism,
        **request.parameters,
        "features": wanted.features,
        "exclude": wanted.exclude,
        "positive": request.coding.positive,
        **_stump_parameters(request),
        **({"row-ranks": True} if request.row_ranks else {}),
        "bounds": request.bounds.to_dict(),
        **({} if request.dictionary is None else {"dictionary": request.dictionary.to_dict()}),
        "scope": guarantee.scope.why,
        "input-format": request.reading.input_format,
        "separator": request.reading.separator,
        **({} if request.reading.decimal == "." else {"decimal": request.reading.decimal}),
        **more,
    }
    return {name: _short(value) for name, value in parameters.items()}


def _stump_parameters(request: Request) -> dict[str, Any]:
    """Return the public facts given to `stump`; those not given are left out."""
    stump = request.stump
    if stump is None:
        return {}
    facts = {
        "classes": request.coding.classes,
        "share": None if stump.target.share is None else float(stump.target.share),
        "target-center": stump.target.center,
        "up-to": stump.up_to or None,
        "rows": stump.rows,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _table_name(table: Any) -> str:
    """Return the full path of a table, or what it is if it has no path."""
    if not isinstance(table, str | Path):
        return "a frame"
    if has_scheme(str(table)):
        return public_place(str(table))
    return "stdin" if str(table) == STDIN else os.path.abspath(table)


def _short(value: Any) -> Any:
    """Return a value as it comes back from JSON; for a long one, its digest."""
    text = json.dumps(value, default=str)
    if len(text) > _LONG:
        return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return json.loads(text)
