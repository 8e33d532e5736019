"""Polars keeps rows in memory, however little of it there seems to be."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROWS = 20_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a CSV that polars, left alone and short of memory, writes to disk while reading it."""
    path = tmp_path_factory.mktemp("frames") / "table.csv"
    rng = np.random.default_rng(1)
    cells = rng.standard_normal((ROWS, 5))
    frame = pl.DataFrame(cells, schema=list("abcde"))
    frame.with_columns(y=pl.Series(cells[:, 0] > 0)).write_csv(path)
    return path


def spilled(tmp_path: Path, script: str) -> list[str]:
    """Run a script with next to no memory for polars, and return what is in its folder then."""
    folder = tmp_path / "polars"
    folder.mkdir()
    environment = os.environ | {
        "POLARS_OOC_SPILL_DIR": str(folder),
        "POLARS_OOC_SPILL_MIN_BYTES": "0",
        "POLARS_OOC_DRIFT_THRESHOLD": "1",
        "POLARS_OOC_MEMORY_BUDGET_FRACTION": "0.000001",
        "POLARS_OOC_MEMORY_BUDGET_MB": "1",
    }
    subprocess.run([sys.executable, "-c", script], env=environment, check=True, timeout=120)
    return [path.name for path in folder.rglob("*")]


READ = "import polars as pl; pl.read_csv({path!r})"
SELECT = "import dpsel; dpsel.select({path!r}, target='y', k=2, epsilon=1)"
BOTH = "import polars, dpsel; dpsel.select({path!r}, target='y', k=2, epsilon=1)"


@pytest.mark.parametrize("script", [SELECT, BOTH], ids=["dpsel", "polars, then dpsel"])
def test_no_row_is_written_to_the_folder_of_polars(
    script: str, table: Path, tmp_path: Path
) -> None:
    assert spilled(tmp_path, script.format(path=str(table))) == []


@pytest.mark.skipif(int(pl.__version__.split(".")[0]) < 2, reason="polars before 2 does not spill")
def test_without_dpsel_such_rows_are_written(table: Path, tmp_path: Path) -> None:
    assert spilled(tmp_path, READ.format(path=str(table))) != []
