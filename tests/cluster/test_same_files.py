"""Workers that find other content under the same names: noticed, and nothing is released."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dpsel.cluster import shard_files
from dpsel.cluster.place import Scheduler
from dpsel.core.selection import Selection
from dpsel.errors import InputError
from tests.cluster.conftest import Processes, processes
from tests.sample_tables import numbers, request_for, select_on, write_ipc_stream

# A name that each process reads in its own folder: two machines with a disk each.
OWN_FOLDER = "/proc/self/cwd"
FRAME = numbers(60, 3)
WRITERS: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "t.csv": lambda frame, path: path.write_text(frame.write_csv(float_precision=4)),
    "t.parquet": lambda frame, path: frame.write_parquet(path, row_group_size=20),
    "t.arrow": lambda frame, path: frame.write_ipc(path, compression="uncompressed"),
    "t.arrows": write_ipc_stream,
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with processes(tmp_path_factory.mktemp("theirs"), 1) as found:
        yield found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if not Path(OWN_FOLDER).is_dir():
        pytest.skip("needs a system with /proc")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def selected(name: str, own: Processes) -> Selection:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_files, "TARGET_BYTES", 1)
        where = Scheduler(own.address, 1)
        return select_on(where, f"{OWN_FOLDER}/{name}", request_for(seed=1))


@pytest.mark.parametrize("name", WRITERS)
def test_a_worker_with_another_file_of_the_same_size_is_noticed(
    name: str, own: Processes, here: Path
) -> None:
    # The second row is another, in one cell.
    rows = pl.int_range(pl.len())
    other = FRAME.with_columns(x1=pl.when(rows == 1).then(0.125).otherwise(0.25))
    same = FRAME.with_columns(x1=pl.when(rows == 1).then(0.375).otherwise(0.25))
    WRITERS[name](same, here / name)
    WRITERS[name](same, own.folder / name)
    os.utime(own.folder / name, (1, 1))
    assert selected(name, own).selected_indices
    WRITERS[name](other, own.folder / name)
    assert (own.folder / name).stat().st_size == (here / name).stat().st_size
    with pytest.raises(InputError) as raised:
        selected(name, own)
    assert str(raised.value) == (
        f"{name}: a worker of the cluster has another file under this name; "
        "all of them need the same files at the same place"
    )


def test_a_worker_with_more_rows_is_noticed(own: Processes, here: Path) -> None:
    text = FRAME.write_csv()
    (here / "t.csv").write_text(text)
    (own.folder / "t.csv").write_text(text + "1,1,1,1\n")
    with pytest.raises(InputError, match="has another file under this name"):
        selected("t.csv", own)


def test_a_copy_that_changes_between_two_shares_is_noticed(
    own: Processes, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first and last bytes stay the same, and so does the file that the caller sees."""
    from dpsel.cluster.dask import DaskCrew

    path = own.folder / "t.parquet"
    for place in (here / "t.parquet", path):
        WRITERS["t.parquet"](FRAME, place)
    right = DaskCrew.totals

    def changing(crew: DaskCrew, work: Any, shards: Any, progress: Any) -> Any:
        yield from right(crew, work, shards[:1], progress)
        os.utime(path, (1, 1))
        yield from right(crew, work, shards[1:], progress)

    monkeypatch.setattr(DaskCrew, "totals", changing)
    with pytest.raises(InputError, match="was changed while it was read"):
        selected("t.parquet", own)
