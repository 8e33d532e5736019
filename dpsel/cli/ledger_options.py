"""Options of the privacy budget, declared once."""

from typing import Annotated

import typer

PANEL = "Budget"

Ledger = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="NAME",
        help="Charge this ledger before a row is read, or refuse. See `dpsel budget`.",
        rich_help_panel=PANEL,
        show_default="DPSEL_LEDGER, if set",
    ),
]
LedgerFileOption = Annotated[
    str | None,
    typer.Option(
        "--ledger-file",
        metavar="FILE",
        help="The SQLite file of the ledgers.",
        rich_help_panel=PANEL,
        show_default="DPSEL_LEDGER_FILE, or dpsel/ledger.sqlite3 where the user's data are",
    ),
]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="ID",
        help="Charge and draw once under this name; again, print the same release, at no cost.",
        rich_help_panel=PANEL,
    ),
]
RequireLedger = Annotated[
    bool,
    typer.Option(
        "--require-ledger",
        help="Refuse a run that no ledger is charged for.",
        rich_help_panel=PANEL,
        show_default="DPSEL_REQUIRE_LEDGER, if set",
    ),
]
RequireEndToEnd = Annotated[
    bool,
    typer.Option(
        "--require-end-to-end",
        help="Refuse a table or options whose guarantee would cover the selection only.",
        rich_help_panel=PANEL,
        show_default="DPSEL_REQUIRE_END_TO_END, if set",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Print what it would cost and leave, as JSON; read no table and charge nothing.",
        rich_help_panel=PANEL,
    ),
]
