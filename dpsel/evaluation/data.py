"""The data sets of an evaluation: how they are read and scaled, and which features are true.

There is no privacy guarantee: everything here is for the data's holder only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import PurePath
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.bounds import ONE, Bounds, bounded_integers, is_unit
from dpsel.core.matrix import changed, column_groups, target_products
from dpsel.core.target import MOST_CLASSES, Target
from dpsel.core.votes import largest
from dpsel.errors import InputError, UsageError
from dpsel.preprocessing.options import Center, Scale
from dpsel.preprocessing.scaling import Scaling, data_scaling
from dpsel.preprocessing.statistics import exact_statistics, joined_statistics
from dpsel.records import frozen
from dpsel.reporter import Reporter
from dpsel.selection.lasso import PENALTY, lasso_coefficients
from dpsel.tables.bounds_file import PublicBounds
from dpsel.tables.cell_counts import cell_notes
from dpsel.tables.columns import Wanted, choose_columns, nameless_notes, visible_columns
from dpsel.tables.formats import FileFormat, Orientation
from dpsel.tables.labels import TargetCoding, label_interval
from dpsel.tables.opening import unchanged_table
from dpsel.tables.places import has_scheme, public_place
from dpsel.tables.sources import STDIN
from dpsel.tables.spill import read_matrix
from dpsel.tables.transposed import RawTable, labels_of


@frozen
class DataSet:
    """The features and the target of all rows. Private."""

    X: Any = field(repr=False)
    """A `Matrix`; code that made the rows in memory may use it as an array."""
    y: FloatArray = field(repr=False)


@frozen
class FoundTruth:
    """The true features of one data set: those with the k largest weights, or a known set."""

    weights: FloatArray | None
    known: IntArray | None

    def top(self, k: int) -> IntArray:
        """Return the true features for a k; by weights, at most k and none of weight 0."""
        if self.known is not None:
            return self.known
        assert self.weights is not None
        return largest(self.weights, k)


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


LASSO = "lasso"
SIS = "sis"


@frozen
class Truth:
    """How the true features are defined: by a LASSO, by SIS, or by a list of names."""

    kind: str = LASSO
    penalty: float = PENALTY
    names: tuple[str, ...] = ()

    def described(self) -> str:
        """Return the definition in words."""
        if self.kind == LASSO:
            return f"the k largest coefficients of a LASSO, lambda = {self.penalty:g}"
        return "the k largest |x'y|" if self.kind == SIS else ", ".join(self.names)

    def found(self, rows: DataSet, features: Sequence[str]) -> FoundTruth:
        """Return the true features of one data set."""
        if self.kind == LASSO:
            return FoundTruth(lasso_coefficients(rows.X, rows.y, self.penalty), None)
        if self.kind == SIS:
            return FoundTruth(np.abs(target_products(rows.X, rows.y)), None)
        place = {name: i for i, name in enumerate(features)}
        for name in self.names:
            if name not in place:
                raise InputError(f"the truth names '{name}', which is not among the features")
        return FoundTruth(None, np.array(sorted(place[name] for name in self.names)))


def parse_truth(text: str, penalty: float) -> Truth:
    """Parse the option `--truth`: `lasso`, `sis`, or names separated by commas."""
    if text.strip() in (LASSO, SIS):
        return Truth(text.strip(), penalty)
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise UsageError(f"--truth is {LASSO}, {SIS}, or names of columns with commas")
    return Truth("names", penalty, names)


# Memory of an evaluation, in multiples of the table: raw rows, scaled rows and a copy for a LASSO;
# each worker also has its own rows, which are pickled to get there.
_COPIES, _COPIES_OF_WORKER = 4, 2


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
        columns = [column.name for column in visible_columns(table.columns)]
        for note in nameless_notes(table.columns, table.label):
            reporter.note(note)
    classes = labels_of(open_again, layout) if request.encode else None
    coding = TargetCoding(request.positive, classes)
    bounds = request.bounds.resolve(layout.names, wanted.target, columns, coded=coding.of_text)
    if coding.of_text:
        interval = label_interval(coding)
        bounds = Bounds(bounds.lower, bounds.upper, interval, coding.two_classes)
    with unchanged_table(open_again()) as table:
        copies = _COPIES + _COPIES_OF_WORKER * request.threads
        X, y, cells = read_matrix(
            table, layout, coding, reporter, request.threads, copies=copies, clipping=bounds
        )
    assumed = is_unit(bounds.lower, bounds.upper)
    notes = cell_notes(cells, [*layout.names, wanted.target], assumed=assumed)
    rows = DataSet(X, y)
    return EvaluationData(
        name,
        tuple(layout.names),
        rows,
        bounds,
        coding.of_text,
        _target(coding),
        clipping=tuple(notes),
        unbounded=not wanted.bounded and beyond_unit(rows, labels=coding.of_text),
    )


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
