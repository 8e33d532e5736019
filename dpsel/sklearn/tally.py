"""Counts the fits of an estimator and its clones without a ledger, and adds up their cost."""

import os
import tempfile
import threading
import uuid
import weakref
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpsel.records import frozen


@frozen
class Spent:
    """The number of draws that no ledger was charged for, and the sums of epsilon and delta."""

    count: int
    epsilon: float
    delta: float

    @classmethod
    def of(cls, draws: Sequence[str]) -> "Spent":
        """Return the sum of draws, each written as `epsilon delta`."""
        costs = [draw.split() for draw in draws]
        epsilon, delta = (float(sum(Fraction(cost[of]) for cost in costs)) for of in (0, 1))
        return cls(len(draws), epsilon, delta)

    def __str__(self) -> str:
        """Return the sums in words."""
        return f"epsilon {self.epsilon:g}" + (f" and delta {self.delta:g}" if self.delta else "")


class Tally:
    """The draws of one estimator and its clones, which share this object.

    A copy in a child process, as joblib makes them, writes its draws to a file that parent and
    child know. Any other copy, such as one on another machine or unpickled later, starts from zero.

    Privacy:
        Guarantee: none is needed; only epsilons and deltas are counted, which are public.
        Tested by: tests/scikit_learn/test_draws.py
    """

    def __init__(self) -> None:
        """Start with no draws, owned by this process."""
        self._start(uuid.uuid4().hex, os.getpid())
        weakref.finalize(self, _remove, self._place, self._owner)

    def _start(self, key: str, owner: int) -> None:
        """Set the owning process and the file that its copies write to, and start from zero."""
        self._key = key
        self._owner = owner
        self._place = Path(tempfile.gettempdir()) / f"dpsel-draws-{key}"
        self._lock = threading.Lock()
        self._draws: list[str] = []
        self._run_ids: set[str] = set()
        self._warned = False

    def add(self, epsilon: float, delta: float) -> Spent | None:
        """Count a draw; return the cost of all draws if a warning is due, once per process."""
        draw = f"{float(epsilon)!r} {float(delta)!r}"
        with self._lock:
            if os.getpid() != self._owner:
                before = self._append(draw)
                # Among copies in several processes, the second draw gives the warning.
                return Spent.of([*before, draw]) if len(before) == 1 else None
            self._draws.append(draw)
            spent = self._spent()
            if spent.count < 2 or self._warned:
                return None
            self._warned = True
            return spent

    def spent(self) -> Spent:
        """Return the number and the cost of all known draws."""
        with self._lock:
            return self._spent()

    def seen(self, run_id: str) -> bool:
        """Return whether this run id was fitted before in this process, and remember it."""
        with self._lock:
            before = run_id in self._run_ids
            self._run_ids.add(run_id)
            return before

    def _spent(self) -> Spent:
        """Return all draws: those of this object, and those that copies wrote to the file."""
        written: list[str] = []
        with suppress(OSError):
            written = self._place.read_text("ascii").splitlines()
        return Spent.of([*self._draws, *written])

    def _append(self, draw: str) -> list[str]:
        """Append a draw to the file of all copies; return the draws before it."""
        try:
            file = os.open(self._place, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:  # No space or no permission: the draw is not counted.
            return []
        with os.fdopen(file, "r+b", buffering=0) as opened:
            opened.write(f"{draw}\n".encode("ascii"))
            end = opened.tell() - len(draw) - 1
            opened.seek(0)
            return opened.read(end).decode("ascii").splitlines()

    def __deepcopy__(self, memo: Any) -> "Tally":
        """Return the same object: a deep copy of an estimator draws from the same rows."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return what identifies the owner; it never changes, so that caches keep working."""
        return {"key": self._key, "owner": self._owner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become a copy if the owner started this process; else start from zero."""
        if state["owner"] == os.getppid():
            self._start(state["key"], state["owner"])
        else:
            Tally.__init__(self)


def _remove(place: Path, owner: int) -> None:
    """Remove the file of the copies; not in a forked process, since the owner still needs it."""
    if os.getpid() == owner:
        place.unlink(missing_ok=True)
