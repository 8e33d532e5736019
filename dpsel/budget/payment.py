"""The options of runs that a ledger pays for.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

from pathlib import Path

from dpsel.budget.place import (
    REQUIRE_END_TO_END,
    REQUIRE_LEDGER,
    Demands,
    is_demanded,
    ledger_from_environment,
)
from dpsel.options import option
from dpsel.records import frozen

BUDGET = "Budget"


@frozen(kw_only=True)
class Payment:
    """Which ledger pays for a run, and what a run must be to be let through."""

    ledger: str | None = option(
        "--ledger NAME",
        "Charge this ledger before a row is read, or refuse. See `dpsel budget`.",
        None,
        shown="DPSEL_LEDGER, if set",
        panel=BUDGET,
    )
    ledger_file: str | Path | None = option(
        "--ledger-file FILE",
        "The SQLite file of the ledgers.",
        None,
        shown="DPSEL_LEDGER_FILE, or dpsel/ledger.sqlite3 where the user's data are",
        panel=BUDGET,
    )
    run_id: str | None = option(
        "--run-id ID",
        "Charge and draw once under this name; again, print the same release, at no cost.",
        None,
        panel=BUDGET,
    )
    note: str | None = option(
        "--note TEXT",
        "A line to keep beside the charge; no part of the record.",
        None,
        panel=BUDGET,
    )
    require_ledger: bool = option(
        "--require-ledger",
        "Refuse a run that no ledger is charged for.",
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
        "Print the options, and what it would cost and leave, as JSON; read no table and charge "
        "nothing.",
        False,
        panel=BUDGET,
    )

    @property
    def named_ledger(self) -> str | None:
        """Return the ledger that is named, by option or environment."""
        return self.ledger if self.ledger is not None else ledger_from_environment()

    def demands(self) -> Demands:
        """Return what is demanded, by option or environment."""
        return Demands(
            is_demanded(self.require_ledger, REQUIRE_LEDGER),
            is_demanded(self.require_end_to_end, REQUIRE_END_TO_END),
        )
