"""Whole rows of a table that is better read a few columns at a time."""

from collections.abc import Iterator

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.blocks import Block
from dpsel.core.kept import KeptTable
from dpsel.io.pieces import Piece
from dpsel.io.scratch import ScratchKeeper

_COPIES = 2


def rows_of_columns(pieces: Iterator[Piece], features: int, done: float) -> Iterator[Piece]:
    """Read all pieces, each of a few columns, and yield whole rows, which then are `done`.

    What does not fit in memory meanwhile is in a temporary file.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/io/test_scratch.py
    """
    kept = KeptTable(ScratchKeeper(_COPIES), features)
    targets: list[FloatArray] = [np.empty(0)]
    for piece in pieces:
        block = piece.read()
        kept.add(block.first_feature, block.X)
        if block.first_feature == 0:
            targets.append(block.y)
    y = np.concatenate(targets)
    for row, X in kept.row_chunks():
        block = Block(0, X, y[row : row + len(X)])
        yield Piece(lambda block=block: block, done)  # type: ignore[misc]
