"""The log of a ledger as a hash chain: every entry carries the SHA-256 of the one before it.

An entry covers one thing that was written: the ledger's limits, a charge, the release stored for a
charge, or a reservation. Its digest covers that thing and the previous digest, so nothing in the
middle can be changed, removed or inserted without changing all entries after it.
"""

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any

from dpsel.budget.schema import (
    CHAIN,
    CHARGED,
    FIRST_WITH_CHAIN,
    REMARKS,
    VERSION,
    charge_rows,
    reservation_rows,
    version_of,
)
from dpsel.errors import InputError
from dpsel.records import frozen

_LEDGER = "SELECT name, epsilon, delta, neighbors, person, created FROM ledgers WHERE name = ?"


class EntryKind(StrEnum):
    """What an entry covers."""

    LEDGER = "ledger"
    CHARGE = "charge"
    RELEASE = "release"
    RESERVATION = "reservation"


Subject = tuple[str, int | None]
"""The kind of an entry, and the number of its charge or reservation."""


@frozen
class Chain:
    """A verified chain."""

    digests: Sequence[str] = field(repr=False)

    @property
    def head(self) -> str:
        """Return the digest of the last entry, which covers all entries."""
        return self.digests[-1]

    def __repr__(self) -> str:
        """Return the number of entries and the head, in words."""
        return f"Chain of {len(self.digests):,} entries, verified; head {self.head}"

    def refuse_another(self, head: str, ledger: str, place: Path) -> None:
        """Refuse a chain in which no entry has this digest."""
        if head not in self.digests:
            raise _broken(place, ledger, f"no entry has the SHA-256 {head}")

    def to_dict(self) -> dict[str, Any]:
        """Return the number of entries and the head, as plain values."""
        return {"verified": True, "entries": len(self.digests), "head": self.head}


def append_entry(
    connection: sqlite3.Connection, ledger: str, kind: EntryKind, charge: int | None = None
) -> None:
    """Append an entry for what was just written, in the open transaction."""
    last = connection.execute(
        "SELECT entry, digest FROM entries WHERE ledger = ? ORDER BY entry DESC LIMIT 1", (ledger,)
    ).fetchone()
    number, previous = (1, "") if last is None else (last[0] + 1, last[1])
    content = _content(connection, ledger, kind, charge)
    digest = entry_digest(previous, ledger, number, kind, content)
    connection.execute(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)",
        (ledger, number, str(kind), charge, previous, digest),
    )


def entry_digest(previous: str, ledger: str, number: int, kind: str, content: Sequence[Any]) -> str:
    """Return the SHA-256 of an entry, as a JSON list in ASCII, in Python's own formatting."""
    # dpsel writes only texts and numbers: anything else is foreign, and only has to differ.
    text = json.dumps([previous, ledger, number, str(kind), *content], default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def verify_chain(connection: sqlite3.Connection, ledger: str, place: Path) -> Chain:
    """Verify every entry of a ledger, and return its chain.

    Privacy:
        Guarantee: a change is noticed unless the rest of the chain was rewritten. Entries missing
            at the end, and a rewritten chain, are noticed by anyone who has kept the digest of a
            later entry.
        Tested by: tests/budget/test_chain.py

    Raises:
        InputError: With the number of the first entry that does not verify.
    """
    contents = _contents(connection, ledger)
    digests: list[str] = []
    for number, kind, charge, previous, digest in connection.execute(
        "SELECT entry, kind, charge, previous, digest FROM entries WHERE ledger = ? ORDER BY entry",
        (ledger,),
    ):
        expected = len(digests) + 1
        content = contents.pop((kind, charge), None)
        if number != expected:
            raise _broken(place, ledger, f"entry {expected} is missing")
        if content is None:
            raise _broken(place, ledger, f"entry {number} is about nothing that is there")
        if previous != (digests[-1] if digests else ""):
            raise _broken(place, ledger, f"entry {number} does not follow the one before it")
        if digest != entry_digest(previous, ledger, number, kind, content):
            about = _words((kind, charge))
            raise _broken(place, ledger, f"entry {number} ({about}) is not what was written")
        digests.append(digest)
    for subject in contents:
        raise _broken(place, ledger, f"entry {len(digests) + 1} ({_words(subject)}) is missing")
    return Chain(digests)


def is_chained(connection: sqlite3.Connection) -> bool:
    """Return whether a ledger file has chains; files of the first version have none."""
    return version_of(connection) >= FIRST_WITH_CHAIN


def bring_up_to_date(connection: sqlite3.Connection) -> None:
    """Upgrade a file of an earlier version, in the open transaction.

    Existing chains are continued, so a head that somebody has kept stays in them.
    """
    if not is_chained(connection):
        for statement in CHAIN:
            connection.execute(statement)
        for (ledger,) in connection.execute("SELECT name FROM ledgers ORDER BY name").fetchall():
            for kind, charge in _contents(connection, ledger):
                append_entry(connection, ledger, EntryKind(kind), charge)
    if version_of(connection) < VERSION:
        for statement in REMARKS:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _content(
    connection: sqlite3.Connection, ledger: str, kind: EntryKind, charge: int | None
) -> Sequence[Any]:
    """Return the values that a new entry covers."""
    if kind is EntryKind.LEDGER:
        row: Sequence[Any] = connection.execute(_LEDGER, (ledger,)).fetchone()
        return row
    if kind is EntryKind.RESERVATION:
        return next(row for row in reservation_rows(connection, ledger) if row[0] == charge)
    charged = charge_rows(connection, ledger, "number = ?", charge).fetchone()
    return _of_charge(charged, kind)


def _contents(connection: sqlite3.Connection, ledger: str) -> dict[Subject, Sequence[Any]]:
    """Return all that must have an entry: the ledger, its charges in order, its reservations."""
    contents: dict[Subject, Sequence[Any]] = {
        (EntryKind.LEDGER, None): connection.execute(_LEDGER, (ledger,)).fetchone()
    }
    for row in charge_rows(connection, ledger):
        contents[EntryKind.CHARGE, row[0]] = _of_charge(row, EntryKind.CHARGE)
        if row[-1] is not None:
            contents[EntryKind.RELEASE, row[0]] = _of_charge(row, EntryKind.RELEASE)
    for row in reservation_rows(connection, ledger):
        contents[EntryKind.RESERVATION, row[0]] = row
    return contents


def _of_charge(row: Sequence[Any], kind: EntryKind) -> Sequence[Any]:
    """Return the part of a row of CHARGE_COLUMNS that an entry of this kind covers.

    A charge of a version without users has no user, and its digest covers none.
    """
    *charged, user, note, release = row
    assert len(charged) == len(CHARGED)
    if kind is EntryKind.RELEASE:
        return (row[0], release)
    return charged if user is None else (*charged, user, note)


def _words(subject: Subject) -> str:
    """Return in words what an entry covers."""
    kind, charge = subject
    if kind == EntryKind.LEDGER:
        return "the ledger's limits"
    if kind == EntryKind.RESERVATION:
        return f"reservation {charge}"
    return f"charge {charge}" if kind == EntryKind.CHARGE else f"the release of charge {charge}"


def _broken(place: Path, ledger: str, what: str) -> InputError:
    """Return the error for a chain that does not verify."""
    return InputError(
        f"{place}: is damaged: the ledger '{ledger}' does not verify: {what}; restore it from a "
        "backup"
    )
