"""`dpsel plan`."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpsel.budget.options import LedgerPlace
from dpsel.budget.payment import BUDGET, Payment
from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, Terminal
from dpsel.options import option, same_as
from dpsel.planning.options import (
    Guesses,
    PlanFormat,
    PlanWriting,
    Simulation,
    StandIn,
    TargetGuess,
    Wish,
)
from dpsel.records import frozen

if TYPE_CHECKING:
    from dpsel.planning.plan import Balance, Plan
    from dpsel.reporter import Reporter


@frozen(kw_only=True)
class LedgerLook:
    """The ledger that the selection will be charged to."""

    ledger: str | None = option(
        "--ledger NAME",
        "Say what this ledger would have left. Nothing is charged.",
        None,
        panel=BUDGET,
    )
    ledger_file: str | Path | None = same_as(Payment, "ledger_file")


@form
def plan(
    wish: Wish,
    guesses: Guesses,
    target: TargetGuess,
    stand_in: StandIn,
    look: LedgerLook,
    simulation: Simulation,
    writing: PlanWriting,
    terminal: Terminal,
    config: ConfigFile,
) -> None:
    """Say what an epsilon will buy, from public guesses alone: no table is opened.

    It simulates tables like the one that you guess, selects from them as `dpsel select` would, and
    counts how many picks are right: for every method and epsilon, with a range for guesses that are
    off. Then it says which method to use, which epsilon it takes, and what epsilon means as odds.

    Example: dpsel plan --rows 500 --features 30 --k 5 --epsilon 0.5,1,2,5

    With a stand-in: dpsel plan --like public_cohort.parquet --target y --k 5

    With two classes: dpsel plan --rows 2000 --features 400 --k 10 --share 0.2 --auc 0.6:0.75
    """
    from dpsel.cli.terminal import TerminalReporter
    from dpsel.planning.request import asked_epsilons
    from dpsel.system.output import Output
    from dpsel.system.process import take_interrupts_back

    take_interrupts_back()
    balance = None if look.ledger is None else _balance(look, asked_epsilons(wish))
    bar = not terminal.no_progress
    with ExitStack() as places:
        place = places.enter_context(Output(writing.output, force=writing.force))
        page = None
        if writing.report is not None:
            page = places.enter_context(Output(writing.report, force=writing.force))
        with TerminalReporter(quiet=terminal.quiet, bar=bar, work="planning") as reporter:
            made = _made(wish, guesses, target, simulation, stand_in, reporter)
            found = replace(made, balance=balance)
        if page is not None:
            page.write(_page(found).encode())
        place.write(_text(found, writing.plan_format).encode())


def _made(
    wish: Wish,
    guesses: Guesses,
    target: TargetGuess,
    simulation: Simulation,
    stand_in: StandIn,
    reporter: "Reporter",
) -> "Plan":
    """Return the plan; a stand-in imports what reads tables, and no other plan does."""
    if stand_in == StandIn():
        from dpsel.planning.plan import make_plan
        from dpsel.planning.request import make_plan_request

        return make_plan(make_plan_request(wish, guesses, target, simulation), reporter)
    from dpsel.planning.like import make_like_plan, make_like_request, read_stand_in
    from dpsel.planning.request import asked_picks

    table = read_stand_in(stand_in, asked_picks(wish), reporter)
    request = make_like_request(wish, guesses, target, simulation, table)
    return make_like_plan(request, table, reporter)


def _text(plan: "Plan", plan_format: PlanFormat) -> str:
    """Return a plan as text or JSON."""
    from dpsel.planning.text import plan_text
    from dpsel.system.text import json_text

    return json_text(plan.to_dict()) if plan_format is PlanFormat.JSON else plan_text(plan)


def _page(plan: "Plan") -> str:
    """Return a plan as HTML. What draws its figure is imported for it alone."""
    from dpsel.planning.report import plan_html

    return plan_html(plan)


def _balance(look: LedgerLook, epsilons: tuple[float, ...]) -> "Balance":
    """Return what a ledger has, and would have left."""
    from dpsel.budget.amounts import Amount, amount_of, amount_text
    from dpsel.budget.ledger import LedgerFile
    from dpsel.budget.place import check_name
    from dpsel.planning.plan import Balance

    place = LedgerPlace(ledger_file=look.ledger_file).path
    standing = LedgerFile(place).standing(check_name(look.ledger or ""))
    costs = {epsilon: Amount(amount_of(epsilon, "epsilon")) for epsilon in epsilons}
    after = {
        epsilon: amount_text(standing.left.less(cost).epsilon)
        if standing.left.covers(cost)
        else None
        for epsilon, cost in costs.items()
    }
    limit, left = (amount_text(amount.epsilon) for amount in (standing.limit, standing.left))
    return Balance(standing.name, str(standing.terms), limit, left, after)
