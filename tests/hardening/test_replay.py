"""Neighbors look alike: all that leaves is a function of the selection and of public inputs.

Runs are recorded for a table and replayed for tables that differ from it in one row. The draw is
pinned by a seed, and the scores are so far apart that it always selects the same: so exit code,
stdout and all files left behind must be the same, byte for byte.
"""

import io
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import dpsel.cli.app as command_line
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.scores.registry import SCORES
from dpsel.core.selection import Selection
from dpsel.selection.run import selection_text
from dpsel.tables import parquet_footer
from tests.hardening.canaries import leaks
from tests.hardening.neighbors import (
    EUROPEAN,
    ROWS,
    SELECTED,
    TEXT_FORMATS,
    TYPED_FORMATS,
    neighbors,
    rows,
    text_table,
)

PUBLIC = ("--k", "2", "--epsilon", "1000", "--seed", "1", "--threads", "1")
BOUNDED = ("--lower", "-1", "--upper", "1")
DP_SIS = ("--method", "dp-sis", *BOUNDED)
NUMERIC = ("--target", "y", "--exclude", "note,label")
LABELS = ("--target", "label", "--positive", "ill", "--exclude", "note,y")
NO_PERSON = ("--exclude", "who")
PERSON = ("--person", "who", "--rows-per-person", "2")
TABLE = "TABLE"

Command = tuple[str, ...]


@dataclass(frozen=True)
class Left:
    """What a run left behind for anybody to see, and what its holder was told."""

    code: int
    out: bytes
    files: dict[str, bytes]
    err: str

    @property
    def visible(self) -> tuple[int, bytes, dict[str, bytes]]:
        return self.code, self.out, self.files


Play = Callable[[Command, str, bytes], Left]


@pytest.fixture
def play(
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> Play:
    """Run a command on a table in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(command: Command, name: str, content: bytes) -> Left:
        long_footer = 1 if name.startswith("wide") else 1 << 20
        monkeypatch.setattr(parquet_footer, "_LONG_FOOTER", long_footer)
        Path(name).write_bytes(content)
        with open(name, "rb") as file:
            stdin = io.TextIOWrapper(file)
            monkeypatch.setattr(sys, "stdin", stdin)
            capfdbinary.readouterr()
            code = command_line.run([name if word == TABLE else word for word in command])
            stdin.detach()
        out, err = capfdbinary.readouterr()
        files = {found: Path(found).read_bytes() for found in os.listdir() if found != name}
        for found in (name, *files):
            os.unlink(found)
        return Left(code, out, files, err.decode())

    return run


def replayed(play: Play, command: Command, name: str, tables: Iterator[tuple[str, bytes]]) -> Left:
    """Return what a command leaves for the first table; fail if it differs for another."""
    what, content = next(tables)
    first = play(command, name, content)
    assert first.code == 0, first.err
    for what, content in tables:
        left = play(command, name, content)
        assert left.visible == first.visible, f"{' '.join(command)}: {name}: {what}: {left.err}"
        assert not leaks(left.err), f"{' '.join(command)}: {name}: {what}: {left.err}"
    return first


def pairs() -> list[Command]:
    """Return every score with every mechanism, and every score for persons."""
    asked = {
        score: ("select", TABLE, *NUMERIC, *PUBLIC, *(BOUNDED if kind.needs_bounds else ()))
        for score, kind in SCORES.items()
    }
    rows = [
        (*words, *NO_PERSON, "--score", score, "--mechanism", mechanism)
        for score, words in asked.items()
        for mechanism in MECHANISMS
    ]
    return [*rows, *((*words, *PERSON, "--score", score) for score, words in asked.items())]


def check_record(text: bytes) -> None:
    """Fail unless the two features were selected, and no number of rows is in the record."""
    record = json.loads(text)
    assert record["selected_features"] == SELECTED
    for count in (ROWS - 1, ROWS, ROWS + 1):
        assert str(count).encode() not in text


@pytest.mark.parametrize("command", pairs(), ids=lambda command: "-".join(command[-3:]))
@pytest.mark.parametrize("places", [(60,), pytest.param(range(ROWS), marks=pytest.mark.long)])
def test_no_score_and_no_mechanism_tells_neighbors_apart(
    command: Command, places: tuple[int, ...], play: Play
) -> None:
    first = replayed(play, command, "t.csv", neighbors("t.csv", tuple(places)))
    check_record(first.out)
    assert first.files == {}


SHAPES: list[Command] = [
    ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, *DP_SIS),
    ("select", TABLE, *LABELS, *PERSON, *PUBLIC, *DP_SIS, "--output", "out.json"),
    ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC),
    ("select", TABLE, *LABELS, *PERSON, *PUBLIC, "--output", "out.json"),
]


@pytest.mark.parametrize(
    "command", SHAPES, ids=["numbers", "labels", "stump of numbers", "stump of labels"]
)
@pytest.mark.parametrize("name", [*TEXT_FORMATS, *TYPED_FORMATS])
def test_no_format_tells_neighbors_apart(name: str, command: Command, play: Play) -> None:
    if name == EUROPEAN:
        command = (*command, "--decimal", ",")
    first = replayed(play, command, name, neighbors(name))
    check_record(first.files["out.json"] if "--output" in command else first.out)
    assert list(first.files) == (["out.json"] if "--output" in command else [])
    assert first.out == b"" or "--output" not in command


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow", "t.arrows"])
def test_standard_input_tells_no_neighbors_apart(name: str, play: Play) -> None:
    kind = {"gz": "csv", "arrows": "arrow"}.get(name.split(".")[-1], name.split(".")[-1])
    command = ("select", "-", "--input-format", kind, *NUMERIC, *NO_PERSON, *PUBLIC, *DP_SIS)
    check_record(replayed(play, command, name, neighbors(name, places=(60,))).out)


@pytest.mark.parametrize("output_format", ["names", "indices"])
def test_names_and_indices_alone_tell_no_neighbors_apart(output_format: str, play: Play) -> None:
    command = ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, *DP_SIS, "--format", output_format)
    first = replayed(play, command, "t.csv", neighbors("t.csv", places=(0,)))
    assert first.out == (b"x1\nx2\n" if output_format == "names" else b"0\n2\n")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(
    "method", [("two-stage", "--blocks", "5", "--penalty", "0.05", *BOUNDED), ("dpkendall",)]
)
def test_no_private_baseline_tells_neighbors_apart(method: Command, name: str, play: Play) -> None:
    command = ("baseline", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, "--method", *method)
    check_record(replayed(play, command, name, neighbors(name, places=(60,))).out)


def last_charge(ledger: Path) -> tuple[object, ...]:
    """Return what a ledger keeps of the last run, but for its number and time."""
    with closing(sqlite3.connect(ledger)) as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(charges)")]
        kept = ", ".join(name for name in names if name not in ("number", "time"))
        found = connection.execute(f"SELECT {kept} FROM charges ORDER BY number DESC").fetchone()
    return tuple(found)


def test_no_ledger_tells_neighbors_apart(
    play: Play, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ledger = tmp_path_factory.mktemp("ledger") / "l.sqlite3"
    place = ("--ledger-file", str(ledger))
    made = ("budget", "init", "l", "--epsilon", "1000000", *place)
    assert play(made, "unused", b"").code == 0
    # Without a seed: the scores are so far apart that another selection has no chance worth naming.
    private = ("--k", "2", "--epsilon", "1000", "--threads", "1", "--ledger", "l", *place)
    command = ("select", TABLE, *NUMERIC, *NO_PERSON, *private, *DP_SIS, "--quiet")
    tables = neighbors("t.csv", (60,))
    first, charge = play(command, "t.csv", next(tables)[1]), last_charge(ledger)
    check_record(first.out)
    assert first.out.decode() in charge
    for what, content in tables:
        assert play(command, "t.csv", content) == first, what
        assert last_charge(ledger) == charge, what


BOUNDS = "[default]\nlower = -1\nupper = 1\n"


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrows"])
@pytest.mark.parametrize("output", ["o.parquet", "o.csv", "o.arrow"])
def test_preprocess_with_public_bounds_has_one_exit_code_for_neighbors(
    name: str, output: str, play: Play, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bounds = tmp_path_factory.mktemp("bounds") / "b.toml"
    bounds.write_text(BOUNDS)
    for target in (NUMERIC, (*LABELS[:4], "--exclude", "note,y")):
        command = ("preprocess", TABLE, output, *target, *NO_PERSON, "--bounds", str(bounds))
        tables = neighbors(name, places=(0,))
        first = play(command, name, next(tables)[1])
        assert (first.code, first.out) == (0, b"")
        for what, content in tables:
            left = play(command, name, content)
            # The table that is written is private; that it is written must not depend on it.
            assert (left.code, left.out, *left.files) == (0, b"", *first.files), (what, left.err)
            assert not leaks(left.err)


def test_a_record_that_tells_is_noticed(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    def telling(selection: Selection) -> str:
        size = os.path.getsize("t.csv")
        return selection_text(selection).replace("{", f'{{"size": {size}, ', 1)

    monkeypatch.setattr("dpsel.selection.run.selection_text", telling)
    command = ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, *DP_SIS)
    with pytest.raises(AssertionError, match="without row 0"):
        replayed(play, command, "t.csv", neighbors("t.csv", (0,)))


def test_another_exit_code_a_file_left_and_a_leak_are_noticed(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, *DP_SIS)

    def changed(change: Callable[[Left], Left]) -> Play:
        calls = iter(range(100_000))

        def run(command: Command, name: str, content: bytes) -> Left:
            left = play(command, name, content)
            return left if next(calls) < 5 else change(left)

        return run

    for change in (
        lambda left: Left(3, left.out, left.files, left.err),
        lambda left: Left(left.code, left.out, {"core": b""}, left.err),
        lambda left: Left(left.code, left.out, left.files, "note: 31337.4"),
    ):
        with pytest.raises(AssertionError):
            replayed(changed(change), command, "t.csv", neighbors("t.csv", places=(0,)))


def with_column(cells: list[str]) -> bytes:
    """Return the table with a column of our own in place of z1."""
    table = rows()
    for row, cell in zip(table, cells, strict=False):
        row["z1"] = cell
    return text_table(list(table), b",")


@pytest.mark.parametrize("method", ["stump", "kendall", "dpkendall"])
def test_words_in_any_number_of_rows_decide_nothing(method: str, play: Play) -> None:
    command = ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, "--method", method)
    columns = [
        ["north", *[""] * (ROWS - 1)],
        ["north", "south", *[""] * (ROWS - 2)],
        ["north"] * ROWS,
        [*[""] * 100, *["north"] * (ROWS - 100)],
    ]
    releases = [play(command, "t.csv", with_column(cells)).visible for cells in columns]
    assert all(release == releases[0] for release in releases[1:])


@pytest.mark.parametrize("cell", ['5"', '"5', '"a"b', '"a" ', '"5"\r\r', '"a"\rb'])
def test_a_stray_quote_is_a_documented_exception(cell: str, play: Play) -> None:
    command = ("select", TABLE, *NUMERIC, *NO_PERSON, *PUBLIC, *DP_SIS)
    cells = [""] * ROWS
    assert play(command, "t.csv", with_column(cells)).code == 0
    refused = play(command, "t.csv", with_column([*cells[:50], cell, *cells[51:]]))
    assert (refused.code, refused.out, refused.files) == (3, b"", {})
    assert "a quote is not closed" in refused.err
