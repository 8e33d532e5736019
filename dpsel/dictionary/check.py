"""Check how well a table fits its dictionary. For the data holder only, never for release."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.batch import Batch
from dpsel.core.words import words_of
from dpsel.dictionary.described import described, target_facts
from dpsel.dictionary.facts import ColumnFacts, ColumnKind, Dictionary
from dpsel.dictionary.options import CheckFormat
from dpsel.display import printable
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.system.frames import pl
from dpsel.system.text import json_text
from dpsel.tables.column_names import refuse_repeated
from dpsel.tables.columns import Layout, visible_columns
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import file_bytes, unchanged
from dpsel.tables.table import RowReader, Table, read_batches
from dpsel.tables.words import text_cells

STAMP = "not private: made from the rows, for the data's holder only, not for release"
_CELLS, _MISSING, _CLIPPED, _UNKNOWN, _UNREADABLE = range(5)
_HEADS = ("missing", "clipped", "unknown", "unreadable")
_WIDEST = 34
_NO_FACTS = ColumnFacts()


@frozen
class ColumnCheck:
    """The shares of a column's cells that do not fit; None where its facts say nothing."""

    name: str
    kind: ColumnKind | None
    missing: float
    clipped: float | None
    unknown: float | None
    unreadable: float | None


def check_table(
    table: Table, dictionary: Dictionary, reporter: Reporter, threads: int
) -> list[ColumnCheck]:
    """Read all rows, and return how well each column fits its facts.

    Privacy:
        Guarantee: none; the shares are private, and for the data holder only.
        Tested by: tests/dictionary/test_check.py
    """
    names = [column.name for column in visible_columns(table.columns)]
    refuse_repeated(names, "column", table.label)
    stated = described(dictionary, names).facts
    facts = [_with_target(name, stated.get(name, _NO_FACTS), dictionary) for name in names]
    counts = _Counts(facts)
    places = {column.name: place for place, column in enumerate(table.columns)}
    positions = tuple(places[name] for name in names)
    # Every column is read as a feature. Reading needs a target too; this one is not used.
    layout = Layout(positions, tuple(names), positions[0], labels=True, person=None, typed=True)
    rows = RowReader(TargetCoding(), words=True)
    reporter.size(file_bytes(table))
    with unchanged(table.sources):
        read_batches(
            table.pending_batches(layout, rows),
            counts.of,
            counts.add,
            threads=threads,
            progress=reporter.progress,
        )
    for note in rows.notes:
        reporter.note(note)
    return counts.checks(names)


def _with_target(name: str, own: ColumnFacts, dictionary: Dictionary) -> ColumnFacts:
    """Return the facts about a column, completed by those about it as the target."""
    if dictionary.target is None or dictionary.target.column != name:
        return own
    about = target_facts(dictionary, name)
    if own.categories is None and about.classes is not None:
        own = replace(own, kind=ColumnKind.CATEGORY, categories=about.classes)
    if own.range is None and about.range is not None:
        own = replace(own, kind=ColumnKind.NUMBER, range=about.range)
    return own


class _Counts:
    """The numbers of cells that do not fit, for each column."""

    def __init__(self, facts: Sequence[ColumnFacts]) -> None:
        """Start all counts at 0."""
        self._facts = facts
        self._known = [None if f.categories is None else _codes(f.categories) for f in facts]
        self._total = np.zeros((5, len(facts)), dtype=np.int64)

    def of(self, batch: Batch) -> tuple[int, IntArray]:
        """Count the cells of one batch."""
        X = np.asarray(batch.X)
        counts = np.zeros((5, X.shape[1]), dtype=np.int64)
        for place in range(X.shape[1]):
            cells = np.ascontiguousarray(X[:, place], dtype=np.float64)
            counts[:, place] = self._column(batch.first_feature + place, cells)
        return batch.first_feature, counts

    def _column(self, place: int, cells: FloatArray) -> list[int]:
        """Count the cells of one column."""
        facts, known = self._facts[place], self._known[place]
        is_word = words_of(cells)[0]
        missing = np.isnan(cells) & ~is_word
        counts = [len(cells), int(missing.sum()), 0, 0, int(is_word.sum())]
        if facts.range is not None:
            outside = (cells < facts.range.lower) | (cells > facts.range.upper)
            counts[_CLIPPED] = int(outside.sum())
        if known is not None:
            counts[_UNKNOWN] = int((~missing & ~np.isin(_bits(cells), known)).sum())
        return counts

    def add(self, counted: tuple[int, IntArray]) -> None:
        """Add the counts of one batch."""
        first, counts = counted
        self._total[:, first : first + counts.shape[1]] += counts

    def checks(self, names: Sequence[str]) -> list[ColumnCheck]:
        """Return the shares of all columns."""
        shares = (self._total / np.maximum(self._total[_CELLS], 1)).T.tolist()
        return [
            _check(name, facts, own)
            for name, facts, own in zip(names, self._facts, shares, strict=True)
        ]


def _check(name: str, facts: ColumnFacts, shares: Sequence[float]) -> ColumnCheck:
    """Return those shares of a column that its facts define."""
    plain = facts.kind in (ColumnKind.NUMBER, ColumnKind.DATE)
    return ColumnCheck(
        name,
        facts.kind,
        shares[_MISSING],
        None if facts.range is None else shares[_CLIPPED],
        None if facts.categories is None else shares[_UNKNOWN],
        shares[_UNREADABLE] if plain else None,
    )


def _codes(labels: Sequence[str]) -> IntArray:
    """Return labels as cells are coded, to compare them."""
    return _bits(text_cells(pl.Series(list(labels), dtype=pl.String)))


def _bits(cells: FloatArray) -> IntArray:
    """Return cells as integers, to compare them: as floats, words are NaNs and never equal."""
    return np.where(cells == 0.0, 0.0, cells).view(np.int64)


def check_text(checks: Sequence[ColumnCheck], written_as: CheckFormat) -> str:
    """Return a check as text, one line per column, or as JSON."""
    if written_as is CheckFormat.JSON:
        return json_text(
            {
                "schema": "dpsel.dictionary-check/1",
                "not_for_release": STAMP,
                "columns": [_plain(check) for check in checks],
            }
        )
    shown = [_shortened(printable(check.name)) for check in checks]
    width = max(map(len, ["column", *shown]))
    lines = [STAMP, _line("column", "kind", _HEADS, width)]
    for name, check in zip(shown, checks, strict=True):
        values = [_percent(getattr(check, head)) for head in _HEADS]
        lines.append(_line(name, check.kind or "", values, width))
    return "\n".join(lines) + "\n"


def _plain(check: ColumnCheck) -> dict[str, Any]:
    """Return the shares of a column as plain values."""
    shares = {head: getattr(check, head) for head in _HEADS}
    return {"name": check.name, "kind": None if check.kind is None else str(check.kind), **shares}


def _line(name: str, kind: str, values: Sequence[str], width: int) -> str:
    """Return one line of the table, at most 80 characters long."""
    cells = "".join(f"{value:>{len(head) + 1}}" for head, value in zip(_HEADS, values, strict=True))
    return f"{name:<{width}} {kind:<8}{cells}".rstrip()


def _shortened(name: str) -> str:
    """Return a name that fits its column."""
    return name if len(name) <= _WIDEST else f"{name[: _WIDEST - 3]}..."


def _percent(share: float | None) -> str:
    """Return a share in percent; a tiny share is not shown as 0."""
    if share is None:
        return ""
    return "<0.1%" if 0 < share < 0.001 else f"{share:.1%}"
