"""A release in a few lines for a terminal: what is promised comes first."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dpsel.core.guarantee import Guarantee

if TYPE_CHECKING:
    from dpsel.core.release import Selection

NOT_PRIVATE = "NOT PRIVATE, not for release"
_MOST_NAMES = 20


def selection_summary(selection: "Selection") -> str:
    """Return a selection in three lines."""
    question, count = selection.question, len(selection.selected_features)
    target = "" if question is None else f" for {shown(question.target)}"
    method = None if question is None else question.method
    by = f"score {selection.score}, mechanism {selection.mechanism}"
    lines = [
        promise(selection.guarantee, selection.no_guarantee_because),
        f"{count} of {selection.n_features:,} features{target}: "
        f"{listed(selection.selected_features)}",
        f"by {by}" if method is None else f"by {method}: {by}",
    ]
    return "\n".join(["Selection", *(f"  {line}" for line in lines)])


def promise(guarantee: Guarantee | None, because: str | None) -> str:
    """Return what is promised in a line, or that nothing is, and why."""
    if guarantee is None:
        return f"{NOT_PRIVATE}: {because}"
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
    """Return a name as it is, or escaped if a terminal would do something else with it."""
    text = str(name)
    return text if text.isprintable() else ascii(text)
