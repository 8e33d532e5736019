"""The pieces of work of a sweep, as plain functions that any process can run. Not private."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpsel.core.arrays import FloatArray, IntArray
from dpsel.core.choices import Scale
from dpsel.core.evaluation.cells import cell_summary
from dpsel.core.evaluation.data import FoundTruth, Rows
from dpsel.core.evaluation.draws import Draws
from dpsel.core.randomness import derived_seed, make_randomness
from dpsel.core.twostage import independent_blocks, random_partition, votes_for_each_k


@dataclass(frozen=True)
class VoteWork:
    """What is needed to fit the blocks of two-stage."""

    name: str
    views: Mapping[Scale, Rows] = field(repr=False)
    ks: tuple[int, ...]
    blocks: int
    equal_blocks: bool
    penalty: float
    seed: int
    threads: int = 1
    """How many blocks are fitted at a time, within one process."""


@dataclass(frozen=True)
class CellWork:
    """What is needed to fill the cells of one data set."""

    name: str
    draws: Mapping[str, Draws] = field(repr=False)
    trials: Mapping[str, int]
    """How often each method is run: once if it always selects the same."""
    truth: FoundTruth = field(repr=False)
    correlation: FloatArray = field(repr=False)
    seed: int


def fit_votes(work: VoteWork, task: tuple[Scale, int]) -> list[list[list[int]]]:
    """Deal rows into blocks for one trial, and return their votes for each k, without the zeros."""
    scale, trial = task
    rows = work.views[scale]
    rng = make_randomness(derived_seed(work.seed, work.name, "blocks", str(scale), trial))
    deal = random_partition if work.equal_blocks else independent_blocks
    block_of_row = deal(len(rows.y), work.blocks, rng)
    votes = votes_for_each_k(
        rows.X,
        rows.y,
        block_of_row,
        work.blocks,
        work.ks,
        penalty=work.penalty,
        threads=work.threads,
    )
    return [_sparse(one) for one in votes]


def fill_cell(work: CellWork, task: tuple[str, int, float]) -> dict[str, Any]:
    """Draw the trials of one cell, and return what came of them."""
    method, k, epsilon = task
    rng = make_randomness(derived_seed(work.seed, work.name, method, k, repr(epsilon)))
    drawn = work.draws[method].draw(k, epsilon, work.trials[method], rng)
    return cell_summary(drawn, work.truth.top(k), work.correlation)


def dense_votes(sparse: list[list[int]], d: int) -> IntArray:
    """Return votes with their zeros."""
    votes = np.zeros(d, dtype=np.int64)
    votes[sparse[0]] = sparse[1]
    return votes


def _sparse(votes: IntArray) -> list[list[int]]:
    """Return places and numbers of the votes that are not 0."""
    places = np.flatnonzero(votes)
    return [places.tolist(), votes[places].tolist()]
