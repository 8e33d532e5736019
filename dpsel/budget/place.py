"""Where ledgers are kept: the file, its default place, and the names that are allowed."""

import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path

from dpsel.errors import InputError, OutputError, UsageError
from dpsel.system.output import sync_folder
from dpsel.system.process import reason

NAME_VARIABLE = "DPSEL_LEDGER"
FILE_VARIABLE = "DPSEL_LEDGER_FILE"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MOST_WORDS = 500
_RUN_ID = re.compile(r"[!-~]{1,200}")


def ledger_from_environment() -> str | None:
    """Return the ledger that the environment variable names, if any."""
    return os.environ.get(NAME_VARIABLE) or None


def check_name(name: str) -> str:
    """Return the name of a ledger; refuse one that is hard to type or to tell apart."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            "the name of a ledger is up to 100 ASCII letters, digits, dots, dashes and "
            f"underscores, and starts with a letter or digit, got '{name}'"
        )
    return name


def check_run_id(run_id: str) -> str:
    """Return a run id; refuse one that is hard to type or to tell apart."""
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"--run-id is up to 200 ASCII signs without blanks, got '{run_id}'")
    return run_id


def check_note(note: str | None, option: str) -> str | None:
    """Return a user's note, if any; refuse one that a log cannot show on one line."""
    if note is None or (0 < len(note) <= _MOST_WORDS and note.isprintable()):
        return note
    raise UsageError(f"{option} is one line of 1 to {_MOST_WORDS} printable signs")


def is_customary(given: str | Path | None) -> bool:
    """Return whether the default file is used: no option and no variable names one."""
    return given is None and not os.environ.get(FILE_VARIABLE)


def ledger_place(given: str | Path | None) -> Path:
    """Return the file of the ledgers, with links resolved, so that all its names share one lock.

    It is the one given, or the one that DPSEL_LEDGER_FILE names, or `dpsel/ledger.sqlite3` in the
    platform's folder for user data.
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
    """Return whether the file exists; refuse anything there that cannot be a ledger."""
    try:
        status = os.stat(place)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InputError(f"{place}: cannot be opened: {reason(error)}") from None
    except ValueError:
        raise UsageError("--ledger-file: this cannot be the name of a file") from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{place}: is not a file, so it cannot be a ledger")
    # SQLite puts its journal next to one name, and would not find it under the other.
    if status.st_nlink > 1:
        raise InputError(f"{place}: has another name (a hard link), so it is not safe as a ledger")
    if not os.access(place, os.R_OK):
        raise InputError(f"{place}: cannot be opened: permission denied")
    return True


def make_file(place: Path, *, with_folder: bool) -> None:
    """Make an empty ledger file that only its owner can read, unless it exists."""
    try:
        if with_folder:
            _make_folder(place.parent)
        with suppress(FileExistsError):
            descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                # Whatever the umask is. The journal gets the same permissions.
                os.chmod(place, 0o600)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            sync_folder(place.parent)
    except OSError as error:
        raise OutputError(f"{place}: cannot be made: {reason(error)}") from None


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents, for the owner alone."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        sync_folder(folder.parent)


def _data_folder() -> Path:
    """Return the platform's folder for user data."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else _home() / "AppData" / "Local"
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support"
    # The XDG standard says to ignore a relative path.
    named = os.environ.get("XDG_DATA_HOME", "")
    return Path(named) if os.path.isabs(named) else _home() / ".local" / "share"


def _home() -> Path:
    """Return the user's home folder."""
    try:
        return Path.home()
    except RuntimeError:
        raise UsageError(
            f"there is no home folder to keep ledgers in; give --ledger-file or {FILE_VARIABLE}"
        ) from None
