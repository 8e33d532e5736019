"""The audit of `dpsel select` as a whole: real files in, records out."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import field, replace
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

from dpsel.auditing.certificate import Certificate, Check, plain_cells
from dpsel.auditing.file_pairs import (
    PERSON,
    TARGET,
    FilePair,
    PairMaker,
    feature_names,
    file_pairs,
    write_pair,
)
from dpsel.auditing.loss import Outcome, Tally
from dpsel.auditing.mechanism import NEXT_TO_NOTHING, Drawn, Draws, certified, counted, draws_seed
from dpsel.auditing.request import CommandRequest
from dpsel.budget.amounts import Amount, cost_of
from dpsel.budget.charges import Terms
from dpsel.budget.ledger import LedgerFile
from dpsel.core.guarantee import Guarantee, Scope
from dpsel.core.scores.registry import STUMP, find_score
from dpsel.errors import BudgetError, UsageError
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.system.text import json_text

CommandLine = Callable[[Sequence[str]], int]
"""Runs the words after `dpsel`, and returns the exit code; a function of a module."""
LEDGER = "audit"
_INTERRUPTED = 130


def select_words(request: CommandRequest) -> dict[str, Any]:
    """Return the options of `dpsel select` that are audited."""
    bounds = {"lower": -1.0, "upper": 1.0} if find_score(request.score).needs_bounds else {}
    by_person = {"person": PERSON, "rows_per_person": request.unit.rows}
    return {
        "target": TARGET,
        "k": request.target.k,
        "epsilon": request.target.epsilon,
        "score": request.score,
        "mechanism": request.target.name,
        "neighbors": str(request.neighbors),
        "threads": 1,
        **bounds,
        **(by_person if request.unit.name == "person" else {}),
        **request.target.parameters,
    }


def claimed(request: CommandRequest) -> Guarantee:
    """Return the guarantee that the command is asked for."""
    scope = Scope(end_to_end=True, why="")
    return Guarantee(
        request.target.epsilon, request.neighbors, scope, request.unit, request.target.delta
    )


@frozen
class Left:
    """What a run left behind: its exit code, what it printed, and the record in its file."""

    code: int
    out: str
    err: str
    record: str | None


@frozen
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


@frozen
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
                cost, limit = cost_of(self.guarantee), Amount()
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


def release_some(releases: Releases, some: Draws) -> Counter[Outcome]:
    """Return how often each outcome came up, in runs that one ledger pays for, and no more."""
    with releases.desk(some.count, seeded=some.seed is not None) as desk:
        return Counter(
            releases.outcome(some.source, desk, draws_seed(some.seed, number))
            for number in range(some.count)
        )


def rest_of(record: Mapping[str, Any]) -> str:
    """Return all of a record but the selection."""
    left = {key: value for key, value in record.items() if not key.startswith("selected_")}
    return json.dumps(left)


_FRESH_RUNS = 32


def check_claims(releases: Releases, path: str) -> Check:
    """See whether a record claims what was asked for, end to end."""
    with releases.desk(1) as desk:
        record = releases.record(path, desk, None)
    claimed, asked = record["guarantee"] or {}, releases.guarantee
    wanted = {
        "epsilon": asked.epsilon,
        "delta": asked.delta,
        "neighbors": str(asked.neighbors),
        "rows_per_unit": asked.unit.rows,
        "end_to_end": True,
    }
    wrong = [name for name, value in wanted.items() if claimed.get(name) != value]
    found = f"the record claims another {wrong[0]}" if wrong else "the record claims what was asked"
    return Check("claims", not wrong, found)


def check_fresh_runs(request: CommandRequest, releases: Releases, path: str) -> Check:
    """Run without a seed, at next to no epsilon: one record again and again means a fixed seed."""
    if request.d == request.target.k:
        return Check("fresh-randomness", True, "there is only one subset")
    tiny = replace(
        releases,
        options={**releases.options, "epsilon": NEXT_TO_NOTHING},
        guarantee=replace(releases.guarantee, epsilon=NEXT_TO_NOTHING),
    )
    with tiny.desk(_FRESH_RUNS) as desk:
        seen = {
            tuple(tiny.record(path, desk, None)["selected_indices"]) for _ in range(_FRESH_RUNS)
        }
    found = "runs differ" if len(seen) > 1 else f"{_FRESH_RUNS} runs released the same: known noise"
    return Check("fresh-randomness", len(seen) > 1, found)


def check_charge(releases: Releases, path: str) -> Check:
    """See whether a ledger for two runs pays for the first and the second, and for no third."""
    cost = cost_of(releases.guarantee)
    with releases.desk(2) as desk:
        for left in (cost, cost.less(cost)):
            releases.record(path, desk, None)
            if _left(desk) != left:
                return Check("charge", False, "a ledger was charged with another epsilon or delta")
        third = releases.run(path, desk, None)
    if third.code == BudgetError.exit_code and third.record is None:
        return Check("charge", True, "a ledger for two runs pays for no third")
    return Check("charge", False, "a ledger for two runs paid for a third")


def _left(desk: Desk) -> Amount:
    """Return what a ledger has left."""
    assert desk.ledger is not None
    return desk.ledger.standing(LEDGER).left


_RUNS_AT_ONCE = 50
# Starting workers takes as long as so many runs.
_WORTH_WORKERS = 2_000
LIBRARIES = ("numpy", "scipy", "polars", "pyarrow")


def audit_command(
    request: CommandRequest, reporter: Reporter, command_line: CommandLine
) -> Certificate:
    """Run the command on neighboring files, and bound the loss of what it releases.

    Every run that is counted goes through `command_line`, writes its record to a file, and is paid
    for by a ledger; but for seeded ones, which no ledger may pay for.

    Privacy:
        Guarantee: none is needed; the tables are made up.
        Tested by: tests/auditing/test_command.py, tests/auditing/test_mutants.py
    """
    target, sampling = request.target, request.sampling
    maker = PairMaker(
        find_score(request.score),
        target.law,
        request.d,
        target.k,
        request.neighbors,
        request.unit,
        pays_for_weights=request.score == STUMP,
    )
    pairs = file_pairs(maker, draws=sampling.samples, delta=target.delta, alpha=sampling.alpha)
    with tempfile.TemporaryDirectory(prefix="dpsel-audit-") as folder:
        places = [write_pair(pair, request.unit, Path(folder)) for pair in pairs]
        releases = Releases(command_line, select_words(request), claimed(request))
        seed = draws_seed(sampling.seed, "first")
        with releases.desk(1, seeded=seed is not None) as desk:
            first = releases.record(places[0][0], desk, seed)
        checks = [
            check_claims(releases, places[0][0]),
            check_fresh_runs(request, releases, places[0][0]),
            check_charge(releases, places[0][0]),
        ]
        releases = replace(releases, rest=rest_of(first))
        tallies = _released(request, releases, places, reporter)
    return _certificate(request, maker, pairs, tallies, checks)


def _released(
    request: CommandRequest,
    releases: Releases,
    places: Sequence[tuple[str, str]],
    reporter: Reporter,
) -> list[Tally]:
    """Return what was released from every pair of files."""
    few = 2 * request.sampling.samples * len(places) < _WORTH_WORKERS
    sampling = replace(request.sampling, threads=1) if few else request.sampling
    return counted(release_some, releases, places, sampling, _RUNS_AT_ONCE, reporter)


def _certificate(
    request: CommandRequest,
    maker: PairMaker,
    pairs: Sequence[FilePair],
    tallies: Sequence[Tally],
    checks: Sequence[Check],
) -> Certificate:
    """Return what the records of every pair show."""
    drawn = [
        Drawn(
            pair.name,
            {
                "format": "csv" if pair.text else "parquet",
                "other_rows": len(pair.others),
                "others": plain_cells(pair.others),
                "unit_in_first": plain_cells(pair.unit[0]),
                "unit_in_second": plain_cells(pair.unit[1]),
            },
            maker.record_laws(pair),
            tally,
        )
        for pair, tally in zip(pairs, tallies, strict=True)
    ]
    about = {
        "kind": "command",
        "score": request.score,
        "neighbors": str(request.neighbors),
        "rows_per_unit": request.unit.rows,
    }
    return certified(about, request.target, request.d, request.sampling, drawn, checks, LIBRARIES)
