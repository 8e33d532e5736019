"""One evaluation: read tables, sweep, and write what came of it. For the data's holder only."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

from dpsel.cluster.connection import chosen_workers
from dpsel.cluster.place import Scheduler
from dpsel.errors import UsageError
from dpsel.evaluation.conclusion import conclusions
from dpsel.evaluation.data import table_sets
from dpsel.evaluation.journal import Journal
from dpsel.evaluation.options import ResultsWriting
from dpsel.evaluation.report import report_facts, report_html, sweep_figures, sweep_notes
from dpsel.evaluation.request import EvaluateRequest
from dpsel.evaluation.results import frequencies_frame, results_bytes, results_frame
from dpsel.evaluation.sweep import run_sweep
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.system.frames import pl
from dpsel.system.output import Output, is_plain
from dpsel.tables.places import public_place
from dpsel.tables.sources import input_files, refuse_part

TITLE = "Private feature selection, evaluated"


@frozen
class Evaluated:
    """What came of an evaluation: not private."""

    results: pl.DataFrame = field(repr=False)
    frequencies: pl.DataFrame = field(repr=False)
    notes: list[str] = field(repr=False)


@frozen
class Evaluation:
    """An evaluation whose outputs can be written and whose unfinished work is kept."""

    tables: Sequence[str]
    request: EvaluateRequest
    writing: ResultsWriting
    inputs: Sequence[Path]
    """The files that must not be written over."""
    journal: Journal

    def run(self, scheduler: Scheduler | None, reporter: Reporter) -> Evaluated:
        """Read the tables, sweep over them, and tell the holder what to know.

        Privacy:
            Guarantee: none; everything returned is for the data's holder only.
            Tested by: tests/cli/test_evaluate.py
        """
        request = self.request
        sets = table_sets(self.tables, request.tables, reporter)
        with chosen_workers(scheduler, request.tables.threads, reporter.warn) as workers:
            found = run_sweep(sets, request.sweep, self.journal, reporter, workers)
        results = results_frame(found.results)
        notes = [*found.notes, *sweep_notes(results, request.sweep)]
        for note in notes:
            reporter.note(note)
        reporter.note("this is not private: nothing of it is for release")
        return Evaluated(results, frequencies_frame(found.frequencies), notes)

    def write(self, found: Evaluated) -> None:
        """Write the report and the results, as asked for."""
        if self.writing.report is not None:
            facts = report_facts(self.request.sweep, found.results)
            figures = sweep_figures(found.results, found.frequencies)
            words = conclusions(found.results.iter_rows(named=True))
            page = report_html(TITLE, facts, found.results, figures, found.notes, words)
            self._write(self.writing.report, page.encode())
        if self.writing.output is not None:
            about = description(self.tables, self.request)
            content = results_bytes(found.results, found.frequencies, about, self.writing.format())
            self._write(self.writing.output, content)

    def _write(self, place: str, content: bytes) -> None:
        """Write one file, whole; what it says of a table is not private."""
        force, inputs = self.writing.force, self.inputs
        with Output(place, force=force, inputs=inputs, owner_only=True) as file:
            file.write(content)


@contextmanager
def open_evaluation(
    tables: Sequence[str], request: EvaluateRequest, writing: ResultsWriting, *, resume: bool
) -> Iterator[Evaluation]:
    """Check what can spoil an evaluation at its end, and keep what is done until all is written."""
    writing.format()
    inputs = [path for table in tables for path in input_files(table)]
    for place in writing.places:
        for table in tables:
            refuse_part(table, place)
        # Said before the sweep, not after it. Nothing is left behind if it is killed.
        with Output(place, force=writing.force, inputs=inputs):
            pass
    beside = _journal_place(writing.places, resume)
    about = description(tables, request)
    with Journal(beside, about, resume=resume, force=writing.force) as journal:
        yield Evaluation(tables, request, writing, inputs, journal)


def description(tables: Sequence[str], request: EvaluateRequest) -> dict[str, Any]:
    """Return an evaluation as plain values: two that say the same give the same results."""
    return {
        "tables": [public_place(table) for table in tables],
        "target": request.tables.wanted.target,
        **request.sweep.described(),
    }


def _journal_place(places: Sequence[str], resume: bool) -> Path | None:
    """Return where an unfinished sweep is kept: beside the first file that will be written."""
    for place in places:
        if is_plain(place):
            return Path(f"{place}.unfinished")
    if resume:
        raise UsageError("--resume needs --output FILE or --report FILE: a run is kept beside it")
    return None
