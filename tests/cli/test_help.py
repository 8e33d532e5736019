"""Every command explains itself."""

from typing import Any

import pytest

from dpsel.cli.app import COMMANDS, command_line, commands_within
from dpsel.cli.forms import SHORT
from dpsel.core.mechanisms import MECHANISM_NAMES
from dpsel.core.scores import SCORE_NAMES
from tests.cli.conftest import Dpsel

WITHIN = {name: commands_within(name) for name in COMMANDS}
GROUPS = {name for name in COMMANDS if WITHIN[name]}
NAMES = [*COMMANDS, *(f"{name} {within}" for name in GROUPS for within in WITHIN[name])]


def built_command(*names: str) -> Any:
    """Return a command with all its options, as it is called."""
    command = command_line(names[0])
    for name in names:
        command = command.commands[name]
    return command


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_command_has_a_help_text_with_an_example(dpsel: Dpsel, name: str) -> None:
    result = dpsel(*name.split(), "--help")
    assert (result.code, result.err) == (0, "")
    assert f"Usage: dpsel {name} " in result.out
    if name not in GROUPS:
        assert f"Example: dpsel {name} " in result.out
    assert max(len(line) for line in result.out.splitlines()) <= 80
    assert "<bool>" not in result.out


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_option_that_has_a_short_name_has_it_in_every_command(name: str) -> None:
    for parameter in built_command(*name.split()).params:
        short = SHORT.get(parameter.opts[0])
        assert parameter.opts == [parameter.opts[0], *([] if short is None else [short])]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_the_list_says_of_a_command_its_own_help_says_first(dpsel: Dpsel, name: str) -> None:
    about = " ".join(COMMANDS[name].split())
    for words in ((name, "--help"), ("--help",)):
        shown = " ".join(dpsel(*words).out.replace("│", " ").split())
        assert about in shown


@pytest.mark.parametrize("name", sorted(NAMES))
def test_no_word_about_an_option_is_lost(dpsel: Dpsel, name: str) -> None:
    command = built_command(*name.split())
    # The last sign of a long list of choices may stand on a line of its own.
    signs = str.maketrans("", "", "│ \n>")
    shown = dpsel(*name.split(), "--help").out.translate(signs)
    about = [parameter.help for parameter in command.params if parameter.help]
    assert about or name in GROUPS
    for text in about:
        # A bracket is taken for markup unless there is a backslash before it.
        assert text.replace("\\[", "[").translate(signs) in shown, text


@pytest.mark.parametrize(
    ("command", "flag", "names"),
    [
        ("select", "--score", SCORE_NAMES),
        ("audit", "--score", SCORE_NAMES),
        ("select", "--mechanism", MECHANISM_NAMES),
        ("baseline", "--mechanism", MECHANISM_NAMES),
    ],
)
def test_the_help_names_every_score_and_mechanism(
    command: str, flag: str, names: tuple[str, ...]
) -> None:
    (about,) = (one.help for one in built_command(command).params if flag in one.opts)
    assert all(name in about for name in names)


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


@pytest.mark.parametrize(
    ("group", "command"),
    [("reproduce", "stability"), ("budget", "verify"), ("dictionary", "check")],
)
def test_a_group_alone_shows_its_commands(group: str, command: str, dpsel: Dpsel) -> None:
    result = dpsel(group)
    assert (result.code, result.err) == (0, "")
    assert command in result.out
