"""What may be published: a selection and the question it answers, as a record and as a summary.

Imports no arrays, so that cards can be made from a record alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from decimal import Decimal
from typing import Any

from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit
from dpsel.display import Fact, block_html, printable, shortened
from dpsel.records import frozen

SCHEMA_ID = "dpsel.selection/2"
NOT_PRIVATE = "NOT PRIVATE, not for release"
_MOST_NAMES = 20


@frozen
class Question:
    """The public question of a run: for which target, among which columns, by which method."""

    target: str
    positive: str | None = None
    classes: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    """Names or globs of the columns to choose from, as given; all columns if empty."""
    exclude: tuple[str, ...] = ()
    row_ranks: bool = False
    """Whether numbers were scored by their ranks within the row."""
    method: str | None = None
    """The name for this pair of score and mechanism; None if it has no name."""
    run_id: str | None = None
    date: str | None = None

    def asked(self) -> dict[str, Any]:
        """Return the question as plain values, without the options that were not given."""
        options = {
            "positive": self.positive,
            "classes": list(self.classes),
            "features": list(self.features),
            "exclude": list(self.exclude),
            "row_ranks": self.row_ranks,
        }
        given = {name: value for name, value in options.items() if value not in (None, [], False)}
        return {"target": self.target, **given, "method": self.method}

    def occasion(self) -> dict[str, Any]:
        """Return the run id and the date, each if it was given."""
        given = {"run_id": self.run_id, "date": self.date}
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Question | None":
        """Return the question in a record; None for records of the first version."""
        if "target" not in fields:
            return None
        given: dict[str, Any] = {"row_ranks": bool(fields.get("row_ranks", False))}
        for name in ("classes", "features", "exclude"):
            given[name] = tuple(fields.get(name, ()))
        for name in ("positive", "method", "run_id", "date"):
            given[name] = fields.get(name)
        return cls(fields["target"], **given)


@frozen
class Part:
    """One step's part of epsilon: a decimal, as it is printed."""

    name: str
    epsilon: float

    @property
    def exact(self) -> Decimal:
        """The decimal itself: the shortest one that reads back as the float."""
        return Decimal(repr(self.epsilon))


@frozen
class Selection:
    """What may be published: the selected features, how they were found, and the guarantee.

    `guarantee` is None if nothing is promised; `no_guarantee_because` then says why.
    """

    selected_indices: list[int]
    selected_features: list[Any]
    """Names of columns: texts, except for a pandas frame with other names. A frame takes the list
    as an index: `X[selection.selected_features]`."""
    k: int
    n_features: int
    score: str
    mechanism: str
    parameters: Mapping[str, Any]
    guarantee: Guarantee | None
    no_guarantee_because: str | None
    version: str
    budget: tuple[Part, ...] = ()
    """Each step's part of epsilon, if there were several steps."""
    question: Question | None = None
    """The question; None in records of the first version."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of every selected feature that is a group."""

    def __repr__(self) -> str:
        """Return the guarantee, the features and the method, one line each."""
        return selection_summary(self)

    def _repr_html_(self) -> str:
        """Return the same as HTML, for a notebook."""
        return selection_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, in the order in which they are printed."""
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
        """Return the selection in a record; unknown fields, of later versions, are ignored."""
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
            groups={name: tuple(columns) for name, columns in fields.get("groups", {}).items()},
            question=Question.from_dict(fields),
        )


def _groups_dict(groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return selected groups as a field of a record; no field if there are none."""
    members = {name: list(columns) for name, columns in groups.items()}
    return {"groups": members} if members else {}


def _budget_dict(budget: Sequence[Part]) -> dict[str, Any]:
    """Return the parts of epsilon as a field of a record; no field if there are none."""
    return {"budget": [asdict(part) for part in budget]} if budget else {}


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


def selection_summary(selection: Selection) -> str:
    """Return a selection in three lines of text, the guarantee first."""
    question = selection.question
    target = "" if question is None else f" for {shown(question.target)}"
    lines = [
        promise(selection.guarantee, selection.no_guarantee_because),
        f"{_counted(selection)}{target}: {listed(selection.selected_features)}",
        f"by {_method(selection)}",
    ]
    return "\n".join(["Selection", *(f"  {line}" for line in lines)])


def selection_html(selection: Selection, stamps: Sequence[str] = ()) -> str:
    """Return a selection as HTML for a notebook, the guarantee first.

    Args:
        selection: The selection.
        stamps: Further warnings, shown in red.
    """
    guarantee, question = selection.guarantee, selection.question
    promised = promise(guarantee, selection.no_guarantee_because)
    names = [str(name) for name in selection.selected_features]
    facts: list[Fact] = [(_counted(selection), names[:_MOST_NAMES])]
    if len(names) > _MOST_NAMES:
        facts.append(("", f"and {len(names) - _MOST_NAMES:,} more"))
    if question is not None:
        facts.append(("for", [question.target]))
    facts.append(("by", _method(selection)))
    if guarantee is None:
        return block_html(stamps=[promised, *stamps], facts=facts)
    if not guarantee.scope.end_to_end:
        stamps = [f"NOT END TO END: {guarantee.scope.why}", *stamps]
    return block_html(promise=promised, stamps=stamps, facts=facts)


def _counted(selection: Selection) -> str:
    """Return how many features were selected, out of how many."""
    return f"{len(selection.selected_features)} of {selection.n_features:,} features"


def _method(selection: Selection) -> str:
    """Return the method, score and mechanism."""
    by = f"score {shown(selection.score)}, mechanism {shown(selection.mechanism)}"
    method = None if selection.question is None else selection.question.method
    return by if method is None else f"{shown(method)}: {by}"


def promise(guarantee: Guarantee | None, because: str | None) -> str:
    """Return the guarantee in one line, or that there is none, and why."""
    if guarantee is None:
        return f"{NOT_PRIVATE}: {printable(str(because))}"
    unit, rows = guarantee.unit.name, guarantee.unit.rows
    whom = f"{unit}s" if unit == "row" else f"{unit}s with at most {rows:,} row{'s' * (rows > 1)}"
    delta = f", delta {guarantee.delta:g}" if guarantee.delta else ""
    scope = "end to end" if guarantee.scope.end_to_end else "the selection only, not end to end"
    return (
        f"private: epsilon {guarantee.epsilon:g}{delta}, {guarantee.neighbors} of {whom}, {scope}"
    )


def listed(names: Iterable[Any]) -> str:
    """Return names separated by commas; of many names, only the first ones."""
    texts = [shown(name) for name in names]
    more = f", and {len(texts) - _MOST_NAMES:,} more" if len(texts) > _MOST_NAMES else ""
    return ", ".join(texts[:_MOST_NAMES]) + more


def shown(name: Any) -> str:
    """Return a name shortened, and safe to show in a terminal."""
    return printable(shortened(str(name)))
