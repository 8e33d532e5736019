"""Runs of `dpsel select` on files, as a user would run it, and what they leave behind."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

from dpsel.audit.drawing import piece_seed
from dpsel.audit.files import PERSON, TARGET, feature_names
from dpsel.audit.plan import CommandPlan
from dpsel.core.audit.tally import Outcome
from dpsel.core.budget import Budget, cost_of
from dpsel.core.errors import UsageError
from dpsel.core.privacy import Guarantee, Scope
from dpsel.core.scores.registry import find_score
from dpsel.io.ledger import LedgerFile
from dpsel.io.ledger_records import Terms
from dpsel.io.text import json_text

CommandLine = Callable[[Sequence[str]], int]
"""Runs the words after `dpsel`, and returns the exit code; a function of a module."""
LEDGER = "audit"
_INTERRUPTED = 130


def select_words(plan: CommandPlan) -> dict[str, Any]:
    """Return the options of `dpsel select` that are audited."""
    bounds = {"lower": -1.0, "upper": 1.0} if find_score(plan.score).needs_bounds else {}
    by_person = {"person": PERSON, "rows_per_person": plan.unit.rows}
    return {
        "target": TARGET,
        "k": plan.target.k,
        "epsilon": plan.target.epsilon,
        "score": plan.score,
        "mechanism": plan.target.name,
        "neighbors": str(plan.neighbors),
        "threads": 1,
        **bounds,
        **(by_person if plan.unit.name == "person" else {}),
        **plan.target.parameters,
    }


def claimed(plan: CommandPlan) -> Guarantee:
    """Return the guarantee that the command is asked for."""
    scope = Scope(end_to_end=True, why="")
    return Guarantee(plan.target.epsilon, plan.neighbors, scope, plan.unit, plan.target.delta)


@dataclass(frozen=True)
class Left:
    """What a run left behind: its exit code, what it printed, and the record in its file."""

    code: int
    out: str
    err: str
    record: str | None


@dataclass(frozen=True)
class Desk:
    """A folder of its own for some runs, with a ledger that pays for them."""

    folder: Path
    ledger: LedgerFile | None
    """None for seeded runs, for which the command takes no ledger: they are not private."""

    def words(self) -> list[str]:
        """Return where the command finds its ledger, and puts its record."""
        paying = (
            [] if self.ledger is None else _words({"ledger": LEDGER, "ledger_file": self.place})
        )
        return [*paying, f"--output={self.output}", "--quiet"]

    @property
    def place(self) -> Path:
        """Return the ledger's file."""
        return self.folder / "ledger.sqlite3"

    @property
    def output(self) -> Path:
        """Return the record's file."""
        return self.folder / "record.json"


@dataclass(frozen=True)
class Releases:
    """Runs of the command with the same options."""

    command_line: CommandLine
    options: Mapping[str, Any]
    guarantee: Guarantee
    rest: str = field(default="")
    """What a record holds besides the selection: it must be the same in all of them."""

    @contextmanager
    def desk(self, runs: int, *, seeded: bool = False) -> Iterator[Desk]:
        """Make room for runs, and a ledger with the cost of just so many."""
        with tempfile.TemporaryDirectory(prefix="dpsel-audit-") as name:
            desk = Desk(Path(name), None)
            if not seeded:
                person = PERSON if self.guarantee.unit.name == "person" else None
                desk = replace(desk, ledger=LedgerFile(desk.place))
                cost, limit = cost_of(self.guarantee), Budget()
                for _ in range(runs):
                    limit = limit.plus(cost)
                LedgerFile(desk.place).make(
                    LEDGER, limit, Terms(self.guarantee.neighbors, person), with_folder=False
                )
            yield desk

    def run(self, path: str, desk: Desk, seed: int | None) -> Left:
        """Run the command line, and return what it leaves behind; its file is taken away."""
        words = ["select", path, *_words({**self.options, "seed": seed}), *desk.words()]
        out, err = TextIOWrapper(BytesIO(), "utf-8", write_through=True), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = self.command_line(words)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        record = desk.output.read_text() if desk.output.exists() else None
        desk.output.unlink(missing_ok=True)
        out.seek(0)
        return Left(code, out.read(), err.getvalue(), record)

    def record(self, path: str, desk: Desk, seed: int | None) -> dict[str, Any]:
        """Run the command, and return its record."""
        left = self.run(path, desk, seed)
        if left.record is None:
            why = left.err.rpartition("error: ")[2].partition("\n")[0]
            raise UsageError(f"the command that is audited released nothing: {why}")
        found: dict[str, Any] = json.loads(left.record)
        return found

    def outcome(self, path: str, desk: Desk, seed: int | None) -> Outcome:
        """Return the selected indices, or all that was left if anything else in it is new."""
        left = self.run(path, desk, seed)
        if left.code != 0 or left.out or left.record is None:
            return json.dumps([left.code, left.out, left.record])
        record = json.loads(left.record)
        indices = record["selected_indices"]
        named = record["selected_features"] == [feature_names(i + 1)[i] for i in indices]
        plain = named and rest_of(record) == self.rest and json_text(record) == left.record
        return tuple(indices) if plain else left.record


def _words(options: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line."""
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, value in options.items()
        if value is not None
    ]


@dataclass(frozen=True)
class Runs:
    """Some runs on one file."""

    path: str
    runs: int
    seed: int | None


def release_chunk(releases: Releases, chunk: Runs) -> Counter[Outcome]:
    """Return how often each outcome came up, in runs that one ledger pays for, and no more."""
    with releases.desk(chunk.runs, seeded=chunk.seed is not None) as desk:
        return Counter(
            releases.outcome(chunk.path, desk, piece_seed(chunk.seed, number))
            for number in range(chunk.runs)
        )


def rest_of(record: Mapping[str, Any]) -> str:
    """Return all of a record but the selection."""
    left = {key: value for key, value in record.items() if not key.startswith("selected_")}
    return json.dumps(left)
