"""Many draws by `stump`: each is what `release_stump` would select, and pays for its weights."""

import numpy as np
import pytest

from dpsel.core.arrays import IntArray, RealArray
from dpsel.core.guarantee import Guarantee, Neighbors, Scope, Unit
from dpsel.core.matrix import TiledMatrix
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.randomness import make_randomness
from dpsel.core.release import DrawnBy, StumpRequest, release_stump
from dpsel.core.scores.stump import RowWeights, matrix_scores
from dpsel.core.selection import Selection
from dpsel.core.target import Target
from dpsel.evaluation import methods
from dpsel.evaluation.data import DataSet
from dpsel.evaluation.methods import StumpDraws
from dpsel.evaluation.metrics import cell_summary, correlations
from tests.privacy.test_stump_release import InMemory

NUMERIC, TWO = Target(), Target(classes=2)
D, TRIALS = 9, 30


def made(target: Target, n: int = 300) -> DataSet:
    """Return raw rows, far from [-1, 1] and some missing, whose target follows 1, then 3."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, D))
    y = 2 * X[:, 1] + X[:, 3] + 0.3 * rng.normal(size=n)
    X = 1e4 * X + 1e6
    X[5, :] = np.nan
    return DataSet(X, np.where(y > 1, 1.0, -1.0) if target.classes else 1e3 * y - 7e5)


def stump(
    rows: DataSet,
    target: Target = NUMERIC,
    neighbors: Neighbors = Neighbors.ADD_REMOVE,
    mechanism: str = "permute-and-flip",
    unit: Unit = Unit(),  # noqa: B008
) -> StumpDraws:
    parameters = dict(MECHANISMS[mechanism].defaults)
    return StumpDraws(rows, target, neighbors, unit, mechanism, parameters)


def released(
    draws: StumpDraws, k: int, epsilon: float, seed: int, columns: InMemory | None = None
) -> Selection:
    """Return what `select` releases with a seed."""
    return release_stump(
        columns or InMemory(draws.rows.X, draws.rows.y),
        [f"x{i}" for i in range(D)],
        StumpRequest(draws.target, k),
        Guarantee(epsilon, draws.neighbors, Scope(True, "a test"), draws.unit),
        DrawnBy("stump", draws.mechanism, draws.parameters),
        seed,
    )


@pytest.mark.parametrize("mechanism", ["permute-and-flip", "peeling", "canonical-lipschitz"])
@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("target", [NUMERIC, TWO])
def test_every_trial_is_what_release_stump_selects_with_its_seed(
    target: Target, neighbors: Neighbors, mechanism: str
) -> None:
    draws = stump(made(target), target, neighbors, mechanism)
    drawn = draws.draw(2, 0.3, TRIALS, make_randomness(4))
    seeds = make_randomness(4).words(TRIALS).tolist()
    columns = InMemory(draws.rows.X, draws.rows.y)
    expected = [released(draws, 2, 0.3, seed, columns).selected_indices for seed in seeds]
    assert drawn.picks.tolist() == expected
    assert len(set(map(tuple, expected))) > 3
    # The scores of each trial are by the weights that it paid for.
    scores = [columns.scores(rule)[0].tolist() for rule in list(columns.rules)]
    assert drawn.scores.tolist() == scores
    assert len({str(row) for row in scores}) > 1
    assert drawn.bound is None


@pytest.mark.parametrize("target", [NUMERIC, TWO])
def test_draws_pay_for_neighbors_and_persons(target: Target) -> None:
    rows = made(target)
    found = {
        str(stump(rows, target, neighbors, unit=unit).draw(3, 0.5, 40, make_randomness(1)).picks)
        for neighbors in Neighbors
        for unit in (Unit(), Unit("person", 3))
    }
    assert len(found) == 4


@pytest.mark.parametrize("target", [NUMERIC, TWO])
def test_a_planted_raw_table_is_found_and_all_metrics_say_so(target: Target) -> None:
    rows = made(target, 3000)
    drawn = stump(rows, target).draw(2, 2.0, TRIALS, make_randomness(0))
    kept = ~np.isnan(rows.X[:, 0])
    summary = cell_summary(drawn, np.array([1, 3]), correlations(rows.X[kept], rows.y[kept]))
    for metric in ("accuracy", "top", "great", "good", "jaccard"):
        assert summary[metric] == 1.0
    assert summary["relative_correlation"] == pytest.approx(1.0)
    assert summary["tied"] == 0.0
    assert summary["counts"] == [[1, TRIALS], [3, TRIALS]]


def test_equal_weights_are_scored_once_and_nothing_depends_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Between few values that are far apart, many medians weigh all rows alike.
    rows = made(NUMERIC, 40)
    calls = []

    def counted(X: RealArray, weights: RowWeights) -> IntArray:
        calls.append(weights)
        return matrix_scores(X, weights)

    monkeypatch.setattr(methods, "matrix_scores", counted)
    remembering = stump(rows)
    expected = remembering.draw(2, 2.0, 50, make_randomness(2))
    different = {weights.values.take(weights.groups, axis=1).tobytes() for weights in calls}
    assert 1 < len(different) == len(calls) == len(remembering.known) < 50
    again = remembering.draw(2, 2.0, 50, make_randomness(2))
    assert len(calls) == len(remembering.known)
    monkeypatch.setattr(methods, "_MOST_REMEMBERED", 0)
    forgetful = stump(rows)
    for drawn in (again, forgetful.draw(2, 2.0, 50, make_randomness(2))):
        assert drawn.picks.tolist() == expected.picks.tolist()
        assert drawn.scores.tolist() == expected.scores.tolist()
    assert not forgetful.known


def test_tiles_are_drawn_from_like_arrays() -> None:
    rows = made(NUMERIC)
    tiles = TiledMatrix(D, tile_cells=D * 70)
    tiles.add(0, rows.X)
    expected = stump(rows).draw(2, 0.5, TRIALS, make_randomness(3))
    drawn = stump(DataSet(tiles, rows.y)).draw(2, 0.5, TRIALS, make_randomness(3))
    assert drawn.picks.tolist() == expected.picks.tolist()


def test_it_draws_with_a_seed_only() -> None:
    with pytest.raises(ValueError, match="drawn with a seed"):
        stump(made(NUMERIC)).draw(2, 1.0, 1, make_randomness(None))
