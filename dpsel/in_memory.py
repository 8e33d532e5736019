"""Tables that are held in memory, for methods that need all rows at once."""

from dataclasses import replace

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.blocks import Block
from dpsel.io.columns import Layout
from dpsel.io.pieces import RowReader, Table, reduce_pieces
from dpsel.io.targets import TargetCoding
from dpsel.run import Reporter


def rows_in_memory(
    table: Table, layout: Layout, coding: TargetCoding, reporter: Reporter, threads: int
) -> tuple[FloatArray, FloatArray]:
    """Read all rows: features in columns that lie together in memory, and the target.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/cli/test_baseline.py
    """
    blocks: list[Block] = []
    reporter.size(table.file_bytes)
    reduce_pieces(
        table.pieces(replace(layout, whole_rows=True), RowReader(coding)),
        lambda block: block,
        blocks.append,
        threads=threads,
        progress=reporter.progress,
    )
    X = np.concatenate([np.empty((0, len(layout.names))), *(block.X for block in blocks)])
    y = np.concatenate([np.empty(0), *(block.y for block in blocks)])
    return np.asfortranarray(X), y
