"""A plan as text with a table, for a terminal of 80 columns; and its words, for other formats."""

import math
import textwrap
from collections.abc import Sequence

from dpsel.display import Fact, block_html, printable
from dpsel.planning.effects import auc_of_correlation
from dpsel.planning.plan import ASSUMED, LARGEST, Balance, Plan, odds
from dpsel.planning.request import TargetKind
from dpsel.selection.options import Method

_WIDTH = 80
_MOST_NAMED = 10


def plan_text(plan: Plan) -> str:
    """Return the whole plan as text."""
    parts = [
        wrapped(guessed_words(plan)),
        wrapped(heading_words(plan)) + "\n" + _table(plan),
        *(wrapped(line) for line in answer_words(plan)),
    ]
    return "\n\n".join(parts) + "\n"


def plan_block(plan: Plan) -> str:
    """Return a plan as a short block of HTML for a notebook."""
    facts: list[Fact] = [
        ("guessed", guessed_words(plan)),
        ("use", f"{plan.advice.method}: {plan.advice.why}"),
        ("needed", needed_words(plan)),
    ]
    if plan.balance is not None:
        facts.append(("ledger", balance_words(plan.balance, str(plan.request.neighbors))))
    facts.append(("right picks", heading_words(plan)))
    promise = "a plan, made from public guesses: it may be passed on"
    return block_html(promise=promise, facts=facts, table=table_rows(plan))


def wrapped(text: str) -> str:
    """Return a paragraph, wrapped to the width of the terminal."""
    return textwrap.fill(printable(text), _WIDTH, break_long_words=True, break_on_hyphens=False)


def guessed_words(plan: Plan) -> str:
    """Return the guesses in words."""
    request, design = plan.request, plan.request.design
    effects = design.effects.each
    how = f"a correlation of {effects[0]:.2g}"
    if effects[0] != effects[-1]:
        how = f"correlations from {effects[-1]:.2g} to {effects[0]:.2g}"
    sure = "Guesses are taken as sure."
    if request.within > 1:
        what = "Rows, effects and how many matter" if request.matter_guessed else "Rows and effects"
        sure = f"{what} may be wrong by a factor of {request.within:g}."
    return (
        f"{design.rows:,} rows, {design.features:,} features, of which {len(effects):,} matter, "
        f"with {how}; the target is {design.target.words()}. {sure} {opened_words(plan)}"
    )


def opened_words(plan: Plan) -> str:
    """Return in words which tables were opened."""
    if plan.like is None:
        return "No table was opened."
    opened = f"No table was opened but {plan.like}, which must be public or synthetic."
    if not plan.assumed:
        return opened
    more = len(plan.assumed) - _MOST_NAMED
    named = ", ".join(plan.assumed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return (
        f"{opened} What matters there was not named: it was taken to be what correlates most with "
        f"its target ({named}), which favors dp-sis."
    )


def heading_words(plan: Plan) -> str:
    """Return the sentence above the table, which explains it."""
    k = plan.request.k
    picks = f"up to {k} picks" if plan.request.up_to else f"{k} picks" if k > 1 else "the pick"
    return (
        f"How many of {picks} would be right: expected, and from the worst to the best table that "
        f"was guessed. By chance it is {percent(plan.by_chance)}."
    )


def percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.0f} %" if share >= 0.01 or share == 0 else f"{100 * share:.1g} %"


def table_rows(plan: Plan) -> list[list[str]]:
    """Return the table of all methods and epsilons; the first row is its head."""
    up_to = ["picks"] if plan.request.up_to else []
    rows = [["epsilon", *map(str, plan.curves), *up_to, "weakest effect", "odds"]]
    for epsilon in plan.request.epsilons:
        effect = plan.smallest_effects[epsilon]
        cells = [_share(*curve.at(epsilon)) for curve in plan.curves.values()]
        picks = [str(plan.picks[epsilon])] if plan.request.up_to else []
        weakest = "none" if effect is None else f"{effect:g}"
        rows.append([f"{epsilon:g}", *cells, *picks, weakest, odds_words(epsilon)])
    return rows


def _table(plan: Plan) -> str:
    """Return the table as text."""
    rows = table_rows(plan)
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    return "\n".join(_line(row, widths) for row in rows)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of the table, with its cells aligned right."""
    padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded)


def _share(low: float, middle: float, high: float) -> str:
    """Return the expected share and its range."""
    return f"{100 * middle:.0f} % ({100 * low:.0f}-{100 * high:.0f})"


def odds_words(epsilon: float) -> str:
    """Return the odds that a release at this epsilon can give someone who starts from 1:1."""
    most = odds(epsilon)
    if most >= 1e6:
        return f"10^{epsilon / math.log(10):.0f}:1"
    return f"{most:,.0f}:1" if most >= 10 else f"{most:.2g}:1"


def answer_words(plan: Plan) -> list[str]:
    """Return the answers below the table, one paragraph each."""
    lines = [f"Use {plan.advice.method}: {plan.advice.why}.", needed_words(plan)]
    lines.append(_effect_words(plan))
    shown = _shown_epsilon(plan)
    lines.append(
        f"At epsilon {shown:g}, someone who considers it equally likely (1:1) that a row is in the "
        f"table or not can reach odds of at most {odds_words(shown)} from all that is released."
    )
    if Method.DP_SIS in plan.curves:
        lines.append(f"dp-sis is planned with {ASSUMED[Method.DP_SIS]}.")
    if plan.balance is not None:
        lines.append(balance_words(plan.balance, str(plan.request.neighbors)))
    return lines


def needed_words(plan: Plan) -> str:
    """Return in words from which epsilon on the wanted share of picks is right."""
    wanted = percent(plan.request.find)
    needed = {method: curve.needed(plan.request.find) for method, curve in plan.curves.items()}
    if all(expected is None for expected, _, _ in needed.values()):
        if plan.best < plan.request.find:
            return (
                f"No epsilon finds {wanted}: fewer features matter than are picked, so at most "
                f"{percent(plan.best)} can be right."
            )
        lucky = [f"{m} from {best:g} on" for m, (_, best, _) in needed.items() if best is not None]
        hope = f" If the table is better than guessed: {', '.join(lucky)}." if lucky else ""
        return (
            f"No epsilon up to {LARGEST:g} will do for {wanted} right picks, by any method. It "
            f"takes more rows, stronger effects or fewer picks.{hope}"
        )
    found = [f"{method} {_needed(*each)}" for method, each in needed.items()]
    return f"For {wanted} right picks: {'; '.join(found)}."


def _needed(expected: float | None, best: float | None, worst: float | None) -> str:
    """Return in words from which epsilon on one method reaches the wanted share."""
    least = "none" if best is None else f"{best:g}"
    most = f"none up to {LARGEST:g}" if worst is None else f"{worst:g}"
    middle = f"at no epsilon up to {LARGEST:g}" if expected is None else f"from {expected:g} on"
    return middle if least == most else f"{middle} (at best {least}, at worst {most})"


def _effect_words(plan: Plan) -> str:
    """Return the explanation of the column `weakest effect`."""
    request = plan.request
    words = (
        f"The weakest effect that is likely found, by {plan.advice.method}: if all that matter had "
        f"at least this correlation, {percent(request.find)} of the picks would be right."
    )
    known = [(e, r) for e, r in plan.smallest_effects.items() if r is not None]
    if request.design.target.classes == 2 and known:
        words += f" As areas under the ROC curve: {_areas(known, request.design.target)}."
    return words


def _areas(known: Sequence[tuple[float, float]], kind: TargetKind) -> str:
    """Return the weakest effects as areas under the ROC curve."""
    return ", ".join(f"{auc_of_correlation(r, kind.share):.2f} at {e:g}" for e, r in known)


def _shown_epsilon(plan: Plan) -> float:
    """Return the epsilon to explain: the first that reaches the wanted share, or the last."""
    expected = plan.curves[plan.advice.method].needed(plan.request.find)[0]
    epsilons = plan.request.epsilons
    return next((e for e in epsilons if expected is not None and e >= expected), epsilons[-1])


def balance_words(balance: Balance, neighbors: str) -> str:
    """Return in words what a ledger would have left."""
    fits = [f"{left} after {e:g}" for e, left in balance.after.items() if left is not None]
    over = [f"{e:g}" for e, left in balance.after.items() if left is None]
    words = f"The ledger {balance.ledger} has {balance.left} of {balance.limit} left"
    words += f": {', '.join(fits)}." if fits else "."
    if over:
        words += f" It does not cover epsilon {', '.join(over)}."
    if not balance.terms.startswith(neighbors):
        words += f" It is for {balance.terms}, and pays for no selection under {neighbors}."
    return words
