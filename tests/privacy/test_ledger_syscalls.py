"""A run may die, or the disk fail, at any single call that writes a ledger: needs strace."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.privacy.test_ledger_crashes import KILLED, Left, folder, fresh, job, look, run_all

__all__ = ["folder"]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed"),
]
CALLS = ("pwrite64", "fdatasync", "unlink")
# A run has fewer of each: with these it comes to its end.
MOST = {"pwrite64": 60, "fdatasync": 16, "unlink": 4}


def run_with(folder: Path, call: str, number: int, what: str, **how: Any) -> Left:
    """Run once; at the call of that number, be killed or told of an error."""
    name = f"{call}-{number}"
    fresh(folder, name)
    inject = f"inject={call}:{what}:when={number}"
    under = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject)
    (status,) = run_all([[job(folder, name, **how)]], under)
    return look(folder, name, status)


@pytest.mark.parametrize("call", CALLS)
def test_a_run_can_be_killed_at_any_call(folder: Path, call: str) -> None:
    steps = []
    for number in range(1, MOST[call] + 1):
        left = run_with(folder, call, number, "signal=KILL")
        assert left.status in (0, KILLED)
        assert left.problems == []
        steps.append((len(left.charges), bool(left.charges and left.charges[0][1]), bool(left.out)))
        if left.status == 0:
            break
    assert left.status == 0
    print(f"killed at {len(steps) - 1} calls of {call}")  # noqa: T201
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == ((0, False, False), (1, True, True))


@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
@pytest.mark.parametrize("call", CALLS)
def test_the_disk_can_fail_at_any_call(folder: Path, call: str, error: str) -> None:
    failures = 0
    for number in range(1, MOST[call] + 1):
        left = run_with(folder, call, number, f"error={error}")
        assert left.problems == []
        assert left.status in (0, 3, 5)
        if left.status:
            failures += 1
            assert left.out == ""
            assert left.err.split("\n")[-2].startswith("error: ")
            assert "Traceback" not in left.err
    assert left.status == 0
    print(f"{failures} runs ended by {error} of {call}")  # noqa: T201
    assert failures > 0


def test_a_commit_is_not_done_before_its_folder_is_on_the_disk(folder: Path) -> None:
    """The journal is unlinked, then its folder synchronised: without the latter, no release."""
    fresh(folder, "a")
    trace = folder / "trace"
    calls = "trace=openat,unlink,fdatasync"
    under = ("strace", "-f", "-qq", "-y", "-o", str(trace), "-e", calls)
    assert run_all([[job(folder, "a")]], under) == [0]
    lines = [line for line in trace.read_text().split("\n") if "unlink" in line or "sync" in line]
    unlinked = [
        place for place, line in enumerate(lines) if "a.ledger-journal" in line and "unlink" in line
    ]
    charge_and_store = 2
    assert len(unlinked) == charge_and_store
    for place in unlinked:
        assert f"<{folder}>" in lines[place + 1]
