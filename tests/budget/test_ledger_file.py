"""Where ledger files are, who may read them, and what a file system can do to them."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpsel.budget.database import transaction
from dpsel.budget.ledger import LedgerFile
from dpsel.budget.place import check_name, check_run_id, is_customary, ledger_place, make_file
from dpsel.errors import InputError, OutputError, UsageError
from tests.ledgers import asked, make_ledger, rows

ROOT = Path(__file__).parents[2]
CHARGE = (
    "import sys; from pathlib import Path\n"
    "from dpsel.errors import DpselError\n"
    "from dpsel.budget.ledger import LedgerFile\n"
    "from tests.ledgers import asked\n"
    "try:\n"
    "    LedgerFile(Path(sys.argv[1])).charge('patients', asked())\n"
    "except DpselError as error:\n"
    "    print(type(error).__name__, error)\n"
    "else:\n"
    "    print('charged')\n"
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def charge_in_a_process(place: Path, before: str) -> str:
    """Charge in a process that was prepared by some code: by a process that it takes the place of.

    Not by `preexec_fn`: a fork of this process, which has threads, may hang.
    """
    prepare = f"{before}\nimport os, sys\nos.execv(sys.executable, sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", prepare, sys.executable, "-c", CHARGE, str(place)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return done.stdout.rstrip("\n")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite3"


@pytest.fixture
def no_mask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def test_the_file_is_what_was_given_or_the_environment_says_or_in_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert ledger_place(None) == tmp_path / "xdg/dpsel/ledger.sqlite3"
    for not_absolute in ("", "relative/folder"):
        monkeypatch.setenv("XDG_DATA_HOME", not_absolute)
        assert ledger_place(None) == tmp_path / ".local/share/dpsel/ledger.sqlite3"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert ledger_place(None) == tmp_path / "Library/Application Support/dpsel/ledger.sqlite3"
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert ledger_place(None) == tmp_path / "local/dpsel/ledger.sqlite3"
    assert is_customary(None)
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(tmp_path / "b"))
    assert ledger_place(None) == tmp_path / "b"
    assert not is_customary(None)
    assert ledger_place(tmp_path / "a") == tmp_path / "a"
    monkeypatch.setenv("DPSEL_LEDGER_FILE", "")
    assert is_customary(None)


@pytest.mark.parametrize("wrong", ["", "a\0b"])
def test_what_cannot_be_a_file_is_refused(wrong: str) -> None:
    with pytest.raises(UsageError, match=r"^--ledger-file: "):
        LedgerFile(ledger_place(wrong)).standings()


def test_without_a_home_a_file_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(UsageError, match=r"no home folder .* give --ledger-file or DPSEL_LEDGER_F"):
        ledger_place(None)


@pytest.mark.usefixtures("no_mask")
def test_only_the_owner_can_read_the_file_its_journal_and_its_folder(tmp_path: Path) -> None:
    place = tmp_path / "a" / "dpsel" / "ledger.sqlite3"
    make_file(place, with_folder=True)
    make_ledger(place)
    assert mode(place) == 0o600
    assert mode(place.parent) == mode(place.parent.parent) == 0o700
    journal = place.with_name("ledger.sqlite3-journal")
    with transaction(place, write=True) as connection:
        connection.execute("CREATE TABLE t (x)")
        assert mode(journal) == 0o600
        connection.execute("DROP TABLE t")
    assert sorted(place.parent.iterdir()) == [place]


def test_a_mask_that_hides_the_file_from_its_owner_is_overruled(place: Path) -> None:
    before = os.umask(0o777)
    try:
        make_file(place, with_folder=False)
    finally:
        os.umask(before)
    assert mode(place) == 0o600


def test_folders_are_made_in_the_usual_place_only(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no/ledger: cannot be made: no such file or directory"):
        make_ledger(tmp_path / "no" / "ledger")
    assert not (tmp_path / "no").exists()


def test_a_link_is_followed_so_that_all_names_have_one_lock(tmp_path: Path) -> None:
    place, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(place)
    file = make_ledger(ledger_place(link))
    assert file.place == place
    assert link.is_symlink()
    with transaction(place, write=True):
        assert LedgerFile(ledger_place(link)).standing("patients").charges == 0
    assert rows(link) == []


def a_folder(place: Path) -> None:
    place.mkdir()


def a_pipe(place: Path) -> None:
    os.mkfifo(place)


def a_device(place: Path) -> None:
    place.symlink_to(os.devnull)


@pytest.mark.parametrize("make", [a_folder, a_pipe, a_device], ids=lambda make: make.__name__)
def test_what_is_not_a_file_is_refused_at_once(make: Callable[[Path], None], place: Path) -> None:
    make(place)
    for use in (
        lambda: make_ledger(ledger_place(place)),
        LedgerFile(ledger_place(place)).standings,
    ):
        with pytest.raises(InputError, match="is not a file, so it cannot be a ledger"):
            use()


def test_a_file_with_two_names_is_refused(place: Path) -> None:
    file = make_ledger(place)
    os.link(place, place.with_name("copy"))
    with pytest.raises(InputError, match=r"has another name \(a hard link\), so it is not safe"):
        file.charge("patients", asked())


def test_a_strange_file_name_is_a_name_like_any_other(tmp_path: Path) -> None:
    for name in (
        "a?mode=memory&b#c%41",
        ":memory:",
        "file:x",
        "ö \u202e\n'\"",
        b"\xff".decode("utf-8", "surrogateescape"),
    ):
        place = tmp_path / name
        make_ledger(place).charge("patients", asked())
        assert place.stat().st_size > 0


def test_a_locked_file_is_waited_for(place: Path) -> None:
    file = make_ledger(place)
    other = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    with closing(other):
        other.execute("BEGIN EXCLUSIVE")
        commit = threading.Timer(0.5, lambda: other.execute("COMMIT"))
        commit.start()
        assert file.charge("patients", asked()).ledger.charges == 1
        commit.join()


def test_a_file_that_stays_locked_is_a_plain_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_ledger(place)
    monkeypatch.setattr("dpsel.budget.database.PATIENCE", 0.0)
    for lock in ("BEGIN EXCLUSIVE", "BEGIN IMMEDIATE"):
        with closing(sqlite3.connect(place, isolation_level=None)) as other:
            other.execute(lock)
            with pytest.raises(OutputError) as refused:
                file.charge("patients", asked())
            assert str(refused.value) == (
                f"{place}: cannot be written: another process keeps it locked; try again later"
            )
    assert rows(place) == []


def test_a_reader_that_stays_keeps_the_charge_from_being_made(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = make_ledger(place)
    monkeypatch.setattr("dpsel.budget.database.PATIENCE", 0.0)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM ledgers").fetchall()
        with pytest.raises(OutputError, match="another process keeps it locked"):
            file.charge("patients", asked())
    assert rows(place) == []


def test_ctrl_c_is_heard_while_waiting(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = make_ledger(place)
    # Nothing else ends the wait.
    monkeypatch.setattr("dpsel.budget.database.PATIENCE", 1e6)

    def interrupted_charge() -> None:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        file.charge("patients", asked())

    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        # The signal is sent within this block, however late the charge begins to wait.
        with pytest.raises(KeyboardInterrupt):
            interrupted_charge()


# Drops the right to read and write any file, for what takes the place of the process.
WITHOUT_THE_RIGHTS_OF_ROOT = """
import ctypes
drop_from_bounding_set, write_any, read_any = 24, 1, 2
for right in (write_any, read_any):
    ctypes.CDLL(None).prctl(drop_from_bounding_set, right, 0, 0, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="drops rights as Linux does")
def test_a_read_only_file_or_folder_is_a_plain_error(place: Path) -> None:
    make_ledger(place)
    cannot = f"OutputError {place}: cannot be written: it or its folder is read-only"
    place.chmod(0o400)
    assert charge_in_a_process(place, WITHOUT_THE_RIGHTS_OF_ROOT) == cannot
    place.chmod(0o600)
    place.parent.chmod(0o500)
    try:
        assert charge_in_a_process(place, WITHOUT_THE_RIGHTS_OF_ROOT) == cannot
    finally:
        place.parent.chmod(0o700)
    place.chmod(0o000)
    assert charge_in_a_process(place, WITHOUT_THE_RIGHTS_OF_ROOT) == (
        f"InputError {place}: cannot be opened: permission denied"
    )
    place.chmod(0o600)
    assert rows(place) == []
    assert charge_in_a_process(place, WITHOUT_THE_RIGHTS_OF_ROOT) == "charged"


def test_a_full_disk_is_a_plain_error_and_leaves_the_ledger_whole(place: Path) -> None:
    file = make_ledger(place, "1000")
    outcomes = set()
    size = place.stat().st_size
    for most in (0, 512, 1024, 4096, size - 4096, size, size + 4096):
        limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))"
        before = len(rows(place))
        outcome = charge_in_a_process(place, limit)
        outcomes.add(outcome.replace(str(place), "FILE"))
        assert file.standing("patients").charges == before + (outcome == "charged")
    assert outcomes == {
        "charged",
        "OutputError FILE: cannot be written: the disk is full or failing",
    }


@pytest.mark.parametrize(
    "name", ["", " ", "-a", ".a", "a b", "a/b", "a\nb", "ä", "\u0430", "a" * 101, "'; DROP", "a\0"]
)
def test_names_that_cannot_be_told_apart_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="the name of a ledger is up to 100 ASCII letters"):
        check_name(name)


@pytest.mark.parametrize("run_id", ["", " ", "a b", "a\n", "ü", "x" * 201, "\x7f", "\x1b[31m"])
def test_run_ids_that_cannot_be_told_apart_are_refused(run_id: str) -> None:
    with pytest.raises(UsageError, match="--run-id is up to 200 ASCII signs without blanks"):
        check_run_id(run_id)


def test_usual_names_and_run_ids_are_taken() -> None:
    assert check_name("patients_2024.v1-b") == "patients_2024.v1-b"
    assert check_run_id("nightly/2024-05-01T03:00+00:00") == "nightly/2024-05-01T03:00+00:00"
