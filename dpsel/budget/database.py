"""One transaction on a ledger file: durable, in turn with other processes, or a plain error."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dpsel.budget.chain import bring_up_to_date
from dpsel.budget.schema import check_tables, damaged, is_empty, make_tables
from dpsel.errors import DpselError, InputError, OutputError

PATIENCE = 60.0
"""So many seconds a process waits for its turn."""
# SQLite itself waits only this long, since Ctrl-C is not heard meanwhile.
_SLICE = 0.1
# `synchronous` EXTRA is FULL, and besides the folder is brought to the disk after the journal is
# unlinked, which is the moment of the commit: else a power cut could undo it. The journal is the
# plain one, that of a single file: a write-ahead log needs shared memory, which network disks lack,
# and a copy of the file without its log would lack the last charges.
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
    """Run what is inside as one transaction; when it ends well, it is on the disk.

    Whatever goes wrong, before or in the commit, undoes it all. A lock is taken at the start of a
    writing transaction, so what it reads stays true until it commits. The first one on a file of an
    earlier version gives it what it lacks.

    Args:
        place: The file, which must be there.
        write: Whether anything will be written.
        make: Whether to make the tables in an empty file.

    Raises:
        InputError: If the file is not a sound ledger file.
        OutputError: If it cannot be written, or not in time.
    """
    with _plainly(place), closing(_connect(place)) as connection:
        for setting in _SETTINGS:
            _patiently(connection, setting)
        _begin(connection, write=write)
        if make and is_empty(connection):
            make_tables(connection)
        check_tables(connection, place)
        if write:
            bring_up_to_date(connection)
        yield connection
        _patiently(connection, "COMMIT")


def ledger_names(place: Path) -> list[str]:
    """Return the names of the ledgers in a file, of which nothing else is looked at.

    Quick and quiet: it waits for nobody, changes nothing, and finds none in a file that is odd.
    """
    try:
        address = f"{place.as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=_SLICE)) as connection:
            found = connection.execute("SELECT name FROM ledgers ORDER BY name").fetchall()
    except (sqlite3.Error, UnicodeError):
        return []
    return [str(name) for (name,) in found]


def _connect(place: Path) -> sqlite3.Connection:
    """Open a file that is there, and never make one."""
    return sqlite3.connect(
        f"{place.as_uri()}?mode=rw", uri=True, timeout=_SLICE, isolation_level=None
    )


def _begin(connection: sqlite3.Connection, *, write: bool) -> None:
    """Take the lock that a transaction needs, and keep it."""
    if write:
        _patiently(connection, "BEGIN IMMEDIATE")
        return
    connection.execute("BEGIN")
    _patiently(connection, "SELECT count(*) FROM sqlite_master")


def _patiently(connection: sqlite3.Connection, statement: str) -> None:
    """Execute a statement as soon as other processes allow it."""
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
    """Turn whatever SQLite says into one plain line."""
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
    """Return the kind of an error, without its finer distinctions."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
