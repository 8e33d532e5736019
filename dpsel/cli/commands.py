"""The commands, each imported when it is asked for: so `--help` and every command start at once."""

from importlib import import_module
from typing import Any

import typer

from dpsel.cli.values import use_plain_values

COMMANDS = {
    "select": "Select the K features that matter most for a target, with differential privacy.",
    "preprocess": "Turn a raw table into a bounded one for `dpsel select`, and record what was "
    "done.",
    "baseline": "Select features by the methods that `dpsel select` is compared with.",
    "evaluate": "Try private selection on your own data: what would a method find at which "
    "epsilon?",
    "audit": "Test a guarantee from outside: draw many times from neighboring inputs, and compare.",
    "budget": "Keep a privacy budget: ledgers with a limit, which --ledger NAME charges for every "
    "run.",
    "reproduce": "Run the paper's experiments again, with figures.",
}
"""What each command is about: the first paragraph of its help text."""


def add_name(app: typer.Typer, name: str) -> None:
    """Add a command that is only listed."""

    @app.command(name, help=COMMANDS[name])
    def listed() -> None:
        raise AssertionError("a command that was not asked for was called")


def add_command(app: typer.Typer, name: str) -> None:
    """Add a command, or a group of commands, with all its options."""
    found = _load(name)
    if not isinstance(found, typer.Typer):
        app.command(name, help=_unwrapped(found.__doc__))(found)
        return
    for registered in found.registered_commands:
        registered.help = _unwrapped(registered.callback.__doc__ if registered.callback else "")
    app.add_typer(found, name=name)


def built(app: typer.Typer) -> Any:
    """Return the command line, ready to be called."""
    root = typer.main.get_command(app)
    _with_plain_values(root)
    return root


def _with_plain_values(command: Any) -> None:
    """Let a command convert its values as we do, and so the commands within it."""
    use_plain_values(command)
    for within in getattr(command, "commands", {}).values():
        _with_plain_values(within)


def commands_within(name: str) -> list[str]:
    """Return the names of the commands in a group; none if it is a command itself."""
    found = _load(name)
    if not isinstance(found, typer.Typer):
        return []
    return [
        command.name or (command.callback.__name__ if command.callback else "")
        for command in found.registered_commands
    ]


def _load(name: str) -> Any:
    """Return the function or the group that a module of the same name holds."""
    return getattr(import_module(f"dpsel.cli.{name}"), name)


def _unwrapped(docstring: str | None) -> str:
    """Return a docstring with one line a paragraph, which the terminal then wraps."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (docstring or "").split("\n\n"))
