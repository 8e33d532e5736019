"""The data sets of an evaluation: how they are read and scaled.

There is no privacy guarantee: everything here is for the data holder only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray
from dpsel.core.bounds import ONE, Bounds, bounded_integers, is_unit
from dpsel.core.matrix import Matrix, changed, column_groups
from dpsel.core.target import MOST_CLASSES, Target
from dpsel.core.words import without_words, words_of
from dpsel.errors import UsageError
from dpsel.evaluation.truth import FoundTruth
from dpsel.preprocessing.options import Center, Scale
from dpsel.preprocessing.scaling import Scaling, data_scaling
from dpsel.preprocessing.statistics import exact_statistics, joined_statistics
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.cell_counts import CellCounts, cell_notes
from dpsel.tables.columns import (
    Kind,
    Layout,
    Wanted,
    choose_columns,
    nameless_notes,
    visible_columns,
)
from dpsel.tables.formats import FileFormat, Orientation
from dpsel.tables.labels import TargetCoding, label_interval
from dpsel.tables.opening import unchanged_table
from dpsel.tables.places import has_scheme, public_place
from dpsel.tables.raw import RawTable, labels_of
from dpsel.tables.spill import read_matrix
from dpsel.tables.table import RowReader, Table
from dpsel.tables.table_files import STDIN


@frozen
class DataSet:
    """The features and the target of all rows. Private."""

    X: Any = field(repr=False)
    """A `Matrix`; code that made the rows in memory may use it as an array."""
    y: FloatArray = field(repr=False)


@frozen
class EvaluationData:
    """A data set: its rows as they were read, and their public bounds."""

    name: str
    features: tuple[str, ...]
    raw: DataSet
    bounds: Bounds
    labels: bool
    """Whether the target was coded from labels, which are never clipped."""
    target: Target = field(default_factory=Target)
    """What is publicly known about the target."""
    truth: FoundTruth | None = None
    """The true features, if they are known because the data are synthetic."""
    clipping: tuple[str, ...] = ()
    """Notes for the holder about the cells, where they are only clipped to their bounds."""
    unbounded: bool = False
    """Whether no bounds were given and cells lie outside [-1, 1]: clipping would mean nothing."""
    cells: Matrix | None = field(default=None, repr=False)
    """All cells, words and dates included, if the table has any; `raw` has the numbers only."""
    wordy: tuple[str, ...] = ()
    """The features with more words and dates than numbers."""

    @property
    def wordy_names(self) -> str:
        """Return the names of the `wordy` features, at most ten of them."""
        named = ", ".join(f"'{name}'" for name in self.wordy[:_MOST_NAMED])
        more = len(self.wordy) - _MOST_NAMED
        return f"{named} and {more} more columns" if more > 0 else named

    @property
    def whole(self) -> DataSet:
        """Return the rows with all of their cells: numbers, words and dates."""
        return self.raw if self.cells is None else DataSet(self.cells, self.raw.y)

    def truth_scale(self, scale: Scale) -> Scale:
        """Return the scaling that defines the true features: max-abs if cells are `unbounded`."""
        return Scale.MAX_ABS if scale is Scale.NONE and self.unbounded else scale

    def scaled(self, scale: Scale, clip: float) -> DataSet:
        """Return the rows within [-1, 1], rounded to the grid that all scores use.

        `Scale.NONE` bounds them as `select` does. The other scalings first do what `preprocess`
        does; a guarantee would then cover the selection only.
        """
        if scale is Scale.NONE:
            target = self.bounds.target
            y = bounded_integers(self.raw.y, np.array(target.lower), np.array(target.upper))
            return DataSet(changed(self.raw.X, self._bounded), y / ONE)
        parts = [exact_statistics(columns) for _, columns in column_groups(self.raw.X)]
        y = self.raw.y[:, np.newaxis]
        statistics = joined_statistics([*parts, exact_statistics(y)])
        center = Center.MEDIAN if scale is Scale.ROBUST else Center.MEAN
        scaling = data_scaling(statistics, center, scale, clip)
        if self.labels:
            scaling = scaling.with_last(data_scaling(statistics, Center.MEAN, Scale.MAX_ABS, clip))
        last = slice(self.raw.X.shape[1], None)
        return DataSet(
            changed(self.raw.X, partial(_scaled, scaling)), _scaled(scaling, last, y)[:, 0].copy()
        )

    def _bounded(self, columns: slice, X: FloatArray) -> FloatArray:
        """Return the cells of some columns, clipped to their public bounds."""
        return bounded_integers(X, self.bounds.lower[columns], self.bounds.upper[columns]) / ONE


def _scaled(scaling: Scaling, columns: slice, X: FloatArray) -> FloatArray:
    """Return the scaled cells of some columns, rounded to the grid that all scores use."""
    return bounded_integers(scaling.part(columns).apply(X), np.array(-1.0), np.array(1.0)) / ONE


# Memory of an evaluation, in multiples of the table: raw rows, scaled rows and a copy for a LASSO;
# each worker also has its own rows, which are pickled to get there.
_COPIES, _COPIES_OF_WORKER = 4, 2
_MOST_NAMED = 10


class _Notes(Reporter):
    """Pass on notes and warnings, but not the progress of reading one table."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    def note(self, message: str) -> None:
        """Pass a note on."""
        self._reporter.note(message)

    def warn(self, message: str) -> None:
        """Pass a warning on."""
        self._reporter.warn(message)


@frozen
class TableRequest:
    """How the tables of an evaluation are read."""

    wanted: Wanted
    positive: str | None
    encode: bool
    bounds: PublicBounds
    file_format: FileFormat
    threads: int


@frozen
class NamedTable:
    """A table of an evaluation, and the name it has in the results."""

    name: str
    place: Any = field(repr=False)
    """A path, or a frame in memory."""

    @property
    def path(self) -> str | None:
        """Return the path of the table; None for a frame."""
        return str(self.place) if isinstance(self.place, str | PurePath) else None

    @property
    def public_name(self) -> str:
        """Return the place of the table without secrets such as passwords, or its name."""
        return self.name if self.path is None else public_place(self.path)


def named_tables(tables: Sequence[Any] | Mapping[str, Any]) -> list[NamedTable]:
    """Return the tables with the names given to them, or with the names of their files."""
    if isinstance(tables, Mapping):
        return [NamedTable(str(name), place) for name, place in tables.items()]
    named = list(map(NamedTable, _set_names(tables), tables))
    if [table.path for table in named].count(STDIN) > 1:
        raise UsageError("only one table can be stdin")
    return named


def table_sets(
    tables: Sequence[NamedTable], request: TableRequest, reporter: Reporter
) -> list[Callable[[], EvaluationData]]:
    """Return one function per table, which reads it."""
    notes = _Notes(reporter)
    return [partial(load_table, table.place, table.name, request, notes) for table in tables]


def load_table(place: Any, name: str, request: TableRequest, reporter: Reporter) -> EvaluationData:
    """Read a whole table.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/cli/test_evaluate.py
    """
    wanted = request.wanted
    raw = RawTable(place, wanted.target, Orientation.COLUMNS, None, None, request.file_format)
    open_again = raw.opener(labels_are_numbers=not wanted.labels)
    with unchanged_table(open_again()) as table:
        layout = choose_columns(table.columns, wanted, table.label)
        kinds = [table.columns[place].kind for place in layout.features]
        columns = [column.name for column in visible_columns(table.columns)]
        for note in nameless_notes(table.columns, table.label):
            reporter.note(note)
    classes = labels_of(open_again, layout) if request.encode else None
    coding = TargetCoding(request.positive, classes)
    bounds = request.bounds.resolve(layout.names, wanted.target, columns, coded=coding.of_text)
    if coding.of_text:
        interval = label_interval(coding)
        bounds = Bounds(bounds.lower, bounds.upper, interval, coding.two_classes)
    read = _Reading(open_again, layout, coding, bounds, request.threads, reporter).read(kinds)
    numeric = np.flatnonzero(~read.wordy)
    names = [*(layout.names[place] for place in numeric), wanted.target]
    assumed = is_unit(bounds.lower, bounds.upper)
    return EvaluationData(
        name,
        tuple(layout.names),
        read.rows,
        bounds,
        coding.of_text,
        _target(coding),
        clipping=tuple(cell_notes(read.counts.of_features(numeric), names, assumed=assumed)),
        unbounded=not wanted.bounded and beyond_unit(read.rows, labels=coding.of_text),
        cells=read.cells,
        wordy=tuple(layout.names[place] for place in np.flatnonzero(read.wordy)),
    )


@frozen
class _Read:
    """All rows of a table: their numbers, and all cells if some are words or dates. Private."""

    rows: DataSet
    cells: Matrix | None = field(repr=False)
    wordy: BoolArray = field(repr=False)
    """Whether a feature has more words and dates than numbers."""
    counts: CellCounts


# A column of such a type has no numbers, though some of its texts may look like one.
_NOT_NUMBERS = (Kind.TEXT, Kind.TIME, Kind.BINARY, Kind.OTHER, Kind.CATEGORY)


@frozen
class _Reading:
    """How one table is read, which is done twice if it is a CSV with words or missing cells."""

    open_again: Callable[[], Table]
    layout: Layout
    coding: TargetCoding
    bounds: Bounds
    threads: int
    reporter: Reporter

    def read(self, kinds: Sequence[Kind]) -> _Read:
        """Read the numbers, as `select` does for scores of numbers, and all cells if they differ.

        `kinds` are those of the features. A CSV is read twice, because a date that was read as a
        cell is a number like any other.

        Privacy:
            Guarantee: none; the rows are private.
            Tested by: tests/evaluation/test_words.py
        """
        not_numbers = np.array([kind in _NOT_NUMBERS for kind in kinds], dtype=np.bool_)
        if not_numbers.any():
            cells, y, counts = self._matrix(words=True)
            X = changed(cells, partial(_numbers, not_numbers))
        else:
            X, y, counts = self._matrix(words=False)
            same = _Read(DataSet(X, y), None, not_numbers, counts)
            if all(kind is Kind.NUMBER for kind in kinds) or not self.layout.words:
                return same
            if (_known(X) == len(y)).all():
                return same
            cells, _, _ = self._matrix(words=True)
        numbers, known = _known(X), _known(cells)
        wordy = known - numbers > numbers
        return _Read(DataSet(X, y), None if (known == numbers).all() else cells, wordy, counts)

    def _matrix(self, *, words: bool) -> tuple[Matrix, FloatArray, CellCounts]:
        """Read all rows once."""
        with unchanged_table(self.open_again()) as table:
            return read_matrix(
                table,
                self.layout,
                RowReader(self.coding, words=words),
                self.reporter,
                self.threads,
                copies=_COPIES + _COPIES_OF_WORKER * self.threads,
                clipping=self.bounds,
            )


def _numbers(not_numbers: BoolArray, columns: slice, cells: FloatArray) -> FloatArray:
    """Return the numbers among some cells, NaN for others and in columns of other types."""
    numbers = without_words(cells).copy(order="F")
    numbers[:, not_numbers[columns]] = np.nan
    return numbers


def _known(X: Matrix) -> IntArray:
    """Return how many cells of each column are numbers or words."""
    known = np.zeros(X.shape[1], dtype=np.int64)
    for columns, cells in column_groups(X):
        known[columns] = (~np.isnan(cells) | words_of(cells)[0]).sum(axis=0)
    return known


def _target(coding: TargetCoding) -> Target:
    """Return what is known about the target: its classes, as with `dpsel select --classes`."""
    classes = 2 if coding.two_classes else len(coding.classes or ())
    return Target(classes=classes if 2 <= classes <= MOST_CLASSES else 0)


def beyond_unit(rows: DataSet, *, labels: bool) -> bool:
    """Return whether any cell lies outside [-1, 1]; coded labels of the target may."""
    beyond = any((np.abs(X) > 1.0).any() for _, X in column_groups(rows.X))
    return beyond or (not labels and bool((np.abs(rows.y) > 1.0).any()))


def _set_names(tables: Sequence[Any]) -> list[str]:
    """Return a name for each table: the name of its file, numbered where two are equal."""
    names: list[str] = []
    for table in tables:
        place = str(table) if isinstance(table, str | PurePath) else "frame"
        path = public_place(place).partition("?")[0] if has_scheme(place) else place
        stem = "stdin" if place == STDIN else PurePath(path).name.split(".")[0] or path
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names.append(name)
    return names
