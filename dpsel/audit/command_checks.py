"""Plain checks of the command: what records claim, whether noise is fresh, what a ledger pays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpsel import api
from dpsel.audit.files import PERSON
from dpsel.audit.plan import CommandPlan
from dpsel.audit.releases import Releases
from dpsel.core.audit.checks import NEXT_TO_NOTHING, Check
from dpsel.core.budget import cost_of
from dpsel.core.errors import BudgetError
from dpsel.core.privacy import Guarantee, Scope
from dpsel.io.ledger import LedgerFile
from dpsel.io.ledger_records import Terms

_FRESH_RUNS = 32
_LEDGER = "audit"


def check_claims(plan: CommandPlan, record: Mapping[str, Any]) -> Check:
    """See whether a record claims what was asked for, end to end."""
    claimed = record["guarantee"] or {}
    asked = {
        "epsilon": plan.target.epsilon,
        "delta": plan.target.delta,
        "neighbors": str(plan.neighbors),
        "rows_per_unit": plan.unit.rows,
        "end_to_end": True,
    }
    wrong = [name for name, value in asked.items() if claimed.get(name) != value]
    found = f"the record claims another {wrong[0]}" if wrong else "the record claims what was asked"
    return Check("claims", not wrong, found)


def check_fresh_runs(plan: CommandPlan, releases: Releases, path: str) -> Check:
    """Run without a seed, at next to no epsilon: one record again and again means a fixed seed."""
    if plan.d == plan.target.k:
        return Check("fresh-randomness", True, "there is only one subset")
    seen = {
        tuple(releases.record(path, None, epsilon=NEXT_TO_NOTHING)["selected_indices"])
        for _ in range(_FRESH_RUNS)
    }
    found = "runs differ" if len(seen) > 1 else f"{_FRESH_RUNS} runs released the same: known noise"
    return Check("fresh-randomness", len(seen) > 1, found)


def check_charge(plan: CommandPlan, options: Mapping[str, Any], path: str, folder: Path) -> Check:
    """See whether a ledger for two runs pays for the first and the second, and for no third."""
    scope = Scope(end_to_end=True, why="")
    target = plan.target
    cost = cost_of(Guarantee(target.epsilon, plan.neighbors, scope, plan.unit, target.delta))
    file = LedgerFile(folder / "ledger.sqlite3")
    terms = Terms(plan.neighbors, PERSON if plan.unit.name == "person" else None)
    file.make(_LEDGER, cost.plus(cost), terms, with_folder=False)
    for left in (cost, cost.less(cost)):
        api.select(path, **options, ledger=_LEDGER, ledger_file=file.place)
        if file.standing(_LEDGER).left != left:
            return Check("charge", False, "a ledger was charged with another epsilon or delta")
    try:
        api.select(path, **options, ledger=_LEDGER, ledger_file=file.place)
    except BudgetError:
        return Check("charge", True, "a ledger for two runs pays for no third")
    return Check("charge", False, "a ledger for two runs paid for a third")
