"""Rows brought together with those of their block, a few blocks at a time."""

from collections.abc import Iterator

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.kept import KeptTable, Matrix, rows_of_lots

_LEAST_TILE = 1 << 14


def dealt(
    X: Matrix, y: FloatArray, block_of_row: IntArray, blocks: int
) -> Iterator[tuple[Matrix, FloatArray, list[IntArray]]]:
    """Yield rows and their target, and which of those rows each block has, in the table's order.

    A table in memory is yielded as it is, once, with all blocks. One on disk is read through and
    dealt out to a file that has the rows of neighboring blocks together; then come as many blocks
    as may be in memory at once, or one that is larger, itself on disk.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/core/test_kept.py
    """
    if not isinstance(X, KeptTable):
        yield X, y, rows_of_lots(block_of_row, blocks)
        return
    at_once = X.keeper.cells_at_once
    assert at_once is not None
    columns = X.shape[1]
    sizes = np.bincount(block_of_row, minlength=blocks)
    ends = _group_ends(sizes, max(1, at_once // columns))
    group_of_block = np.repeat(np.arange(len(ends)), np.diff([0, *ends]))
    tables = _dealt_tables(X, group_of_block[block_of_row], len(ends), at_once)
    rows_of_group = rows_of_lots(group_of_block[block_of_row], len(ends))
    begin = 0
    for number, end in enumerate(ends):
        rows, table = rows_of_group[number], tables[number]
        lots = rows_of_lots(block_of_row[rows] - begin, end - begin)
        fits = len(rows) * columns <= at_once
        yield table.array() if fits else table, y[rows], lots
        begin = end


def _group_ends(sizes: IntArray, most: int) -> list[int]:
    """Return where groups of neighboring blocks end that have at most that many rows, or one."""
    ends, rows = [], 0
    for block, size in enumerate(sizes.tolist()):
        if rows and rows + size > most:
            ends.append(block)
            rows = 0
        rows += size
    return [*ends, len(sizes)]


def _dealt_tables(
    X: KeptTable, group_of_row: IntArray, groups: int, at_once: int
) -> list[KeptTable]:
    """Return a table for each group of rows, all in one new file."""
    keeper = X.keeper.another()
    # What waits to be written fits in memory, for all groups together.
    tile = min(keeper.tile_cells, max(_LEAST_TILE, at_once // groups))
    tables = [KeptTable(keeper, X.shape[1], tile_cells=tile) for _ in range(groups)]
    for start, chunk in X.row_chunks():
        here = group_of_row[start : start + len(chunk)]
        for group, rows in enumerate(rows_of_lots(here, groups)):
            if len(rows):
                tables[group].add(0, chunk[rows])
    return tables
