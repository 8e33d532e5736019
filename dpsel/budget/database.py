"""Durable transactions on a ledger file, which wait for other processes.

Every SQLite error becomes one plain message.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpsel.budget.chain import bring_up_to_date
from dpsel.budget.schema import check_tables, damaged, is_empty, make_tables
from dpsel.errors import DpselError, InputError, OutputError

PATIENCE = 60.0
"""How many seconds a process waits for others to release their locks."""
# How long SQLite itself waits at a time: it does not react to Ctrl-C while waiting.
_SLICE = 0.1
# `synchronous` EXTRA is FULL, and also syncs the folder after the journal is unlinked. Unlinking is
# the commit, and without the sync a power cut could undo it. The journal is a rollback journal: a
# write-ahead log needs shared memory, which network disks lack, and a copy of the database without
# its log would miss the last charges.
_SETTINGS = (
    "PRAGMA synchronous = EXTRA",
    "PRAGMA fullfsync = ON",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
)
_WRITE_TROUBLE = {
    sqlite3.SQLITE_BUSY: "another process keeps it locked; try again later",
    sqlite3.SQLITE_LOCKED: "another process keeps it locked; try again later",
    sqlite3.SQLITE_READONLY: "it or its folder is read-only",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_FULL: "no space left on device",
    sqlite3.SQLITE_CANTOPEN: "no file can be made beside it, or it is gone",
    sqlite3.SQLITE_IOERR: "the disk is full or failing",
    sqlite3.SQLITE_NOMEM: "out of memory",
}


@contextmanager
def transaction(place: Path, *, write: bool, make: bool = False) -> Iterator[sqlite3.Connection]:
    """Run the block as one transaction; after it, the changes are on the disk.

    Any failure, before or during the commit, undoes everything. A writing transaction takes its
    lock at the start, so what it reads stays true until it commits. The first one on a file of an
    earlier version upgrades the file.

    Args:
        place: The file, which must exist.
        write: Whether anything will be written.
        make: Whether to create the tables in an empty file.

    Raises:
        InputError: If the file is not an intact ledger file.
        OutputError: If it cannot be written, or stays locked too long.
    """
    with _plainly(place), closing(_connect(place)) as connection:
        for setting in _SETTINGS:
            _patiently(connection, setting)
        _begin(connection, write=write)
        if make and is_empty(connection):
            make_tables(connection)
        check_tables(connection, place)
        _refuse_log(connection, place)
        if write:
            bring_up_to_date(connection)
        yield connection
        _patiently(connection, "COMMIT")


def ledger_names(place: Path) -> list[str]:
    """Return the names of the ledgers in a file, for completion.

    It does not wait for locks, changes nothing, and returns no names if the file cannot be read.
    """
    try:
        address = f"{place.as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_SLICE)) as connection:
            rows = connection.execute("SELECT name FROM ledgers ORDER BY name").fetchall()
    except (sqlite3.Error, UnicodeError):
        return []
    return [str(name) for (name,) in rows]


def _connect(place: Path) -> sqlite3.Connection:
    """Open an existing file; never create one."""
    return sqlite3.connect(
        f"{place.as_uri()}?mode=rw", uri=True, timeout=_SLICE, isolation_level=None
    )


def _begin(connection: sqlite3.Connection, *, write: bool) -> None:
    """Begin a transaction, and take its lock."""
    if write:
        _patiently(connection, "BEGIN IMMEDIATE")
        return
    connection.execute("BEGIN")
    _patiently(connection, "SELECT count(*) FROM sqlite_master")


def _refuse_log(connection: sqlite3.Connection, place: Path) -> None:
    """Refuse a file that another program has given a write-ahead log: see `_SETTINGS`."""
    if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
        raise InputError(
            f"{place}: another program has given it a write-ahead log, without which a copy would "
            "miss charges; undo it with sqlite3 and PRAGMA journal_mode = DELETE"
        )


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Execute a statement, waiting while other processes hold a lock."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute(statement).fetchall()
            return
        except sqlite3.OperationalError as error:
            if _primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise


@contextmanager
def _plainly(place: Path) -> Iterator[None]:
    """Turn any SQLite error into one plain message."""
    try:
        yield
    except DpselError:
        raise
    except sqlite3.Error as error:
        code = _primary(error)
        if code in _WRITE_TROUBLE:
            raise OutputError(f"{place}: cannot be written: {_WRITE_TROUBLE[code]}") from None
        if code == sqlite3.SQLITE_NOTADB:
            raise InputError(f"{place}: is not a ledger file of dpsel; name another one") from None
        raise damaged(place) from None
    except UnicodeError:
        raise damaged(place) from None


def _primary(error: sqlite3.Error) -> int:
    """Return the primary SQLite code of an error, without the extended part."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
