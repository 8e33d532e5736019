"""Pieces of a table: some rows of some neighboring features, with the target of those rows."""

from dataclasses import dataclass, field

from dpsel.core.arrays import FloatArray


@dataclass(frozen=True)
class Block:
    """Raw values; NaN where a cell is missing or is no number. Private, and off `repr`.

    `X` has one column for every feature from `first_feature` on. Each cell of a table is in
    exactly one block.
    """

    first_feature: int
    X: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
