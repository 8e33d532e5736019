"""`stump` in shards: the same selection, bit by bit, however a table is cut."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dpsel.cluster.place import Scheduler
from dpsel.cluster.shards import Cluster, merge_totals, score_shard
from dpsel.core.arrays import IntArray
from dpsel.core.scores.stump import WeightRule
from dpsel.selection.on_cluster import StumpClusterJob
from dpsel.selection.run import carry_out
from dpsel.selection.stump import ColumnsToScore, StumpJob
from tests.sample_tables import Silent, free_account, request_for


def mixed_table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    y = rng.normal(size=rows)
    wards = np.array(["a", "b", "c", None])[rng.integers(0, 4, rows)]
    columns: dict[str, Any] = {
        "signal": y + rng.normal(size=rows),
        "ward": wards.tolist(),
        "noise": rng.normal(size=rows),
        "told": np.where(y > 0, "up", "down").tolist(),
        "who": rng.integers(0, rows // 2, rows),
        "y": y,
    }
    return pl.DataFrame(columns)


class InShards(StumpClusterJob):
    """A job on a cluster that is this process."""

    target_bytes = 1

    @contextmanager
    def connected(self) -> Iterator[Cluster]:
        def spread(work: Any, shards: Any, progress: Any) -> Iterator[Any]:
            found = [score_shard(work, shard) for shard in reversed(shards)]
            for some in filter(None, (found[:2], found[2:])):
                yield merge_totals(work, some)

        yield Cluster(spread, self.target_bytes)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("person", [None, "who"])
def test_shards_give_the_same_scores_as_one_machine(
    ending: str, person: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = mixed_table(200)
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        frame.write_parquet(path, row_group_size=30)
    else:
        (frame.write_csv if ending == "csv" else frame.write_ipc)(path)
    seen: list[list[list[int]]] = []
    right = ColumnsToScore.scores

    def noted(self: ColumnsToScore, rule: WeightRule) -> IntArray:
        found = right(self, rule)
        seen.append(found.tolist())
        return found

    monkeypatch.setattr(ColumnsToScore, "scores", noted)
    asked = {"k": 2, "epsilon": 3.0, "seed": 5, "score": "stump", "mechanism": "permute-and-flip"}
    exclude = () if person else ("who",)
    request = request_for(**asked, person=person, exclude=exclude)
    here = carry_out(StumpJob(str(path), request, Silent()), free_account(path, request))
    job = InShards(str(path), request, Silent(), Scheduler("tcp://nowhere:1", 1))
    there = carry_out(job, free_account(path, request))
    assert there.record == here.record
    assert seen[0] == seen[1]
    assert here.selection.selected_features == ["signal", "told"]


def test_groups_of_a_dictionary_are_selected_alike(tmp_path: Path) -> None:
    mixed_table(200).write_parquet(tmp_path / "t.parquet", row_group_size=30)
    told = {
        "columns": {"who": {"kind": "id"}},
        "groups": {"both": {"columns": ["ward", "signal"]}},
    }
    asked = {"k": 2, "epsilon": 3.0, "seed": 5, "score": "stump", "mechanism": "permute-and-flip"}
    request = request_for(**asked, dictionary=told)
    path = str(tmp_path / "t.parquet")
    here = carry_out(StumpJob(path, request, Silent()), free_account(path, request))
    job = InShards(path, request, Silent(), Scheduler("tcp://nowhere:1", 1))
    assert carry_out(job, free_account(path, request)).record == here.record
    assert here.selection.n_features == 3
