"""Runs commands in processes of their own, which may die at a chosen point: a script for tests.

It forks from a process that has imported everything, which is ten times as fast as starting anew.
Jobs come as JSON on stdin, in batches that run at once; exit statuses go to stdout.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import dpsel.cli.app
import dpsel.cli.releasing
import dpsel.selection.api
import dpsel.selection.run
import dpsel.selection.stump
import dpsel.system.output
import dpsel.system.process
import dpsel.tables.delimited
from dpsel.budget import database as ledger_database
from dpsel.budget.account import LedgerAccount
from dpsel.budget.charges import Standing
from dpsel.budget.ledger import LedgerFile
from dpsel.cli.releasing import release_table
from dpsel.core.guarantee import Guarantee
from dpsel.core.randomness import SystemRandomness
from dpsel.system.output import Output

with suppress(ImportError):
    import pydantic  # noqa: F401  (polars imports it when it is first used)

PACKAGE = Path(dpsel.__file__).parent
# The straight line of a run, what it is paid by, and what it is drawn and written by.
WATCHED = tuple(
    str(PACKAGE / part)
    for part in (
        *("selection/run.py", "selection/stump.py", "core/release.py", "core/selection.py"),
        *("budget/account.py", "budget/ledger.py", "budget/charges.py", "budget/database.py"),
        *("cli/releasing.py", "system/output.py"),
    )
)

_MOST_SECONDS = 300


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: Any, name: str) -> None:
    """Die where a function begins."""
    setattr(owner, name, lambda *_, **__: die())


def after(owner: Any, name: str) -> None:
    """Die where a function ends."""
    right = getattr(owner, name)

    def dying(*arguments: Any, **options: Any) -> None:
        right(*arguments, **options)
        die()

    setattr(owner, name, dying)


def at_statement(*starts: str) -> Callable[[], None]:
    """Die at a statement that starts so, after others that started so: it is not executed."""

    def patch() -> None:
        left = list(starts)
        right = ledger_database._connect

        def watch(statement: str) -> None:
            if statement.startswith(left[0]):
                left.pop(0)
                if not left:
                    die()

        def watched(place: Path) -> Any:
            connection = right(place)
            connection.set_trace_callback(watch)
            return connection

        ledger_database._connect = watched

    return patch


def after_all_draws() -> None:
    """Die where a selection was drawn, by whatever score."""
    after(dpsel.selection.run, "release")
    after(dpsel.selection.stump, "release_stump")


POINTS: dict[str, Callable[[], None]] = {
    "after BEGIN": at_statement("BEGIN IMMEDIATE", "PRAGMA"),
    "before INSERT": at_statement("BEGIN IMMEDIATE", "INSERT"),
    "after INSERT": at_statement("BEGIN IMMEDIATE", "INSERT", "SELECT"),
    "before COMMIT": at_statement("BEGIN IMMEDIATE", "INSERT", "COMMIT"),
    "after the charge": lambda: after(LedgerFile, "charge"),
    "at the first draw": lambda: before(SystemRandomness, "words"),
    "after the first draw": lambda: after(SystemRandomness, "words"),
    "after all draws": after_all_draws,
    "before the store": lambda: before(LedgerFile, "store"),
    "in the store": at_statement("BEGIN IMMEDIATE", "UPDATE", "COMMIT"),
    "after the store": lambda: after(LedgerFile, "store"),
    "before the output": lambda: before(Output, "write"),
    "after the output": lambda: after(Output, "write"),
}


def charge_after_the_draw() -> None:
    """A mutant: the charge waits until the selection was drawn."""
    charge, store = LedgerAccount.charge, LedgerAccount.store

    def later(self: LedgerAccount) -> None:
        return None

    def charge_and_store(self: LedgerAccount, record: str, guarantee: Guarantee | None) -> str:
        charge(self)
        return store(self, record, guarantee)

    LedgerAccount.charge = later  # type: ignore[method-assign]
    LedgerAccount.store = charge_and_store  # type: ignore[method-assign]


def store_after_the_output() -> None:
    """A mutant: what was drawn is written at once, and stored only then."""
    right = LedgerFile.store

    def wrong(self: LedgerFile, name: str, charge: Any, release: str) -> str:
        os.write(1, release.encode())
        return right(self, name, charge, release)

    LedgerFile.store = wrong  # type: ignore[method-assign]


def charge_without_a_lock() -> None:
    """A mutant: what is left is looked up, and a little later charged, without a transaction."""
    right, refuse_overrun = ledger_database._patiently, Standing.refuse_overrun

    def wrong(connection: Any, statement: str) -> None:
        if statement not in ("BEGIN IMMEDIATE", "COMMIT"):
            right(connection, statement)

    def slow(self: Standing, cost: Any) -> None:
        refuse_overrun(self, cost)
        time.sleep(1.0)

    ledger_database._patiently = wrong
    Standing.refuse_overrun = slow  # type: ignore[method-assign]


MUTANTS: dict[str, Callable[[], None]] = {
    "charge after the draw": charge_after_the_draw,
    "store after the output": store_after_the_output,
    "charge without a lock": charge_without_a_lock,
}


def note_draws(place: str) -> None:
    """Leave a file behind before the first random word is drawn."""
    right = SystemRandomness.words

    def noted(self: SystemRandomness, count: int) -> Any:
        Path(place).touch()
        return right(self, count)

    SystemRandomness.words = noted  # type: ignore[method-assign]


def die_at_line(last: int, count_place: str) -> None:
    """Die before the line of that number is executed, among those that matter; or count them."""
    seen = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal seen
        if frame.f_code.co_filename not in WATCHED:
            return None
        if event == "line":
            if seen == last:
                die()
            seen += 1
        return trace

    def traced(*arguments: Any, **options: Any) -> None:
        sys.settrace(trace)
        release_table(*arguments, **options)
        sys.settrace(None)
        Path(count_place).write_text(str(seen))

    dpsel.cli.releasing.release_table = traced


def child(job: dict[str, Any]) -> None:
    """Run one job, and never return."""
    # Should the job hang all the same, its status says so.
    signal.alarm(_MOST_SECONDS)
    for number, name in ((1, "out"), (2, "err")):
        place = os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(place, number)
    os.environ |= job.get("environment", {})
    note_draws(job["drawn"])
    if "mutant" in job:
        MUTANTS[job["mutant"]]()
    if "point" in job:
        POINTS[job["point"]]()
    if "largest_file" in job:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file"],) * 2)
    if "line" in job:
        die_at_line(job["line"], job["out"] + ".lines")
    code = dpsel.cli.app.run(job["arguments"])
    sys.stdout.flush()
    os._exit(code)


def wait_for_threads() -> None:
    """Wait until no other thread runs: a fork copies a lock that one holds, and not the thread.

    Polars starts threads when it is imported, which are asleep from then on, but not at once.
    """
    tasks = Path("/proc/self/task")
    while tasks.is_dir() and any(_runs(task) for task in tasks.iterdir()):
        time.sleep(0.001)


def _runs(task: Path) -> bool:
    """Return whether a thread, other than this one, is doing anything."""
    if task.name == str(threading.get_native_id()):
        return False
    with suppress(FileNotFoundError, ProcessLookupError):
        return (task / "stat").read_text().rpartition(")")[2].split()[0] != "S"
    return False


def start(job: dict[str, Any]) -> int:
    """Start a job, and return its process."""
    wait_for_threads()
    process = os.fork()
    if process == 0:
        try:
            child(job)
        finally:
            os._exit(99)
    return process


def main() -> None:
    """Run all batches."""
    statuses = []
    for batch in json.load(sys.stdin):
        processes = [start(job) for job in batch]
        statuses += [os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) for one in processes]
    sys.stdout.write(json.dumps(statuses))


if __name__ == "__main__":
    main()
