"""`--require-ledger` and `--require-end-to-end`: refused before a row is read, or as ever."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import dpsel as library
from dpsel.budget.payment import REQUIRE_LEDGER, is_demanded
from dpsel.errors import UsageError
from tests.cli.conftest import Dpsel
from tests.ledgers import make_ledger, rows
from tests.tables.test_wide_parquet import steps

__all__ = ["steps"]
ASK = ("--target", "y", "--k", 1, "--epsilon", 2)
DP_SIS = ("select", "--method", "dp-sis")
KENDALL = ("baseline", "--method", "dpkendall")
TWO_STAGE = ("baseline", "--method", "two-stage", "--blocks", 2)
BOUNDED = ("--lower", 0, "--upper", 1)
NO_LEDGER = (
    "error: a ledger is required (--require-ledger or DPSEL_REQUIRE_LEDGER): none is named; give "
    "--ledger NAME, or DPSEL_LEDGER\n"
)
PARTIAL = (
    "error: a guarantee from end to end is required (--require-end-to-end or "
    "DPSEL_REQUIRE_END_TO_END), and this "
)
SELECTION_ONLY = f"{PARTIAL}would cover the selection only: "


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger 'patients' with epsilon 10, a table t.csv, and a pipe that nobody writes to."""
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,z,y\n1,0.5,1\n0,0.25,0\n1,1,1\n")
    Path("b.toml").write_text("[default]\nlower = 0\nupper = 1\n")
    os.mkfifo("pipe.csv")
    place = tmp_path / "ledger.sqlite3"
    monkeypatch.setenv("DPSEL_LEDGER_FILE", str(place))
    make_ledger(place)
    return place


def demand(how: str, option: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Return the option, or set its variable."""
    if how == "option":
        return (option,)
    monkeypatch.setenv("DPSEL" + option[1:].upper().replace("-", "_"), how)
    return ()


@pytest.mark.parametrize("how", ["option", "1"])
@pytest.mark.parametrize(
    "command", [("select",), (*DP_SIS, *BOUNDED), KENDALL, (*TWO_STAGE, *BOUNDED)]
)
def test_a_run_without_a_ledger_is_refused_if_one_is_required(
    command: tuple[object, ...],
    how: str,
    place: Path,
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    more = demand(how, "--require-ledger", monkeypatch)
    # A row cannot be read: whoever opens this pipe waits for ever.
    for options in ((), ("--dry-run",)):
        run = (command[0], "pipe.csv", "--input-format", "csv", *ASK, *command[1:])
        result = dpsel(*run, *options, *more)
        assert (result.code, result.out, result.err) == (2, "", NO_LEDGER)
    ledger = ("--ledger", "patients")
    assert dpsel(command[0], "t.csv", *ASK, *command[1:], *ledger, *more).code == 0
    monkeypatch.setenv("DPSEL_LEDGER", "patients")
    assert dpsel(command[0], "t.csv", *ASK, *command[1:], *more).code == 0
    assert len(rows(place)) == 2


@pytest.mark.parametrize("option", ["--require-ledger", "--require-end-to-end"])
@pytest.mark.parametrize(
    ("because", "run"),
    [
        ("a draw with --seed is not private", ("select", "--seed", 1)),
        ("a draw with --seed is not private", (*DP_SIS, "--seed", 1, *BOUNDED)),
        ("a draw with --seed is not private", (*KENDALL, "--seed", 1)),
        ("the method is not private", ("baseline", "--method", "sis", *BOUNDED)),
        ("the method is not private", (*TWO_STAGE, "--no-privacy", *BOUNDED)),
    ],
)
def test_what_is_not_private_meets_no_demand(
    because: str, run: tuple[object, ...], option: str, place: Path, dpsel: Dpsel
) -> None:
    result = dpsel(run[0], "pipe.csv", "--input-format", "csv", *ASK, *run[1:], option)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"{NO_LEDGER.partition(': none')[0]}: {because}, so there is no budget to spend on it\n"
        if option == "--require-ledger"
        else f"{PARTIAL}has no guarantee\n"
    )


@pytest.mark.parametrize("how", ["option", "1"])
@pytest.mark.parametrize("command", [DP_SIS, TWO_STAGE])
def test_a_table_without_bounds_is_refused_whether_or_not_all_must_be_covered(
    command: tuple[object, ...],
    how: str,
    place: Path,
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    more = (*demand(how, "--require-end-to-end", monkeypatch), "--ledger", "patients")
    run = (command[0], "t.csv", *ASK, *command[1:])
    for demanded in (more, ("--ledger", "patients")):
        result = dpsel(*run, *demanded)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(("error: the score dot", "error: the method two-stage"))
        assert " needs public bounds: give --bounds FILE, or --lower and --upper" in result.err
        assert rows(place) == []
    assert json.loads(dpsel(*run, *more, *BOUNDED).out)["guarantee"]["end_to_end"] is True
    for unbounded in (("select",), KENDALL):
        result = dpsel(unbounded[0], "t.csv", *ASK, *unbounded[1:], *more)
        assert json.loads(result.out)["guarantee"]["end_to_end"] is True


def written(name: str, dpsel: Dpsel, *how: object) -> str:
    assert dpsel("preprocess", "t.csv", name, "--target", "y", *how).code == 0
    return name


def without_rows(name: str) -> None:
    """Spoil all rows of a file, and leave its header, footer and record."""
    content = bytearray(Path(name).read_bytes())
    if name.endswith(".parquet"):
        column = pq.ParquetFile(name).metadata.row_group(0).column(0)
        start = column.data_page_offset
        content[start : start + column.total_compressed_size] = b"\xff" * (
            column.total_compressed_size
        )
        Path(name).write_bytes(bytes(content))
    elif name.endswith(".csv"):
        Path(name).write_bytes(content[: content.index(b"\n") + 1] + b'1,"1')


@pytest.mark.parametrize("command", [("select",), DP_SIS, TWO_STAGE, KENDALL])
@pytest.mark.parametrize("table_format", ["parquet", "arrow", "csv"])
def test_a_table_scaled_by_its_data_is_refused_whatever_bounds_are_given(
    table_format: str, command: tuple[object, ...], place: Path, dpsel: Dpsel
) -> None:
    name = written(f"p.{table_format}", dpsel)
    without_rows(name)
    bounds = ("--lower", -1, "--upper", 1) if command in (DP_SIS, TWO_STAGE) else ()
    run = (command[0], name, *ASK, *command[1:], *bounds, "--ledger", "patients")
    result = dpsel(*run, "--require-end-to-end")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"{SELECTION_ONLY}`dpsel preprocess` read each column's mean")
    assert rows(place) == []
    # Negative control: whoever reads a row of it notices that it is spoilt.
    if table_format != "arrow":
        assert dpsel(*run).code == 3
        assert len(rows(place)) == 1


@pytest.mark.parametrize("table_format", ["parquet", "arrow", "csv"])
def test_a_table_bounded_by_public_inputs_meets_the_demand_where_that_is_known_beforehand(
    table_format: str, place: Path, dpsel: Dpsel
) -> None:
    name = written(f"p.{table_format}", dpsel, "--bounds", "b.toml")
    run = (DP_SIS[0], name, *ASK, *DP_SIS[1:], "--ledger", "patients")
    assert json.loads(dpsel(*run).out)["guarantee"]["end_to_end"] is True
    result = dpsel(*run, "--require-end-to-end")
    # A CSV is known to be the one of its record once all rows were read. So whether it is must not
    # decide: neither over the charge nor over the exit code.
    if table_format == "csv":
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"{SELECTION_ONLY}no bounds were given")
        assert len(rows(place)) == 1
        result = dpsel(*run, "--require-end-to-end", "--lower", -1, "--upper", 1)
    assert json.loads(result.out)["guarantee"]["end_to_end"] is True


def test_one_of_several_files_is_enough_to_be_refused(place: Path, dpsel: Dpsel) -> None:
    Path("parts").mkdir()
    written("parts/a.parquet", dpsel, "--bounds", "b.toml")
    unit = ("--lower", -1, "--upper", 1)
    asked = (*ASK, *DP_SIS[1:], *unit)
    run = ("select", "parts", *asked, "--ledger", "patients", "--require-end-to-end")
    assert dpsel(*run).code == 0
    written("parts/b.parquet", dpsel)
    result = dpsel(*run)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"{SELECTION_ONLY}`dpsel preprocess` read")
    assert len(rows(place)) == 1


def test_no_row_is_read_ahead_of_a_demand(place: Path, dpsel: Dpsel, steps: list[str]) -> None:
    name = written("p.parquet", dpsel)
    for option in ("--require-ledger", "--require-end-to-end"):
        assert dpsel("select", name, *ASK, option).code == 2
    assert "rows" not in steps
    assert dpsel("select", name, *ASK).code == 0
    assert "rows" in steps


def test_a_stored_release_must_meet_the_demand_too(place: Path, dpsel: Dpsel) -> None:
    name = written("p.parquet", dpsel)
    run = ("select", name, *ASK, "--ledger", "patients", "--run-id", "a")
    first = dpsel(*run)
    assert first.code == 0
    result = dpsel(*run, "--require-end-to-end")
    assert (result.code, result.out) == (2, "")
    assert SELECTION_ONLY in result.err
    assert dpsel(*run, "--require-ledger").out == first.out


@pytest.mark.parametrize("value", ["", "0", "no", "False", "off"])
def test_a_variable_that_says_no_demands_nothing(
    value: str, place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSEL_REQUIRE_LEDGER", value)
    monkeypatch.setenv("DPSEL_REQUIRE_END_TO_END", value)
    assert dpsel("select", "t.csv", *ASK).code == 0


@pytest.mark.parametrize("value", ["1", "yes", "TRUE", " on "])
def test_a_variable_may_say_yes_in_many_words(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_demanded(False, REQUIRE_LEDGER)
    monkeypatch.setenv(REQUIRE_LEDGER, value)
    assert is_demanded(False, REQUIRE_LEDGER)


@pytest.mark.parametrize("variable", ["DPSEL_REQUIRE_LEDGER", "DPSEL_REQUIRE_END_TO_END"])
def test_a_variable_that_nobody_understands_is_refused(
    variable: str, place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "patients")
    for command in (("select",), KENDALL):
        result = dpsel(command[0], "t.csv", *ASK, *command[1:])
        assert (result.code, result.out) == (2, "")
        assert result.err == f"error: {variable} must be 1 or 0, yes or no, or true or false\n"


def test_python_has_the_same_demands(
    place: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = written("p.parquet", dpsel)
    options: dict[str, Any] = {"target": "y", "k": 1, "epsilon": 2}
    with pytest.raises(UsageError, match="a ledger is required"):
        library.select("t.csv", **options, require_ledger=True)
    with pytest.raises(UsageError, match="a guarantee from end to end is required"):
        library.select(name, **options, ledger="patients", require_end_to_end=True)
    monkeypatch.setenv("DPSEL_REQUIRE_LEDGER", "1")
    with pytest.raises(UsageError, match="a ledger is required"):
        library.select("t.csv", **options)
    assert library.select("t.csv", **options, ledger="patients").guarantee is not None
