"""Pieces of a table: some rows of some neighboring features, with the target of those rows."""

from dataclasses import dataclass, field

from dpsel.core.arrays import FloatArray, RealArray


@dataclass(frozen=True)
class Block:
    """Raw values; NaN where a cell is missing or is no number. Private, and off `repr`.

    Single precision stays as it is until the values are bounded: every such number is a double.

    `X` has one column for every feature from `first_feature` on. Each cell of a table is in
    exactly one block.
    """

    first_feature: int
    X: RealArray = field(repr=False)
    y: FloatArray = field(repr=False)
