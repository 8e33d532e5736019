"""Every command explains itself."""

import pytest

from dpsel.cli.commands import COMMANDS, commands_within
from tests.cli.conftest import Dpsel

WITHIN = {name: commands_within(name) for name in COMMANDS}
GROUPS = {name for name in COMMANDS if WITHIN[name]}
NAMES = [*COMMANDS, *(f"{name} {within}" for name in GROUPS for within in WITHIN[name])]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_command_has_a_help_text_with_an_example(dpsel: Dpsel, name: str) -> None:
    result = dpsel(*name.split(), "--help")
    assert (result.code, result.err) == (0, "")
    assert f"Usage: dpsel {name} " in result.out
    if name not in GROUPS:
        assert f"Example: dpsel {name} " in result.out
    assert max(len(line) for line in result.out.splitlines()) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_list_says_of_a_command_its_own_help_says_first(dpsel: Dpsel, name: str) -> None:
    about = " ".join(COMMANDS[name].split())
    for words in ((name, "--help"), ("--help",)):
        shown = " ".join(dpsel(*words).out.replace("│", " ").split())
        assert about in shown


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["selct"], "dpsel --help"),
        (["select", "--typo"], "dpsel select --help"),
        (["reproduce", "typo"], "dpsel reproduce --help"),
        (["reproduce", "datasets", "--typo"], "dpsel reproduce datasets --help"),
    ],
)
def test_a_typo_is_answered_with_the_help_that_is_wanted(
    dpsel: Dpsel, arguments: list[str], hint: str
) -> None:
    result = dpsel(*arguments)
    assert result.code == 2
    assert result.err.splitlines()[-1] == f"help: {hint}"


def test_a_group_alone_shows_its_commands(dpsel: Dpsel) -> None:
    result = dpsel("reproduce")
    assert result.code in (0, 2)
    assert "stability" in result.out + result.err
