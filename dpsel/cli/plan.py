"""The command `dpsel plan`."""

from contextlib import ExitStack
from dataclasses import replace

from dpsel.budget.options import LedgerLook
from dpsel.cli.forms import form
from dpsel.cli.options import ConfigFile, Terminal
from dpsel.cli.terminal import TerminalReporter
from dpsel.planning.options import (
    Guesses,
    PlanFormat,
    PlanWriting,
    Simulation,
    StandIn,
    TargetGuess,
    Wish,
)
from dpsel.system.output import Output
from dpsel.system.process import take_interrupts_back
from dpsel.system.text import json_text


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
    """Estimate what an epsilon will buy, from public guesses alone; no table is opened.

    It simulates tables that match your guesses, selects from them as `dpsel select` would, and
    counts the right picks for every method and epsilon, with a range for guesses that are off. Then
    it says which method to use, which epsilon that takes, and what epsilon means as odds.

    Example: dpsel plan --rows 500 --features 30 --k 5 --epsilon 0.5,1,2,5

    With a stand-in: dpsel plan --like public_cohort.parquet --target y --k 5

    With two classes: dpsel plan --rows 2000 --features 400 --k 10 --share 0.2 --auc 0.6:0.75
    """
    from dpsel.planning.api import PlanOptions, plan_from_options

    take_interrupts_back()
    options = PlanOptions(wish, guesses, target, simulation, stand_in, look)
    balance = options.balance()
    bar = not terminal.no_progress
    with ExitStack() as places:
        place = places.enter_context(Output(writing.output, force=writing.force))
        page = None
        if writing.report is not None:
            page = places.enter_context(Output(writing.report, force=writing.force))
        with TerminalReporter(quiet=terminal.quiet, bar=bar, work="planning") as reporter:
            made = replace(plan_from_options(options, reporter), balance=balance)
        if page is not None:
            page.write(made.to_html().encode())
        in_json = writing.plan_format is PlanFormat.JSON
        place.write((json_text(made.to_dict()) if in_json else made.to_text()).encode())
