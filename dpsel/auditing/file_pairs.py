"""Pairs of neighboring tables for an audit of the command: handmade or searched for, as files."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dpsel.auditing.laws import Law
from dpsel.auditing.loss import expected_bound
from dpsel.auditing.pairs import LawOf
from dpsel.core.arrays import FloatArray
from dpsel.core.batch import Batch
from dpsel.core.bounds import UNIT_INTERVAL, Bounds
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.randomness import seeded_generator
from dpsel.core.scores.registry import ScoreKind
from dpsel.records import frozen
from dpsel.system.frames import pl

_ROWS = 8
_MANY_ROWS = 300
_STARTS, _STEPS = 40, 240
# Rows of a person beyond those that count; they must have no effect.
_FURTHER_ROWS = 200


@frozen
class FilePair:
    """Two neighboring tables: the rows they share, and the rows of one unit in each."""

    name: str
    others: FloatArray
    unit: tuple[FloatArray, FloatArray]
    text: bool = False
    """Whether the tables are written as CSV, in which a missing cell is empty."""

    def tables(self) -> tuple[FloatArray, FloatArray]:
        """Return both tables; the rows of the unit come last."""
        return (
            np.concatenate([self.others, self.unit[0]]),
            np.concatenate([self.others, self.unit[1]]),
        )


@frozen
class PairMaker:
    """Makes pairs of tables, and knows the exact laws of the records released from them."""

    kind: ScoreKind
    law_of: LawOf
    d: int
    k: int
    neighbors: Neighbors
    unit: Unit
    pays_for_weights: bool = False
    """Whether part of epsilon pays for the weights of rows, as in `stump`; that law is unknown."""

    def record_laws(self, pair: FilePair) -> tuple[Law, Law] | None:
        """Return the laws of the records of both tables, if they are known."""
        return None if self.pays_for_weights else self.laws(pair)

    def laws(self, pair: FilePair) -> tuple[Law, Law] | None:
        """Return both laws if weights are 1 or -1, by the target's sign, and cost no epsilon."""
        laws = [self.law_of(self._scores(pair.others, rows)) for rows in pair.unit]
        return None if laws[0] is None or laws[1] is None else (laws[0], laws[1])

    def _scores(self, others: FloatArray, rows: FloatArray) -> list[float]:
        """Return the scores of a table in units of their sensitivity."""
        cells = np.concatenate([others, rows[: self.unit.rows]])
        bounds = Bounds.of([UNIT_INTERVAL] * self.d, UNIT_INTERVAL)
        score = self.kind.make(bounds, self.neighbors, self.unit)
        if len(cells):
            score.add(score.part(Batch(0, cells[:, :-1], cells[:, -1])))
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
        """Return tables in which a unit has copies of `row`, and of `instead` or no rows."""
        rows = self.unit.rows + (_FURTHER_ROWS if self.unit.name == "person" else 0)
        first, second = (np.tile(one, (rows, 1)) for one in (row, instead))
        if self.neighbors is Neighbors.ADD_REMOVE:
            second = second[:0]
        return FilePair(name, others, (first, second), text)


def file_pairs(maker: PairMaker, *, draws: int, delta: float, alpha: float) -> list[FilePair]:
    """Return all pairs: the one searched for, and the handmade ones."""
    strong = _searched(maker, draws, delta, alpha)
    return [strong, *_handmade(maker)]


def _handmade(maker: PairMaker) -> Iterator[FilePair]:
    """Yield pairs in which one unit would decide everything if the command were wrong."""
    d, k = maker.d, maker.k
    first = np.append(np.arange(d) < k, True).astype(np.float64)
    rest = np.append(np.arange(d) >= k, True).astype(np.float64)
    # Some targets are -1 among those of 1, since a score may depend on their variance.
    signs = np.where(np.arange(_MANY_ROWS) % 3 == 0, -1.0, 1.0)[:, None]
    tiny = first * np.append([2.0**-10] * d, 1.0)
    yield maker.pair("outlier", signs * tiny, np.full(d + 1, 1e6), tiny)
    missing = np.append([np.nan] * d, 1.0)
    yield maker.pair("missing", signs * missing, first, missing, text=True)
    yield maker.pair("empty", np.empty((0, d + 1)), first, rest)


def _searched(maker: PairMaker, draws: int, delta: float, alpha: float) -> FilePair:
    """Search for the pair of tables whose loss shows most in this many draws."""
    rng = seeded_generator(0)

    def shown(pair: FilePair) -> float:
        laws = maker.laws(pair)
        return 0.0 if laws is None else expected_bound(laws, draws, delta, alpha)

    starts = [_random(maker, rng) for _ in range(_STARTS)]
    values = [shown(pair) for pair in starts]
    value, best = max(values), starts[int(np.argmax(values))]
    for _ in range(_STEPS):
        changed = _changed(maker, best, rng)
        if (reached := shown(changed)) >= value:
            value, best = reached, changed
    return best


def _random(maker: PairMaker, rng: np.random.Generator) -> FilePair:
    """Return random tables of -1, 0 and 1; targets are 1, or have both signs for weights."""
    others = rng.choice([-1.0, 0.0, 1.0], (_ROWS, maker.d + 1), p=[0.2, 0.3, 0.5])
    others[:, -1] = (
        np.where(np.arange(_ROWS) % 2 == 0, -1.0, 1.0) if maker.pays_for_weights else 1.0
    )
    row = rng.choice([-1.0, 1.0], maker.d + 1)
    return maker.pair("searched", others, row, _opposite(row))


def _changed(maker: PairMaker, pair: FilePair, rng: np.random.Generator) -> FilePair:
    """Return a pair in which a few cells are drawn again."""
    others, row = pair.others.copy(), pair.unit[0][0].copy()
    fresh = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0], others.shape)
    redrawn = rng.random(others.shape) < 0.06
    others[redrawn] = fresh[redrawn]
    if rng.random() < 0.3:
        row[rng.integers(len(row))] *= -1.0
    return maker.pair("searched", others, row, _opposite(row))


def _opposite(row: FloatArray) -> FloatArray:
    """Return the row with the same target and opposite features."""
    return np.append(-row[:-1], row[-1])


TARGET = "y"
PERSON = "person"


def feature_names(count: int) -> list[str]:
    """Return the names of this many features."""
    return [f"x{number}" for number in range(count)]


def write_pair(pair: FilePair, unit: Unit, folder: Path) -> tuple[str, str]:
    """Write both tables, and return their paths."""
    first, second = (
        _write(cells, len(pair.others), pair, unit, folder / f"{pair.name}-{which}")
        for which, cells in enumerate(pair.tables())
    )
    return first, second


def _write(cells: FloatArray, others: int, pair: FilePair, unit: Unit, place: Path) -> str:
    """Write one table, with a column of persons if the unit of privacy is a person."""
    names = [*feature_names(cells.shape[1] - 1), TARGET]
    frame = pl.DataFrame(cells, schema=dict.fromkeys(names, pl.Float64))
    if unit.name == "person":
        # All rows of the unit belong to one person; every other row has a person of its own.
        persons = [min(number, others) for number in range(len(cells))]
        frame = frame.with_columns(pl.Series(PERSON, persons, dtype=pl.Int64))
    if pair.text:
        path = place.with_suffix(".csv")
        frame.fill_nan(None).write_csv(path)
    else:
        path = place.with_suffix(".parquet")
        frame.write_parquet(path)
    return str(path)
