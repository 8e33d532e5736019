"""Temporary files for rows that do not fit in memory: when, where, and what is in them."""

import io
import os
import stat
import subprocess
import sys
import weakref
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpsel.core.matrix import TiledMatrix
from dpsel.errors import InputError, UsageError
from dpsel.tables import parquet as parquet_table
from dpsel.tables import parquet_footer
from dpsel.tables import spill as spill_module
from dpsel.tables import wide_parquet as wide_parquet_table
from dpsel.tables.columns import Wanted, choose_columns
from dpsel.tables.labels import TargetCoding
from dpsel.tables.opening import open_table
from dpsel.tables.sources import _spooled
from dpsel.tables.spill import Spill, memory_for_tables, parsed_size, read_matrix
from dpsel.tables.table import RowReader
from tests.cli.conftest import ROOT
from tests.sample_tables import Silent, numbers


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1000", 1000),
        ("2GB", 2_000_000_000),
        ("1.5 gb", 1_500_000_000),
        ("500M", 500_000_000),
        ("64KiB", 65536),
        (" 1TiB ", 1 << 40),
        ("0", 0),
    ],
)
def test_sizes_are_read_as_people_write_them(text: str, size: int) -> None:
    assert parsed_size(text) == size


@pytest.mark.parametrize("text", ["much", "-1", "2XB", "1e9", "2 G B", "iB", "5iB"])
def test_other_sizes_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", text)
    with pytest.raises(UsageError, match="DPSEL_MEMORY must be a size such as 2GB"):
        memory_for_tables()


def test_without_a_word_it_is_some_of_what_the_machine_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPSEL_MEMORY", raising=False)
    every = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < memory_for_tables() < every


VERSION_1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
VERSION_2 = ("memory.max", "memory.current", "inactive_file")


@pytest.mark.parametrize(
    ("own", "folder", "files"),
    [
        ("4:memory:/job\n0::/\n", "memory/job", VERSION_1),
        ("4:memory:/elsewhere\n0::/\n", "memory", VERSION_1),
        ("3:cpu:/\n0::/job\n", "job", VERSION_2),
        ("0::/\n", "", VERSION_2),
    ],
)
@pytest.mark.parametrize(
    ("limit", "free"), [("5000", 5000 - 3000 + 400), ("max", None), (str(2**63 - 4096), None)]
)
def test_limits_of_control_groups_count(
    own: str,
    folder: str,
    files: tuple[str, str, str],
    limit: str,
    free: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tmp_path / "groups" / folder
    place.mkdir(parents=True)
    (place / files[0]).write_text(f"{limit}\n")
    (place / files[1]).write_text("3000\n")
    (place / "memory.stat").write_text(f"anon 1\n{files[2]} 400\nactive_file 9\n")
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(spill_module, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(spill_module, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.delenv("DPSEL_MEMORY", raising=False)
    unlimited = memory_for_tables() > 2**20
    assert unlimited if free is None else memory_for_tables() == free * 3 // 4


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_limits_of_the_process_count(limit: str) -> None:
    code = (
        "import resource\n"
        f"resource.setrlimit(resource.{limit}, (1 << 30, 1 << 30))\n"
        "from dpsel.tables.spill import memory_for_tables\n"
        "print(memory_for_tables())"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("DPSEL_MEMORY", None)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment, check=True
    )
    assert 0 < int(done.stdout) < 1 << 30


def open_files() -> dict[str, os.stat_result]:
    """Return the files that this process has open and that have no name any more."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            place = os.readlink(f"/proc/self/fd/{name}")
            if place.endswith("(deleted)"):
                found[f"{name} {place}"] = os.stat(f"/proc/self/fd/{name}")
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_file_has_no_name_and_is_gone_with_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(open_files())
    spill = Spill(3, copies=None, tile_cells=3 * 1024)
    spill.add(0, np.full((1000, 3), 0.1))
    (new,) = (file for name, file in open_files().items() if name not in before)
    assert os.listdir(tmp_path) == []
    assert stat.S_IMODE(new.st_mode) == 0o600
    assert new.st_nlink == 0
    assert new.st_size == 1024 * 3 * 8
    assert spill.columns(1, 2).tolist() == [[0.1]] * 1000
    del spill
    assert set(open_files()) == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
@pytest.mark.parametrize("value", [0.1, 0.5, np.nan, -np.inf, 1e300, 2.0**24 + 1])
def test_values_take_eight_bytes_and_none_changes(value: float) -> None:
    before = set(open_files())
    spill = Spill(2, copies=None, tile_cells=2 * 512)
    X = np.zeros((50, 2))
    X[7, 1] = value
    spill.add(0, X)
    (new,) = (file for name, file in open_files().items() if name not in before)
    assert new.st_size == 2 * 512 * 8
    assert spill.columns(0, 2).tobytes() == np.asfortranarray(X).tobytes()


def test_rows_stay_in_memory_until_their_copies_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", "24000")
    # No file is made as long as all rows fit.
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    spill = Spill(1, copies=3.0, tile_cells=500)
    spill.add(0, np.full((500, 1), 0.1))
    spill.add(0, np.full((500, 1), 0.2))
    assert spill.cells_at_once is None
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    spill.add(0, np.full((1, 1), 0.3))
    assert spill.cells_at_once == 1 << 17
    assert spill.columns(0, 1)[[499, 999, 1000], 0].tolist() == [0.1, 0.2, 0.3]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_first_tiles_are_in_memory_and_the_others_in_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", "24576")
    before = set(open_files())
    spill = Spill(2, copies=3.0, tile_cells=512)
    X = np.random.default_rng(0).random((256 * 7, 2))
    for row in range(0, len(X), 100):
        spill.add(0, X[row : row + 100])
    (new,) = (file for name, file in open_files().items() if name not in before)
    # 8 KiB of memory are two tiles of 4 KiB each.
    assert new.st_size == (7 - 2) * 512 * 8
    assert np.array_equal(spill.columns(0, 2), X)


def test_a_table_of_zeros_and_other_spills_are_in_files_of_their_own() -> None:
    spill = Spill(3, copies=None)
    spill.add(0, np.full((7, 3), 0.1))
    zeros = spill.zeros()
    assert zeros.flags.f_contiguous
    assert zeros.tolist() == [[0.0] * 3] * 7
    zeros[:] = 2.0
    others = spill.others(2)
    for number, other in enumerate(others):
        other.add(0, np.full((5, 3), 0.3 + number))
        assert not other.fits_in_memory
    spill.add(0, np.full((7, 3), 0.2))
    assert zeros.tolist() == [[2.0] * 3] * 7
    assert spill.columns(2, 3).tolist() == [[0.1]] * 7 + [[0.2]] * 7
    assert [other.array().tolist() for other in others] == [[[0.3] * 3] * 5, [[1.3] * 3] * 5]


def test_no_other_folder_is_used_than_the_one_that_the_user_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.parquet").touch()
    for wanted in ("missing", "t.parquet"):
        monkeypatch.setenv("TMPDIR", str(tmp_path / wanted))
        with pytest.raises(InputError, match=r"cannot be written: no.*; set TMPDIR"):
            Spill(1, copies=None).add(0, np.ones((1, 1)))
        with pytest.raises(InputError, match=r"copied to a temporary file: no.*; set TMPDIR"):
            _spooled("stdin", io.BytesIO(b"x,y"))
    monkeypatch.setenv("TMPDIR", "")
    Spill(1, copies=None).add(0, np.ones((1, 1)))


@pytest.mark.parametrize("kind", ["many columns", "wide"])
@pytest.mark.parametrize("memory", ["1GB", "0"])
def test_whole_rows_are_the_same_when_read_by_columns(
    kind: str, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", memory)
    path = tmp_path / "t.parquet"
    frame = numbers(50, 20)
    frame.write_parquet(path, row_group_size=17)
    if kind == "wide":
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
        monkeypatch.setattr(wide_parquet_table, "_CELLS_AT_ONCE", 300)
    else:
        monkeypatch.setattr(parquet_table, "_MANY_COLUMNS", 5)
        monkeypatch.setattr(parquet_table, "_CELLS_AT_ONCE", 100)
    with closing(open_table(path)) as table:
        assert type(table).__name__ == ("WideParquetTable" if kind == "wide" else "ParquetTable")
        layout = choose_columns(table.columns, Wanted("y"), table.label)
        pending = list(
            table.pending_batches(replace(layout, whole_rows=True), RowReader(TargetCoding()))
        )
    batches = [one.read() for one in pending]
    assert [batch.first_feature for batch in batches] == [0] * len(batches)
    assert pending[-1].done == 1.0
    found = np.concatenate([np.column_stack([batch.X, batch.y]) for batch in batches])
    assert np.array_equal(found, frame.to_numpy(), equal_nan=True)


@pytest.mark.parametrize("reader", ["wide", "other", "tall"])
@pytest.mark.parametrize("rows_a_group", [51, 25, 17])
@pytest.mark.parametrize("memory", ["1GB", "0"])
def test_a_matrix_is_the_same_however_its_batches_come(
    reader: str, rows_a_group: int, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_MEMORY", memory)
    # A text that is not UTF-8 is left to the other reader.
    labels = [b"ill", b"well", b"\xff" if reader == "other" else b"dead"] * 17
    path, frame = tmp_path / "t.parquet", numbers(len(labels), 20).drop("y")
    table = frame.to_arrow().append_column("y", pa.array(labels).view(pa.string()))
    pq.write_table(table, path, row_group_size=rows_a_group)
    if reader != "tall":
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", 1)
        monkeypatch.setattr(wide_parquet_table, "_CELLS_A_SHARE", 200)
    monkeypatch.setattr(parquet_table, "_MANY_COLUMNS", 5)
    monkeypatch.setattr(parquet_table, "_CELLS_AT_ONCE", 100)
    with closing(open_table(path)) as opened:
        assert type(opened).__name__ == ("ParquetTable" if reader == "tall" else "WideParquetTable")
        layout = choose_columns(opened.columns, Wanted("y", labels=True), opened.label)
        rows = RowReader(TargetCoding("ill"))
        X, y, _ = read_matrix(opened, layout, rows, Silent(), 2, copies=1.0, clipping=None)
    assert isinstance(X, TiledMatrix) == (memory == "0")
    cells = X.array() if isinstance(X, TiledMatrix) else X
    assert np.array_equal(cells, frame.to_numpy(), equal_nan=True)
    assert np.array_equal(y == 1.0, [label == b"ill" for label in labels])


@pytest.mark.parametrize("copies", [1.0, None])
def test_what_was_let_go_is_gone(copies: float | None) -> None:
    before = set(open_files())
    spill = Spill(2, copies=copies)
    spill.add(0, np.ones((10, 2)))
    tile = weakref.ref(spill._tiles[0])
    assert len(set(open_files()) - before) == (copies is None)
    assert spill.array().tolist() == [[1.0] * 2] * 10
    assert tile() is None
    del spill
    assert set(open_files()) == before
