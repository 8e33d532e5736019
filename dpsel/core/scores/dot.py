"""The score `dot`: |sum over rows of x y|, in exact integers."""

from dataclasses import dataclass, field

import numpy as np

from dpsel.core.arrays import IntArray
from dpsel.core.blocks import Block
from dpsel.core.bounds import ONE, Bounds
from dpsel.core.errors import InputError
from dpsel.core.privacy import MOST_ROWS, Neighbors, Unit
from dpsel.core.scores.base import Scores
from dpsel.core.scores.products import exact_products
from dpsel.core.scores.targets import BoundedTarget


@dataclass(frozen=True)
class DotPart:
    """The sums of one block."""

    first_feature: int
    rows: int
    sums: IntArray = field(repr=False)


class DotScore:
    """Adds up blocks, in any order, and turns the sums into scores.

    Privacy:
        Domain: any floats, at most 2^31 - 1 rows.
        Neighbors: one row, or all kept rows of one person, at most `unit.rows` of them.
        Sensitivity: 1 a row under add-remove, 2 under replace-one, exactly.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_dot_sensitivity.py
    """

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score features and target within public `bounds`."""
        self._bounds = bounds
        self._target = BoundedTarget(bounds.target)
        self._sensitivity = ONE * ONE * unit.rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1)
        self._sums = np.zeros(len(bounds.lower), dtype=np.int64)
        self._rows = 0

    def part(self, block: Block) -> DotPart:
        """Return the sums of one block. Touches nothing shared, so threads may call it."""
        rows, columns = block.X.shape
        features = slice(block.first_feature, block.first_feature + columns)
        lower, upper = self._bounds.lower[features], self._bounds.upper[features]
        y = self._target(block.y)
        sums = exact_products(y[np.newaxis], block.X, lower, upper)[0]
        return DotPart(block.first_feature, rows, sums)

    def add(self, part: DotPart) -> None:
        """Add the sums of one block to the total."""
        self._sums[part.first_feature : part.first_feature + len(part.sums)] += part.sums
        if part.first_feature == 0:
            self._rows += part.rows
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def total(self, first_feature: int = 0) -> DotPart:
        """Return all sums so far, as a part for the score of a table with these features."""
        return DotPart(first_feature, self._rows, self._sums.copy())

    def scores(self) -> Scores:
        """Return the scores of all blocks added, in units of 2^-32."""
        return Scores(np.abs(self._sums), float(self._sensitivity))
