"""How a run is to be paid for: the options that name its ledger, and the demands on the run.

This module imports nothing heavy, so that `--help` is instant.
"""

import os
from pathlib import Path

from dpsel.budget.place import ledger_from_environment
from dpsel.core.guarantee import Scope
from dpsel.errors import UsageError
from dpsel.options import option
from dpsel.records import frozen

BUDGET = "Budget"
REQUIRE_LEDGER = "DPSEL_REQUIRE_LEDGER"
REQUIRE_END_TO_END = "DPSEL_REQUIRE_END_TO_END"
_YES, _NO = ("1", "yes", "true", "on"), ("", "0", "no", "false", "off")


@frozen
class Demands:
    """What a run must meet; otherwise it is refused before it reads a row."""

    ledger: bool = False
    """Its cost is charged to a ledger."""
    end_to_end: bool = False
    """Its guarantee covers all that was done to the table, not the selection alone."""

    def refuse_partial(self, scope: Scope | None) -> None:
        """Refuse a guarantee that does not meet the demands; `scope` is None without one."""
        if self.end_to_end and not (scope is not None and scope.end_to_end):
            why = "this has no guarantee" if scope is None else f"this would cover the {scope.why}"
            raise UsageError(
                "a guarantee from end to end is required (--require-end-to-end or "
                f"{REQUIRE_END_TO_END}), and {why}"
            )


def is_demanded(given: bool, variable: str) -> bool:
    """Return whether a demand is made, by its option or by an environment variable.

    Raises:
        UsageError: If the variable says neither yes nor no, so that its meaning is unclear.
    """
    value = os.environ.get(variable, "").strip().lower()
    if value not in (*_YES, *_NO):
        raise UsageError(f"{variable} must be 1 or 0, yes or no, or true or false")
    return given or value in _YES


@frozen(kw_only=True)
class Payment:
    """Which ledger pays for a run, and what the run must meet."""

    ledger: str | None = option(
        "--ledger NAME",
        "Charge this ledger before any row is read, or refuse to run. See `dpsel budget`.",
        None,
        shown="DPSEL_LEDGER, if set",
        panel=BUDGET,
    )
    ledger_file: str | Path | None = option(
        "--ledger-file FILE",
        "The SQLite file of the ledgers.",
        None,
        shown="DPSEL_LEDGER_FILE, or dpsel/ledger.sqlite3 in the user's data folder",
        panel=BUDGET,
    )
    run_id: str | None = option(
        "--run-id ID",
        "Charge and draw once under this name; later runs print the same release, at no cost.",
        None,
        panel=BUDGET,
    )
    note: str | None = option(
        "--note TEXT",
        "A note stored with the charge; not part of the record.",
        None,
        panel=BUDGET,
    )
    require_ledger: bool = option(
        "--require-ledger",
        "Refuse to run without charging a ledger.",
        False,
        shown="DPSEL_REQUIRE_LEDGER, if set",
        panel=BUDGET,
    )
    require_end_to_end: bool = option(
        "--require-end-to-end",
        "Refuse a table or options whose guarantee would cover the selection only.",
        False,
        shown="DPSEL_REQUIRE_END_TO_END, if set",
        panel=BUDGET,
    )
    dry_run: bool = option(
        "--dry-run",
        "Print the options, the cost and what would be left, as JSON; read no table and charge "
        "nothing.",
        False,
        panel=BUDGET,
    )

    @property
    def named_ledger(self) -> str | None:
        """Return the name of the ledger, by option or by environment variable."""
        return self.ledger if self.ledger is not None else ledger_from_environment()

    def demands(self) -> Demands:
        """Return the demands, by options or by environment variables."""
        return Demands(
            is_demanded(self.require_ledger, REQUIRE_LEDGER),
            is_demanded(self.require_end_to_end, REQUIRE_END_TO_END),
        )
