"""The audit of a score: between neighboring tables it must not move beyond its sensitivity."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpsel.auditing.certificate import NO_PROOF, Certificate, Verdict, made_by, plain_cells, rounded
from dpsel.auditing.request import ScoreRequest
from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.core.scores.base import Scores
from dpsel.core.scores.registry import ScoreKind, find_score
from dpsel.records import frozen
from dpsel.reporter import Reporter

FEATURES = 3
BOUNDS = {
    "unit": Bounds.of([Interval(-1, 1)] * FEATURES, Interval(-1, 1)),
    "odd": Bounds.of([Interval(0, 10), Interval(-1e-3, 5e300), Interval(-7, -2)], Interval(-2, 1)),
}
_WILD = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 1.0, -1.0, 0.5, 3.0])
_SIZES = (1, 3, 8, 400)
_KINDS = ("uniform", "corners", "wild", "missing", "tiny", "sorted", "same", "beyond")


@frozen
class TablePair:
    """Two neighboring tables: the rows they share, and the rows of one unit in each, at `place`.

    The last column is the target. Under add-remove the unit has no rows in the second table.
    """

    name: str
    bounds: str
    others: FloatArray
    unit: tuple[FloatArray, FloatArray]
    place: int

    def tables(self) -> tuple[FloatArray, FloatArray]:
        """Return both tables."""
        before, after = self.others[: self.place], self.others[self.place :]
        first, second = (np.concatenate([before, rows, after]) for rows in self.unit)
        return first, second


def handmade_pairs(neighbors: Neighbors, unit: Unit) -> Iterator[TablePair]:
    """Yield pairs at which some score, correct or wrong, moves most."""
    width = FEATURES + 1
    high, low, odd = np.ones(width), -np.ones(width), np.append(np.ones(FEATURES), -1.0)
    for bounds in BOUNDS:
        for n in _SIZES:
            ranks = np.repeat(np.linspace(-0.9, 0.9, n)[:, None], width, axis=1)
            bases = {
                "equal rows": np.tile(high, (n, 1)),
                "rows at the lower bounds": np.tile(low, (n, 1)),
                "sorted rows": ranks,
                "rows without values, but for the target": np.tile(
                    np.append([np.nan] * FEATURES, 1.0), (n, 1)
                ),
                "tiny values": np.tile(np.append([2.0**-10] * FEATURES, 1.0), (n, 1)),
                "missing rows": np.full((n, width), np.nan),
            }
            for name, base in bases.items():
                for row in (high, low, odd, 1e9 * odd, 1e9 * high, np.full(width, np.nan)):
                    yield _pair(name, bounds, base, row, row * np.sign(odd), neighbors, unit, n)
                    if neighbors is Neighbors.REPLACE_ONE:
                        yield _pair(name, bounds, base, row, -row, neighbors, unit, n)


def random_pair(rng: np.random.Generator, neighbors: Neighbors, unit: Unit) -> TablePair:
    """Return a pair of random tables.

    Privacy:
        Guarantee: none is needed; all rows are made up.
        Tested by: tests/auditing/test_scores.py
    """
    n = int(rng.choice([0, 1, 2, 3, 5, 8, 13, 30]))
    bounds = str(rng.choice(list(BOUNDS)))
    base = _rows(str(rng.choice(_KINDS)), n, rng)
    rows = [_rows(str(rng.choice(_KINDS)), unit.rows, rng) for _ in range(2)]
    if neighbors is Neighbors.ADD_REMOVE:
        rows[1] = rows[1][:0]
    return TablePair(
        "random", bounds, _mapped(base, bounds), _units(rows, bounds), int(rng.integers(n + 1))
    )


def changed_pair(pair: TablePair, rng: np.random.Generator) -> TablePair:
    """Return a pair with some cells drawn again, to improve on a pair that moves a score far.

    Privacy:
        Guarantee: none is needed; all rows are made up.
        Tested by: tests/auditing/test_scores.py
    """
    others, rows = pair.others.copy(), [rows.copy() for rows in pair.unit]
    for cells in (others, *rows):
        if cells.size and rng.random() < 0.6:
            fresh = _mapped(_rows(str(rng.choice(_KINDS)), len(cells), rng), pair.bounds)
            redrawn = rng.random(cells.shape) < rng.choice([0.02, 0.2])
            cells[redrawn] = fresh[redrawn]
    return TablePair(pair.name, pair.bounds, others, (rows[0], rows[1]), pair.place)


def _pair(
    name: str,
    bounds: str,
    base: FloatArray,
    row: FloatArray,
    instead: FloatArray,
    neighbors: Neighbors,
    unit: Unit,
    place: int,
) -> TablePair:
    """Return a base table with copies of `row` for one unit, and with `instead` or no rows."""
    rows = [np.tile(row, (unit.rows, 1)), np.tile(instead, (unit.rows, 1))]
    if neighbors is Neighbors.ADD_REMOVE:
        rows[1] = rows[1][:0]
    return TablePair(name, bounds, _mapped(base, bounds), _units(rows, bounds), place)


def _units(rows: list[FloatArray], bounds: str) -> tuple[FloatArray, FloatArray]:
    """Return the rows of a unit in both tables, mapped to the bounds."""
    return _mapped(rows[0], bounds), _mapped(rows[1], bounds)


def _rows(kind: str, n: int, rng: np.random.Generator) -> FloatArray:
    """Return n rows of one kind."""
    shape = (n, FEATURES + 1)
    uniform = rng.uniform(-1, 1, shape)
    if kind == "corners":
        return np.where(uniform > 0, 1.0, -1.0)
    if kind == "wild":
        return np.asarray(rng.choice(_WILD, shape))
    if kind == "missing":
        return np.where(rng.random(shape) < 0.7, np.nan, np.sign(uniform))
    if kind == "tiny":
        return uniform * 2.0**-12
    if kind == "sorted":
        return np.asarray(np.sort(uniform, axis=0) * rng.choice([-1.0, 1.0], FEATURES + 1))
    if kind == "same":
        return np.tile(np.sign(rng.uniform(-1, 1, FEATURES + 1)), (n, 1))
    if kind == "beyond":
        return uniform * 1e12
    return uniform


def _mapped(cells: FloatArray, bounds: str) -> FloatArray:
    """Map cells within [-1, 1] to the bounds of their column; leave the others as they are."""
    chosen = BOUNDS[bounds]
    lower = np.append(chosen.lower, chosen.target.lower)
    upper = np.append(chosen.upper, chosen.target.upper)
    inside = np.abs(cells) <= 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        mapped = lower + (0.5 * cells + 0.5) * (upper - lower)
    return np.where(inside, np.clip(mapped, lower, upper), cells)


@frozen
class ScoreMoves:
    """The largest move found, as a share of the stated sensitivity, and the pair that shows it."""

    neighbors: Neighbors
    share: Fraction
    pair: TablePair
    tables: int
    """How many pairs of tables were tried."""
    failure: str | None = None
    """What went wrong with a table, if anything."""


def search_largest_move(
    kind: ScoreKind, neighbors: Neighbors, unit: Unit, *, tables: int, seed: int
) -> ScoreMoves:
    """Search neighboring tables for the largest move of a score.

    It tries the handmade pairs, then random ones, then changes of the best so far. Each table of a
    pair is cut into batches at random, since a score must not depend on the batches.

    Privacy:
        Guarantee: none is needed; all tables are made up.
        Tested by: tests/auditing/test_scores.py

    Args:
        kind: The kind of score.
        neighbors: The neighboring relation that its sensitivity is stated for.
        unit: Whose rows change.
        tables: How many pairs to try besides the handmade ones.
        seed: The same seed tries the same tables.
    """
    rng = seeded_generator(derived_seed(seed, "tables", neighbors, unit.rows))
    near = tables // 2
    random = (random_pair(rng, neighbors, unit) for _ in range(tables - near))
    best: ScoreMoves | None = None
    for pair in itertools.chain(handmade_pairs(neighbors, unit), random):
        best = _worse_of(best, _moved(kind, neighbors, unit, pair, rng))
    assert best is not None
    for _ in range(near):
        pair = changed_pair(best.pair, rng)
        best = _worse_of(best, _moved(kind, neighbors, unit, pair, rng))
    return best


def _worse_of(best: ScoreMoves | None, found: ScoreMoves) -> ScoreMoves:
    """Return the larger move, or a failure, and count the tables tried so far."""
    if best is None:
        return found
    worse = best if best.failure or not (found.failure or found.share > best.share) else found
    return replace(worse, tables=best.tables + 1)


def _moved(
    kind: ScoreKind,
    neighbors: Neighbors,
    unit: Unit,
    pair: TablePair,
    rng: np.random.Generator,
) -> ScoreMoves:
    """Return how far one pair moves the scores."""
    try:
        first, second = (_scored(kind, neighbors, unit, pair, t, rng) for t in pair.tables())
    except Exception as error:
        # Any exception counts: a value must never fail a run.
        why = f"the score failed on a table, with {type(error).__name__}"
        return ScoreMoves(neighbors, Fraction(0), pair, 1, why)
    if first.sensitivity != second.sensitivity:
        why = "the stated sensitivity depends on the table"
        return ScoreMoves(neighbors, Fraction(0), pair, 1, why)
    moves = [
        abs(Fraction(a) - Fraction(b))
        for a, b in zip(first.values.tolist(), second.values.tolist(), strict=True)
    ]
    return ScoreMoves(neighbors, max(moves) / Fraction(first.sensitivity), pair, 1)


def _scored(
    kind: ScoreKind,
    neighbors: Neighbors,
    unit: Unit,
    pair: TablePair,
    cells: FloatArray,
    rng: np.random.Generator,
) -> Scores:
    """Return the scores of a table that is cut into batches at random."""
    score = kind.make(BOUNDS[pair.bounds], neighbors, unit)
    row_cuts = [0, int(rng.integers(len(cells) + 1)), len(cells)]
    feature_cuts = [0, int(rng.integers(1, FEATURES + 1)), FEATURES]
    for top, bottom in itertools.pairwise(row_cuts):
        for left, right in itertools.pairwise(feature_cuts):
            if top < bottom and left < right:
                rows = cells[top:bottom]
                score.add(score.part(Batch(left, rows[:, left:right], rows[:, -1])))
    return score.scores()


def judge_moves(moves: Sequence[ScoreMoves]) -> tuple[Verdict, str]:
    """Return the verdict on a score, and why."""
    for found in moves:
        if found.failure is not None:
            return Verdict.FAIL, f"{found.failure}."
    largest = max(moves, key=lambda found: found.share)
    tried = sum(found.tables for found in moves)
    share = f"{float(largest.share):.4g} times"
    if largest.share > 1:
        return Verdict.FAIL, (
            f"one unit moves a score by {share} the stated sensitivity, under {largest.neighbors}."
        )
    return Verdict.PASS, (
        f"over {tried} pairs of tables no unit moved a score by more than {share} the stated "
        f"sensitivity. {NO_PROOF}"
    )


def _move(found: ScoreMoves) -> dict[str, Any]:
    """Return the largest move under one relation, with the tables that show it."""
    return {
        "neighbors": str(found.neighbors),
        "share_of_sensitivity": rounded(float(found.share)),
        "exactly": str(found.share),
        "pairs_of_tables": found.tables,
        "tables": {
            "name": found.pair.name,
            "bounds": found.pair.bounds,
            "other_rows": len(found.pair.others),
            "others": plain_cells(found.pair.others),
            "unit_in_first": plain_cells(found.pair.unit[0]),
            "unit_in_second": plain_cells(found.pair.unit[1]),
        },
    }


LIBRARIES = ("numpy", "scipy")


def audit_score(request: ScoreRequest, reporter: Reporter) -> Certificate:
    """Search neighboring tables for the largest move of a score.

    Privacy:
        Guarantee: none is needed; the tables are made up.
        Tested by: tests/auditing/test_scores.py, tests/auditing/test_mutants.py
    """
    kind = find_score(request.score)
    moves: list[ScoreMoves] = []
    for neighbors in request.neighbors:
        moves.append(
            search_largest_move(
                kind, neighbors, request.unit, tables=request.tables, seed=request.seed
            )
        )
        reporter.progress(len(moves) / len(request.neighbors))
    verdict, why = judge_moves(moves)
    return Certificate(
        verdict,
        why,
        {
            "audited": {
                "kind": "score",
                "score": request.score,
                "rows_per_unit": request.unit.rows,
            },
            "largest_moves": [_move(found) for found in moves],
            **made_by(LIBRARIES),
        },
    )
