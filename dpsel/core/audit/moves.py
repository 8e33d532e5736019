"""How far scores move between neighboring tables, in exact numbers."""

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.audit.tables import (
    BOUNDS,
    FEATURES,
    TablePair,
    changed_pair,
    handmade_pairs,
    random_pair,
)
from dpsel.core.blocks import Block
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.randomness import derived_seed, seeded_generator
from dpsel.core.scores.base import Scores
from dpsel.core.scores.registry import ScoreKind


@dataclass(frozen=True)
class ScoreMoves:
    """The largest move found, as a share of the stated sensitivity, and where."""

    neighbors: Neighbors
    share: Fraction
    pair: TablePair
    tables: int
    """How many pairs of tables were tried."""
    failure: str | None = None
    """What went wrong with a table, if anything did."""


def largest_move(
    kind: ScoreKind, neighbors: Neighbors, unit: Unit, *, tables: int, seed: int
) -> ScoreMoves:
    """Search neighboring tables for the largest move of a score.

    First the handmade pairs, then random ones, then changes of the best so far. Tables are cut
    into blocks at random, differently for both: a score must not depend on it.

    Privacy:
        Guarantee: none is needed; all tables are made up.
        Tested by: tests/audit/test_scores.py

    Args:
        kind: What makes the score.
        neighbors: The relation that its sensitivity is stated for.
        unit: Whose rows change.
        tables: How many pairs to try besides the handmade ones.
        seed: The same seed tries the same tables.
    """
    rng = seeded_generator(derived_seed(seed, "tables", neighbors, unit.rows))
    near = tables // 2
    random = (random_pair(rng, neighbors, unit) for _ in range(tables - near))
    best: ScoreMoves | None = None
    for pair in itertools.chain(handmade_pairs(neighbors, unit), random):
        best = _worse_of(best, _moved(kind, neighbors, unit, pair, rng))
    assert best is not None
    for _ in range(near):
        pair = changed_pair(best.pair, rng)
        best = _worse_of(best, _moved(kind, neighbors, unit, pair, rng))
    return best


def _worse_of(best: ScoreMoves | None, found: ScoreMoves) -> ScoreMoves:
    """Return the larger move, or a failure, with the number of tables so far."""
    if best is None:
        return found
    worse = best if best.failure or not (found.failure or found.share > best.share) else found
    return replace(worse, tables=best.tables + 1)


def _moved(
    kind: ScoreKind,
    neighbors: Neighbors,
    unit: Unit,
    pair: TablePair,
    rng: np.random.Generator,
) -> ScoreMoves:
    """Return how far one pair moves the scores."""
    try:
        first, second = (_scored(kind, neighbors, unit, pair, t, rng) for t in pair.tables())
    except Exception as error:
        # Whatever it is: a value must never fail a run.
        why = f"the score failed on a table, with {type(error).__name__}"
        return ScoreMoves(neighbors, Fraction(0), pair, 1, why)
    if first.sensitivity != second.sensitivity:
        why = "the stated sensitivity depends on the table"
        return ScoreMoves(neighbors, Fraction(0), pair, 1, why)
    moves = [
        abs(Fraction(a) - Fraction(b))
        for a, b in zip(first.values.tolist(), second.values.tolist(), strict=True)
    ]
    return ScoreMoves(neighbors, max(moves) / Fraction(first.sensitivity), pair, 1)


def _scored(
    kind: ScoreKind,
    neighbors: Neighbors,
    unit: Unit,
    pair: TablePair,
    cells: FloatArray,
    rng: np.random.Generator,
) -> Scores:
    """Return the scores of a table, cut at random."""
    score = kind.make(BOUNDS[pair.bounds], neighbors, unit)
    row_cuts = [0, int(rng.integers(len(cells) + 1)), len(cells)]
    feature_cuts = [0, int(rng.integers(1, FEATURES + 1)), FEATURES]
    for top, bottom in itertools.pairwise(row_cuts):
        for left, right in itertools.pairwise(feature_cuts):
            if top < bottom and left < right:
                rows = cells[top:bottom]
                score.add(score.part(Block(left, rows[:, left:right], rows[:, -1])))
    return score.scores()
