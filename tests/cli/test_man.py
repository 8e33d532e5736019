"""The man page: complete, and read without a complaint."""

import os
import shutil
import subprocess

import pytest

from dpsel.cli.man import man_page
from tests.cli.conftest import ROOT
from tests.cli.test_help import NAMES, built_command

PAGE = ROOT / "man" / "dpsel.1"


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"there is no {program} here")


@pytest.fixture(scope="module")
def shown() -> str:
    """The page as it is read, in one line."""
    need("man")
    environment = {**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c"}
    done = subprocess.run(
        ["man", "--warnings", "-l", PAGE], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    return " ".join(done.stdout.split())


def test_mandoc_has_nothing_to_say() -> None:
    need("mandoc")
    done = subprocess.run(["mandoc", "-T", "lint", PAGE], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_option_of_every_command_is_in_the_page(name: str, shown: str) -> None:
    assert f" dpsel {name} " in shown
    for parameter in built_command(*name.split()).params:
        written = parameter.opts[0] if parameter.param_type_name == "option" else parameter.metavar
        assert f"{written} " in shown
        assert " ".join(parameter.help.replace("\\[", "[").split()) in shown


def test_no_text_is_taken_for_an_instruction() -> None:
    lines = man_page("2026-11-18").splitlines()
    known = {".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".RI"}
    assert {line.split()[0] for line in lines if line[:1] in (".", "'")} == known
