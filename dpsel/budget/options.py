"""The options of `dpsel budget`: each group is a record.

Imports nothing heavy: the command line shows these, and `--help` is instant.
"""

import re
from enum import StrEnum
from pathlib import Path

from dpsel.budget.payment import BUDGET, Payment
from dpsel.budget.place import is_customary, ledger_place
from dpsel.core.guarantee import Neighbors
from dpsel.errors import UsageError
from dpsel.options import option, same_as
from dpsel.records import frozen

PRIVACY = "Privacy"


@frozen(kw_only=True)
class LedgerPlace:
    """Where the ledgers are kept."""

    ledger_file: str | Path | None = same_as(Payment, "ledger_file")

    @property
    def path(self) -> Path:
        """Return the file of the ledgers, by option, by environment or by custom."""
        return ledger_place(self.ledger_file)

    @property
    def is_customary(self) -> bool:
        """Return whether nobody said where they are kept."""
        return is_customary(self.ledger_file)


@frozen(kw_only=True)
class Limits:
    """What a new ledger may be charged, and by which runs."""

    epsilon: str = option("--epsilon E", "All charges together may cost this much.")
    delta: str = option("--delta D", "The same for delta; 0 is for pure privacy.", "0")
    neighbors: Neighbors = option(
        "--neighbors",
        "What one row more or less means: it is there or not, or it has other values.",
        Neighbors.ADD_REMOVE,
        panel=PRIVACY,
    )
    person: str | None = option(
        "--person COLUMN",
        "For runs with this --person only; else for those that protect rows.",
        None,
    )


@frozen(kw_only=True)
class Spending:
    """What another tool has spent."""

    epsilon: str = option("--epsilon E", "What it cost, for the ledger's own neighbors and unit.")
    by: str = option("--by TEXT", "What spent it, and who: a tool, a publication, a person.")
    delta: str = option("--delta D", "The same for delta.", "0")
    note: str | None = option("--note TEXT", "A line to keep beside it.", None)


@frozen(kw_only=True)
class Holding:
    """What is to be held back."""

    epsilon: str = option("--epsilon E", "How much no run may be charged to.")
    delta: str = option("--delta D", "The same for delta.", "0")
    note: str | None = same_as(Spending, "note")


@frozen(kw_only=True)
class Freeing:
    """Why a reservation is given back."""

    note: str | None = same_as(Spending, "note")


class ReportFormat(StrEnum):
    """How ledgers are shown."""

    JSON = "json"
    TEXT = "text"


class ExportFormat(StrEnum):
    """How a ledger is exported."""

    JSON = "json"
    CSV = "csv"


@frozen(kw_only=True)
class Showing:
    """How ledgers are shown."""

    report_format: ReportFormat = option("--format", "JSON, or a table to read.", ReportFormat.JSON)


@frozen(kw_only=True)
class Exporting:
    """How a ledger is exported."""

    export_format: ExportFormat = option(
        "--format", "All of it in JSON, or the charges alone in CSV.", ExportFormat.JSON
    )


@frozen(kw_only=True)
class Verifying:
    """What must still be in the chain of a ledger."""

    head: str | None = option(
        "--head SHA256", "The head of an earlier time, which must still be in the chain.", None
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be a head."""
        if self.head is not None and not re.fullmatch("[0-9a-f]{64}", self.head):
            raise UsageError(
                "--head must be a SHA-256, 64 digits from 0 to f, as printed by verify"
            )


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
