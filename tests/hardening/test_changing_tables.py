"""A table that changes while it is read is an error in every command, and nothing is released."""

import io
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dpsel.cli.terminal import TerminalReporter
from dpsel.errors import InputError
from dpsel.evaluation.data import _Notes
from dpsel.tables.sources import Source
from tests.cli.conftest import Dpsel
from tests.ledgers import make_ledger, rows
from tests.s3_server import running
from tests.sample_tables import WRITERS, Silent, numbers, request_for, select_on

CHANGED = (
    "was changed while it was read; nothing of it is used. Run it again when nobody writes to it"
)


def overwrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-2, os.SEEK_END)
        file.write(b"7")


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"1,1,1,1\n")


def cut_short(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    stamps = path.stat()
    os.utime(other, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))
    other.replace(path)


def touch_up(path: Path) -> None:
    """Overwrite, and set back the time of the last change."""
    stamps = path.stat()
    overwrite(path)
    os.utime(path, ns=(stamps.st_atime_ns, stamps.st_mtime_ns))


CHANGES = (overwrite, append, cut_short, replace, touch_up)
BOUNDED = ("--lower", "-1", "--upper", "1")
COMMANDS = {
    "select": ("--target", "y", "--k", "1", "--epsilon", "1"),
    "select --method dp-sis": ("--target", "y", "--k", "1", "--epsilon", "1", *BOUNDED),
    "baseline": ("--target", "y", "--k", "1", *BOUNDED, "--method", "sis"),
    "preprocess": ("OUTPUT", "--target", "y"),
    "evaluate": ("--target", "y", "--k", "1", "--epsilon", "1", "--trials", "1", "--threads", "1"),
}


def aged(path: Path) -> Path:
    """Return a file of long ago, once the clock of its system, which is coarse, has moved on."""
    os.utime(path, (1e9, 1e9))
    time.sleep(0.02)
    return path


def once(change: Callable[[], Any]) -> Callable[..., None]:
    """Return what makes a change when it is first called."""
    left = [change]

    def changing(*_: object) -> None:
        if left:
            left.pop()()

    return changing


@pytest.fixture
def change_at_first_row(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Let something happen when a command has opened its table and begins to read rows."""

    def prepare(change: Callable[[], Any]) -> None:
        for reporter in (TerminalReporter, _Notes):
            monkeypatch.setattr(reporter, "size", once(change))

    return prepare


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_table_that_changes(
    command: str,
    change: Callable[[Path], None],
    tmp_path: Path,
    dpsel: Dpsel,
    change_at_first_row: Callable[[Callable[[], Any]], None],
) -> None:
    numbers(40, 3).write_csv(tmp_path / "t.csv")
    table, output = aged(tmp_path / "t.csv"), tmp_path / "out.parquet"
    options = [output if word == "OUTPUT" else word for word in COMMANDS[command]]
    change_at_first_row(lambda: change(table))
    words = (*command.split(), table, *options, "--no-progress")
    done = dpsel(*words)
    assert (done.code, done.out) == (3, "")
    assert f"error: t.csv: {CHANGED}" in done.err
    assert not output.exists()
    assert dpsel(*words).code == 0


def test_the_charge_stays_and_is_stated(
    tmp_path: Path,
    dpsel: Dpsel,
    change_at_first_row: Callable[[Callable[[], Any]], None],
) -> None:
    numbers(40, 3).write_csv(tmp_path / "t.csv")
    table, ledger, output = (tmp_path / name for name in ("t.csv", "ledger", "out.json"))
    make_ledger(ledger)
    change_at_first_row(lambda: append(aged(table)))
    paid = ("--ledger", "patients", "--ledger-file", ledger, "--output", output)
    done = dpsel("select", table, *COMMANDS["select"], *paid)
    assert done.code == 3
    stays = "epsilon 1 was charged to the ledger 'patients' and stays charged"
    assert f"error: t.csv: {CHANGED}; {stays}" in done.err
    assert rows(ledger) == [("1", None)]
    assert not output.exists()


def write_wide(frame: pl.DataFrame, path: Path) -> None:
    """Write a file with a footer of more than 1 MiB, for which there is another reader."""
    names = {name: f"{name}{'-' * 400}" for name in frame.columns if name != "y"}
    columns = [pl.col(old).alias(f"{new}{i}") for i in range(400) for old, new in names.items()]
    frame.select("y", *columns).write_parquet(path, compression="uncompressed")
    assert int.from_bytes(path.read_bytes()[-8:-4], "little") >= 1 << 20


@pytest.mark.parametrize("change", [overwrite, append, cut_short, replace])
@pytest.mark.parametrize("name", [*WRITERS, "wide.parquet"])
@pytest.mark.parametrize("score", ["dot", "stump"])
def test_every_reader_is_watched(
    score: str, name: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    {**WRITERS, "wide.parquet": write_wide}[name](numbers(40, 3), tmp_path / name)
    table, reporter = aged(tmp_path / name), Silent()
    reporter.size = once(lambda: change(table))  # type: ignore[method-assign]
    with pytest.raises(InputError) as raised:
        select_on(None, str(table), request_for(score=score), reporter)
    assert str(raised.value) == f"{name}: {CHANGED}"


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("score", ["dot", "stump"])
def test_every_file_of_a_folder_is_watched_until_all_are_read(
    score: str, at: int, tmp_path: Path
) -> None:
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    for file in files:
        numbers(40, 3).write_parquet(file)
        aged(file)
    reporter = Silent()
    reporter.size = once(lambda: replace(files[at]))  # type: ignore[method-assign]
    with pytest.raises(InputError) as raised:
        select_on(None, str(tmp_path), request_for(score=score), reporter)
    assert str(raised.value) == f"{at}.parquet: {CHANGED}"


def test_standard_input_from_a_file_is_watched(
    tmp_path: Path,
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
    change_at_first_row: Callable[[Callable[[], Any]], None],
) -> None:
    numbers(40, 3).write_csv(tmp_path / "t.csv")
    table = aged(tmp_path / "t.csv")
    for command in ("select", "evaluate"):
        with table.open() as opened:
            monkeypatch.setattr(sys, "stdin", opened)
            change_at_first_row(lambda: append(aged(table)))
            done = dpsel(command, "-", *COMMANDS[command], "--input-format", "csv")
        assert (done.code, done.out) == (3, "")
        assert f"error: stdin: {CHANGED}" in done.err


@pytest.mark.parametrize("what", ["genes.csv", "labels.csv"])
def test_tables_of_one_feature_a_row_and_their_labels_are_watched(
    what: str, tmp_path: Path, dpsel: Dpsel, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "genes.csv").write_text("gene,s1,s2\na,1,2\nb,3,4\n")
    (tmp_path / "labels.csv").write_text("s1,0\ns2,1\n")
    table, labels, output = (tmp_path / name for name in ("genes.csv", "labels.csv", "out.csv"))
    right = Source.open_stream
    change = once(lambda: overwrite(aged(tmp_path / what)))

    def opened(source: Source) -> Any:
        stream = right(source)
        if source.label == "labels.csv":
            change()
        return stream

    monkeypatch.setattr(Source, "open_stream", opened)
    options = ("--target", "y", "--features-in", "rows", "--labels", labels)
    done = dpsel("preprocess", table, output, *options)
    assert (done.code, done.out) == (3, "")
    assert f"error: {what}: {CHANGED}" in done.err
    assert not output.exists()
    assert dpsel("preprocess", table, output, *options).code == 0


def test_an_object_in_a_store_is_watched(
    dpsel: Dpsel,
    monkeypatch: pytest.MonkeyPatch,
    change_at_first_row: Callable[[Callable[[], Any]], None],
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    contents = []
    for seed in range(2):
        numbers(40, 3, seed).write_parquet(content := io.BytesIO(), compression="uncompressed")
        contents.append(content.getvalue())
    with running() as server:
        server.objects["bucket"] = {"t.parquet": contents[0]}
        place = f"s3://bucket/t.parquet?{server.query}"
        assert dpsel("select", place, *COMMANDS["select"]).code == 0
        # Its time of change stays the same here: the tag does not.
        change_at_first_row(lambda: server.objects["bucket"].update({"t.parquet": contents[1]}))
        done = dpsel("select", place, *COMMANDS["select"])
    assert (done.code, done.out) == (3, "")
    assert f"error: t.parquet: {CHANGED}" in done.err


def test_reading_a_table_is_no_change(tmp_path: Path, dpsel: Dpsel) -> None:
    numbers(40, 3).write_csv(tmp_path / "t.csv")
    table = tmp_path / "t.csv"
    # Older than its content, so that to read it sets a new time of access.
    os.utime(table, (1, 2))
    for command in ("select", "select --method dp-sis", "baseline", "evaluate"):
        done = dpsel(*command.split(), table, *COMMANDS[command])
        assert done.code == 0, done.err
        assert json.loads(done.out)
