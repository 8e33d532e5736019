"""Where the ledgers are kept, and which one is meant: by option, by environment, by custom."""

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path

from dpsel.core.guarantee import Scope
from dpsel.errors import InputError, OutputError, UsageError
from dpsel.records import frozen
from dpsel.system.process import reason

NAME_VARIABLE = "DPSEL_LEDGER"
FILE_VARIABLE = "DPSEL_LEDGER_FILE"
REQUIRE_LEDGER = "DPSEL_REQUIRE_LEDGER"
REQUIRE_END_TO_END = "DPSEL_REQUIRE_END_TO_END"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_YES, _NO = ("1", "yes", "true", "on"), ("", "0", "no", "false", "off")
_MOST_WORDS = 500
_RUN_ID = re.compile(r"[!-~]{1,200}")


def ledger_from_environment() -> str | None:
    """Return the ledger that the environment names, if any."""
    return os.environ.get(NAME_VARIABLE) or None


def is_demanded(given: bool, variable: str) -> bool:
    """Return whether a demand is made, by its option or by the environment.

    Raises:
        UsageError: If the environment says neither yes nor no: then nobody knows what is meant.
    """
    value = os.environ.get(variable, "").strip().lower()
    if value not in (*_YES, *_NO):
        raise UsageError(f"{variable} must be 1 or 0, yes or no, or true or false")
    return given or value in _YES


def check_name(name: str) -> str:
    """Return a ledger's name that can be typed and told apart."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "the name of a ledger is up to 100 ASCII letters, digits, dots, dashes and "
            f"underscores, and starts with a letter or digit, got '{name}'"
        )
    return name


def check_run_id(run_id: str) -> str:
    """Return a run id that can be typed and told apart."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"--run-id is up to 200 ASCII signs without blanks, got '{run_id}'")
    return run_id


def check_note(note: str | None, option: str) -> str | None:
    """Return words of a user's own that can be shown in a log, if there are any."""
    if note is None or (0 < len(note) <= _MOST_WORDS and note.isprintable()):
        return note
    raise UsageError(f"{option} is one line of 1 to {_MOST_WORDS} printable signs")


def is_customary(given: str | Path | None) -> bool:
    """Return whether nobody said where the ledgers are kept."""
    return given is None and not os.environ.get(FILE_VARIABLE)


def ledger_place(given: str | Path | None) -> Path:
    """Return the file of the ledgers, with links followed: by any name it has one lock.

    It is what was given, or what DPSEL_LEDGER_FILE says, or `dpsel/ledger.sqlite3` in the folder
    where the platform keeps the user's data.
    """
    if given is not None and not str(given):
        raise UsageError("--ledger-file: the name of the file is empty")
    named = given or os.environ.get(FILE_VARIABLE)
    place = Path(named) if named else _data_folder() / "dpsel" / "ledger.sqlite3"
    try:
        return Path(os.path.realpath(place))
    except (OSError, ValueError):
        raise UsageError("--ledger-file: this cannot be the name of a file") from None


def is_there(place: Path) -> bool:
    """Return whether there is a file; refuse whatever is there and cannot be a ledger."""
    try:
        found = os.stat(place)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{place}: cannot be opened: {reason(error)}") from None
    except ValueError:
        raise UsageError("--ledger-file: this cannot be the name of a file") from None
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{place}: is not a file, so it cannot be a ledger")
    # SQLite keeps its journal beside one name, and would not find it by the other.
    if found.st_nlink > 1:
        raise InputError(f"{place}: has another name (a hard link), so it is not safe as a ledger")
    if not os.access(place, os.R_OK):
        raise InputError(f"{place}: cannot be opened: permission denied")
    return True


def make_file(place: Path, *, with_folder: bool) -> None:
    """Make an empty file for the ledgers that only its owner can read, if there is none."""
    try:
        if with_folder:
            _make_folder(place.parent)
        with suppress(FileExistsError):
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                # Whatever the mask was: the journal gets the same permissions.
                os.chmod(place, 0o600)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(place.parent)
    except OSError as error:
        raise OutputError(f"{place}: cannot be made: {reason(error)}") from None


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make_folder(folder: Path) -> None:
    """Make a folder, and those above it, for the owner alone."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        sync_folder(folder.parent)


def _data_folder() -> Path:
    """Return where the platform keeps the user's data."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else _home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support"
    # The standard says that a relative path there does not count.
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if os.path.isabs(named) else _home() / ".local" / "share"


def _home() -> Path:
    """Return the user's home."""
    try:
        return Path.home()
    except RuntimeError:
        raise UsageError(
            f"there is no home folder to keep ledgers in; give --ledger-file or {FILE_VARIABLE}"
        ) from None


@frozen
class Demands:
    """What must be so, or a run is refused before it reads a row."""

    ledger: bool = False
    """Its cost is charged to a ledger."""
    end_to_end: bool = False
    """Its guarantee covers all that was done to the table, not the selection alone."""

    def refuse_partial(self, scope: Scope | None) -> None:
        """Refuse a guarantee that does not cover what was demanded; `scope` is None for none."""
        if self.end_to_end and not (scope is not None and scope.end_to_end):
            why = "this has no guarantee" if scope is None else f"this would cover the {scope.why}"
            raise UsageError(
                "a guarantee from end to end is required (--require-end-to-end or "
                f"{REQUIRE_END_TO_END}), and {why}"
            )
