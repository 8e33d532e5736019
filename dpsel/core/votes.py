"""The two-stage method of Kifer et al.: blocks of rows vote for features, and votes are scores.

A regression is fitted to each block of rows, and the block votes for its k largest coefficients. A
row is in one block, so the votes have a small sensitivity, and any private top-k can choose among
them. The caller provides the solver and the threads.

References:
    [KST12] Kifer, Smith & Thakurta, COLT 2012.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.guarantee import Neighbors, Unit, check_at_least, check_k, rows_are_public
from dpsel.core.matrix import TILE_CELLS, Matrix, TiledMatrix, rows_of_groups
from dpsel.core.randomness import Randomness, integers_below
from dpsel.core.scores.base import IN_TURN, Mapper, Scores
from dpsel.errors import UsageError
from dpsel.records import frozen

_LEAST_TILE = 1 << 14

Fit = Callable[[Matrix, FloatArray, IntArray], FloatArray]
"""(X, y, rows) -> one coefficient per feature, from those rows of the table alone."""
Progress = Callable[[float], None]


def _silent(share: float) -> None:
    """Ignore the progress."""


@frozen
class Voting:
    """How rows vote: in how many blocks, by which regression, and on which threads."""

    blocks: int
    """A public number; under add-remove it must not depend on the number of rows."""
    fit: Fit
    """Must return the same coefficients for the same rows, and never fail."""
    mapper: Mapper = IN_TURN
    """May fit several blocks at a time."""
    progress: Progress = _silent
    """Called after every block with the share of blocks that are done."""

    def __post_init__(self) -> None:
        """Refuse fewer than one block."""
        check_at_least(1, self.blocks, "blocks")


def grouped_blocks(
    X: Matrix, y: FloatArray, block_of_row: IntArray, blocks: int
) -> Iterator[tuple[Matrix, FloatArray, list[IntArray]]]:
    """Yield some rows, their target, and the indices of each block's rows, in the table's order.

    A table in memory is yielded as it is, once, with all blocks. A table on disk is first copied to
    another file that has the rows of neighboring blocks together. Then groups of blocks are
    yielded: as many as fit in memory at once, or a single larger block that stays on disk.

    Privacy:
        Guarantee: none; the rows are private.
        Tested by: tests/core/test_matrix.py
    """
    if not isinstance(X, TiledMatrix):
        yield X, y, rows_of_groups(block_of_row, blocks)
        return
    at_once = X.cells_at_once
    assert at_once is not None
    columns = X.shape[1]
    sizes = np.bincount(block_of_row, minlength=blocks)
    ends = _group_ends(sizes, max(1, at_once // columns))
    group_of_block = np.repeat(np.arange(len(ends)), np.diff([0, *ends]))
    tables = _matrices_of_groups(X, group_of_block[block_of_row], len(ends), at_once)
    rows_of_group = rows_of_groups(group_of_block[block_of_row], len(ends))
    begin = 0
    for number, end in enumerate(ends):
        rows, table = rows_of_group[number], tables[number]
        own = rows_of_groups(block_of_row[rows] - begin, end - begin)
        fits = len(rows) * columns <= at_once
        yield table.array() if fits else table, y[rows], own
        begin = end


def _group_ends(sizes: IntArray, most: int) -> list[int]:
    """Return the ends of groups of neighboring blocks with at most `most` rows, or of one block."""
    ends, rows = [], 0
    for block, size in enumerate(sizes.tolist()):
        if rows and rows + size > most:
            ends.append(block)
            rows = 0
        rows += size
    return [*ends, len(sizes)]


def _matrices_of_groups(
    X: TiledMatrix, group_of_row: IntArray, groups: int, at_once: int
) -> list[TiledMatrix]:
    """Return a matrix for each group of rows, all in one new file."""
    # The last tile of a group is not full: together the last tiles hold at most `at_once` cells.
    tile = min(TILE_CELLS, max(_LEAST_TILE, at_once // groups))
    tables = X.others(groups, tile_cells=tile)
    for start, chunk in X.row_chunks():
        here = group_of_row[start : start + len(chunk)]
        for group, rows in enumerate(rows_of_groups(here, groups)):
            if len(rows):
                tables[group].add(0, chunk[rows])
    return tables


def random_partition(rows: int, blocks: int, rng: Randomness) -> IntArray:
    """Return the block of every row: a uniformly random partition into blocks of equal size.

    Rows are sorted by fresh random words and assigned to blocks in turn, so sizes differ by at most
    one. If two words are equal, all are drawn again, so that the order is exactly uniform.

    Privacy:
        Domain: the number of rows, which must be public.
        Neighbors: replace-one, with a row as the unit; under add-remove sizes would shift.
        Guarantee: none; the partition is private input for the votes, and reads no cell.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/core/test_votes.py
    """
    check_at_least(1, blocks, "blocks")
    order = np.argsort(words := rng.words(rows))
    while (words[order[1:]] == words[order[:-1]]).any():
        order = np.argsort(words := rng.words(rows))
    block_of_row = np.empty(rows, dtype=np.int64)
    block_of_row[order] = np.arange(rows) % blocks
    return block_of_row


def independent_blocks(rows: int, blocks: int, rng: Randomness) -> IntArray:
    """Return the block of every row, each drawn uniformly and independently of the others.

    Privacy:
        Domain: any number of rows; only the number of blocks is public.
        Neighbors: any; adding or removing a row does not change the law of the other draws.
        Guarantee: none; the blocks are private input for the votes, and read no cell.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/core/test_votes.py
    """
    check_at_least(1, blocks, "blocks")
    return integers_below(rng, np.full(rows, blocks, dtype=np.int64))


def contiguous_blocks(rows: int, blocks: int) -> IntArray:
    """Return the block of every row, in the order of the table; sizes differ by at most one.

    The paper's experiment cuts a table this way. It is not for real use: tables are often sorted,
    and adding or removing a row shifts every block after it.
    """
    check_at_least(1, blocks, "blocks")
    return np.arange(rows, dtype=np.int64) * blocks // max(1, rows)


def block_votes(
    X: Matrix, y: FloatArray, block_of_row: IntArray, k: int, voting: Voting
) -> IntArray:
    """Return how many blocks vote for each feature.

    A block votes for the k largest |coefficients| of its regression that are not 0, or for all of
    them if there are fewer than k. In a tie the smaller index wins. A block without rows casts no
    vote.

    Privacy:
        Domain: whatever `voting.fit` takes; see `dpsel.selection.lasso.block_coefficients`.
        Neighbors: tables in which the rows of all blocks but one agree, order included.
        Sensitivity: 1 in each feature, as a block's vote depends on that block's rows alone.
        Guarantee: none; the result is private input for a mechanism.
        Assumes: a fit that looks at the rows it is given and at nothing else, not even at whether
            all rows fit in memory. It returns the same coefficients for the same rows.
        Tested by: tests/privacy/test_twostage_sensitivity.py

    Args:
        X: One row for every row of the table, one column for every feature.
        y: The target.
        block_of_row: The block of every row, 0 to `voting.blocks` - 1.
        k: How many features a block votes for.
        voting: How the blocks vote.
    """
    check_k(k, X.shape[1])
    (votes,) = votes_for_each_k(X, y, block_of_row, [k], voting)
    return votes


def votes_for_each_k(
    X: Matrix, y: FloatArray, block_of_row: IntArray, ks: Sequence[int], voting: Voting
) -> list[IntArray]:
    """Return the votes of `block_votes` for several k, fitting every block only once."""
    votes = [np.zeros(X.shape[1], dtype=np.int64) for _ in ks]
    done = 0

    def vote_of(table: Matrix, target: FloatArray, rows: IntArray) -> list[IntArray]:
        coefficients = voting.fit(table, target, rows)
        return [largest(coefficients, k) for k in ks]

    for table, target, rows_of_blocks in grouped_blocks(X, y, block_of_row, voting.blocks):
        work = partial(vote_of, table, target)
        for vote in voting.mapper.map(work, rows_of_blocks, voting.blocks):
            for total, chosen in zip(votes, vote, strict=True):
                total[chosen] += 1
            done += 1
            voting.progress(done / voting.blocks)
    return votes


def largest(coefficients: FloatArray, k: int) -> IntArray:
    """Return the ascending indices of the k largest |coefficients|, or of all that are not 0."""
    used = np.flatnonzero(coefficients)
    if used.size <= k:
        return used
    # A stable sort: among equals the smaller index comes first.
    return np.sort(used[np.argsort(-np.abs(coefficients[used]), kind="stable")[:k]])


def two_stage_scores(
    X: Matrix,
    y: FloatArray,
    k: int,
    voting: Voting,
    *,
    neighbors: Neighbors,
    unit: Unit,
    rng: Randomness,
    contiguous: bool = False,
) -> Scores:
    """Return the votes of random blocks as scores: the first stage of [KST12].

    Why one row moves a feature's votes by at most 1: run both neighbors with the same randomness
    for the blocks. Under replace-one the partition depends only on the public number of rows, so
    the row is in the same block in both tables. Under add-remove every row draws its own block;
    give the rows that both tables share the same draws, which changes the law of neither table.
    Either way all other blocks have the same rows in the same order, and cast the same votes; the
    block that differs casts 0 or 1 votes for a feature. So a mechanism has its guarantee for each
    outcome of the shared draws, and on average over them.

    A person changes at most one block per row. The replacement of a person may have fewer or more
    rows, so for persons every row draws its own block under both relations: the first old row and
    the first new row share a draw, and so on; rows without a counterpart have their own.

    Privacy:
        Domain: whatever `voting.fit` takes, bounded row by row.
        Neighbors: `neighbors`, for one row or for a person of at most `unit.rows` rows.
        Sensitivity: L-infinity, at most `unit.rows`, for any fixed draw of the blocks.
        Guarantee: none; the result is private input for one mechanism. The blocks are not
            released: draw new ones for every selection.
        Assumes: an rng the adversary cannot predict; a fit as in `block_votes`.
        Tested by: tests/privacy/test_twostage_sensitivity.py

    Args: those of `block_votes`, and
        neighbors: Which tables are neighbors.
        unit: Whom the guarantee protects.
        rng: Draws the blocks.
        contiguous: Cut the table in its order instead; for replace-one and single rows only.
    """
    equal_rows = rows_are_public(neighbors, unit)
    if contiguous and not equal_rows:
        raise UsageError("contiguous blocks need replace-one neighbors and rows as the unit")
    if contiguous:
        block_of_row = contiguous_blocks(len(y), voting.blocks)
    else:
        draw = random_partition if equal_rows else independent_blocks
        block_of_row = draw(len(y), voting.blocks, rng)
    votes = block_votes(X, y, block_of_row, k, voting)
    return Scores(votes, float(unit.rows))
