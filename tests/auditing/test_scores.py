"""The positive control for scores: none moves beyond its sensitivity, and each comes near it."""

from fractions import Fraction

import numpy as np
import pytest

from dpsel.auditing.certificate import Verdict
from dpsel.auditing.request import ScoreRequest
from dpsel.auditing.score import BOUNDS, audit_score, handmade_pairs, random_pair
from dpsel.core.guarantee import Neighbors, Unit
from dpsel.core.scores.registry import SCORES, ScoreKind
from tests.audited import audit_request, moves
from tests.sample_tables import Silent


@pytest.mark.parametrize("kind", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize(
    ("neighbors", "rows"),
    [(Neighbors.ADD_REMOVE, 1), (Neighbors.REPLACE_ONE, 1), (Neighbors.ADD_REMOVE, 3)],
)
def test_scores_move_by_nearly_all_of_their_sensitivity_and_no_more(
    kind: ScoreKind, neighbors: Neighbors, rows: int
) -> None:
    found = moves(kind, neighbors, rows)
    assert found.failure is None
    assert Fraction(99, 100) < found.share <= 1
    assert found.tables == 100 + len(list(handmade_pairs(neighbors, Unit("person", rows))))


def test_the_certificate_says_where_and_how_far() -> None:
    request = audit_request(score="dot", tables="20", seed=1)
    assert isinstance(request, ScoreRequest)
    certificate = audit_score(request, Silent())
    assert certificate.verdict is Verdict.PASS
    add, replace = certificate.fields["largest_moves"]
    assert (add["neighbors"], replace["neighbors"]) == ("add-remove", "replace-one")
    assert (add["exactly"], replace["exactly"]) == ("1", "1")
    assert add["tables"]["unit_in_second"] == []
    assert audit_score(request, Silent()) == certificate


def test_random_tables_are_neighbors_and_hold_all_kinds_of_cells() -> None:
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(300):
        for neighbors in Neighbors:
            pair = random_pair(rng, neighbors, Unit("person", 2))
            first, second = pair.tables()
            more = 0 if neighbors is Neighbors.REPLACE_ONE else 2
            assert len(first) == len(second) + more
            assert 0 <= pair.place <= len(pair.others)
            seen.append(first.ravel())
    cells = np.concatenate(seen)
    assert np.isnan(cells).any()
    assert (cells == np.inf).any()
    assert (cells == -np.inf).any()
    assert (np.abs(cells[np.isfinite(cells)]) > 1e300).any()


def test_handmade_tables_have_cells_at_all_bounds() -> None:
    for name, bounds in BOUNDS.items():
        cells = np.concatenate(
            [
                pair.tables()[0]
                for pair in handmade_pairs(Neighbors.ADD_REMOVE, Unit())
                if pair.bounds == name
            ]
        )
        for feature in range(len(bounds.lower)):
            assert (cells[:, feature] == bounds.lower[feature]).any()
            assert (cells[:, feature] == bounds.upper[feature]).any()
