"""Tables in several files, of which any one may have been made by looking at the data."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Dpsel

PUBLIC = ("--bounds", "b.toml")
BY_MEAN = ("--scale", "none")
BY_SPREAD = ("--center", "none", "--scale", "max-abs")
MADE: dict[str, tuple[str, ...] | None] = {
    "raw": None,
    "public": PUBLIC,
    "mean": BY_MEAN,
    "largest": BY_SPREAD,
}
Parts = Callable[[str], dict[str, Path]]
PAIRS = list(itertools.product(MADE, repeat=2))
READ_OFF = {"mean": "each column's mean", "largest": "each column's largest value"}


@pytest.fixture
def parts(tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch) -> Parts:
    """Return what makes one file in each way, in a format."""
    monkeypatch.chdir(tmp_path)
    Path("b.toml").write_text("[default]\nlower = -1\nupper = 1\n")
    Path("t.csv").write_text("x,z,y\n0.5,1,1\n0.25,-1,0\n")

    def make(ending: str) -> dict[str, Path]:
        found = {name: Path(f"{name}.{ending}") for name in MADE}
        for name, options in MADE.items():
            asked = ("--center", "none", "--scale", "none") if options is None else options
            assert dpsel("preprocess", "t.csv", found[name], "--target", "y", *asked).code == 0
            if options is None:
                _without_record(found[name])
        return found

    return make


def _without_record(path: Path) -> None:
    """Take the record off a table."""
    if path.suffix == ".csv":
        Path(f"{path}.dpsel.json").unlink()
        return
    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
        return
    table = pa.ipc.open_file(pa.BufferReader(path.read_bytes())).read_all()
    table = table.replace_schema_metadata(None)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_one_file_that_was_scaled_by_its_data_makes_all_of_it_so(
    ending: str,
    parts: Parts,
    dpsel: Dpsel,
) -> None:
    made = parts(ending)
    for names in PAIRS if ending == "parquet" else PAIRS[::3]:
        folder = Path("_".join(names) + ending)
        folder.mkdir()
        for number, name in enumerate(names):
            source = made[name]
            (folder / f"{number}.{ending}").write_bytes(source.read_bytes())
            beside = Path(f"{source}.dpsel.json")
            if beside.exists():
                (folder / f"{number}.{ending}.dpsel.json").write_bytes(beside.read_bytes())
        output = f"{folder}.parquet"
        asked = ("--target", "y", *PUBLIC)
        assert dpsel("preprocess", f"{folder}/*.{ending}", output, *asked).code == 0
        record = json.loads(dpsel("preprocess", "--show", output).out)
        expected = list(dict.fromkeys(READ_OFF[name] for name in names if name in READ_OFF))
        assert (record["data_dependent"], record["read_off_the_data"]) == (bool(expected), expected)
        ask = ("--target", "y", "--k", "1", "--epsilon", "1", "--quiet")
        for table in (output, f"{folder}/*.{ending}"):
            by_stump = json.loads(dpsel("select", table, *ask).out)
            assert by_stump["guarantee"]["end_to_end"] is not bool(expected)
            done = dpsel("select", table, *ask, "--method", "dp-sis")
            if table != output and "raw" in names and not expected:
                assert (done.code, "needs public bounds" in done.err) == (2, True)
                continue
            # Several files are not taken to be public, whatever their records say.
            covered = not expected and table == output
            assert json.loads(done.out)["guarantee"]["end_to_end"] is covered


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (("public", "public"), False),
        (("public", "mean"), True),
        (("raw", "mean"), True),
        (("public", "raw"), None),
        (("raw", "raw"), None),
    ],
)
def test_the_record_of_several_files_is_shown(
    names: tuple[str, str], shown: bool | None, parts: Parts, dpsel: Dpsel
) -> None:
    Path("in").mkdir()
    made = parts("parquet")
    for number, name in enumerate(names):
        Path(f"in/{number}.parquet").write_bytes(made[name].read_bytes())
    result = dpsel("preprocess", "--show", "in")
    assert result.code == (3 if shown is None else 0)
    if shown is not None:
        assert json.loads(result.out)["data_dependent"] is shown
