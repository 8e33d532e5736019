"""Small neighboring tables for runs of the whole command.

One pair is searched for: the exact law of the mechanism at the scores of both tables shows much of
the loss. The others are made by hand, for what a wrong path from file to score would do: scale by
the data, fill in missing cells by the mean, or treat an empty table apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpsel.core.arrays import FloatArray
from dpsel.core.audit.exact_law import Law
from dpsel.core.audit.intervals import expected_bound
from dpsel.core.audit.pairs import LawOf
from dpsel.core.blocks import Block
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.privacy import Neighbors, Unit
from dpsel.core.randomness import seeded_generator
from dpsel.core.scores.registry import ScoreKind

_ROWS = 8
_MANY_ROWS = 300
_STARTS, _STEPS = 40, 240
# Beyond the rows of a person that count: they must not.
_FURTHER_ROWS = 200


@dataclass(frozen=True)
class FilePair:
    """Rows of features and target, and those of one unit, in two neighboring tables."""

    name: str
    others: FloatArray
    unit: tuple[FloatArray, FloatArray]
    text: bool = False
    """Whether the tables are written as CSV, where a missing cell is an empty one."""

    def tables(self) -> tuple[FloatArray, FloatArray]:
        """Return both tables; the rows of the unit come last."""
        return (
            np.concatenate([self.others, self.unit[0]]),
            np.concatenate([self.others, self.unit[1]]),
        )


@dataclass(frozen=True)
class Setting:
    """What the tables are for."""

    kind: ScoreKind
    law_of: LawOf
    d: int
    k: int
    neighbors: Neighbors
    unit: Unit

    def laws(self, pair: FilePair) -> tuple[Law, Law] | None:
        """Return the laws of both tables' records, if they are known."""
        laws = [self.law_of(self._scores(pair.others, rows)) for rows in pair.unit]
        return None if laws[0] is None or laws[1] is None else (laws[0], laws[1])

    def _scores(self, others: FloatArray, rows: FloatArray) -> list[float]:
        """Return the scores of a table in units of their sensitivity."""
        cells = np.concatenate([others, rows[: self.unit.rows]])
        bounds = Bounds.of([UNIT_INTERVAL] * self.d, UNIT_INTERVAL)
        score = self.kind.make(bounds, self.neighbors, self.unit)
        if len(cells):
            score.add(score.part(Block(0, cells[:, :-1], cells[:, -1])))
        scores = score.scores()
        return [float(value) for value in scores.values / scores.sensitivity]

    def pair(
        self,
        name: str,
        others: FloatArray,
        row: FloatArray,
        instead: FloatArray,
        *,
        text: bool = False,
    ) -> FilePair:
        """Return tables in which a unit has some equal rows, and others or none."""
        rows = self.unit.rows + (_FURTHER_ROWS if self.unit.name == "person" else 0)
        first, second = (np.tile(one, (rows, 1)) for one in (row, instead))
        if self.neighbors is Neighbors.ADD_REMOVE:
            second = second[:0]
        return FilePair(name, others, (first, second), text)


def file_pairs(setting: Setting, *, draws: int, delta: float, alpha: float) -> list[FilePair]:
    """Return all pairs: the searched one, and those made by hand."""
    strong = _searched(setting, draws, delta, alpha)
    return [strong, *_handmade(setting)]


def _handmade(setting: Setting) -> Iterator[FilePair]:
    """Yield pairs in which a unit would decide everything, if the command were wrong."""
    d, k = setting.d, setting.k
    first = np.append(np.arange(d) < k, True).astype(np.float64)
    rest = np.append(np.arange(d) >= k, True).astype(np.float64)
    # Some targets of -1 among those of 1: a score may look at how they vary.
    signs = np.where(np.arange(_MANY_ROWS) % 3 == 0, -1.0, 1.0)[:, None]
    tiny = first * np.append([2.0**-10] * d, 1.0)
    yield setting.pair("outlier", signs * tiny, np.full(d + 1, 1e6), tiny)
    missing = np.append([np.nan] * d, 1.0)
    yield setting.pair("missing", signs * missing, first, missing, text=True)
    yield setting.pair("empty", np.empty((0, d + 1)), first, rest)


def _searched(setting: Setting, draws: int, delta: float, alpha: float) -> FilePair:
    """Return the tables of whose loss so many draws would show most, of those tried."""
    rng = seeded_generator(0)

    def shown(pair: FilePair) -> float:
        laws = setting.laws(pair)
        return 0.0 if laws is None else expected_bound(laws, draws, delta, alpha)

    starts = [_random(setting, rng) for _ in range(_STARTS)]
    values = [shown(pair) for pair in starts]
    value, best = max(values), starts[int(np.argmax(values))]
    for _ in range(_STEPS):
        changed = _changed(setting, best, rng)
        if (reached := shown(changed)) >= value:
            value, best = reached, changed
    return best


def _random(setting: Setting, rng: np.random.Generator) -> FilePair:
    """Return random tables of -1, 0 and 1, and of targets of 1."""
    others = rng.choice([-1.0, 0.0, 1.0], (_ROWS, setting.d + 1), p=[0.2, 0.3, 0.5])
    others[:, -1] = 1.0
    row = rng.choice([-1.0, 1.0], setting.d + 1)
    return setting.pair("searched", others, row, _turned(row))


def _changed(setting: Setting, pair: FilePair, rng: np.random.Generator) -> FilePair:
    """Return a pair with a few cells drawn anew."""
    others, row = pair.others.copy(), pair.unit[0][0].copy()
    fresh = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], others.shape)
    some = rng.random(others.shape) < 0.06
    others[some] = fresh[some]
    if rng.random() < 0.3:
        row[rng.integers(len(row))] *= -1.0
    return setting.pair("searched", others, row, _turned(row))


def _turned(row: FloatArray) -> FloatArray:
    """Return the row with the same target and opposite features."""
    return np.append(-row[:-1], row[-1])
