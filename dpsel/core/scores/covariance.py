"""The score `covariance`: |sum over rows of (x - mean x)(y - mean y)|, in exact integers."""

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
class CovariancePart:
    """The sums of one block: row 0 of `sums` has those of x, row 1 those of x y."""

    first_feature: int
    rows: int
    target_sum: int = field(repr=False)
    sums: IntArray = field(repr=False)


class CovarianceScore:
    """Adds up blocks, in any order, and turns the sums into scores.

    With n rows, C = sum (x - mean x)(y - mean y) = (n Sxy - Sx Sy) / n, where Sx, Sy and Sxy are
    the sums of x, y and x y. All values are within [-1, 1], so differences are within 2.

    Add-remove: a further row (a, b) adds n / (n + 1) (a - mean x)(b - mean y) to C, which is
    within 4 n / (n + 1). So |C| moves by less than 4; 4 is the supremum, and never attained.

    Replace-one: over the same n - 1 other rows, C moves by (n - 1) / n times the difference of two
    products u v, of u = a - mean x and v = b - mean y. A product is highest and lowest at corners:
    of equal and of unequal signs, so one factor is the same, within 2, and the other differs by 2.
    So |C| moves by at most 4 (n - 1) / n, less than 4; again a supremum.

    Rounding: a score is |C| rounded down to a multiple of 2^-32. If u <= v + s for a whole number
    s, then floor(u) <= floor(v) + s: rounding all scores down keeps a whole sensitivity as it is.

    Privacy:
        Domain: any floats, at most 2^31 - 1 rows.
        Neighbors: one row, or all kept rows of one person, at most `unit.rows` of them.
        Sensitivity: 4 a row under add-remove and under replace-one.
        Guarantee: none; the result is private input for a mechanism.
        Tested by: tests/privacy/test_covariance_sensitivity.py
    """

    needs_bounds = True

    def __init__(self, bounds: Bounds, neighbors: Neighbors, unit: Unit) -> None:
        """Score features and target within public `bounds`; both relations cost the same."""
        self._bounds = bounds
        self._target = BoundedTarget(bounds.target)
        self._sensitivity = 4 * ONE * ONE * unit.rows
        self._sums = np.zeros((2, len(bounds.lower)), dtype=np.int64)
        self._target_sum = 0
        self._rows = 0

    def part(self, block: Block) -> CovariancePart:
        """Return the sums of one block. Touches nothing shared, so threads may call it."""
        rows, columns = block.X.shape
        features = slice(block.first_feature, block.first_feature + columns)
        lower, upper = self._bounds.lower[features], self._bounds.upper[features]
        y = self._target(block.y)
        sums = exact_products(np.stack([np.ones(rows), y]), block.X, lower, upper)
        target_sum = int(y.astype(np.int64).sum())
        return CovariancePart(block.first_feature, rows, target_sum, sums)

    def add(self, part: CovariancePart) -> None:
        """Add the sums of one block to the total."""
        features = slice(part.first_feature, part.first_feature + part.sums.shape[1])
        self._sums[:, features] += part.sums
        # The same rows come once for every group of features: count them with the first.
        if part.first_feature == 0:
            self._rows += part.rows
            self._target_sum += part.target_sum
        if self._rows > MOST_ROWS:
            raise InputError(f"a table may have at most {MOST_ROWS} rows")

    def total(self, first_feature: int = 0) -> CovariancePart:
        """Return all sums so far, as a part for the score of a table with these features."""
        return CovariancePart(first_feature, self._rows, self._target_sum, self._sums.copy())

    def scores(self) -> Scores:
        """Return the scores of all blocks added, in units of 2^-32, rounded down."""
        n = self._rows
        # Python's integers: n Sxy may have 94 bits. The scores are within n 2^32, less than 2^63.
        values = [
            abs(n * xy - x * self._target_sum) // n if n else 0
            for x, xy in zip(*self._sums.tolist(), strict=True)
        ]
        return Scores(np.array(values, dtype=np.int64), float(self._sensitivity))
