"""Neighboring tables, made up to move scores as far as they go.

Cells are made between -1 and 1, where -1 stands for the lower bound of their column and 1 for the
upper, and then mapped to the bounds; what is beyond the bounds, or is no number, stays so.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.bounds import Bounds, Interval
from dpsel.core.privacy import Neighbors, Unit

FEATURES = 3
BOUNDS = {
    "unit": Bounds.of([Interval(-1, 1)] * FEATURES, Interval(-1, 1)),
    "odd": Bounds.of([Interval(0, 10), Interval(-1e-3, 5e300), Interval(-7, -2)], Interval(-2, 1)),
}
_WILD = np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 1.0, -1.0, 0.5, 3.0])
_SIZES = (1, 3, 8, 400)
_KINDS = ("uniform", "corners", "wild", "missing", "tiny", "sorted", "same", "beyond")


@dataclass(frozen=True)
class TablePair:
    """Two neighboring tables: the rows of both, and those of one unit in each, at some place.

    The last column is the target. Under add-remove one of the units has no rows.
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
    """Yield the pairs at which some score, right or wrong, moves most."""
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
        Tested by: tests/audit/test_scores.py
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
    """Return a pair with some of its cells drawn anew, to climb from one that moves much.

    Privacy:
        Guarantee: none is needed; all rows are made up.
        Tested by: tests/audit/test_scores.py
    """
    others, rows = pair.others.copy(), [rows.copy() for rows in pair.unit]
    for cells in (others, *rows):
        if cells.size and rng.random() < 0.6:
            fresh = _mapped(_rows(str(rng.choice(_KINDS)), len(cells), rng), pair.bounds)
            some = rng.random(cells.shape) < rng.choice([0.02, 0.2])
            cells[some] = fresh[some]
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
    """Return a base with all rows of one unit alike, and without them, or with others."""
    rows = [np.tile(row, (unit.rows, 1)), np.tile(instead, (unit.rows, 1))]
    if neighbors is Neighbors.ADD_REMOVE:
        rows[1] = rows[1][:0]
    return TablePair(name, bounds, _mapped(base, bounds), _units(rows, bounds), place)


def _units(rows: list[FloatArray], bounds: str) -> tuple[FloatArray, FloatArray]:
    """Return the rows of a unit in both tables, mapped."""
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
    """Map what is within [-1, 1] to the bounds of its column."""
    chosen = BOUNDS[bounds]
    lower = np.append(chosen.lower, chosen.target.lower)
    upper = np.append(chosen.upper, chosen.target.upper)
    inside = np.abs(cells) <= 1.0
    with np.errstate(invalid="ignore", over="ignore"):
        mapped = lower + (0.5 * cells + 0.5) * (upper - lower)
    return np.where(inside, np.clip(mapped, lower, upper), cells)
