"""Damaged files of every kind: refused in one plain line or read, and no cell is ever shown.

Every case has a number, and is the same each time: `python -m tests.hardening.fuzz_worker N`
runs case N alone. DPSEL_FUZZ_CASES=50000 runs that many instead of 10,000, half of them by stump,
DPSEL_FUZZ_FIRST=N begins with case N; `pytest -m long` runs 400,000 others.
"""

import os
import sys
from dataclasses import replace

import pytest

import dpsel.cli.app as command_line
from dpsel.errors import InputError
from tests.hardening.canaries import NUMBER, TEXT, leaks
from tests.hardening.fuzz_cases import BY_DEFAULT, EUROPEAN, case, originals
from tests.hardening.fuzz_run import Findings, Wrong, run_cases
from tests.hardening.fuzz_worker import Ended, complaint, run_case
from tests.hardening.originals import Original

CASES = int(os.environ.get("DPSEL_FUZZ_CASES", "10000"))
FIRST = int(os.environ.get("DPSEL_FUZZ_FIRST", "0"))
EUROPEAN_CASES, MANY = 200, 200_000


def check(findings: Findings, count: int) -> None:
    wrong = len(findings.wrong)
    assert not wrong, f"{wrong} of {count} went wrong:\n{findings.report()}"
    assert sum(findings.codes.values()) == count
    # Some damage does no harm, most does: else files are not damaged, or not read.
    assert findings.of_code(0) > count / 20
    assert findings.of_code(3) > count / 3


@pytest.mark.parametrize("start", [0, BY_DEFAULT])
def test_damaged_files_are_refused_or_read_and_no_cell_is_shown(start: int) -> None:
    check(run_cases(range(start + FIRST, start + FIRST + CASES // 2)), CASES // 2)


FOUND_BY_LONG_RUNS = [
    1009751,
    1011678,
    1016396,
    1032229,
    1035947,
    1042398,
    1069515,
    1086364,
    1089658,
    1096674,
    1125099,
    1143878,
    1154985,
]


def test_damaged_files_with_decimal_commas_are_refused_or_read() -> None:
    found = run_cases(range(EUROPEAN, EUROPEAN + EUROPEAN_CASES))
    assert not found.wrong, found.report()
    assert found.of_code(0) > EUROPEAN_CASES / 20
    assert found.of_code(3) > EUROPEAN_CASES / 20


def test_what_the_long_run_found_is_mended() -> None:
    assert run_cases(FOUND_BY_LONG_RUNS).wrong == []


@pytest.mark.long
@pytest.mark.parametrize("start", [1_000_000, BY_DEFAULT + 1_000_000])
def test_very_many_damaged_files_are_refused_or_read(start: int) -> None:
    found = run_cases(range(start, start + MANY))
    print(f"{MANY} cases, exit codes {sorted(found.codes.items())}")  # noqa: T201
    check(found, MANY)


@pytest.fixture
def folder(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))


def without_damage(place: int, *, by_default: bool = False) -> Original:
    sound = originals()[place]
    return replace(sound, arguments=sound.by_default) if by_default else sound


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("place", range(len(originals())))
@pytest.mark.parametrize("by_default", [False, True])
def test_files_without_damage_are_read(place: int, by_default: bool) -> None:
    this = without_damage(place, by_default=by_default)
    ended = run_case(this)
    assert ended.code == 0, ended.err
    assert complaint(this, ended) is None


def test_a_case_is_the_same_each_time_and_differs_from_the_next() -> None:
    kinds = len(originals())
    assert case(7) == case(7)
    assert len({case(7 + kinds * n).files[case(7).damaged] for n in range(50)}) > 40


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ValueError(f"cannot read {TEXT}"), "exit code 70"),
        (InputError(f"cannot read '{TEXT}'"), "leaks"),
        (InputError(f"cannot read {NUMBER}"), "leaks"),
        (InputError("one\ntwo\x1b"), None),
        (SystemExit(0), "exit code 70"),
    ],
)
def test_the_judge_notices_a_leak_and_a_bug(
    raised: BaseException, expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("dpsel.selection.run.SelectJob.read", broken)
    this = without_damage(0)
    found = complaint(this, run_case(this))
    assert found is None if expected is None else (found or "").startswith(expected)


def test_the_judge_notices_odd_ends() -> None:
    this = case(0)
    assert complaint(this, Ended(3, "", "warning\nerror: no\n")) == (
        "odd message: warning\nerror: no\n"
    )
    assert complaint(this, Ended(0, "{}", "")) is not None
    assert complaint(this, Ended(0, "", "")) is not None
    assert complaint(this, Ended(-11, "", "")) is not None
    assert complaint(this, Ended(3, "{}", "error: no\n")) is not None
    assert complaint(this, Ended(3, "", "error: \x1b[2J\n")) is not None


@pytest.mark.usefixtures("folder")
def test_the_judge_tells_what_a_library_prints_from_a_message_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def printing(*_: object, **__: object) -> None:
        os.write(2, b"thread panicked\n" + shown)
        raise InputError("no")

    monkeypatch.setattr("dpsel.selection.run.SelectJob.read", printing)
    this, shown = without_damage(0), b""
    ended = run_case(this)
    assert ended == Ended(3, "", "error: no\n", "thread panicked\n")
    assert complaint(this, ended) is None
    # The command keeps it back, a program that uses the Python interface does not.
    shown = TEXT.encode()
    assert (complaint(this, run_case(this)) or "").startswith("leaks")


NAMED_BY_CELLS = 1154985
"""Its first line breaks are lost: names are HIVcanary0 and HIVcanary, too, and not HIVcanary3."""


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        (f"error: t.csv: column '{TEXT}0' holds text\n", False),
        (f"error: t.csv: column '{TEXT}3' holds text\n", True),
        (f"error: t.csv: could not parse `{TEXT}0`\n", True),
        (f"error: t.csv: row {TEXT}\n", True),
        (f"error: t.csv: column '{TEXT}0' holds {TEXT}1\n", True),
    ],
)
def test_names_that_were_cells_may_be_told_as_names_and_no_cell_may(
    message: str, wrong: bool
) -> None:
    this = case(NAMED_BY_CELLS)
    found = complaint(this, Ended(3, "", message))
    assert (found or "").startswith("leaks") if wrong else found is None
    by_library = complaint(this, Ended(3, "", "error: no\n", message))
    assert (by_library or "").startswith("leaks") is wrong


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("number", [1125099, 1143878, NAMED_BY_CELLS])
def test_the_judge_notices_a_leak_in_the_files_for_which_it_was_changed(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that shows a cell after it opened, or failed to open, the very file."""
    this = case(number)
    assert complaint(this, run_case(this)) is None
    run = command_line.run

    def leaking(arguments: list[str]) -> int:
        code = run(arguments)
        sys.stderr.write(f"note: {TEXT}3\n")
        return code

    monkeypatch.setattr(command_line, "run", leaking)
    assert (complaint(this, run_case(this)) or "").startswith("leaks")


@pytest.mark.parametrize("shown", [TEXT, TEXT.upper(), str(NUMBER), f"{NUMBER:.3f}", "31337"])
def test_a_canary_is_seen_in_whatever_way_it_is_printed(shown: str) -> None:
    assert leaks(f"error: could not parse `{shown}`")
    assert not leaks("error: t.csv: cannot be read as a CSV table")


def test_the_run_notices_cases_that_hang_or_die_or_take_much_memory() -> None:
    findings = run_cases(range(12), "tests.hardening.fuzz_bad_worker")
    # All others have an exit code, those beside them too.
    assert sum(findings.codes.values()) == 10
    hung, died, large = findings.wrong
    assert [wrong.number for wrong in findings.wrong] == [2, 4, 6]
    assert hung.how.startswith("ended the process with -14:")
    assert "in run_case" in hung.how
    assert died.how.startswith("ended the process with -11:")
    assert large.how.endswith(": took much memory")


def test_every_kind_of_complaint_is_reported_however_rare() -> None:
    common = [Wrong(number, f"t.csv: odd message: row {number}") for number in range(1000)]
    rare = Wrong(1000, "t.csv: leaks: error: 'a cell'")
    report = Findings(wrong=[*common, rare]).report()
    assert report.splitlines() == [
        "1 x, cases 1000: t.csv: leaks: error: 'a cell'",
        "1000 x, cases 0, 1, 2, 3, 4, 5, 6, 7, 8, ...: t.csv: odd message: row 0",
    ]
