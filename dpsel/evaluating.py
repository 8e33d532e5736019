"""`evaluate`: tables, and a sweep over them. For the data's holder only."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from dpsel import __version__
from dpsel.all_rows import all_rows
from dpsel.core.bounds import Bounds, is_unit
from dpsel.core.choices import Scale
from dpsel.core.errors import UsageError
from dpsel.core.evaluation.data import EvaluationData, Rows
from dpsel.io.bounds_file import PublicBounds
from dpsel.io.columns import Wanted, choose_columns, visible_columns
from dpsel.io.formats import InputFormat, Orientation
from dpsel.io.frames import pl
from dpsel.io.places import has_scheme, public_place
from dpsel.io.raw_tables import RawTable
from dpsel.io.sources import STDIN
from dpsel.io.tables import unchanged_table
from dpsel.io.targets import TargetCoding
from dpsel.labels import label_interval, labels_of
from dpsel.run import Reporter, cell_notes
from dpsel.sweep_plan import SweepPlan

# What an evaluation takes, in units of a table: raw and scaled rows, and a copy for a LASSO; and
# each worker has rows of its own, for which they are packed.
_COPIES, _COPIES_OF_WORKER = 4, 2


class _Notes:
    """Passes notes on, but not how far the reading of one table is."""

    def __init__(self, reporter: Reporter) -> None:
        self.note, self.warn = reporter.note, reporter.warn

    def size(self, file_bytes: int) -> None:
        """Say nothing."""

    def progress(self, done: float) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class TablePlan:
    """How the tables of an evaluation are read."""

    wanted: Wanted
    positive: str | None
    encode: bool
    bounds: PublicBounds
    input_format: InputFormat | None
    separator: str | None
    threads: int


def table_sets(
    places: Sequence[str], plan: TablePlan, reporter: Reporter
) -> list[Callable[[], EvaluationData]]:
    """Return what reads each table, named by its file."""
    if places.count(STDIN) > 1:
        raise UsageError("only one table can be stdin")
    names = _set_names(places)
    notes = _Notes(reporter)

    def loader(place: str, name: str) -> Callable[[], EvaluationData]:
        return lambda: load_table(place, name, plan, notes)

    return [loader(place, name) for place, name in zip(places, names, strict=True)]


def load_table(place: str, name: str, plan: TablePlan, reporter: Reporter) -> EvaluationData:
    """Read a whole table.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/cli/test_evaluate.py
    """
    wanted = plan.wanted
    raw = RawTable(
        place, wanted.target, Orientation.COLUMNS, None, None, plan.input_format, plan.separator
    )
    open_again = raw.opener(labels_are_numbers=not wanted.labels)
    with unchanged_table(open_again()) as table:
        layout = choose_columns(table.columns, wanted, table.label)
        columns = [column.name for column in visible_columns(table.columns)]
    classes = labels_of(open_again, layout) if plan.encode else None
    coding = TargetCoding(plan.positive, classes)
    bounds = plan.bounds.resolve(layout.names, wanted.target, columns, coded=coding.of_text)
    if coding.of_text:
        interval = label_interval(coding)
        bounds = Bounds(bounds.lower, bounds.upper, interval, coding.two_classes)
    with unchanged_table(open_again()) as table:
        copies = _COPIES + _COPIES_OF_WORKER * plan.threads
        X, y, cells = all_rows(
            table, layout, coding, reporter, plan.threads, copies=copies, clipping=bounds
        )
    assumed = is_unit(bounds.lower, bounds.upper)
    notes = cell_notes(cells, [*layout.names, wanted.target], assumed=assumed)
    return EvaluationData(
        name, tuple(layout.names), Rows(X, y), bounds, coding.of_text, clipping=tuple(notes)
    )


def sweep_notes(results: pl.DataFrame, plan: SweepPlan) -> list[str]:
    """Return what is wrong with results: no truth to be found, or scores that tie."""
    notes = []
    empty = results.filter(pl.col("true_size") == 0)["dataset"].unique(maintain_order=True)
    for name in empty:
        notes.append(
            f"{name}: no feature counts as true ({plan.truth.described()}), so every accuracy is "
            "0; try a smaller --penalty, another --truth, --bounds or --scale"
        )
    tied = results.filter(pl.col("tied") > 0)
    for (name, method), cells in tied.group_by("dataset", "method", maintain_order=True):
        ks = ", ".join(map(str, cells["k"].unique(maintain_order=True)))
        most = max(cells["tied"].to_list())
        notes.append(
            f"{name}: by {method} the k-th and the next score are equal, k = {ks}, in up to "
            f"{most:.0%} of the trials: there no k features are the best, and TOP is 0"
        )
    return notes


def report_facts(plan: SweepPlan, results: pl.DataFrame) -> list[tuple[str, str]]:
    """Return what was run, for the report."""
    sets = results.select("dataset", "n", "d").unique(maintain_order=True).rows()
    scaling = "by their bounds" if plan.scale is Scale.NONE else str(plan.scale)
    if plan.scale is Scale.ROBUST:
        scaling += f", clipped at {plan.clip:g}"
    return [
        ("data", "; ".join(f"{name} ({n} rows, {d} features)" for name, n, d in sets)),
        ("methods", ", ".join(method.name for method in plan.methods)),
        ("k", ", ".join(asked.text for asked in plan.ks)),
        ("epsilon", ", ".join(f"{epsilon:g}" for epsilon in plan.epsilons)),
        ("trials in each cell", str(plan.trials)),
        ("true features", plan.truth.described()),
        ("scaling", scaling),
        ("neighbors", str(plan.neighbors)),
        ("blocks of two-stage", str(plan.blocks or "the square root of the number of rows")),
        ("seed", str(plan.seed)),
        ("dpsel", __version__),
    ]


def _set_names(places: Sequence[str]) -> list[str]:
    """Return a name for each table: its file's, with a number where two are the same."""
    found: list[str] = []
    for place in places:
        path = public_place(place).partition("?")[0] if has_scheme(place) else place
        stem = "stdin" if place == STDIN else PurePath(path).name.split(".")[0] or path
        name, number = stem, 2
        while name in found:
            name, number = f"{stem}-{number}", number + 1
        found.append(name)
    return found
