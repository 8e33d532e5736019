"""Words of the command line as values, and what is not imported for them."""

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import ROOT, Dpsel
from tests.cli.test_terminal import BOUNDED, CSV, ENVIRONMENT

ASK = ("--target", "y", "--k", "2", "--epsilon", "1")


@pytest.mark.parametrize(
    ("option", "word", "complaint"),
    [
        ("--k", "five", "'five' is not a whole number"),
        ("--k", "1.5", "'1.5' is not a whole number"),
        ("--k", "1_0", "'1_0' is not a whole number"),
        ("--k", "\uff11", "'\uff11' is not a whole number"),
        ("--k", "", "'' is not a whole number"),
        ("--epsilon", "one", "'one' is not a number"),
        ("--epsilon", "1_0", "'1_0' is not a number"),
        ("--epsilon", "", "'' is not a number"),
        ("--seed", "1e3", "'1e3' is not a whole number"),
        ("--neighbors", "both", "'both' is not one of 'add-remove', 'replace-one'"),
        ("--neighbors", "ADD-REMOVE", "'ADD-REMOVE' is not one of 'add-remove', 'replace-one'"),
        ("--sampler", "eager", "'eager' is not one of 'lazy', 'direct'"),
    ],
)
def test_a_word_that_is_no_value_is_said_plainly(
    dpsel: Dpsel, option: str, word: str, complaint: str
) -> None:
    result = dpsel("select", str(CSV), *ASK, option, word)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"error: Invalid value for '{option}': {complaint}\nhelp: dpsel select --help\n"
    )


@pytest.mark.parametrize(
    ("command", "option"), [("stability", "--repetitions"), ("synthetic", "--trials")]
)
def test_limits_of_options_are_kept(dpsel: Dpsel, command: str, option: str) -> None:
    result = dpsel("reproduce", command, option, "0")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"error: Invalid value for '{option}': ")


@pytest.mark.parametrize("missing", ["--target", "--k", "--epsilon"])
def test_what_is_missing_is_named(dpsel: Dpsel, missing: str) -> None:
    place = ASK.index(missing)
    result = dpsel("select", str(CSV), *ASK[:place], *ASK[place + 2 :])
    assert result.code == 2
    assert result.err.splitlines()[0] == f"error: Missing option '{missing}'"


def test_values_are_those_that_were_given(dpsel: Dpsel) -> None:
    words = ("--neighbors", "replace-one", "--sampler", "direct", "--gamma", "0.25", "--seed", "+7")
    lists = ("--features", "x01,x02", "--features", "x03")
    record = json.loads(dpsel("select", str(CSV), *ASK, *words, *lists).out)
    assert record["mechanism"] == {
        "name": "canonical-lipschitz",
        "gamma": 0.25,
        "sampler": "direct",
    }
    assert record["n_features"] == 3


@pytest.mark.parametrize(
    ("table", "spared"),
    [
        (CSV, ["pydantic", "pyarrow", "sqlite3", "scipy", "rich", "numpy.random", "tomllib"]),
        (BOUNDED, ["pydantic", "polars", "sqlite3", "scipy", "rich", "numpy.random", "tomllib"]),
    ],
)
def test_a_run_imports_no_more_than_it_needs(table: object, spared: list[str]) -> None:
    code = (
        "import sys; from dpsel.cli.app import run\n"
        "spared, words = sys.argv[1].split(','), sys.argv[2:]\n"
        "assert run(words) == 0\n"
        "print(*[name for name in spared if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, ",".join(spared), "select", str(table), *ASK],
        capture_output=True,
        env=ENVIRONMENT,
        text=True,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "\n")
