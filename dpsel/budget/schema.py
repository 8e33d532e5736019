"""The tables of a ledger file, and how one is told from any other database."""

import sqlite3
from pathlib import Path

from dpsel.errors import InputError, UsageError

CHARGE_COLUMNS = (
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
    "release",
)


APPLICATION_ID = int.from_bytes(b"dpsl", "big")
VERSION = 2

# Amounts are exact decimals, so they are texts. `person` is the column of persons, null for rows.
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
# Added by version 2. REPLACE takes away whatever a new row is in conflict with, by any key and by
# SQLite's own number of a row, and calls no trigger that stands before DELETE.
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
SCHEMA = (*_FIRST, *CHAIN)
_KNOWN = {1: _FIRST, VERSION: SCHEMA}


def make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables in an empty database, within the transaction that is open."""
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether this is a database that nobody has used yet."""
    return _marks(connection) == (0, 0) and not _definitions(connection)


def check_tables(connection: sqlite3.Connection, place: Path) -> None:
    """Refuse a database that is not a ledger file, or not a sound one."""
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


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of a ledger file."""
    return _marks(connection)[1]


def damaged(place: Path) -> InputError:
    """Return the error for a file whose content makes no sense."""
    return InputError(f"{place}: is damaged; restore it from a backup")


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return what says whose database it is, and of which version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version


def _definitions(connection: sqlite3.Connection) -> list[str]:
    """Return what defines the tables, in SQL; SQLite's own are left out."""
    found = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    return sorted(str(sql) for (sql,) in found)
