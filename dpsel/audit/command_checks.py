"""Plain checks of the command: what records claim, whether noise is fresh, what a ledger pays."""

from dataclasses import replace

from dpsel.audit.plan import CommandPlan
from dpsel.audit.releases import LEDGER, Desk, Releases
from dpsel.core.audit.checks import NEXT_TO_NOTHING, Check
from dpsel.core.budget import Budget, cost_of
from dpsel.core.errors import BudgetError

_FRESH_RUNS = 32


def check_claims(releases: Releases, path: str) -> Check:
    """See whether a record claims what was asked for, end to end."""
    with releases.desk(1) as desk:
        record = releases.record(path, desk, None)
    claimed, asked = record["guarantee"] or {}, releases.guarantee
    wanted = {
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "neighbors": str(asked.neighbors),
        "rows_per_unit": asked.unit.rows,
        "end_to_end": True,
    }
    wrong = [name for name, value in wanted.items() if claimed.get(name) != value]
    found = f"the record claims another {wrong[0]}" if wrong else "the record claims what was asked"
    return Check("claims", not wrong, found)


def check_fresh_runs(plan: CommandPlan, releases: Releases, path: str) -> Check:
    """Run without a seed, at next to no epsilon: one record again and again means a fixed seed."""
    if plan.d == plan.target.k:
        return Check("fresh-randomness", True, "there is only one subset")
    tiny = replace(
        releases,
        options={**releases.options, "epsilon": NEXT_TO_NOTHING},
        guarantee=replace(releases.guarantee, epsilon=NEXT_TO_NOTHING),
    )
    with tiny.desk(_FRESH_RUNS) as desk:
        seen = {
            tuple(tiny.record(path, desk, None)["selected_indices"]) for _ in range(_FRESH_RUNS)
        }
    found = "runs differ" if len(seen) > 1 else f"{_FRESH_RUNS} runs released the same: known noise"
    return Check("fresh-randomness", len(seen) > 1, found)


def check_charge(releases: Releases, path: str) -> Check:
    """See whether a ledger for two runs pays for the first and the second, and for no third."""
    cost = cost_of(releases.guarantee)
    with releases.desk(2) as desk:
        for left in (cost, cost.less(cost)):
            releases.record(path, desk, None)
            if _left(desk) != left:
                return Check("charge", False, "a ledger was charged with another epsilon or delta")
        third = releases.run(path, desk, None)
    if third.code == BudgetError.exit_code and third.record is None:
        return Check("charge", True, "a ledger for two runs pays for no third")
    return Check("charge", False, "a ledger for two runs paid for a third")


def _left(desk: Desk) -> Budget:
    """Return what a ledger has left."""
    assert desk.ledger is not None
    return desk.ledger.standing(LEDGER).left
