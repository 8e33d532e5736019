"""Whenever a run dies, nothing was drawn or released that is not charged."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.dying import POINTS
from tests.ledgers import make_ledger, rows

ROOT = Path(__file__).parents[2]
KILLED = -int(signal.SIGKILL)
RUN = ("select", "t.csv", "--target", "y", "--k", "1", "--epsilon", "2", "--ledger", "patients")
DP_SIS = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")
STUMP = ("--method", "stump")
BOTH = pytest.mark.parametrize("method", [DP_SIS, STUMP], ids=["dp-sis", "stump"])


@dataclass(frozen=True)
class Left:
    """What a run left behind."""

    status: int
    charges: list[tuple[str, str | None]]
    out: str
    err: str
    drawn: bool

    @property
    def problems(self) -> list[str]:
        """Return the promises that were broken; `charges` must be those of this run alone."""
        found = []
        if self.drawn and not self.charges:
            found.append("drawn, not charged")
        if self.out and self.out not in [release for _, release in self.charges]:
            found.append("released, not stored with a charge")
        if self.out and self.status not in (0, KILLED):
            found.append("released by a run that failed")
        if any(epsilon != "2" for epsilon, _ in self.charges):
            found.append("charged something else")
        return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("x,z,y\n1,0.5,1\n0,0.25,0\n")
    return tmp_path


def job(
    folder: Path, name: str, *more: str, method: Sequence[str] = DP_SIS, **how: Any
) -> dict[str, Any]:
    """Return a job on a ledger file of its own, which a name stands for."""
    return {
        "arguments": [*RUN, *method, *more],
        "environment": {"DPSEL_LEDGER_FILE": str(folder / f"{name}.ledger")},
        **{kind: str(folder / f"{name}.{kind}") for kind in ("out", "err", "drawn")},
        **how,
    }


def run_all(batches: list[list[dict[str, Any]]], under: Sequence[str] = ()) -> list[int]:
    """Run jobs, batch by batch, under a command if one is given; return their exit statuses."""
    done = subprocess.run(
        [*under, sys.executable, "-m", "tests.dying"],
        input=json.dumps(batches),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    statuses: list[int] = json.loads(done.stdout)
    return statuses


def left_behind(folder: Path, jobs: dict[str, dict[str, Any]]) -> dict[str, Left]:
    """Run jobs, each with a new ledger of epsilon 10 of its own, and return what they left."""
    for name in jobs:
        fresh(folder, name)
    all_jobs = list(jobs.values())
    statuses = run_all([all_jobs[start : start + 3] for start in range(0, len(all_jobs), 3)])
    return {name: look(folder, name, status) for name, status in zip(jobs, statuses, strict=True)}


def fresh(folder: Path, name: str) -> None:
    """Put a new ledger in its place; the first one is copied."""
    pattern = folder / "pattern"
    if not pattern.exists():
        make_ledger(pattern)
    shutil.copy(pattern, folder / f"{name}.ledger")


def look(folder: Path, name: str, status: int) -> Left:
    def text(kind: str) -> str:
        return (folder / f"{name}.{kind}").read_text()

    drawn = (folder / f"{name}.drawn").exists()
    return Left(status, rows(folder / f"{name}.ledger"), text("out"), text("err"), drawn)


# How many charges there are, whether a release is stored, and whether it was written.
EXPECTED = {
    "after BEGIN": (0, False, False),
    "before INSERT": (0, False, False),
    "after INSERT": (0, False, False),
    "before COMMIT": (0, False, False),
    "after the charge": (1, False, False),
    "at the first draw": (1, False, False),
    "after the first draw": (1, False, False),
    "after all draws": (1, False, False),
    "before the store": (1, False, False),
    "in the store": (1, False, False),
    "after the store": (1, True, False),
    "before the output": (1, True, False),
    "after the output": (1, True, True),
}


@BOTH
def test_a_run_that_is_killed_keeps_its_charge_and_releases_nothing_without_one(
    folder: Path, method: Sequence[str]
) -> None:
    assert EXPECTED.keys() == POINTS.keys()
    names = [f"point {number}" for number in range(len(POINTS))]
    points = dict(zip(names, POINTS, strict=True))
    found = left_behind(
        folder,
        {
            name: job(folder, name, "--run-id", "a", method=method, point=point)
            for name, point in points.items()
        },
    )
    for name, point in points.items():
        left = found[name]
        assert left.status == KILLED, point
        charges, stored, written = EXPECTED[point]
        assert len(left.charges) == charges, point
        assert [release is not None for _, release in left.charges] == [stored] * charges, point
        assert bool(left.out) is written, point
        assert left.problems == [], point
    # Run again: what was stored is printed at no cost, all else is charged as a new draw.
    statuses = run_all([[job(folder, name, "--run-id", "a", method=method) for name in points]])
    for name, point in points.items():
        charges, stored, _ = EXPECTED[point]
        again = look(folder, name, 0)
        assert len(again.charges) == charges + (not stored), point
        assert again.out == again.charges[-1][1], point
        assert ("charged again" in again.err) is (charges == 1 and not stored), point
        assert found[name].out in ("", again.out)
    assert statuses == [0] * len(points)


def test_an_output_file_is_not_there_without_a_charge(folder: Path) -> None:
    for point in ("at the first draw", "after the store", "after the output"):
        output = folder / "out.json"
        found = left_behind(folder, {"a": job(folder, "a", "--output", str(output), point=point)})
        assert output.exists() is (point == "after the output")
        assert len(found["a"].charges) == 1
        for leftover in folder.glob(".dpsel-*.tmp"):
            assert leftover.read_bytes() == b""
    assert output.read_text() == found["a"].charges[0][1]


@pytest.mark.parametrize(
    ("mutant", "point", "problem"),
    [
        ("charge after the draw", "after the first draw", "drawn, not charged"),
        ("store after the output", "in the store", "released, not stored with a charge"),
    ],
)
def test_a_wrong_order_is_noticed(folder: Path, mutant: str, point: str, problem: str) -> None:
    wrong = job(folder, "wrong", mutant=mutant, point=point)
    right = job(folder, "right", point=point)
    found = left_behind(folder, {"wrong": wrong, "right": right})
    assert found["wrong"].problems == [problem]
    assert found["right"].problems == []


def count_lines(folder: Path, method: Sequence[str] = DP_SIS) -> int:
    found = left_behind(folder, {"count": job(folder, "count", method=method, line=-1)})
    assert found["count"].status == 0
    return int((folder / "count.out.lines").read_text())


def sweep(folder: Path, lines: list[int], **how: Any) -> dict[str, Left]:
    return left_behind(
        folder, {f"l{line}": job(folder, f"l{line}", line=line, **how) for line in lines}
    )


def check_sweep(found: dict[str, Left]) -> None:
    for name, left in found.items():
        assert left.status == KILLED, name
        assert left.problems == [], name
    charged = [len(left.charges) for left in found.values()]
    stored = [bool(left.charges and left.charges[0][1]) for left in found.values()]
    written = [bool(left.out) for left in found.values()]
    for steps in (charged, stored, written):
        assert steps == sorted(steps)
    assert (charged[0], charged[-1]) == (0, 1)
    assert (stored[0], stored[-1]) == (False, True)


@BOTH
def test_a_run_can_die_at_lines_all_along(folder: Path, method: Sequence[str]) -> None:
    total = count_lines(folder, method)
    check_sweep(sweep(folder, [*range(0, total - 1, total // 20), total - 1], method=method))


@pytest.mark.long
@BOTH
def test_a_run_can_die_at_any_line(folder: Path, method: Sequence[str]) -> None:
    lines = count_lines(folder, method)
    check_sweep(sweep(folder, list(range(lines)), method=method))
    print(f"killed at {lines} lines")  # noqa: T201


def test_the_sweep_notices_a_charge_after_the_draw(folder: Path) -> None:
    total = count_lines(folder)
    lines = list(range(total // 3, total - 1, total // 16))
    found = sweep(folder, lines, mutant="charge after the draw")
    assert "drawn, not charged" in {problem for left in found.values() for problem in left.problems}


def test_a_run_that_dies_in_the_middle_of_writing_leaves_the_ledger_whole(folder: Path) -> None:
    """The kernel kills a process that writes beyond a given size: within SQLite's own commits."""
    sizes = [0, 1, 511, 512, *range(1024, 40_000, 2048)]
    found = left_behind(
        folder,
        {f"s{size}": job(folder, f"s{size}", largest_file=size) for size in sizes},
    )
    died_with_a_journal = 0
    for name, left in found.items():
        assert left.status in (0, -int(signal.SIGXFSZ)), name
        assert left.problems == [], name
        died_with_a_journal += left.status != 0
    assert died_with_a_journal > 3
    assert found[f"s{sizes[-1]}"].status == 0


# All processes share an epsilon of 10, of which each asks for 2.
LIMIT_FITS = 5


def race(
    folder: Path, count: int, *more: str, **how: Any
) -> tuple[list[int], list[str], list[Any]]:
    """Run so many at once on one ledger; return statuses, outputs and charges."""
    fresh(folder, "race")
    place = {"DPSEL_LEDGER_FILE": str(folder / "race.ledger")}
    jobs = [job(folder, f"r{n}", *more, environment=place, **how) for n in range(count)]
    statuses = run_all([jobs])
    outs = [(folder / f"r{n}.out").read_text() for n in range(count)]
    return statuses, outs, rows(folder / "race.ledger")


def race_problems(statuses: list[int], outs: list[str], charges: list[Any]) -> list[str]:
    found = []
    if len(charges) > LIMIT_FITS:
        found.append("more was charged than the limit")
    if sorted(statuses) != [0] * LIMIT_FITS + [4] * (len(statuses) - LIMIT_FITS):
        found.append("not as many succeeded as fit, or not all others were refused plainly")
    if sorted(filter(None, outs)) != sorted(str(release) for _, release in charges):
        found.append("what was released is not what was charged")
    return found


def test_fifty_processes_at_once_never_spend_more_than_the_limit(folder: Path) -> None:
    assert race_problems(*race(folder, 50)) == []


def test_processes_without_a_lock_are_noticed(folder: Path) -> None:
    assert race_problems(*race(folder, 12, mutant="charge without a lock")) != []


def test_processes_with_one_run_id_release_the_same_bytes(folder: Path) -> None:
    statuses, outs, charges = race(folder, 20, "--run-id", "a")
    released = [release for _, release in charges if release is not None]
    assert len(released) == 1
    assert {out for out in outs if out} == set(released)
    assert 1 <= len(charges) <= LIMIT_FITS
    assert set(statuses) <= {0, 4}
    assert [status == 0 for status in statuses] == [bool(out) for out in outs]
