"""A fitted selector as a few lines of HTML: what is promised comes first."""

from dpsel.core.release import Selection
from dpsel.core.summary import listed, promise
from dpsel.sklearn.tally import Spent
from dpsel.system.page import safe

_RED = "color:#d32f2f;font-weight:bold"


def summary_html(selection: Selection, spent: Spent) -> str:
    """Return a selection, and what it cost together with others; all names are escaped."""
    promised = promise(selection.guarantee, selection.no_guarantee_because)
    style = _RED if selection.guarantee is None else "font-weight:bold"
    names = selection.selected_features
    lines = [
        f'<span style="{style}">{safe(promised)}</span>',
        f"{len(names)} of {selection.n_features:,} features: {safe(listed(names))}",
    ]
    if spent.count > 1:
        lines.append(
            f'<span style="{_RED}">fitted {spent.count} times without a ledger, clones included: '
            f"together {safe(str(spent))}</span>"
        )
    return f"<div>{'<br>'.join(lines)}</div>"
