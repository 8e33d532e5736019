"""How good the picks of `stump` are on real tables, compared with other methods.

    python benchmarks/stump_accuracy.py [FOLDER] [--quick]

FOLDER has microarrays in Parquet with labels in `y` (default: the sibling ../shared/data). It
prints three measures for each epsilon:

- accuracy of a ridge model on unseen rows (R^2 for numbers), with features selected within the
  training rows of 5 folds; the folds are repeated, with one draw per fold, and all errors pooled;
- mean |correlation| of the picks with the target over the best possible, each class against the
  rest (for microarrays: tables with two classes); slow methods have a quarter of the draws;
- the same with labels coded 0, 1, 2..., which is what dp-sis and kendall get.

Each table counts once. The uncertainty is one standard error over tables; differences are paired.
For microarrays the last table shows which epsilon reaches what dp-sis does at 10, with a 95 %
bootstrap interval over tables.
"""

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from compared_methods import METHODS, correlations
from real_tables import ARRAYS, KNOWN, NEW, SMALL, RealTable, real_tables
from sklearn.model_selection import KFold, StratifiedKFold

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.randomness import derived_seed
from dpsel.evaluation.unseen import FoldTest, UnseenTarget

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)
FOLDS = 5
_NO_EPSILON = {"random", "sis, not private"}
_SLOW = {"dpkendall", "two-stage"}

Measured = dict[tuple[str, float], float]
"""The result of each method and epsilon on one table."""

Results = dict[tuple[str, float], FloatArray]
"""The same, with one number per table."""


@dataclass(frozen=True)
class Effort:
    """How often folds are repeated, and how many selections are drawn for correlations."""

    repetitions: int
    draws: int
    methods: tuple[str, ...] = tuple(METHODS)

    def of(self, table: RealTable) -> "Effort":
        """Return twice the effort for small tables."""
        if table.X.size > 1e5:
            return self
        return Effort(2 * self.repetitions, 2 * self.draws, self.methods)


def epsilons_of(method: str) -> tuple[float, ...]:
    """Return the epsilons to run for a method; a single one if it ignores epsilon."""
    return EPSILONS[-1:] if method in _NO_EPSILON else EPSILONS


def unseen_accuracy(table: RealTable, effort: Effort) -> Measured:
    """Return the accuracy, or R^2, of a ridge model on rows that the selection did not see."""
    errors: dict[tuple[str, float], float] = {}
    repetitions = effort.of(table).repetitions
    for repetition, fold, train, test in folds_of(table, repetitions):
        for method in effort.methods:
            draw = METHODS[method](table.rows(train))
            for epsilon in epsilons_of(method):
                picks = draw(epsilon, _seed(table, method, epsilon, repetition, fold))
                missed = ridge_errors(table, picks, train, test)
                errors[method, epsilon] = errors.get((method, epsilon), 0.0) + missed
    worst = len(table.y) if table.classes else float(((table.y - table.y.mean()) ** 2).sum())
    return {key: 1.0 - missed / (worst * repetitions) for key, missed in errors.items()}


def folds_of(table: RealTable, repetitions: int) -> Iterator[tuple[int, int, IntArray, IntArray]]:
    """Yield repetition, fold, training rows and test rows."""
    kind = StratifiedKFold if table.classes else KFold
    for repetition in range(repetitions):
        folds = kind(FOLDS, shuffle=True, random_state=repetition)
        for fold, (train, test) in enumerate(folds.split(table.X, table.y)):
            yield repetition, fold, train, test


def ridge_errors(table: RealTable, picks: IntArray, train: IntArray, test: IntArray) -> float:
    """Return how many test rows a ridge model gets wrong, or the sum of its squared errors."""
    target = UnseenTarget(table.y, table.classes)
    return FoldTest(table.X, target, train, test).error(picks.tolist())


def share_of_best(table: RealTable, effort: Effort) -> Measured:
    """Return the |correlation| of the picks over that of the best, each class against the rest."""
    each = [coded_share_of_best(part, effort) for part in table.one_against_rest()]
    return {key: float(np.mean([part[key] for part in each])) for key in each[0]}


@cache
def coded_share_of_best(table: RealTable, effort: Effort) -> Measured:
    """Return the mean |correlation| of the picks over that of the best; labels count as numbers."""
    values = correlations(table.X, table.y)
    best = np.sort(values)[-table.k :].mean()
    found = {}
    for method in effort.methods:
        make = METHODS[method]
        draws = effort.of(table).draws // (4 if method in _SLOW else 1)
        draw = make(table)
        for epsilon in epsilons_of(method):
            picks = []
            for index in range(max(1, draws)):
                # Every selection has its own blocks.
                again = make(table) if method == "two-stage" else draw
                picks.append(again(epsilon, _seed(table, method, epsilon, index)))
            found[method, epsilon] = float(values[np.array(picks)].mean() / best)
    return found


def _seed(table: RealTable, *parts: object) -> int:
    """Return a separate seed for every draw."""
    return derived_seed(0, table.name, *parts)


def gathered(
    tables: list[RealTable],
    measure: Callable[[RealTable, Effort], Measured],
    effort: Effort,
) -> Results:
    """Return the results of a measure on each table."""
    found = [measure(table, effort) for table in tables]
    results = {key: np.array([one[key] for one in found]) for key in found[0]}
    for method in _NO_EPSILON:
        for epsilon in EPSILONS:
            results[method, epsilon] = results[method, EPSILONS[-1]]
    return results


def methods_in(results: Results) -> list[str]:
    """Return the methods that were run."""
    return [method for method in METHODS if (method, EPSILONS[-1]) in results]


def _error(values: FloatArray) -> float:
    """Return the standard error of a mean."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def print_means(results: Results) -> None:
    """Print the mean of every method, and how far stump is ahead of it, paired over tables."""
    head = " | ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    print(f"\n| epsilon | {head} |\n| --- |" + " --- |" * len(EPSILONS))
    for method in methods_in(results):
        cells = []
        for epsilon in EPSILONS:
            values = results[method, epsilon]
            ahead = results["stump", epsilon] - values
            text = f"{values.mean():.3f}"
            if method == "stump":
                text += f" ± {_error(values):.3f}"
            else:
                text += f" ({ahead.mean():+.3f} ± {_error(ahead):.3f})"
            cells.append(text)
        print(f"| {method} | " + " | ".join(cells) + " |")


def print_tables(tables: list[RealTable], results: Results) -> None:
    """Print the results on each table: stump and other methods at the same epsilon."""
    shown = ["stump", "dp-sis", "robust dot", "kendall", "random", "sis, not private"]
    print(
        "\n| table, at epsilon 1 / 2 | " + " | ".join(shown) + " |\n| --- |" + " --- |" * len(shown)
    )
    for index, table in enumerate(tables):
        cells = [
            " / ".join(
                f"{results[method, epsilon][index]:.2f}"
                for epsilon in ((2.0,) if method in _NO_EPSILON else (1.0, 2.0))
            )
            for method in shown
        ]
        print(f"| {table.described()} | " + " | ".join(cells) + " |")


def epsilon_for(results: Results, method: str, chosen: IntArray) -> float:
    """Return the epsilon at which a method reaches dp-sis at 10, interpolated."""
    goal = results["dp-sis", 10.0][chosen].mean()
    reached = [results[method, epsilon][chosen].mean() for epsilon in EPSILONS]
    for index, value in enumerate(reached):
        if value >= goal and index == 0:
            return EPSILONS[0]
        if value >= goal:
            before = reached[index - 1]
            part = (goal - before) / (value - before)
            low, high = math.log(EPSILONS[index - 1]), math.log(EPSILONS[index])
            return math.exp(low + part * (high - low))
    return math.inf


def print_epsilons(results: Results) -> None:
    """Print which epsilon each method needs to reach what dp-sis does at 10."""
    goal = results["dp-sis", 10.0]
    print(f"\nEpsilon for what dp-sis reaches at 10 ({goal.mean():.3f}), and 95 % of bootstraps:\n")
    print("| method | epsilon | from | to |\n| --- | --- | --- | --- |")
    rng = np.random.default_rng(0)
    lots = rng.integers(0, len(goal), (2000, len(goal)))
    for method in methods_in(results):
        if method in (*_NO_EPSILON, "dp-sis"):
            continue
        mean = epsilon_for(results, method, np.arange(len(goal)))
        ends = np.quantile(
            [epsilon_for(results, method, lot) for lot in lots], [0.025, 0.975], method="nearest"
        )
        print(f"| {method} | " + " | ".join(_epsilon_text(x) for x in (mean, *ends)) + " |")


def _epsilon_text(epsilon: float) -> str:
    """Return an epsilon as text; above or below the range of the epsilons, a bound."""
    if math.isinf(epsilon):
        return "> 10"
    return "≤ 0.5" if epsilon <= EPSILONS[0] else f"{epsilon:.1f}"


def report(title: str, tables: list[RealTable], measure: str, effort: Effort) -> None:
    """Print the results of one measure on some tables."""
    start = time.process_time()
    print(f"\n### {title}: {len(tables)} tables", flush=True)
    results = gathered(tables, MEASURES[measure], effort)
    print_means(results)
    print_tables(tables, results)
    if tables[0].group == ARRAYS:
        print_epsilons(results)
    print(f"\n({time.process_time() - start:.0f} s of processor time)", flush=True)


MEASURES: dict[str, Callable[[RealTable, Effort], dict[tuple[str, float], float]]] = {
    "accuracy on unseen rows": unseen_accuracy,
    "correlation of the picks": share_of_best,
    "correlation with coded labels": coded_share_of_best,
}


def tables_for(measure: str, tables: list[RealTable], group: str) -> list[RealTable]:
    """Return the tables of a group that a measure applies to."""
    here = [table for table in tables if table.group == group]
    if measure == "correlation with coded labels":
        coded = [table for table in here if table.classes]
        return coded if any(table.classes > 2 for table in coded) else []
    if measure == "correlation of the picks" and group == ARRAYS:
        return [table for table in here if table.classes == 2]
    return here


def main() -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    sibling = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("folder", type=Path, nargs="?", default=sibling)
    parser.add_argument("--quick", action="store_true", help="few repetitions, small tables only")
    parser.add_argument("--fast", action="store_true", help="leave out the slow methods")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--only", choices=[ARRAYS, KNOWN, NEW, SMALL], help="one group of tables")
    parser.add_argument("--measure", choices=list(MEASURES), help="one measure")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    methods = tuple(name for name in METHODS if not (given.fast and name in _SLOW))
    effort = Effort(given.repetitions, given.draws, methods)
    if given.quick:
        effort = Effort(1, 2, methods)
    tables = real_tables(given.folder)
    if given.quick:
        tables = [table for table in tables if table.X.size < 2e5]
    print(
        f"{effort.repetitions} x {FOLDS} folds and {effort.draws} draws, on tables of at most 10^5 "
        f"cells twice as many; a quarter of the draws for {' and '.join(sorted(_SLOW))}. "
        "In brackets: how far stump is ahead."
    )
    for group in (ARRAYS, KNOWN, NEW, SMALL):
        for measure in MEASURES:
            chosen = tables_for(measure, tables, group)
            if chosen and given.only in (None, group) and given.measure in (None, measure):
                report(f"{measure}, {group}", chosen, measure, effort)


if __name__ == "__main__":
    main()
