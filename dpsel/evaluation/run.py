"""One evaluation: read tables, sweep, and write what came of it. For the data's holder only."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpsel.cluster.connection import chosen_workers
from dpsel.cluster.place import Scheduler
from dpsel.core.summary import NOT_PRIVATE
from dpsel.display import Fact, block_html, printable
from dpsel.errors import UsageError
from dpsel.evaluation.conclusion import conclusions
from dpsel.evaluation.data import NamedTable, table_sets
from dpsel.evaluation.journal import Journal
from dpsel.evaluation.options import ResultsWriting
from dpsel.evaluation.report import report_facts, report_html, sweep_figures, sweep_notes
from dpsel.evaluation.request import EvaluateRequest, Sweep
from dpsel.evaluation.results import frequencies_frame, results_bytes, results_fields, results_frame
from dpsel.evaluation.sweep import run_sweep
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.system.frames import pl
from dpsel.system.output import Output, is_plain
from dpsel.tables.sources import input_files, refuse_part

TITLE = "Private feature selection, evaluated"
_MOST_SHOWN = 6


@frozen
class Evaluation:
    """What came of an evaluation. Not private: for the data's holder only, never for release."""

    results: pl.DataFrame
    """A row for every data set, method, k and epsilon."""
    frequencies: pl.DataFrame
    """A row for every feature that was picked there, with how often."""
    notes: list[str]
    about: Mapping[str, Any]
    """What was asked: two evaluations that say the same give the same results."""
    sweep: Sweep

    @property
    def conclusions(self) -> list[str]:
        """Return a sentence for every data set and k: what its best method finds, and where."""
        return conclusions(self.results.iter_rows(named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain values, as the command writes them in JSON."""
        return results_fields(self.results, self.frequencies, self.about)

    def to_html(self) -> str:
        """Return figures and results as one page."""
        facts = report_facts(self.sweep, self.results)
        figures = sweep_figures(self.results, self.frequencies)
        return report_html(TITLE, facts, self.results, figures, self.notes, self.conclusions)

    def __repr__(self) -> str:
        """Return that it is not private, and the conclusions."""
        size = f"{self.results.height:,} results in .results, a frame of polars"
        said = [printable(line) for line in self.conclusions]
        lines = [f"Evaluation: {NOT_PRIVATE}", size, *said[:_MOST_SHOWN]]
        if len(said) > _MOST_SHOWN:
            lines.append(f"and {len(said) - _MOST_SHOWN} more in .conclusions")
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        said, stamp = self.conclusions, f"{NOT_PRIVATE}: for the data's holder only"
        facts: list[Fact] = [("found", sentence) for sentence in said[:_MOST_SHOWN]]
        if len(said) > _MOST_SHOWN:
            facts.append(("", f"and {len(said) - _MOST_SHOWN} more in .conclusions"))
        size = f"{self.results.height:,} in .results, a frame of polars; figures in .to_html()"
        return block_html(stamps=[stamp], facts=[*facts, ("results", size)])


@frozen
class EvaluationRun:
    """An evaluation whose outputs can be written and whose unfinished work is kept."""

    tables: Sequence[NamedTable]
    request: EvaluateRequest
    writing: ResultsWriting
    inputs: Sequence[Path]
    """The files that must not be written over."""
    journal: Journal

    def run(self, scheduler: Scheduler | None, reporter: Reporter) -> Evaluation:
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
        about = description(self.tables, request)
        frequencies = frequencies_frame(found.frequencies)
        return Evaluation(results, frequencies, notes, about, request.sweep)

    def write(self, found: Evaluation) -> None:
        """Write the report and the results, as asked for."""
        if self.writing.report is not None:
            self._write(self.writing.report, found.to_html().encode())
        if self.writing.output is not None:
            written = self.writing.format()
            content = results_bytes(found.results, found.frequencies, found.about, written)
            self._write(self.writing.output, content)

    def _write(self, place: str, content: bytes) -> None:
        """Write one file, whole; what it says of a table is not private."""
        force, inputs = self.writing.force, self.inputs
        with Output(place, force=force, inputs=inputs, owner_only=True) as file:
            file.write(content)


@contextmanager
def open_evaluation(
    tables: Sequence[NamedTable], request: EvaluateRequest, writing: ResultsWriting, *, resume: bool
) -> Iterator[EvaluationRun]:
    """Check what can spoil an evaluation at its end, and keep what is done until all is written."""
    writing.format()
    paths = [table.path for table in tables if table.path is not None]
    inputs = [file for path in paths for file in input_files(path)]
    for place in writing.places:
        for path in paths:
            refuse_part(path, place)
        # Said before the sweep, not after it. Nothing is left behind if it is killed.
        with Output(place, force=writing.force, inputs=inputs):
            pass
    beside = _journal_place(writing.places, resume)
    about = description(tables, request)
    with Journal(beside, about, resume=resume, force=writing.force) as journal:
        yield EvaluationRun(tables, request, writing, inputs, journal)


def description(tables: Sequence[NamedTable], request: EvaluateRequest) -> dict[str, Any]:
    """Return an evaluation as plain values: two that say the same give the same results."""
    return {
        "tables": [table.public_name for table in tables],
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
