"""Runs cases one after the other in a process of its own, which may hang or die.

    python -m tests.hardening.fuzz_worker NUMBER [NUMBER ...]

Prints a line of JSON a case: its number, kind, exit code, and what is wrong, if anything is.
A case that takes too long ends the process; the line that is missing then tells which it was.
So does a case after which the process has taken much memory, unless it was the first: it may be
innocent, and is to be run again as the first of another process. Nothing is run after it.
"""

import csv
import faulthandler
import importlib
import io
import json
import os
import re
import resource
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

import dpsel.cli.app as command_line
from dpsel.tables.formats import SEPARATORS
from tests.hardening.canaries import leaks
from tests.hardening.fuzz_cases import case
from tests.hardening.originals import Original

SECONDS_A_CASE = 20
MEMORY_KB = 1_500_000
MUCH_MEMORY = "took much memory"
_ADDRESS_SPACE = 16 << 30
_SCHEMA = json.loads(files("dpsel.selection").joinpath("selection.schema.json").read_text())
# Later versions may add fields; what this one writes has those of the schema, and no other.
_RECORD = jsonschema.Draft202012Validator({**_SCHEMA, "additionalProperties": False})


def peak_kb() -> int:
    """Return the most memory that this program had, in kB.

    Not by getrusage: that counts what the process had before it became this program, too, and so
    what pytest had that started it.
    """
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main() -> None:
    """Run the cases that the arguments ask for."""
    numbers = list(map(int, sys.argv[1:]))
    report, alarm = os.fdopen(os.dup(1), "w", buffering=1), os.fdopen(os.dup(2), "w")
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    # Says where it hangs, also in a library, and then ends the process as an alarm does by itself.
    faulthandler.register(signal.SIGALRM, file=alarm, chain=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in numbers:
            signal.alarm(SECONDS_A_CASE)
            this = case(number)
            ended = run_case(this)
            signal.alarm(0)
            much = peak_kb() > MEMORY_KB
            if much and number != numbers[0]:
                return
            wrong = MUCH_MEMORY if much else complaint(this, ended)
            report.write(json.dumps([number, this.kind, ended.code, wrong]) + "\n")
            if much:
                return


@dataclass(frozen=True)
class Ended:
    """How a case ended: the exit code, stdout and stderr."""

    code: int
    out: str
    err: str
    by_libraries: str = ""
    """What libraries printed to stderr by themselves: the command keeps it back, but it is seen by
    users of the Python interface."""


def run_case(this: Original) -> Ended:
    """Run the command as its own process would: see `mute_libraries`."""
    for name, content in this.files.items():
        Path(name).write_bytes(content)
    with _settings(this.settings), _captured() as captured:
        code = command_line.run(list(this.arguments))
    for name in os.listdir():
        os.unlink(name)
    return Ended(code, *(content.decode("utf-8", "replace") for content in captured))


def complaint(this: Original, ended: Ended) -> str | None:
    """Return what is wrong with how a case ended, None if nothing is."""
    code, out, err = ended.code, ended.out, ended.err
    if leaks(_without_names(this, out + err + ended.by_libraries)):
        return f"leaks: {err or out}{ended.by_libraries}"
    lines = err.splitlines()
    while lines and _BEFORE_A_ROW.fullmatch(lines[0]):
        del lines[0]
    if code in (2, 3, 5):
        plain = (
            1 <= len(lines) <= 2
            and lines[0].startswith("error: ")
            and err.replace("\n", "").isprintable()
        )
        return None if plain and not out else f"odd message: {err}"
    if code != 0:
        return f"exit code {code}: {err}"
    if any(not line.startswith(("note: ", *_TOLD)) for line in lines):
        return f"odd message: {err}"
    return _record_complaint(this, out)


# What is told from public names and numbers before a row is read.
_BEFORE_A_ROW = re.compile(
    r"note: to select 2 of \d+ features at epsilon 1 better than by chance takes about \d+ rows"
    r"|note: k is 2, the number of features: all of them are selected"
    r"|note: .*: column \d+( \(and \d+ more\))? has no name, so it is left out"
)
_TOLD = ("features: ", "method: ", "medians: ", "labels: ", "missing cells: ", "clipped cells: ")


def _record_complaint(this: Original, out: str) -> str | None:
    """Return what is wrong with what was written to stdout."""
    if "o.parquet" in this.arguments:
        return f"odd output: {out}" if out else None
    try:
        record = json.loads(out)
    except ValueError:
        return f"no JSON: {out}"
    if "--show" in this.arguments:
        return None if isinstance(record, dict) else "no record"
    found = next(_RECORD.iter_errors(record), None)
    return None if found is None else f"no valid record: {found.message}"


def _without_names(this: Original, shown: str) -> str:
    """Return what was printed without names of columns, which are public, told as such.

    That is in the quotes of a message or of a record: damage may make names out of cells.
    """
    if not this.damaged.endswith((".csv", ".tsv", ".txt")):
        return shown
    # Blank lines above the names are skipped by the readers.
    text = this.files[this.damaged].lstrip(b"\r\n").decode("utf-8", "replace")
    for separator in SEPARATORS:
        with suppress(csv.Error, StopIteration):
            names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
            shown = _without_list(names, shown)
            for name in names:
                for quoted in (f"'{name}'", json.dumps(name), json.dumps(name, ensure_ascii=False)):
                    shown = shown.replace(quoted, "")
    return shown


def _without_list(names: list[str], shown: str) -> str:
    """Return what was printed without an option that leaves out columns by their names."""

    def left(option: re.Match[str]) -> str:
        return "" if set(option[1].split(",")) <= set(names) else option[0]

    return re.sub("--exclude '([^']*)'", left, shown)


@contextmanager
def _settings(settings: dict[str, Any]) -> Iterator[None]:
    """Set some limits of modules for a while."""
    before = {}
    for place, value in settings.items():
        module_name, _, name = place.rpartition(".")
        module = importlib.import_module(module_name)
        before[place] = (module, name, getattr(module, name))
        setattr(module, name, value)
    yield
    for module, name, value in before.values():
        setattr(module, name, value)


@contextmanager
def _captured() -> Iterator[list[bytes]]:
    """Catch stdout, what Python writes to stderr, and what anything else does."""
    contents: list[bytes] = []
    before, kept = (sys.stdout, sys.stderr), [os.dup(1), os.dup(2)]
    out, err, others = (os.memfd_create("caught") for _ in range(3))
    os.dup2(out, 1)
    os.dup2(others, 2)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, err))
    try:
        yield contents
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before
        for number, original in enumerate(kept, start=1):
            os.dup2(original, number)
            os.close(original)
        for file in (out, err, others):
            contents.append(os.pread(file, 1 << 24, 0))
            os.close(file)


if __name__ == "__main__":
    main()
