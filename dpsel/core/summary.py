"""A release in a few lines, for a terminal or a notebook: what is promised comes first."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dpsel.core.guarantee import Guarantee
from dpsel.display import Fact, block_html, printable, shortened

if TYPE_CHECKING:
    from dpsel.core.release import Selection

NOT_PRIVATE = "NOT PRIVATE, not for release"
_MOST_NAMES = 20


def selection_summary(selection: "Selection") -> str:
    """Return a selection in three lines."""
    question = selection.question
    target = "" if question is None else f" for {shown(question.target)}"
    lines = [
        promise(selection.guarantee, selection.no_guarantee_because),
        f"{_counted(selection)}{target}: {listed(selection.selected_features)}",
        f"by {_method(selection)}",
    ]
    return "\n".join(["Selection", *(f"  {line}" for line in lines)])


def selection_html(selection: "Selection", stamps: Sequence[str] = ()) -> str:
    """Return a selection for a notebook.

    Args:
        selection: The selection.
        stamps: What else is to be said in red.
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


def _counted(selection: "Selection") -> str:
    """Return how many features were selected of how many."""
    return f"{len(selection.selected_features)} of {selection.n_features:,} features"


def _method(selection: "Selection") -> str:
    """Return what found them."""
    by = f"score {shown(selection.score)}, mechanism {shown(selection.mechanism)}"
    method = None if selection.question is None else selection.question.method
    return by if method is None else f"{shown(method)}: {by}"


def promise(guarantee: Guarantee | None, because: str | None) -> str:
    """Return what is promised in a line, or that nothing is, and why."""
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
    """Return names with commas, of many the first ones."""
    every = [shown(name) for name in names]
    more = f", and {len(every) - _MOST_NAMES:,} more" if len(every) > _MOST_NAMES else ""
    return ", ".join(every[:_MOST_NAMES]) + more


def shown(name: Any) -> str:
    """Return a name as a terminal can show it."""
    return printable(shortened(str(name)))
