"""Files that the system does not give, or gives under odd names: neither is a damaged file."""

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from dpsel.tables.opening import open_table
from dpsel.tables.wide_parquet import WideParquetTable
from tests.cli.conftest import ROOT, Dpsel
from tests.sample_tables import WRITERS, numbers

DP_SIS = ("--method", "dp-sis", "--lower", "-1", "--upper", "1")
ASK = ("--target", "y", "--k", "1", "--epsilon", "1", "--format", "names", *DP_SIS)
MEMORY = "/proc/self/mem"
FILES = ["t.csv", "t.csv.gz", "t.parquet", "wide.parquet", "t.arrow", "t.arrows"]
BYTES_OF_A_NAME = 600


def wide() -> pl.DataFrame:
    """Return a table with so long a footer that the other reader takes it."""
    width = 2000
    names = [f"x{place:0{BYTES_OF_A_NAME}}" for place in range(width)]
    return pl.DataFrame({name: [0.5, -0.5] for name in names} | {"y": [1.0, -1.0]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sound tables, larger than the first bytes that are looked at."""
    made = tmp_path_factory.mktemp("sound")
    for name in FILES:
        if name == "wide.parquet":
            wide().write_parquet(made / name)
            assert isinstance(open_table(made / name), WideParquetTable)
        else:
            WRITERS[name](numbers(2000, 20), made / name)
    return made


@pytest.mark.long
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("error", ["EIO", "ESTALE"])
@pytest.mark.parametrize("first", [2, 4])
@pytest.mark.parametrize("name", FILES)
def test_a_device_that_fails_is_no_damaged_file(
    folder: Path, name: str, first: int, error: str
) -> None:
    """From some call of a thread on; without the first, which some readers do not need."""
    if (name, first) == ("wide.parquet", 4):
        pytest.skip("such a file takes three calls of one thread, and two of another")
    inject = f"inject=read,pread64,readv,preadv:error={error}:when={first}+"
    under = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(folder / name), "-e", inject]
    run = [sys.executable, "-m", "dpsel", "select", str(folder / name), *ASK]
    done = subprocess.run([*under, *run], capture_output=True, cwd=ROOT, timeout=120)
    words = {"EIO": "input/output error", "ESTALE": "stale file handle"}[error]
    assert done.stderr.decode() == f"error: {name}: cannot be read: {words}\n"
    assert (done.returncode, done.stdout) == (3, b"")


@pytest.mark.skipif(not Path(MEMORY).exists(), reason="needs /proc")
@pytest.mark.parametrize("kind", [None, "csv", "tsv", "parquet", "arrow"])
@pytest.mark.parametrize("command", ["select", "preprocess"])
def test_a_file_that_cannot_be_read_is_said_to_be_one(
    command: str, kind: str | None, tmp_path: Path, dpsel: Dpsel
) -> None:
    """The memory of a process is a file of no size, and nothing is at its start."""
    output = tmp_path / "out.parquet"
    arguments: list[object] = [MEMORY, *ASK] if command == "select" else [MEMORY, output]
    if command == "preprocess":
        arguments += ["--target", "y", "--scale", "max-abs"]
    if kind is not None:
        arguments += ["--input-format", kind]
    result = dpsel(command, *arguments)
    assert (result.code, result.out) == (3, "")
    if kind != "parquet":
        assert result.err == "error: mem: cannot be read: input/output error\n"
    assert result.err.startswith("error: mem: ")
    assert list(tmp_path.iterdir()) == []


def named(folder: Path, table: str, name: bytes, to: Path) -> str:
    """Copy a table to a name in bytes, and return what the system's calls take for it."""
    place = os.fsencode(to) + b"/" + name + os.fsencode(table[table.index(".") :])
    shutil.copyfile(folder / table, place)
    return os.fsdecode(place)


NAMES = [b"caf\xe9", "café".encode()]


@pytest.mark.parametrize("name", NAMES, ids=["latin-1", "utf-8"])
@pytest.mark.parametrize("table", FILES)
def test_a_file_may_have_any_name(
    table: str, name: bytes, folder: Path, tmp_path: Path, dpsel: Dpsel
) -> None:
    result = dpsel("select", named(folder, table, name, tmp_path), *ASK, "--quiet")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("x")


def test_a_file_may_have_any_name_where_only_ascii_is_text(folder: Path, tmp_path: Path) -> None:
    places = []
    for number, (table, name) in enumerate(itertools.product(FILES, NAMES)):
        (tmp_path / str(number)).mkdir()
        places.append(os.fsencode(named(folder, table, name, tmp_path / str(number))))
    code = (
        "import os, sys; from dpsel.cli.app import run; assert os.fsdecode(b'\\xc3') == '\\udcc3'; "
    )
    code += f"print([run(['select', os.fsdecode(x), *{ASK!r}, '--quiet']) for x in {places!r}])"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    environment |= {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, env=environment, timeout=120)
    assert done.stderr == b""
    *selected, codes = done.stdout.decode().splitlines()
    assert codes == str([0] * len(places))
    assert len(selected) == len(places)
