"""The audit of `dpsel select` as a whole: from real files to the records it writes."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

from dpsel.auditing.certificate import Certificate, Check, Drawn, certified, plain_cells
from dpsel.auditing.file_pairs import (
    PERSON,
    TARGET,
    FilePair,
    PairMaker,
    feature_names,
    file_pairs,
    write_pair,
)
from dpsel.auditing.loss import Outcome, OutcomeCounts
from dpsel.auditing.mechanism import (
    TINY_EPSILON,
    DrawTask,
    count_outcomes,
    draws_seed,
)
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
"""Runs the arguments after `dpsel`, and returns the exit code. A function of a module, so it can
be pickled."""
LEDGER = "audit"
_INTERRUPTED = 130


def select_options(request: CommandRequest) -> dict[str, Any]:
    """Return the options with which `dpsel select` is audited."""
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
    """Return the guarantee that the command must give."""
    scope = Scope(end_to_end=True, why="")
    return Guarantee(
        request.target.epsilon, request.neighbors, scope, request.unit, request.target.delta
    )


@frozen
class RunOutput:
    """The output of one run: its exit code, what it printed, and the record it wrote."""

    code: int
    out: str
    err: str
    record: str | None


@frozen
class Workspace:
    """A temporary folder for some runs, with a ledger that pays for them."""

    folder: Path
    ledger: LedgerFile | None
    """None for seeded runs: they are not private, so the command accepts no ledger for them."""

    def flags(self) -> list[str]:
        """Return the flags that tell the command its ledger and where to write its record."""
        paying = {} if self.ledger is None else {"ledger": LEDGER, "ledger_file": self.ledger.place}
        return [*_flags(paying), f"--output={self.record_path}", "--quiet"]

    @property
    def record_path(self) -> Path:
        """Return the file of the record."""
        return self.folder / "record.json"


@frozen
class CommandRuns:
    """Runs the command with the same options again and again."""

    command_line: CommandLine
    options: Mapping[str, Any]
    guarantee: Guarantee
    rest: str = ""
    """The part of a record without the selection, as JSON; it must be the same in every record."""

    @contextmanager
    def workspace(self, runs: int, *, seeded: bool = False) -> Iterator[Workspace]:
        """Make a workspace whose ledger can pay for exactly this many runs."""
        with tempfile.TemporaryDirectory(prefix="dpsel-audit-") as name:
            folder = Path(name)
            ledger = None if seeded else self._ledger(folder, runs)
            yield Workspace(folder, ledger)

    def _ledger(self, folder: Path, runs: int) -> LedgerFile:
        """Make a ledger that can pay for exactly this many runs."""
        cost, limit = cost_of(self.guarantee), Amount()
        for _ in range(runs):
            limit = limit.plus(cost)
        person = PERSON if self.guarantee.unit.name == "person" else None
        ledger = LedgerFile(folder / "ledger.sqlite3")
        ledger.make(LEDGER, limit, Terms(self.guarantee.neighbors, person), with_folder=False)
        return ledger

    def run(self, path: str, space: Workspace, seed: int | None) -> RunOutput:
        """Run the command line, return its output, and remove the file it wrote."""
        words = ["select", path, *_flags({**self.options, "seed": seed}), *space.flags()]
        out, err = TextIOWrapper(BytesIO(), "utf-8", write_through=True), StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = self.command_line(words)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        record = space.record_path.read_text() if space.record_path.exists() else None
        space.record_path.unlink(missing_ok=True)
        out.seek(0)
        return RunOutput(code, out.read(), err.getvalue(), record)

    def record(self, path: str, space: Workspace, seed: int | None) -> dict[str, Any]:
        """Run the command, and return its record."""
        output = self.run(path, space, seed)
        if output.record is None:
            why = output.err.rpartition("error: ")[2].partition("\n")[0]
            raise UsageError(f"the command that is audited released nothing: {why}")
        record: dict[str, Any] = json.loads(output.record)
        return record

    def outcome(self, path: str, space: Workspace, seed: int | None) -> Outcome:
        """Return the selected indices, or all of the output if anything else in it differs."""
        output = self.run(path, space, seed)
        if output.code != 0 or output.out or output.record is None:
            return json.dumps([output.code, output.out, output.record])
        record = json.loads(output.record)
        indices = record["selected_indices"]
        named = record["selected_features"] == [feature_names(i + 1)[i] for i in indices]
        plain = named and rest_of(record) == self.rest and json_text(record) == output.record
        return tuple(indices) if plain else output.record


def _flags(options: Mapping[str, Any]) -> list[str]:
    """Return options as flags of a command line, without those that are None."""
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, value in options.items()
        if value is not None
    ]


def release_some(runs: CommandRuns, some: DrawTask) -> Counter[Outcome]:
    """Run the command some times, and return how often each outcome occurred.

    One ledger pays for exactly these runs.
    """
    with runs.workspace(some.count, seeded=some.seed is not None) as space:
        return Counter(
            runs.outcome(some.source, space, draws_seed(some.seed, number))
            for number in range(some.count)
        )


def rest_of(record: Mapping[str, Any]) -> str:
    """Return a record without the selection, as JSON."""
    rest = {key: value for key, value in record.items() if not key.startswith("selected_")}
    return json.dumps(rest)


_FRESH_RUNS = 32


def check_claims(runs: CommandRuns, path: str) -> Check:
    """Check that a record claims the requested guarantee, end to end."""
    with runs.workspace(1) as space:
        record = runs.record(path, space, None)
    claimed, requested = record["guarantee"] or {}, runs.guarantee
    wanted = {
        "epsilon": requested.epsilon,
        "delta": requested.delta,
        "neighbors": str(requested.neighbors),
        "rows_per_unit": requested.unit.rows,
        "end_to_end": True,
    }
    wrong = [name for name, value in wanted.items() if claimed.get(name) != value]
    found = f"the record claims another {wrong[0]}" if wrong else "the record claims what was asked"
    return Check("claims", not wrong, found)


def check_fresh_runs(request: CommandRequest, runs: CommandRuns, path: str) -> Check:
    """Check, with a tiny epsilon and no seed, that runs differ: else the seed would be fixed."""
    if request.d == request.target.k:
        return Check("fresh-randomness", True, "there is only one subset")
    tiny = replace(
        runs,
        options={**runs.options, "epsilon": TINY_EPSILON},
        guarantee=replace(runs.guarantee, epsilon=TINY_EPSILON),
    )
    with tiny.workspace(_FRESH_RUNS) as space:
        seen = {
            tuple(tiny.record(path, space, None)["selected_indices"]) for _ in range(_FRESH_RUNS)
        }
    found = "runs differ" if len(seen) > 1 else f"{_FRESH_RUNS} runs released the same: known noise"
    return Check("fresh-randomness", len(seen) > 1, found)


def check_charge(runs: CommandRuns, path: str) -> Check:
    """Check that a ledger for two runs is charged for both, and refuses a third."""
    cost = cost_of(runs.guarantee)
    with runs.workspace(2) as space:
        for left in (cost, cost.less(cost)):
            runs.record(path, space, None)
            if _left(space) != left:
                return Check("charge", False, "a ledger was charged with another epsilon or delta")
        third = runs.run(path, space, None)
    if third.code == BudgetError.exit_code and third.record is None:
        return Check("charge", True, "a ledger for two runs pays for no third")
    return Check("charge", False, "a ledger for two runs paid for a third")


def _left(space: Workspace) -> Amount:
    """Return what the ledger has left."""
    assert space.ledger is not None
    return space.ledger.standing(LEDGER).left


_RUNS_AT_ONCE = 50
# Starting workers takes as long as this many runs.
_WORTH_WORKERS = 2_000
LIBRARIES = ("numpy", "scipy", "polars", "pyarrow")


def audit_command(
    request: CommandRequest, reporter: Reporter, command_line: CommandLine
) -> Certificate:
    """Run the command on neighboring files, and bound the privacy loss of its records.

    Every run that is counted goes through `command_line`, writes its record to a file, and is paid
    for by a ledger. Seeded runs are the exception: no ledger may pay for them.

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
        runs = CommandRuns(command_line, select_options(request), claimed(request))
        seed = draws_seed(sampling.seed, "first")
        with runs.workspace(1, seeded=seed is not None) as space:
            first = runs.record(places[0][0], space, seed)
        checks = [
            check_claims(runs, places[0][0]),
            check_fresh_runs(request, runs, places[0][0]),
            check_charge(runs, places[0][0]),
        ]
        runs = replace(runs, rest=rest_of(first))
        tallies = _released(request, runs, places, reporter)
    return _certificate(request, maker, pairs, tallies, checks)


def _released(
    request: CommandRequest,
    runs: CommandRuns,
    places: Sequence[tuple[str, str]],
    reporter: Reporter,
) -> list[OutcomeCounts]:
    """Return the counts of what was released from every pair of files."""
    few = 2 * request.sampling.samples * len(places) < _WORTH_WORKERS
    sampling = replace(request.sampling, threads=1) if few else request.sampling
    return count_outcomes(release_some, runs, places, sampling, _RUNS_AT_ONCE, reporter)


def _certificate(
    request: CommandRequest,
    maker: PairMaker,
    pairs: Sequence[FilePair],
    tallies: Sequence[OutcomeCounts],
    checks: Sequence[Check],
) -> Certificate:
    """Return the certificate, from the records of every pair."""
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
