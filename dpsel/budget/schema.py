"""The SQL schema of a ledger file, in all its versions, and the checks that a file has it."""

import sqlite3
from pathlib import Path
from typing import Any

from dpsel.errors import InputError, UsageError

CHARGED = (
    "number",
    "time",
    "epsilon",
    "delta",
    "neighbors",
    "person",
    "rows_per_unit",
    "command",
    "parameters",
    "run_id",
)
"""The columns of `charges` that are written when a charge is made."""
CHARGE_COLUMNS = (*CHARGED, "user", "note", "release")
"""All values of a charge; files of earlier versions have no user and no note."""
RESERVED = ("number", "time", "epsilon", "delta", "frees", "user", "note")
"""All values of a reservation."""

APPLICATION_ID = int.from_bytes(b"dpsl", "big")
VERSION = 3
FIRST_WITH_CHAIN = 2

# Amounts are exact decimals, stored as texts. `person` is the column of persons, or null for rows.
_FIRST = (
    """CREATE TABLE ledgers (
        name TEXT PRIMARY KEY NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        neighbors TEXT NOT NULL,
        person TEXT,
        created TEXT NOT NULL
    )""",
    """CREATE TABLE charges (
        ledger TEXT NOT NULL REFERENCES ledgers (name),
        number INTEGER NOT NULL,
        time TEXT NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        neighbors TEXT NOT NULL,
        person TEXT,
        rows_per_unit INTEGER NOT NULL,
        command TEXT NOT NULL,
        parameters TEXT NOT NULL,
        run_id TEXT,
        release TEXT,
        PRIMARY KEY (ledger, number)
    )""",
    """CREATE UNIQUE INDEX one_release_a_run ON charges (ledger, run_id)
        WHERE release IS NOT NULL""",
    """CREATE TRIGGER ledgers_stay BEFORE DELETE ON ledgers
        BEGIN SELECT RAISE(ABORT, 'a ledger is never deleted'); END""",
    """CREATE TRIGGER limits_stand BEFORE UPDATE ON ledgers
        BEGIN SELECT RAISE(ABORT, 'a limit never changes'); END""",
    """CREATE TRIGGER charges_stay BEFORE DELETE ON charges
        BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END""",
    """CREATE TRIGGER charges_stand BEFORE UPDATE OF ledger, number, time, epsilon, delta,
        neighbors, person, rows_per_unit, command, parameters, run_id ON charges
        BEGIN SELECT RAISE(ABORT, 'a charge never changes'); END""",
    """CREATE TRIGGER releases_stand BEFORE UPDATE OF release ON charges
        WHEN OLD.release IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'a release never changes'); END""",
)
# Added by version 2. REPLACE deletes every row that conflicts with a new one, by any key and by
# SQLite's rowid, without calling the BEFORE DELETE triggers. Hence the triggers on INSERT.
CHAIN = (
    """CREATE TABLE entries (
        ledger TEXT NOT NULL REFERENCES ledgers (name),
        entry INTEGER NOT NULL,
        kind TEXT NOT NULL,
        charge INTEGER,
        previous TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (ledger, entry)
    ) WITHOUT ROWID""",
    """CREATE TRIGGER ledgers_come_once BEFORE INSERT ON ledgers
        WHEN EXISTS (SELECT 1 FROM ledgers WHERE name = NEW.name OR rowid = NEW.rowid)
        BEGIN SELECT RAISE(ABORT, 'a ledger is never replaced'); END""",
    """CREATE TRIGGER charges_come_once BEFORE INSERT ON charges
        WHEN NEW.release IS NOT NULL OR EXISTS (SELECT 1 FROM charges
            WHERE (ledger = NEW.ledger AND number = NEW.number) OR rowid = NEW.rowid)
        BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END""",
    """CREATE TRIGGER charges_keep_their_rows BEFORE UPDATE ON charges
        WHEN NEW.rowid IS NOT OLD.rowid
        BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END""",
    """CREATE TRIGGER releases_come_once BEFORE UPDATE OF release ON charges
        WHEN EXISTS (SELECT 1 FROM charges WHERE ledger = NEW.ledger AND run_id = NEW.run_id
            AND release IS NOT NULL)
        BEGIN SELECT RAISE(ABORT, 'a run id has one release'); END""",
    """CREATE TRIGGER entries_come_once BEFORE INSERT ON entries
        WHEN EXISTS (SELECT 1 FROM entries WHERE ledger = NEW.ledger AND entry = NEW.entry)
        BEGIN SELECT RAISE(ABORT, 'an entry is never replaced'); END""",
    """CREATE TRIGGER entries_stand BEFORE UPDATE ON entries
        BEGIN SELECT RAISE(ABORT, 'an entry never changes'); END""",
    """CREATE TRIGGER entries_stay BEFORE DELETE ON entries
        BEGIN SELECT RAISE(ABORT, 'an entry is never taken back'); END""",
)
# Added by version 3. A row of `reservations` with `frees` frees the reservation of that number.
REMARKS = (
    """CREATE TABLE remarks (
        ledger TEXT NOT NULL,
        charge INTEGER NOT NULL,
        user TEXT NOT NULL,
        note TEXT,
        PRIMARY KEY (ledger, charge),
        FOREIGN KEY (ledger, charge) REFERENCES charges (ledger, number)
    ) WITHOUT ROWID""",
    """CREATE TABLE reservations (
        ledger TEXT NOT NULL REFERENCES ledgers (name),
        number INTEGER NOT NULL,
        time TEXT NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        frees INTEGER,
        user TEXT NOT NULL,
        note TEXT,
        PRIMARY KEY (ledger, number)
    ) WITHOUT ROWID""",
    """CREATE TRIGGER remarks_come_once BEFORE INSERT ON remarks
        WHEN EXISTS (SELECT 1 FROM remarks WHERE ledger = NEW.ledger AND charge = NEW.charge)
        BEGIN SELECT RAISE(ABORT, 'a remark is never replaced'); END""",
    """CREATE TRIGGER remarks_stand BEFORE UPDATE ON remarks
        BEGIN SELECT RAISE(ABORT, 'a remark never changes'); END""",
    """CREATE TRIGGER remarks_stay BEFORE DELETE ON remarks
        BEGIN SELECT RAISE(ABORT, 'a remark is never taken back'); END""",
    """CREATE TRIGGER reservations_come_once BEFORE INSERT ON reservations
        WHEN EXISTS (SELECT 1 FROM reservations WHERE ledger = NEW.ledger
            AND (number = NEW.number OR frees = NEW.frees))
        BEGIN SELECT RAISE(ABORT, 'a reservation is never replaced'); END""",
    """CREATE TRIGGER reservations_stand BEFORE UPDATE ON reservations
        BEGIN SELECT RAISE(ABORT, 'a reservation never changes'); END""",
    """CREATE TRIGGER reservations_stay BEFORE DELETE ON reservations
        BEGIN SELECT RAISE(ABORT, 'a reservation is never deleted'); END""",
)
SCHEMA = (*_FIRST, *CHAIN, *REMARKS)
_KNOWN = {1: _FIRST, FIRST_WITH_CHAIN: (*_FIRST, *CHAIN), VERSION: SCHEMA}


def make_tables(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty database, in the open transaction."""
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the database is new and empty."""
    return _marks(connection) == (0, 0) and not _definitions(connection)


def check_tables(connection: sqlite3.Connection, place: Path) -> None:
    """Refuse a database that is not a ledger file, or is damaged."""
    if is_empty(connection):
        raise UsageError(f"{place} holds no ledger yet; make one with `dpsel budget init`")
    application, version = _marks(connection)
    if application != APPLICATION_ID:
        raise InputError(f"{place}: is not a ledger file of dpsel; name another one")
    if version not in _KNOWN:
        raise InputError(
            f"{place}: was made by another version of dpsel (schema {version}, expected {VERSION})"
        )
    if _definitions(connection) != sorted(_KNOWN[version]):
        raise InputError(f"{place}: its tables were changed; restore it from a backup")
    if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise damaged(place)


def charge_rows(
    connection: sqlite3.Connection, ledger: str, condition: str = "TRUE", *values: Any
) -> sqlite3.Cursor:
    """Return the charges of a ledger as rows of CHARGE_COLUMNS, in order."""
    charged = ", ".join(f"charges.{name}" for name in CHARGED)
    if version_of(connection) < VERSION:
        query = f"SELECT {charged}, NULL, NULL, release FROM charges"
    else:
        query = (
            f"SELECT {charged}, user, note, release FROM charges LEFT JOIN remarks "
            "ON remarks.ledger = charges.ledger AND remarks.charge = charges.number"
        )
    return connection.execute(
        f"{query} WHERE charges.ledger = ? AND {condition} ORDER BY number", (ledger, *values)
    )


def reservation_rows(connection: sqlite3.Connection, ledger: str) -> list[tuple[Any, ...]]:
    """Return the reservations of a ledger as rows of RESERVED, in order."""
    if version_of(connection) < VERSION:
        return []
    return connection.execute(
        f"SELECT {', '.join(RESERVED)} FROM reservations WHERE ledger = ? ORDER BY number",
        (ledger,),
    ).fetchall()


def version_of(connection: sqlite3.Connection) -> int:
    """Return the schema version of a ledger file."""
    return _marks(connection)[1]


def damaged(place: Path) -> InputError:
    """Return the error for a damaged file."""
    return InputError(f"{place}: is damaged; restore it from a backup")


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the application id and the schema version of a database."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _definitions(connection: sqlite3.Connection) -> list[str]:
    """Return the SQL definitions of all tables, indexes and triggers except SQLite's own."""
    rows = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    return sorted(str(sql) for (sql,) in rows)
