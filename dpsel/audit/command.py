"""The audit of `dpsel select` as a whole: real files in, records out."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dpsel.audit.certifying import Drawn, certified
from dpsel.audit.command_checks import check_charge, check_claims, check_fresh_runs
from dpsel.audit.drawing import counted, piece_seed, pieces_of
from dpsel.audit.files import write_pair
from dpsel.audit.plan import CommandPlan
from dpsel.audit.releases import (
    CommandLine,
    Releases,
    Runs,
    claimed,
    release_chunk,
    rest_of,
    select_words,
)
from dpsel.core.audit.certificate import Certificate, plain_cells
from dpsel.core.audit.checks import Check
from dpsel.core.audit.file_pairs import FilePair, Setting, file_pairs
from dpsel.core.audit.tally import PARTS, Tally
from dpsel.core.scores.registry import find_score
from dpsel.run import Reporter

_RUNS_AT_ONCE = 50
# Starting workers takes as long as so many runs.
_WORTH_WORKERS = 2_000
LIBRARIES = ("numpy", "scipy", "polars", "pyarrow")


def audit_command(plan: CommandPlan, reporter: Reporter, command_line: CommandLine) -> Certificate:
    """Run the command on neighboring files, and bound the loss of what it releases.

    Every run that is counted goes through `command_line`, writes its record to a file, and is paid
    for by a ledger; but for seeded ones, which no ledger may pay for.

    Privacy:
        Guarantee: none is needed; the tables are made up.
        Tested by: tests/audit/test_command.py, tests/audit/test_mutants.py
    """
    target, sampling = plan.target, plan.sampling
    setting = Setting(
        find_score(plan.score), target.law, plan.d, target.k, plan.neighbors, plan.unit
    )
    pairs = file_pairs(setting, draws=sampling.samples, delta=target.delta, alpha=sampling.alpha)
    with tempfile.TemporaryDirectory(prefix="dpsel-audit-") as folder:
        places = [write_pair(pair, plan.unit, Path(folder)) for pair in pairs]
        releases = Releases(command_line, select_words(plan), claimed(plan))
        seed = piece_seed(sampling.seed, "first")
        with releases.desk(1, seeded=seed is not None) as desk:
            first = releases.record(places[0][0], desk, seed)
        checks = [
            check_claims(releases, places[0][0]),
            check_fresh_runs(plan, releases, places[0][0]),
            check_charge(releases, places[0][0]),
        ]
        releases = replace(releases, rest=rest_of(first))
        tallies = _released(plan, releases, places, reporter)
    return _certificate(plan, setting, pairs, tallies, checks)


def _released(
    plan: CommandPlan,
    releases: Releases,
    places: Sequence[tuple[str, str]],
    reporter: Reporter,
) -> list[Tally]:
    """Return what was released from every pair of files."""
    samples, seed = plan.sampling.samples, plan.sampling.seed
    pieces = {
        (number, which, part): [
            Runs(path, runs, piece_seed(seed, number, which, part, piece))
            for piece, runs in enumerate(pieces_of(samples, part, _RUNS_AT_ONCE))
        ]
        for number, paths in enumerate(places)
        for which, path in enumerate(paths)
        for part in range(PARTS)
    }
    few = 2 * samples * len(places) < _WORTH_WORKERS
    return counted(release_chunk, releases, pieces, reporter, 1 if few else plan.sampling.threads)


def _certificate(
    plan: CommandPlan,
    setting: Setting,
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
            setting.laws(pair),
            tally,
        )
        for pair, tally in zip(pairs, tallies, strict=True)
    ]
    about = {
        "kind": "command",
        "score": plan.score,
        "neighbors": str(plan.neighbors),
        "rows_per_unit": plan.unit.rows,
    }
    return certified(about, plan.target, plan.d, plan.sampling, drawn, checks, LIBRARIES)
