"""Sends cases to workers on all cores, and learns from the lines that come back or do not."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.cli.conftest import ROOT

# A worker is not kept for ever: pyarrow forgets some memory whenever it refuses a stream.
CASES_A_WORKER = 2500
# So many numbers of cases are shown for each kind of complaint.
_SHOWN = 9


@dataclass(frozen=True)
class Wrong:
    """A case that went wrong, and how."""

    number: int
    how: str

    @property
    def shape(self) -> str:
        """What it says, but for all that differs between cases of one kind."""
        return re.sub(r"'[^'\n]*'|\"[^\"\n]*\"|0x[0-9a-f]+|[0-9]+", "_", self.how)


@dataclass
class Findings:
    """How often each exit code came up, by kind of file, and what went wrong."""

    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[Wrong] = field(default_factory=list)

    def add(self, other: "Findings") -> None:
        """Add what was found elsewhere."""
        self.codes.update(other.codes)
        self.wrong.extend(other.wrong)

    def of_code(self, code: int) -> int:
        """Return how many cases ended with an exit code."""
        return sum(count for (_, found), count in self.codes.items() if found == code)

    def report(self) -> str:
        """Return every kind of complaint: how often, the cases' numbers, and one in full."""
        kinds: dict[str, list[Wrong]] = {}
        for wrong in self.wrong:
            kinds.setdefault(wrong.shape, []).append(wrong)
        return "\n".join(
            f"{len(found)} x, cases {', '.join(str(wrong.number) for wrong in found[:_SHOWN])}"
            f"{', ...' if len(found) > _SHOWN else ''}: {found[0].how}"
            for found in sorted(kinds.values(), key=len)
        )


def run_cases(numbers: Sequence[int], worker: str = "tests.hardening.fuzz_worker") -> Findings:
    """Run cases by their numbers, on all cores."""
    parts = [
        numbers[start : start + CASES_A_WORKER] for start in range(0, len(numbers), CASES_A_WORKER)
    ]
    findings = Findings()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for found in pool.map(lambda part: _run_part(part, worker), parts):
            findings.add(found)
    return findings


def _run_part(numbers: Sequence[int], worker: str) -> Findings:
    """Run cases one after the other; after one that hangs or dies, go on with the next.

    Where a process ends well before its last case, it goes on in another, with the case that has
    no line yet.
    """
    findings, left = Findings(), numbers
    while left:
        done = subprocess.run(
            [sys.executable, "-m", worker, *map(str, left)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "RUST_BACKTRACE": "0"},
        )
        lines = done.stdout.splitlines()
        for line in lines:
            number, kind, code, wrong = json.loads(line)
            findings.codes[kind, code] += 1
            if wrong is not None:
                findings.wrong.append(Wrong(number, f"{kind}: {wrong}"))
        left = left[len(lines) :]
        if left and (done.returncode != 0 or not lines):
            how = f"ended the process with {done.returncode}:\n{done.stderr[-2000:]}"
            findings.wrong.append(Wrong(left[0], how))
            left = left[1:]
    return findings
