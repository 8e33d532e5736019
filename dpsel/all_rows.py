"""Tables for methods that need all rows at once: in memory, or on a disk if they do not fit."""

from collections.abc import Callable

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.blocks import Block
from dpsel.core.bounds import Bounds
from dpsel.core.kept import KeptTable, Matrix
from dpsel.core.statistics import CellCounts
from dpsel.io.columns import Layout
from dpsel.io.pieces import RowReader, Table, reduce_pieces
from dpsel.io.scratch import ScratchKeeper
from dpsel.io.tables import file_bytes
from dpsel.io.targets import TargetCoding
from dpsel.run import Reporter


def as_it_is(block: Block) -> Block:
    """Change nothing."""
    return block


def all_rows(
    table: Table,
    layout: Layout,
    coding: TargetCoding,
    reporter: Reporter,
    threads: int,
    *,
    copies: float,
    clipping: Bounds | None,
    change: Callable[[Block], Block] = as_it_is,
) -> tuple[Matrix, FloatArray, CellCounts]:
    """Read all rows: features in columns that lie together in memory, and the target.

    The counts tell which cells are of no use, if they are clipped to `clipping`.

    If `copies` of the features would not fit in memory, they are kept in a temporary file.
    `change` is done to every block; it must look at each cell alone.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/cli/test_baseline.py, tests/cli/test_larger_than_memory.py
    """
    X = KeptTable(ScratchKeeper(copies), len(layout.names))
    targets: list[FloatArray] = [np.empty(0)]

    cells = CellCounts(len(layout.names))

    def add(part: tuple[Block, CellCounts]) -> None:
        block, counted = part
        cells.add(counted)
        X.add(block.first_feature, block.X)
        if block.first_feature == 0:
            targets.append(block.y)

    reporter.size(file_bytes(table))
    reduce_pieces(
        table.pieces(layout, RowReader(coding)),
        lambda block: (change(block), CellCounts.of(block, clipping)),
        add,
        threads=threads,
        progress=reporter.progress,
    )
    return X.array() if X.in_memory else X, np.concatenate(targets), cells
