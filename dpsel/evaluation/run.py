"""One run of `evaluate`: read the tables, sweep, and write the results. For the holder only."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpsel.cluster.connection import chosen_workers
from dpsel.cluster.place import Scheduler
from dpsel.core.selection import NOT_PRIVATE
from dpsel.display import Fact, block_html, printable
from dpsel.errors import UsageError
from dpsel.evaluation.data import NamedTable, table_sets
from dpsel.evaluation.journal import Journal
from dpsel.evaluation.notes import sweep_notes
from dpsel.evaluation.options import ResultsWriting
from dpsel.evaluation.report import report_facts, report_html
from dpsel.evaluation.request import EvaluateRequest, Sweep
from dpsel.evaluation.results import (
    conclusions,
    frequencies_frame,
    results_bytes,
    results_fields,
    results_frame,
)
from dpsel.evaluation.sweep import run_sweep
from dpsel.evaluation.truth import BY_TABLE
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.system.frames import pl
from dpsel.system.output import Output, is_plain
from dpsel.tables.table_files import input_files, refuse_part

TITLE = "Private feature selection, evaluated"
_MOST_SHOWN = 6


@frozen
class Evaluation:
    """The results of an evaluation. Not private: for the data holder only, never for release."""

    results: pl.DataFrame
    """One row for every data set, method, k and epsilon."""
    frequencies: pl.DataFrame
    """One row for every feature picked there, with the share of trials that picked it."""
    notes: list[str]
    about: Mapping[str, Any]
    """The settings: two evaluations with equal settings give the same results."""
    sweep: Sweep

    @property
    def conclusions(self) -> list[str]:
        """Return one sentence per data set and k: what its best method finds, at which epsilon."""
        return conclusions(self.results.iter_rows(named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain values, as the command writes them in JSON."""
        return results_fields(self.results, self.frequencies, self.about)

    def to_html(self) -> str:
        """Return figures and results as one page."""
        from dpsel.evaluation.report_figures import sweep_figures

        facts = report_facts(self.sweep, self.results)
        figures = sweep_figures(self.results, self.frequencies)
        return report_html(TITLE, facts, self.results, figures, self.notes, self.conclusions)

    def __repr__(self) -> str:
        """Return the conclusions, below a line that they are not private."""
        size = f"{self.results.height:,} results in .results, a frame of polars"
        said = [printable(line) for line in self.conclusions]
        lines = [f"Evaluation: {NOT_PRIVATE}", size, *said[:_MOST_SHOWN]]
        if len(said) > _MOST_SHOWN:
            lines.append(f"and {len(said) - _MOST_SHOWN} more in .conclusions")
        return "\n  ".join(lines)

    def _repr_html_(self) -> str:
        """Return the same as `__repr__`, for a notebook."""
        said, stamp = self.conclusions, f"{NOT_PRIVATE}: for the data's holder only"
        facts: list[Fact] = [("found", sentence) for sentence in said[:_MOST_SHOWN]]
        if len(said) > _MOST_SHOWN:
            facts.append(("", f"and {len(said) - _MOST_SHOWN} more in .conclusions"))
        size = f"{self.results.height:,} in .results, a frame of polars; figures in .to_html()"
        return block_html(stamps=[stamp], facts=[*facts, ("results", size)])


@frozen
class EvaluationRun:
    """An evaluation that is ready to run: its outputs were checked, and its journal is open."""

    tables: Sequence[NamedTable]
    request: EvaluateRequest
    writing: ResultsWriting
    inputs: Sequence[Path]
    """The files that must not be overwritten."""
    journal: Journal

    def run(self, scheduler: Scheduler | None, reporter: Reporter) -> Evaluation:
        """Read the tables, run the sweep, and pass notes to the holder.

        Privacy:
            Guarantee: none; everything returned is for the data holder only.
            Tested by: tests/cli/test_evaluate.py
        """
        request = self.request
        sets = table_sets(self.tables, request.tables, reporter)
        with chosen_workers(scheduler, request.tables.threads, reporter.warn) as workers:
            found = run_sweep(sets, request.sweep, self.journal, reporter, workers)
        results = results_frame(found.results)
        truth = request.sweep.truth.of_all(list(found.truths.values()))
        request = replace(request, sweep=replace(request.sweep, truth=truth))
        notes = [*found.notes, *sweep_notes(results, request.sweep)]
        for note in notes:
            reporter.note(note)
        about = description(self.tables, request)
        if truth.kind == BY_TABLE:
            about["truth"]["tables"] = found.truths
        frequencies = frequencies_frame(found.frequencies)
        return Evaluation(results, frequencies, notes, about, request.sweep)

    def write(self, found: Evaluation) -> None:
        """Write the report and the results that were requested."""
        if self.writing.report is not None:
            self._write(self.writing.report, found.to_html().encode())
        if self.writing.output is not None:
            written = self.writing.format()
            content = results_bytes(found.results, found.frequencies, found.about, written)
            self._write(self.writing.output, content)

    def _write(self, place: str, content: bytes) -> None:
        """Write one file, whole or not at all; only the owner may read it, as it is not private."""
        force, inputs = self.writing.force, self.inputs
        with Output(place, force=force, inputs=inputs, owner_only=True) as file:
            file.write(content)


@contextmanager
def open_evaluation(
    tables: Sequence[NamedTable], request: EvaluateRequest, writing: ResultsWriting, *, resume: bool
) -> Iterator[EvaluationRun]:
    """Check the outputs before the sweep, and keep a journal until everything is written."""
    writing.format()
    paths = [table.path for table in tables if table.path is not None]
    inputs = [file for path in paths for file in input_files(path)]
    for place in writing.places:
        for path in paths:
            refuse_part(path, place)
        # Opened and closed now, so that errors come before the sweep and not after it. No file is
        # left behind if the run is killed.
        with Output(place, force=writing.force, inputs=inputs):
            pass
    beside = _journal_place(writing.places, resume)
    about = description(tables, request)
    with Journal(beside, about, resume=resume, force=writing.force) as journal:
        yield EvaluationRun(tables, request, writing, inputs, journal)


def description(tables: Sequence[NamedTable], request: EvaluateRequest) -> dict[str, Any]:
    """Return the settings as plain values: equal settings give the same results."""
    return {
        "tables": [table.public_name for table in tables],
        "target": request.tables.wanted.target,
        **request.sweep.described(),
    }


def _journal_place(places: Sequence[str], resume: bool) -> Path | None:
    """Return the place of the journal: beside the first file that will be written."""
    for place in places:
        if is_plain(place):
            return Path(f"{place}.unfinished")
    if resume:
        raise UsageError("--resume needs --output FILE or --report FILE: a run is kept beside it")
    return None
