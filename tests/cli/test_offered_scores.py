"""A score that another package offers: a complete example."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Dpsel

MODULE = '''
import numpy as np

from dpsel.core.bounds import bounded_integers
from dpsel.core.guarantee import Neighbors
from dpsel.core.scores.base import Scores
from dpsel.core.scores.registry import ScoreKind


class AboveMiddle:
    """|rows on the same side of both middles - rows on different sides|."""

    def __init__(self, bounds, neighbors, unit):
        self.bounds = bounds
        self.sensitivity = unit.rows * (2 if neighbors is Neighbors.REPLACE_ONE else 1)
        self.total = np.zeros(len(bounds.lower), dtype=np.int64)

    def part(self, batch):
        here = slice(batch.first_feature, batch.first_feature + batch.X.shape[1])
        x = bounded_integers(batch.X, self.bounds.lower[here], self.bounds.upper[here])
        target = self.bounds.target
        y = bounded_integers(batch.y, np.array(target.lower), np.array(target.upper))
        return here, (np.sign(y) @ np.sign(x)).astype(np.int64)

    def add(self, part):
        here, sums = part
        self.total[here] += sums

    def scores(self):
        return Scores(np.abs(self.total), float(self.sensitivity))


ABOVE_MIDDLE = ScoreKind(AboveMiddle)
NOTHING = 7
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package that offers a score, and something that is none."""
    (tmp_path / "my_scores.py").write_text(MODULE)
    metadata = tmp_path / "my_scores-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my-scores\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[dpsel.scores]\nabove-middle = my_scores:ABOVE_MIDDLE\nnothing = my_scores:NOTHING\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("my_scores", None)


@pytest.mark.usefixtures("package")
def test_a_score_of_another_package_runs_like_ours(dpsel: Dpsel) -> None:
    table = ROOT / "sample_data" / "synthetic_bounded.parquet"
    asked = ("--target", "y", "--k", 8, "--epsilon", 30, "--lower", -1, "--upper", 1)
    result = dpsel("select", table, *asked, "--score", "above-middle")
    assert (result.code, result.err) == (0, "")
    record = json.loads(result.out)
    assert record["score"] == "above-middle"
    assert record["selected_indices"] == [1, 3, 7, 8, 13, 15, 30, 33]


@pytest.mark.usefixtures("package")
def test_what_is_no_score_is_refused(dpsel: Dpsel) -> None:
    table = ROOT / "sample_data" / "synthetic_bounded.parquet"
    asked = ("select", table, "--target", "y", "--k", 8, "--epsilon", 30, "--score")
    assert dpsel(*asked, "nothing").err == (
        "error: the score nothing of another package is not a ScoreKind\n"
    )
    assert dpsel(*asked, "magic").err == (
        "error: score must be one of stump, dot, covariance, kendall, above-middle, nothing, "
        "got magic\n"
    )
