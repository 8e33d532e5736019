"""The Python function `dpsel.plan`, and what it shares with the command."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsel.budget.amounts import Amount, amount_of, amount_text
from dpsel.budget.options import LedgerLook
from dpsel.budget.place import check_name, ledger_place
from dpsel.options import Dataclass
from dpsel.planning.options import Guesses, Simulation, StandIn, TargetGuess, Wish
from dpsel.planning.plan import Balance, Plan, make_plan
from dpsel.planning.request import asked_epsilons, asked_picks, make_plan_request
from dpsel.python import Warner, python_function, record_of
from dpsel.records import frozen
from dpsel.reporter import Reporter

_PLAN: tuple[type[Dataclass], ...]
_PLAN = (Wish, Guesses, TargetGuess, Simulation, StandIn, LedgerLook)


@python_function(*_PLAN)
def plan(
    *,
    k: int | None = None,
    up_to: int | None = None,
    epsilon: float | str | Sequence[float] = "0.5,1,2,5,10",
    find: float = 0.8,
    neighbors: str = "add-remove",
    rows: int | None = None,
    features: int | None = None,
    matter: int | None = None,
    effect: float | str | Sequence[float] | None = None,
    auc: float | str | Sequence[float] | None = None,
    within: float = 2.0,
    share: float | None = None,
    classes: int | None = None,
    target_known: bool = False,
    like: Any | None = None,
    target: str | int | None = None,
    positive: str | None = None,
    truth: str | Sequence[str] | None = None,
    ledger: str | None = None,
    ledger_file: str | Path | None = None,
    tables: int | None = None,
    seed: int = 0,
) -> Plan:
    """Estimate what an epsilon will buy, from public guesses alone; no private table is opened.

    Privacy:
        Guarantee: none is needed; a stand-in is public, by the word of whoever names it, and all
            else is guessed.
        Tested by: tests/planning/test_plan.py

    Args:
        k: How many features to select.
        up_to: Instead of `k`: as many features as epsilon can pay for, but at most this many.
        epsilon: Privacy losses: numbers, or a text such as `0.1:20:log12`.
        find: The wanted share of right picks.
        neighbors: `add-remove` or `replace-one`.
        rows: The approximate number of rows.
        features: The number of features.
        matter: The approximate number of features that matter; k if not given.
        effect: Their strength: a correlation with the target, `LOW:HIGH`, or one for each.
        auc: The same for two classes, as areas under the ROC curve.
        within: The factor by which guesses may be wrong; 1 if they are certain.
        share: For two classes: the approximate share of rows in one of them.
        classes: The number of classes, if there are three or more.
        target_known: Whether the share, or a number that half of the rows exceed, is public.
        like: A public or synthetic table to plan with: a path or a frame.
        target: The target column of that table.
        positive: For a target of labels: the one that counts as 1; any other counts as -1.
        truth: The right features of that table; the k most correlated ones if not given.
        ledger: Also show what this ledger would have left. Nothing is charged.
        ledger_file: The file of the ledgers, if it is not in its usual place.
        tables: How many tables are simulated for every guess.
        seed: Another seed simulates other tables; the same seed gives the same plan.

    Raises:
        UsageError: If an argument is invalid.
        InputError: If the stand-in cannot be read.
    """
    given = locals()
    options = PlanOptions(
        record_of(Wish, given),
        record_of(Guesses, given),
        record_of(TargetGuess, given),
        record_of(Simulation, given),
        record_of(StandIn, given),
        record_of(LedgerLook, given),
    )
    balance = options.balance()
    return replace(plan_from_options(options, Warner(*_PLAN)), balance=balance)


@frozen
class PlanOptions:
    """All options of a plan."""

    wish: Wish
    guesses: Guesses
    target: TargetGuess
    simulation: Simulation
    stand_in: StandIn
    look: LedgerLook

    def balance(self) -> Balance | None:
        """Return what the ledger has, and would have left; None if no ledger is named."""
        if self.look.ledger is None:
            return None
        # Imported here, as most plans have no ledger and need no SQLite.
        from dpsel.budget.ledger import LedgerFile

        file = LedgerFile(ledger_place(self.look.ledger_file))
        standing = file.standing(check_name(self.look.ledger))
        epsilons = asked_epsilons(self.wish)
        costs = {epsilon: Amount(amount_of(epsilon, "epsilon")) for epsilon in epsilons}
        after = {
            epsilon: amount_text(standing.left.less(cost).epsilon)
            if standing.left.covers(cost)
            else None
            for epsilon, cost in costs.items()
        }
        limit, left = (amount_text(amount.epsilon) for amount in (standing.limit, standing.left))
        return Balance(standing.name, str(standing.terms), limit, left, after)


def plan_from_options(options: PlanOptions, reporter: Reporter) -> Plan:
    """Return the plan; only one with a stand-in imports the code that reads tables."""
    wish, guesses, target = options.wish, options.guesses, options.target
    simulation = options.simulation
    if not options.stand_in.is_given:
        return make_plan(make_plan_request(wish, guesses, target, simulation), reporter)
    from dpsel.planning.like import make_like_plan, make_like_request, read_stand_in

    table = read_stand_in(options.stand_in, asked_picks(wish), reporter)
    request = make_like_request(wish, guesses, target, simulation, table)
    return make_like_plan(request, table, reporter)
