"""The options of `dpsel budget`, one record per group.

This module imports nothing heavy, so that `--help` is instant. The options of runs that a ledger
pays for are in `payment.py`, so that `select` does not import these.
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
    """The file of the ledgers."""

    ledger_file: str | Path | None = same_as(Payment, "ledger_file")

    @property
    def path(self) -> Path:
        """Return the file of the ledgers: by option, by environment variable, or the default."""
        return ledger_place(self.ledger_file)

    @property
    def is_customary(self) -> bool:
        """Return whether the file is the default one."""
        return is_customary(self.ledger_file)


@frozen(kw_only=True)
class Limits:
    """The limits of a new ledger, and which runs it can pay for."""

    epsilon: str = option("--epsilon E", "The limit on all charges together.")
    delta: str = option("--delta D", "The same for delta; 0 means pure privacy.", "0")
    neighbors: Neighbors = option(
        "--neighbors HOW",
        "How neighboring tables differ: by one row more or less (add-remove), or by the values of "
        "one row (replace-one).",
        Neighbors.ADD_REMOVE,
        panel=PRIVACY,
    )
    person: str | None = option(
        "--person COLUMN",
        "Accept only runs with this --person; without it, only runs that protect rows.",
        None,
    )


@frozen(kw_only=True)
class Spending:
    """What another tool has spent."""

    epsilon: str = option(
        "--epsilon E", "How much was spent, for the ledger's own neighbors and unit."
    )
    by: str = option("--by TEXT", "Who or what spent it: a tool, a publication, a person.")
    delta: str = option("--delta D", "The same for delta.", "0")
    note: str | None = option("--note TEXT", "A note stored with the entry.", None)


@frozen(kw_only=True)
class Reserving:
    """What to reserve."""

    epsilon: str = option("--epsilon E", "How much to hold back.")
    delta: str = option("--delta D", "The same for delta.", "0")
    note: str | None = same_as(Spending, "note")


@frozen(kw_only=True)
class Freeing:
    """Why a reservation is freed."""

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

    report_format: ReportFormat = option(
        "--format", "JSON, or a plain-text table.", ReportFormat.JSON
    )


@frozen(kw_only=True)
class Exporting:
    """How a ledger is exported."""

    export_format: ExportFormat = option(
        "--format", "Everything as JSON, or only the charges as CSV.", ExportFormat.JSON
    )


@frozen(kw_only=True)
class Verifying:
    """The digest that must still be in the chain of a ledger."""

    head: str | None = option(
        "--head SHA256", "An earlier head, which must still be in the chain.", None
    )

    def __post_init__(self) -> None:
        """Refuse a text that cannot be a head."""
        if self.head is not None and not re.fullmatch("[0-9a-f]{64}", self.head):
            raise UsageError(
                "--head must be a SHA-256, 64 digits from 0 to f, as printed by verify"
            )


@frozen(kw_only=True)
class LedgerLook:
    """The ledger that the selection will be charged to."""

    ledger: str | None = option(
        "--ledger NAME",
        "Also show what this ledger would have left. Nothing is charged.",
        None,
        panel=BUDGET,
    )
    ledger_file: str | Path | None = same_as(Payment, "ledger_file")
