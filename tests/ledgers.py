"""Ledgers for tests, and ways to look at them from outside."""

import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpsel.budget.amounts import Amount, limit_of
from dpsel.budget.charges import ChargeRequest, Terms
from dpsel.budget.ledger import LedgerFile
from dpsel.core.guarantee import Neighbors

ROWS = Terms(Neighbors.ADD_REMOVE)


def make_ledger(
    place: Path, epsilon: str = "10", delta: str = "0", name: str = "patients", terms: Terms = ROWS
) -> LedgerFile:
    file = LedgerFile(place)
    file.make(name, limit_of(epsilon, delta), terms, with_folder=False)
    return file


def asked(
    epsilon: str = "2",
    delta: str = "0",
    *,
    terms: Terms = ROWS,
    run_id: str | None = None,
    **parameters: Any,
) -> ChargeRequest:
    cost = Amount(Decimal(epsilon), Decimal(delta))
    return ChargeRequest(cost, terms, 1, "select", {"k": 5, **parameters}, run_id)


def rows(place: Path, query: str = "SELECT epsilon, release FROM charges") -> list[Any]:
    """Return what plain SQLite finds in a ledger file."""
    with closing(sqlite3.connect(place)) as connection:
        return connection.execute(query).fetchall()


def tamper(place: Path, *statements: str) -> None:
    """Change a ledger file behind its back: without its triggers, which are then put back."""
    from dpsel.budget.schema import SCHEMA

    triggers = [text for text in SCHEMA if text.startswith("CREATE TRIGGER")]
    with closing(sqlite3.connect(place)) as connection:
        for text in triggers:
            connection.execute(f"DROP TRIGGER {text.split()[2]}")
        for statement in statements:
            connection.execute(statement)
        for text in triggers:
            connection.execute(text)
        connection.commit()
