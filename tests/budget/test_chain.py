"""Whatever is changed in a ledger behind its back is noticed, and named."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsel.budget.amounts import limit_of
from dpsel.budget.ledger import LedgerFile
from dpsel.budget.schema import CHAIN, REMARKS
from dpsel.errors import DpselError, InputError
from dpsel.system.process import user_name
from tests.ledgers import asked, make_ledger, rows, tamper

VERSION_1 = Path(__file__).with_name("ledger_version_1.sql")
CHARGE = (
    "ledger, number, time, epsilon, delta, neighbors, person, rows_per_unit, command, parameters, "
    "run_id"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Entries: 1 the ledger, 2 a charge, 3 its release, 4 and 5 charges, 6 the latter's release.

    And 7 and 8, a part that is held back and freed.
    """
    place = tmp_path / "ledger.sqlite3"
    file = make_ledger(place)
    file.store("patients", file.charge("patients", asked(run_id="a")).charge, '"one"')
    file.charge("patients", replace(asked(), note="for the report"))
    file.store("patients", file.charge("patients", asked(run_id="c")).charge, '"three"')
    file.reserve("patients", limit_of("1", "0"), "for later")
    file.free("patients", 1, None)
    return place


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file that the version before the chain has written."""
    place = tmp_path / "old.sqlite3"
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(VERSION_1.read_text())
    return place


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """A file that the version before remarks and reservations has written."""
    place = tmp_path / "second.sqlite3"
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(VERSION_1.with_name("ledger_version_2.sql").read_text())
    return place


def digests(place: Path) -> list[str]:
    """Return what the digests of a ledger must be, by the documented rule and nothing of dpsel."""
    found: list[str] = []
    previous = ""
    for kind, charge in rows(place, "SELECT kind, charge FROM entries WHERE ledger = 'patients'"):
        query = {
            "ledger": "SELECT * FROM ledgers WHERE name = 'patients'",
            "charge": f"SELECT {CHARGE[8:]} FROM charges WHERE number = {charge}",
            "release": f"SELECT number, release FROM charges WHERE number = {charge}",
            "reservation": "SELECT number, time, epsilon, delta, frees, user, note "
            f"FROM reservations WHERE number = {charge}",
        }[kind]
        (content,) = rows(place, query)
        if kind == "charge":
            for remark in rows(place, f"SELECT user, note FROM remarks WHERE charge = {charge}"):
                content = (*content, *remark)
        text = json.dumps([previous, "patients", len(found) + 1, kind, *content])
        previous = hashlib.sha256(text.encode()).hexdigest()
        found.append(previous)
    return found


def test_every_entry_carries_the_digest_of_the_one_before_it(place: Path) -> None:
    expected = digests(place)
    assert rows(place, "SELECT entry, kind, charge, previous, digest FROM entries") == [
        (1, "ledger", None, "", expected[0]),
        (2, "charge", 1, expected[0], expected[1]),
        (3, "release", 1, expected[1], expected[2]),
        (4, "charge", 2, expected[2], expected[3]),
        (5, "charge", 3, expected[3], expected[4]),
        (6, "release", 3, expected[4], expected[5]),
        (7, "reservation", 1, expected[5], expected[6]),
        (8, "reservation", 2, expected[6], expected[7]),
    ]
    chain = LedgerFile(place).verify("patients")
    assert chain.to_dict() == {"verified": True, "entries": 8, "head": expected[7]}


CHANGES = {
    "UPDATE ledgers SET epsilon = '1000'": "entry 1 (the ledger's limits) is not what was written",
    "UPDATE ledgers SET created = ''": "entry 1 (the ledger's limits) is not what was written",
    **{
        f"UPDATE charges SET {change} WHERE number = 2": (
            "entry 4 (charge 2) is not what was written"
        )
        for change in (
            "epsilon = '0.1'",
            "delta = '1e-9'",
            "time = ''",
            "run_id = 'b'",
            "rows_per_unit = 2",
            "command = 'baseline'",
            """parameters = '{"k": 6}'""",
        )
    },
    "UPDATE charges SET release = '\"x\"' WHERE number = 1": (
        "entry 3 (the release of charge 1) is not what was written"
    ),
    "UPDATE charges SET release = x'22' WHERE number = 1": (
        "entry 3 (the release of charge 1) is not what was written"
    ),
    "UPDATE charges SET release = NULL WHERE number = 1": (
        "entry 3 is about nothing that is there"
    ),
    "UPDATE charges SET release = '{}' WHERE number = 2": (
        "entry 9 (the release of charge 2) is missing"
    ),
    f"INSERT INTO charges ({CHARGE}) SELECT {CHARGE.replace('number', '4')} FROM charges "
    "WHERE number = 2": "entry 9 (charge 4) is missing",
    "DELETE FROM entries": "entry 1 (the ledger's limits) is missing",
    "DELETE FROM entries WHERE entry = 3": "entry 3 is missing",
    "DELETE FROM entries WHERE entry >= 6": "entry 6 (the release of charge 3) is missing",
    "DELETE FROM entries WHERE entry = 8": "entry 8 (reservation 2) is missing",
    **dict.fromkeys(
        (
            "UPDATE remarks SET note = 'for another' WHERE charge = 2",
            "UPDATE remarks SET note = NULL WHERE charge = 2",
            "UPDATE remarks SET user = 'nobody' WHERE charge = 2",
            "DELETE FROM remarks WHERE charge = 2",
        ),
        "entry 4 (charge 2) is not what was written",
    ),
    "UPDATE reservations SET note = NULL WHERE number = 1": (
        "entry 7 (reservation 1) is not what was written"
    ),
    "UPDATE reservations SET epsilon = '0.5' WHERE number = 1": (
        "entry 7 (reservation 1) is not what was written"
    ),
    "DELETE FROM reservations WHERE number = 2": "entry 8 is about nothing that is there",
    "DELETE FROM charges WHERE number = 3": "entry 5 is about nothing that is there",
    "UPDATE entries SET digest = previous WHERE entry = 4": (
        "entry 4 (charge 2) is not what was written"
    ),
    "UPDATE entries SET previous = digest WHERE entry = 4": (
        "entry 4 does not follow the one before it"
    ),
    "UPDATE entries SET kind = 'release' WHERE entry = 4": (
        "entry 4 is about nothing that is there"
    ),
    "UPDATE entries SET charge = 5 - charge WHERE entry IN (4, 5)": (
        "entry 4 (charge 3) is not what was written"
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed_and_the_first_broken_entry_is_named(place: Path, change: str) -> None:
    tamper(place, change)
    file = LedgerFile(place)
    for use in (
        lambda: file.verify("patients"),
        lambda: file.charge("patients", asked()),
        lambda: file.released("patients", asked(run_id="a")),
        lambda: file.history("patients"),
        lambda: file.standing("patients"),
        lambda: file.standings(),
    ):
        with pytest.raises(InputError) as refused:
            use()
        assert str(refused.value) == (
            f"{place}: is damaged: the ledger 'patients' does not verify: {CHANGES[change]}; "
            "restore it from a backup"
        )


def test_who_changes_an_entry_with_its_digest_breaks_the_next(place: Path) -> None:
    tamper(place, "UPDATE charges SET epsilon = '0.1' WHERE number = 2")
    tamper(place, f"UPDATE entries SET digest = '{digests(place)[3]}' WHERE entry = 4")
    with pytest.raises(InputError, match="entry 5 does not follow the one before it"):
        LedgerFile(place).verify("patients")


def test_a_change_of_one_ledger_leaves_the_others_usable(place: Path) -> None:
    other = make_ledger(place, name="visits")
    tamper(place, "UPDATE charges SET epsilon = '0.1' WHERE number = 2")
    assert other.charge("visits", asked()).charge.number == 1
    assert len(other.verify("visits").digests) == 2


def test_what_is_missing_at_the_end_is_noticed_by_the_head(place: Path) -> None:
    head = LedgerFile(place).verify("patients").head
    tamper(
        place,
        "DELETE FROM entries WHERE entry >= 5",
        "DELETE FROM charges WHERE number = 3",
        "DELETE FROM remarks WHERE charge = 3",
        "DELETE FROM reservations",
    )
    shorter = LedgerFile(place).verify("patients")
    shorter.refuse_another(digests(place)[2], "patients", place)
    with pytest.raises(InputError, match=f"does not verify: no entry has the SHA-256 {head};"):
        shorter.refuse_another(head, "patients", place)


def test_a_chain_that_was_written_anew_is_noticed_by_the_head(place: Path) -> None:
    file = LedgerFile(place)
    head = file.verify("patients").head
    tamper(place, "UPDATE charges SET epsilon = '0.1' WHERE number = 2")
    with closing(sqlite3.connect(place)) as connection:
        for text in reversed((*CHAIN, *REMARKS)):
            connection.execute(f"DROP {' '.join(text.split()[1:3])}")
        connection.execute("PRAGMA user_version = 1")
    file.charge("patients", asked())
    with pytest.raises(InputError, match="no entry has the SHA-256"):
        file.verify("patients").refuse_another(head, "patients", place)


def test_a_file_of_the_version_before_is_read_as_it_is(old: Path) -> None:
    before = old.read_bytes()
    file = LedgerFile(old)
    assert {one.name: one.spent.to_dict()["epsilon"] for one in file.standings()} == {
        "patients": "2.5",
        "visits": "0",
    }
    charges = file.history("patients").charges
    assert [charge.release for charge in charges] == ['{"x": 1}', None]
    assert file.released("patients", asked(run_id="a", table="/t.csv"))[1] == charges[0]
    with pytest.raises(InputError, match="is of an earlier version of dpsel and has no chain yet"):
        file.verify("patients")
    assert old.read_bytes() == before


def test_a_file_of_the_version_before_gets_its_chains_with_the_first_charge(old: Path) -> None:
    file = LedgerFile(old)
    known = file.history("patients").charges
    again = file.charge("patients", asked(run_id="a", table="/t.csv")).charge
    assert again.release == '{"x": 1}'
    paid = file.charge("patients", asked())
    assert (paid.charge.number, paid.ledger.spent.to_dict()["epsilon"]) == (3, "4.5")
    assert file.store("patients", paid.charge, "{}") == "{}"
    assert file.history("patients").charges[:2] == known
    assert rows(old, "SELECT kind, charge FROM entries WHERE ledger = 'patients'") == [
        *(("ledger", None), ("charge", 1), ("release", 1), ("charge", 2)),
        *(("charge", 3), ("release", 3)),
    ]
    assert list(file.verify("patients").digests) == digests(old)
    assert len(file.verify("visits").digests) == 1
    assert rows(old, "PRAGMA integrity_check") == [("ok",)]


def test_a_file_without_remarks_is_read_as_it_is_and_its_head_stays_in_the_chain(
    second: Path,
) -> None:
    before, file = second.read_bytes(), LedgerFile(second)
    told = file.history("patients")
    assert [(charge.user, charge.asked.note) for charge in told.charges] == [(None, None)] * 2
    assert (told.reservations, told.ledger.reserved.to_dict()["epsilon"]) == ([], "0")
    assert told.head == file.verify("patients").head
    assert second.read_bytes() == before
    paid = file.charge("patients", replace(asked(), note="why"))
    chain = file.verify("patients")
    chain.refuse_another(told.head, "patients", second)
    assert list(chain.digests) == digests(second)
    later = file.history("patients").charges
    assert later[:2] == told.charges
    assert later[2] == paid.charge
    assert (paid.charge.asked.note, paid.charge.user) == ("why", user_name())
    tamper(second, "INSERT INTO remarks VALUES ('patients', 1, 'me', NULL)")
    with pytest.raises(InputError, match=r"entry 2 \(charge 1\) is not what was written"):
        file.verify("patients")


def test_a_damaged_file_of_the_version_before_is_left_alone(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("DROP TRIGGER charges_stay")
        connection.execute("DELETE FROM charges WHERE number = 1")
        connection.execute(
            "CREATE TRIGGER charges_stay BEFORE DELETE ON charges\n"
            "        BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END"
        )
        connection.commit()
    before = old.read_bytes()
    with pytest.raises(InputError, match="is damaged"):
        LedgerFile(old).charge("patients", asked())
    assert old.read_bytes() == before


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_flipped_bytes_are_noticed_or_change_nothing(place: Path, data: st.DataObject) -> None:
    sound = place.with_name("sound")
    if not sound.exists():
        shutil.copy(place, sound)
    told = LedgerFile(sound).history("patients")
    content = bytearray(sound.read_bytes())
    used = [spot for spot, byte in enumerate(content) if byte]
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.sampled_from(used))] = data.draw(st.integers(0, 255))
    place.write_bytes(bytes(content))
    try:
        found = LedgerFile(place).history("patients")
    except DpselError:
        return
    assert found == told
