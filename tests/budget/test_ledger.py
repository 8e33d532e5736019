"""Ledgers add up, stay, and are told from anything else."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsel.budget.charges import Terms
from dpsel.budget.database import transaction
from dpsel.budget.ledger import LedgerFile
from dpsel.core.guarantee import Neighbors
from dpsel.errors import BudgetError, DpselError, InputError, OutputError, UsageError
from tests.ledgers import asked, make_ledger, rows, tamper

PERSONS = Terms(Neighbors.ADD_REMOVE, "who")
REPLACE = Terms(Neighbors.REPLACE_ONE)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite3"


def test_charges_add_up_to_the_limit_and_no_further(place: Path) -> None:
    file = make_ledger(place, "1")
    for number in range(10):
        paid = file.charge("patients", asked("0.1"))
        assert paid.charge.number == paid.ledger.charges == number + 1
    assert paid.ledger.left.to_dict() == {"epsilon": "0", "delta": "0"}
    with pytest.raises(BudgetError) as refused:
        file.charge("patients", asked("1e-100"))
    assert str(refused.value) == (
        "the ledger 'patients' does not cover this: epsilon 1e-100 asked, 0 left (1 of 1 spent)"
    )
    assert rows(place) == [("0.1", None)] * 10


def test_a_refusal_names_whatever_is_short(place: Path) -> None:
    file = make_ledger(place, "3", "1e-6")
    file.charge("patients", asked("2", "1e-6"))
    with pytest.raises(BudgetError) as refused:
        file.charge("patients", asked("1.5", "1e-9"))
    assert str(refused.value).endswith(
        "epsilon 1.5 asked, 1 left (2 of 3 spent); delta 1e-9 asked, 0 left "
        "(0.000001 of 0.000001 spent)"
    )
    with pytest.raises(BudgetError, match=r"this: delta 1e-9 asked, 0 left"):
        file.charge("patients", asked("1", "1e-9"))
    assert file.charge("patients", asked("1")).ledger.left.to_dict()["epsilon"] == "0"


def test_a_ledger_without_delta_takes_pure_charges_only(place: Path) -> None:
    file = make_ledger(place)
    with pytest.raises(BudgetError, match=r"delta 1e-9 asked, 0 left \(0 of 0 spent\)"):
        file.charge("patients", asked("1", "1e-9"))
    assert rows(place) == []


@pytest.mark.parametrize("made_for", [Terms(Neighbors.ADD_REMOVE), PERSONS, REPLACE])
@pytest.mark.parametrize("asked_for", [Terms(Neighbors.ADD_REMOVE), PERSONS, REPLACE])
def test_only_one_relation_and_unit_adds_up(place: Path, made_for: Terms, asked_for: Terms) -> None:
    file = make_ledger(place, terms=made_for)
    if made_for == asked_for:
        assert file.charge("patients", asked(terms=asked_for)).charge.asked.terms == made_for
        return
    with pytest.raises(UsageError, match=r"do not add up, so use a ledger of its own$"):
        file.charge("patients", asked(terms=asked_for))
    assert rows(place) == []


def test_persons_by_another_column_are_other_persons(place: Path) -> None:
    file = make_ledger(place, terms=PERSONS)
    with pytest.raises(UsageError) as refused:
        file.charge("patients", asked(terms=Terms(Neighbors.ADD_REMOVE, "household")))
    assert str(refused.value).startswith(
        "the ledger 'patients' is for add-remove of persons by column 'who', this run for "
        "add-remove of persons by column 'household'"
    )


def test_ledgers_in_one_file_do_not_share_a_budget(place: Path) -> None:
    file = make_ledger(place, "2")
    make_ledger(place, "2", name="visits")
    file.charge("patients", asked())
    file.charge("visits", asked())
    spent = {ledger.name: ledger.spent.to_dict()["epsilon"] for ledger in file.standings()}
    assert spent == {"patients": "2", "visits": "2"}


def test_a_ledger_is_made_once(place: Path) -> None:
    file = make_ledger(place, "2")
    with pytest.raises(UsageError, match="has a ledger 'patients' already; it stays as it is"):
        make_ledger(place, "1000")
    assert file.standing("patients").limit.to_dict()["epsilon"] == "2"


def test_a_release_is_kept_with_its_charge(place: Path) -> None:
    file = make_ledger(place)
    charge = file.charge("patients", asked(run_id="a")).charge
    assert file.released("patients", asked(run_id="a"))[1] is None
    assert file.store("patients", charge, '{"x": 1}') == '{"x": 1}'
    _, done = file.released("patients", asked(run_id="a"))
    assert done is not None
    assert done.release == '{"x": 1}'
    again = file.charge("patients", asked(run_id="a"))
    assert again.charge == done
    assert len(rows(place)) == 1


def test_a_run_id_stands_for_one_release_whoever_is_first(place: Path) -> None:
    file = make_ledger(place)
    slow = file.charge("patients", asked(run_id="a"))
    quick = file.charge("patients", asked(run_id="a"))
    assert (slow.unfinished, quick.unfinished) == (0, 1)
    assert file.store("patients", quick.charge, '"quick"') == '"quick"'
    assert file.store("patients", slow.charge, '"slow"') == '"quick"'
    assert rows(place) == [("2", None), ("2", '"quick"')]


def test_a_run_id_with_other_parameters_is_refused(place: Path) -> None:
    file = make_ledger(place)
    file.charge("patients", asked(run_id="a", table="/t.csv"))
    for other in (asked(run_id="a", table="/u.csv"), asked("2.5", run_id="a", table="/u.csv")):
        with pytest.raises(UsageError) as refused:
            file.charge("patients", other)
        names = "table" if other.cost.epsilon == 2 else "epsilon, table"
        assert str(refused.value) == (
            f"--run-id: 'a' stands for a run that differs in {names}; choose another id"
        )
    assert len(rows(place)) == 1
    assert make_ledger(place, name="other").charge("other", asked(run_id="a")).charge.number == 1


def test_a_release_without_its_charge_is_not_kept(place: Path) -> None:
    file = make_ledger(place)
    charge = file.charge("patients", asked()).charge
    os.unlink(place)
    with pytest.raises(UsageError, match="does not exist"):
        file.store("patients", charge, "{}")
    # An older copy was put in its place, and somebody else has charged since.
    make_ledger(place)
    file.charge("patients", asked())
    with pytest.raises(OutputError, match="the charge of this run is not there any more"):
        file.store("patients", charge, "{}")
    assert rows(place) == [("2", None)]


REPLACE_BY = ("INSERT OR REPLACE", "REPLACE", "INSERT OR IGNORE")
LEDGER = "SELECT name, '1000', delta, neighbors, person, created FROM ledgers"
LEDGER_IN_A_ROW = (
    "(rowid, name, epsilon, delta, neighbors, created) "
    "SELECT rowid, 'b', '1000', delta, neighbors, created FROM ledgers"
)
CHARGE = (
    "SELECT ledger, number, time, '0', delta, neighbors, person, rows_per_unit, command, "
    "parameters, run_id, NULL FROM charges WHERE number = 1"
)
CHARGE_IN_A_ROW = (
    "(rowid, ledger, number, time, epsilon, delta, neighbors, rows_per_unit, command, parameters) "
    "SELECT rowid, ledger, 3, time, '0', delta, neighbors, rows_per_unit, command, parameters "
    "FROM charges WHERE number = 1"
)
CHARGE_WITH_A_RELEASE = CHARGE.replace("number, time", "3, time").replace("NULL", "'{}'")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM charges",
        "DELETE FROM ledgers",
        "UPDATE ledgers SET epsilon = '1000'",
        "UPDATE charges SET epsilon = '0'",
        "UPDATE charges SET ledger = 'other'",
        "UPDATE charges SET release = '{}'",
        "UPDATE charges SET release = NULL",
        *(f"{replace} INTO ledgers {LEDGER}" for replace in REPLACE_BY),
        *(f"{replace} INTO ledgers {LEDGER_IN_A_ROW}" for replace in REPLACE_BY),
        *(f"{replace} INTO charges {CHARGE}" for replace in REPLACE_BY),
        *(f"{replace} INTO charges {CHARGE_IN_A_ROW}" for replace in REPLACE_BY),
        *(f"{replace} INTO charges {CHARGE_WITH_A_RELEASE}" for replace in REPLACE_BY),
        f"INSERT INTO charges {CHARGE} ON CONFLICT DO UPDATE SET epsilon = '0'",
        "UPDATE OR REPLACE charges SET rowid = 1 WHERE number = 2",
        "UPDATE OR REPLACE charges SET release = '{}' WHERE number = 2",
        *(f"{replace} INTO entries SELECT * FROM entries" for replace in REPLACE_BY),
        "UPDATE entries SET digest = previous",
        "DELETE FROM entries",
    ],
)
def test_nothing_is_taken_back(place: Path, statement: str) -> None:
    file = make_ledger(place)
    file.store("patients", file.charge("patients", asked(run_id="a")).charge, '"first"')
    tables = ("ledgers", "charges", "entries")
    # A run of the same id that was charged at the same time, and has no release.
    tamper(place, f"INSERT INTO charges {CHARGE.replace('number, time', '2, time')}")
    before = [rows(place, f"SELECT * FROM {table}") for table in tables]
    with closing(sqlite3.connect(place)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    assert [rows(place, f"SELECT * FROM {table}") for table in tables] == before


def test_commits_are_brought_to_the_disk(place: Path) -> None:
    make_ledger(place)
    with transaction(place, write=True) as connection:
        extra = 3
        assert connection.execute("PRAGMA synchronous").fetchone() == (extra,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_what_is_not_committed_is_not_there(place: Path) -> None:
    file = make_ledger(place)
    with suppress(KeyboardInterrupt), transaction(place, write=True) as connection:
        connection.execute(
            "INSERT INTO ledgers SELECT 'b', epsilon, delta, neighbors, person, '' FROM ledgers"
        )
        raise KeyboardInterrupt
    assert [ledger.name for ledger in file.standings()] == ["patients"]


def not_a_database(place: Path) -> None:
    place.write_bytes(b"age,y\n1,2\n" * 1000)


def another_database(place: Path) -> None:
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE charges (epsilon)")


def a_newer_schema(place: Path) -> None:
    make_ledger(place)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA user_version = 4")


def a_trigger_of_somebody_else(place: Path) -> None:
    make_ledger(place)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(
            "CREATE TRIGGER free AFTER INSERT ON charges "
            "BEGIN INSERT INTO ledgers VALUES ('free', '1', '0', 'add-remove', NULL, ''); END"
        )


def a_table_of_somebody_else(place: Path) -> None:
    make_ledger(place)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE sqliteXnotes (text)")


def a_write_ahead_log(place: Path) -> None:
    make_ledger(place)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def cut_short(place: Path) -> None:
    make_ledger(place)
    place.write_bytes(place.read_bytes()[:-4096])


def overwritten(place: Path) -> None:
    file = make_ledger(place)
    file.charge("patients", asked())
    content = bytearray(place.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    place.write_bytes(bytes(content))


def a_missing_charge(place: Path) -> None:
    file = make_ledger(place)
    file.charge("patients", asked())
    file.charge("patients", asked())
    tamper(place, "DELETE FROM charges WHERE number = 1")


def an_amount_that_is_none(place: Path) -> None:
    make_ledger(place).charge("patients", asked())
    tamper(place, "UPDATE charges SET epsilon = '-5'")


def an_amount_that_is_a_blob(place: Path) -> None:
    make_ledger(place).charge("patients", asked())
    tamper(place, "UPDATE charges SET epsilon = x'32'")


def a_text_that_is_not_unicode(place: Path) -> None:
    make_ledger(place).charge("patients", asked())
    tamper(place, "UPDATE charges SET epsilon = CAST(x'ff' AS TEXT)")


def another_relation(place: Path) -> None:
    make_ledger(place)
    tamper(place, "UPDATE ledgers SET neighbors = 'cousins'")


FOREIGN = [not_a_database, another_database]
CHANGED = [
    *(a_newer_schema, a_trigger_of_somebody_else, a_table_of_somebody_else, a_write_ahead_log),
]
DAMAGED = [
    *(cut_short, overwritten, a_missing_charge, an_amount_that_is_none, an_amount_that_is_a_blob),
    *(a_text_that_is_not_unicode, another_relation),
]


@pytest.mark.parametrize("make", [*FOREIGN, *CHANGED, *DAMAGED], ids=lambda make: make.__name__)
def test_what_is_not_a_sound_ledger_file_is_refused_and_left_alone(
    place: Path, make: object
) -> None:
    assert callable(make)
    make(place)
    before = place.read_bytes()
    file = LedgerFile(place)
    for use in (
        lambda: file.charge("patients", asked()),
        lambda: file.released("patients", asked(run_id="a")),
        lambda: file.history("patients"),
        lambda: file.standings(),
        lambda: make_ledger(place, name="other") and file.standings(),
    ):
        with pytest.raises(InputError) as refused:
            use()
        words = {
            **dict.fromkeys(FOREIGN, "is not a ledger file of dpsel; name another one"),
            **dict.fromkeys(DAMAGED, "is damaged"),
        }
        if make in words and use is not None:
            assert str(refused.value).startswith(f"{place}: {words[make]}")
    if make in (*FOREIGN, *CHANGED):
        assert place.read_bytes() == before
    assert sorted(place.parent.iterdir()) == [place]


def test_a_write_ahead_log_can_be_undone_as_the_message_says(place: Path) -> None:
    a_write_ahead_log(place)
    with pytest.raises(InputError, match="a copy would miss charges") as refused:
        LedgerFile(place).charge("patients", asked())
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(str(refused.value).partition("sqlite3 and ")[2])
    assert LedgerFile(place).charge("patients", asked()).charge.number == 1


def test_a_whole_charge_counts_or_the_file_is_refused(place: Path) -> None:
    """Negative control: without any change, the same uses go through."""
    file = make_ledger(place)
    tamper(place)
    file.charge("patients", asked())
    assert len(file.history("patients").charges) == 1


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_any_flipped_bytes_give_a_plain_error_or_none(place: Path, data: st.DataObject) -> None:
    file, sound = LedgerFile(place), place.with_name("sound")
    if not sound.exists():
        make_ledger(place)
        file.store("patients", file.charge("patients", asked(run_id="a")).charge, '"text"')
        sound.write_bytes(place.read_bytes())
    content = bytearray(sound.read_bytes())
    used = [spot for spot, byte in enumerate(content) if byte]
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.sampled_from(used))] = data.draw(st.integers(0, 255))
    place.write_bytes(bytes(content))
    for use in (
        lambda: file.history("patients"),
        lambda: file.released("patients", asked(run_id="a")),
        lambda: file.charge("patients", asked()),
    ):
        with suppress(DpselError):
            use()


def test_an_empty_file_holds_no_ledger_and_can_become_one(place: Path) -> None:
    place.touch()
    with pytest.raises(UsageError, match="holds no ledger yet; make one with `dpsel budget init`"):
        LedgerFile(place).charge("patients", asked())
    assert make_ledger(place).standing("patients").charges == 0


def test_a_name_that_does_not_exist_is_answered_with_how_to_make_it(place: Path) -> None:
    with pytest.raises(UsageError) as refused:
        LedgerFile(place).charge("patients", asked())
    assert str(refused.value) == (
        f"there is no ledger 'patients' yet: {place} does not exist; make it with "
        "`dpsel budget init patients --epsilon E`"
    )
    file = make_ledger(place)
    with pytest.raises(UsageError, match="has no ledger 'Patients'; did you mean 'patients'"):
        file.charge("Patients", asked())
    with pytest.raises(UsageError, match="has no ledger 'x'; make it with `dpsel budget init x"):
        file.history("x")


def test_a_clock_that_stands_still_or_goes_back_changes_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_ledger(place)
    times = iter(["2030-01-01", "2030-01-01", "1970-01-01"])
    monkeypatch.setattr("dpsel.budget.ledger._now", lambda: next(times))
    charges = [file.charge("patients", asked("1", run_id=name)).charge for name in ("a", "b", "c")]
    for charge in reversed(charges):
        file.store("patients", charge, f'"{charge.asked.run_id}"')
    log = file.history("patients").charges
    assert [(charge.number, charge.release) for charge in log] == [
        (1, '"a"'),
        (2, '"b"'),
        (3, '"c"'),
    ]


@pytest.mark.parametrize("release", ["no JSON", "{", ""])
def test_a_release_that_is_no_record_is_not_printed(place: Path, release: str) -> None:
    file = make_ledger(place)
    file.store("patients", file.charge("patients", asked(run_id="a")).charge, "{}")
    tamper(place, f"UPDATE charges SET release = '{release}'")
    with pytest.raises(InputError, match="is damaged"):
        file.released("patients", asked(run_id="a"))
