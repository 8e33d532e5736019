"""Records as options, words of the command line as values, and what is not imported for them."""

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import pytest
import typer

from dpsel.cli.forms import PlainCommand, form
from dpsel.options import option
from tests.cli.conftest import ROOT, Dpsel
from tests.cli.test_terminal import BOUNDED, CSV, ENVIRONMENT, PAPER

SPARED = [
    *("pydantic", "sqlite3", "scipy", "rich", "numpy.random", "tomllib", "pyarrow.compute"),
    *("multiprocessing", "secrets", "dpsel.dictionary.facts", "dpsel.selection.with_dictionary"),
    "dpsel.budget.options",
]
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
        ("--epsilon", "1,5", "'1,5' is not a number; use a decimal point: 1.5"),
        ("--epsilon", "1,5,2", "'1,5,2' is not a number"),
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


@pytest.mark.parametrize("missing", ["--target", "--epsilon"])
def test_what_is_missing_is_named(dpsel: Dpsel, missing: str) -> None:
    place = ASK.index(missing)
    result = dpsel("select", str(CSV), *ASK[:place], *ASK[place + 2 :])
    assert result.code == 2
    assert result.err.splitlines()[0] == f"error: Missing option '{missing}'"


def test_the_choices_of_what_is_missing_are_on_the_same_line(dpsel: Dpsel) -> None:
    result = dpsel("baseline", str(CSV), *ASK)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: Missing option '--method'. Choose from: two-stage, sis, lasso, dpkendall\n"
        "help: dpsel baseline --help\n"
    )


def test_a_number_of_features_or_a_limit_of_it_must_be_given(dpsel: Dpsel) -> None:
    result = dpsel("select", str(CSV), "--target", "y", "--epsilon", "1")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: give --k K, how many features to select, or --up-to K\n"


def test_values_are_those_that_were_given(dpsel: Dpsel) -> None:
    words = ("--neighbors", "replace-one", "--sampler", "direct", "--gamma", "0.25", "--seed", "+7")
    lists = ("--features", "x01,x02", "--features", "x03")
    record = json.loads(dpsel("select", str(CSV), *ASK, *PAPER, *words, *lists).out)
    assert record["mechanism"] == {
        "name": "canonical-lipschitz",
        "gamma": 0.25,
        "sampler": "direct",
    }
    assert record["n_features"] == 3


@pytest.mark.parametrize(
    ("table", "more", "spared"),
    [
        (CSV, PAPER, [*SPARED, "pyarrow"]),
        (BOUNDED, PAPER, [*SPARED, "polars", "tempfile"]),
        (CSV, ("--quiet",), [*SPARED, "pyarrow"]),
        (BOUNDED, ("--quiet",), [*SPARED, "polars", "tempfile"]),
    ],
)
def test_a_run_imports_no_more_than_it_needs(
    table: object, more: tuple[str, ...], spared: list[str]
) -> None:
    code = (
        "import sys; from dpsel.cli.app import run\n"
        "spared, words = sys.argv[1].split(','), sys.argv[2:]\n"
        "assert run(words) == 0\n"
        "print(*[name for name in spared if name in sys.modules], file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, ",".join(spared), "select", str(table), *ASK, *more],
        capture_output=True,
        env=ENVIRONMENT,
        text=True,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "\n")


class Shade(StrEnum):
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, kw_only=True)
class Size:
    width: int = option("--width W", "How wide.")
    depth: float | None = option("--depth D", "How deep.", None, shown="as wide", panel="Depth")


@dataclass(frozen=True, kw_only=True)
class Look:
    shade: Shade = option("--shade", "How dark.", Shade.LIGHT)
    names: tuple[str, ...] = option("--names LIST", "What it is called.", (), shown=False)
    plain: bool = option("--plain", "Without ornaments.", False, panel="Ornaments")
    quiet: bool = option("--quiet", "Without a word.", False, panel="Ornaments")
    target: str | None = option("--target COLUMN", "What for.", None)


Place = Annotated[str, typer.Argument(metavar="PLACE", help="Where.", show_default=False)]
Other = Annotated[str | None, typer.Argument(metavar="OTHER", show_default=False)]

Ran = list[tuple[Any, ...]]


def command(ran: Ran) -> Any:
    """Return a command line of one command, which notes down what it is called with."""

    @form
    def paint(place: Place, other: Other = None, *, size: Size, look: Look) -> None:
        """Paint."""
        ran.append((place, other, size, look))

    app = typer.Typer(add_completion=False)
    app.command(cls=PlainCommand)(paint)
    return typer.main.get_command(app)


def called(*words: str) -> tuple[Any, ...]:
    """Return what a command is called with."""
    ran: Ran = []
    command(ran)(args=list(words), standalone_mode=False)
    (found,) = ran
    return found


def test_options_come_as_records_and_arguments_by_their_place() -> None:
    words = ("--names", "a", "here", "--width", "3", "--names", "b,c", "there", "--plain")
    assert called(*words) == (
        "here",
        "there",
        Size(width=3),
        Look(names=("a", "b,c"), plain=True),
    )
    others = ("--shade", "dark", "--depth", "0.5", "--width", "3", "here")
    assert called(*others) == ("here", None, Size(width=3, depth=0.5), Look(shade=Shade.DARK))


def test_short_options_are_the_long_ones() -> None:
    found = called("here", "--width", "3", "-qt", "y")
    assert found == called("here", "--width", "3", "--quiet", "--target", "y")
    assert found[-1] == Look(quiet=True, target="y")


def test_what_is_left_out_has_the_default_of_its_field() -> None:
    assert called("here", "--width", "3") == ("here", None, Size(width=3), Look())


@pytest.mark.parametrize(("words", "missed"), [(("--width", "3"), "place"), (("here",), "width")])
def test_what_is_needed_is_missed(words: tuple[str, ...], missed: str) -> None:
    with pytest.raises(typer.TyperException, match=f"Missing parameter: {missed}"):
        called(*words)


@pytest.mark.parametrize("words", [(), ("--width", "0.5"), ("here", "there", "--width", "3", "on")])
def test_nothing_of_typer_is_replaced_in_its_objects(words: tuple[str, ...]) -> None:
    """What an instance holds under the name of a method is a patch of it."""
    built = command([])
    with suppress(typer.TyperException):
        built(args=list(words), standalone_mode=False)
    for made in (built, *built.get_params(typer.Context(built))):
        replaced = [name for name in vars(made) if callable(getattr(type(made), name, None))]
        assert replaced == []


def test_words_left_over_are_named() -> None:
    with pytest.raises(typer.TyperException) as caught:
        called("here", "there", "--width", "3", "on", "--", "-x")
    assert caught.value.format_message() == "Unexpected argument 'on'"


def test_the_help_has_the_panels_the_metavars_and_the_defaults_of_the_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command([])(args=["--help"], standalone_mode=False, prog_name="paint")
    lines = capsys.readouterr().out.splitlines()
    panels = [line.split()[1] for line in lines if line.startswith("╭─ ")]
    assert panels == ["Arguments", "Options", "Depth", "Ornaments"]

    def shown(flag: str) -> str:
        return " ".join(next(line for line in lines if flag in line).strip("│ ").split())

    assert shown("--width") == "* --width W How wide. [required]"
    assert shown("--depth") == "--depth D How deep. [default: as wide]"
    assert shown("--shade") == "--shade <light|dark> How dark. [default: light]"
    assert shown("--names") == "--names LIST What it is called."
    assert shown("--plain") == "--plain Without ornaments."
    assert shown("--target") == "--target -t COLUMN What for."
    assert shown("--help") == "--help Show this message and exit."


def test_a_record_used_twice_is_refused_when_the_command_is_made() -> None:
    def twice(first: Size, second: Size) -> None:
        raise AssertionError

    with pytest.raises(ValueError, match="duplicate parameter name: 'width'"):
        form(twice)


def test_a_help_text_changes_no_default(capsys: pytest.CaptureFixture[str]) -> None:
    built = command([])
    before = [(one.default, one.show_default) for one in built.params]
    built(args=["--help"], standalone_mode=False, prog_name="paint")
    assert "Usage: paint [OPTIONS] " in capsys.readouterr().out
    assert [(one.default, one.show_default) for one in built.params] == before
    assert not any("display_type_rich" in vars(one) for one in built.params)
