"""The command line: commands imported when asked for, and whatever happens as an exit code."""

import errno
import time
import traceback
import warnings
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer

from dpsel import __version__
from dpsel.cli.forms import PlainCommand, PlainGroup
from dpsel.cli.terminal import say
from dpsel.errors import DpselError, OutputError, UsageError
from dpsel.system.process import abandon_stdout, reason

COMMANDS = {
    "select": "Select the K features that matter most for a target, with differential privacy.",
    "plan": "Say what an epsilon will buy, from public guesses alone: no table is opened.",
    "dictionary": "Write public facts about columns once, for --dictionary FILE of every run.",
    "preprocess": "Turn a raw table into a bounded one for `dpsel select`, and record what was "
    "done.",
    "baseline": "Select features by the methods that `dpsel select` is compared with.",
    "evaluate": "Try private selection on your own data: what would a method find at which "
    "epsilon?",
    "audit": "Test a guarantee from outside: draw many times from neighboring inputs, and compare.",
    "budget": "Keep a privacy budget: ledgers with a limit, which --ledger NAME charges for every "
    "run.",
    "card": "Make a page of a record for those who sign a release, and for those who read it.",
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
        app.command(name, cls=PlainCommand, help=_unwrapped(found.__doc__))(found)
        return
    for registered in found.registered_commands:
        registered.cls = PlainCommand
        registered.help = _unwrapped(registered.callback.__doc__ if registered.callback else "")
    app.add_typer(found, name=name, cls=PlainGroup)


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


BUG = 70
INTERRUPTED = 130
# What a help text meets; commands write through `dpsel.selection.record`, which says what is wrong.
_STDOUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO)


_SHELL = "[SHELL]"
_ABOUT_SHELLS = ("--install-completion", "--show-completion")


def _print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"dpsel {__version__}")
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    """Print the script that completes command lines in a shell, and stop."""
    if shell is not None:
        from dpsel.cli.shells import script_of

        typer.echo(script_of(shell), nl=False)
        raise typer.Exit


def _install_completion(shell: str | None) -> None:
    """Put that script where the shell finds it, and stop."""
    if shell is not None:
        from dpsel.cli.shells import install

        for line in install(shell):
            say("note", line)
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
        ),
    ] = False,
    install_completion: Annotated[
        str | None,
        typer.Option(
            "--install-completion",
            metavar=_SHELL,
            callback=_install_completion,
            is_eager=True,
            help="Let bash, zsh or fish complete command lines of dpsel from now on.",
        ),
    ] = None,
    show_completion: Annotated[
        str | None,
        typer.Option(
            "--show-completion",
            metavar=_SHELL,
            callback=_show_completion,
            is_eager=True,
            help="Print the script that does so, to put it in place yourself.",
        ),
    ] = None,
) -> None:
    """Differentially private feature selection: which columns matter, and no row exposed."""


@cache
def command_line(asked: str | None, *, alone: bool = False) -> Any:
    """Return the command line with the command that is asked for.

    Of the others it has the names, or if it is asked for `alone`, nothing.
    """
    app = typer.Typer(
        cls=PlainGroup,
        callback=root,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 done, 1 an audit did not pass, 2 usage, 3 input, 4 budget, 5 output, "
        "6 a cluster, 70 a bug, 130 interrupted.",
    )
    for name in COMMANDS:
        if name == asked:
            add_command(app, name)
        elif not alone:
            add_name(app, name)
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors become one or two plain lines."""
    if arguments[:1] == ["--complete"]:  # Asked by a shell; nothing else is done.
        from dpsel.cli.shells import answer

        return answer(arguments[1:])
    debug = "--debug" in arguments
    if not debug:
        warnings.simplefilter("ignore")
    try:
        _check_clock()
        if len(arguments) == 1 and arguments[0] in _ABOUT_SHELLS:
            from dpsel.cli.shells import this_shell

            arguments = [*arguments, this_shell()]
        # The options before a command take no values.
        asked = next((argument for argument in arguments if not argument.startswith("-")), None)
        known = asked if asked in COMMANDS else None
        # What stands before a command may ask for the names of all, like --help.
        command = command_line(known, alone=known is not None and arguments[0] == known)
        code = command(args=list(arguments or ["--help"]), standalone_mode=False, prog_name="dpsel")
    except DpselError as error:
        say("error", str(error))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as leaving:
        cause = leaving.__context__
        if not isinstance(cause, OSError):
            return _report_bug(leaving, debug=debug)
        # Typer's way out when a pipe is closed while it prints a help text.
        say("error", f"stdout: cannot be written: {reason(cause)}")
        return OutputError.exit_code
    except typer.TyperException as error:  # about the arguments
        say("error", error.format_message().rstrip("."))
        say("help", _help_hint(arguments))
        return UsageError.exit_code
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _STDOUT_ERRORS:
            abandon_stdout()
            say("error", f"stdout: cannot be written: {reason(error)}")
            return OutputError.exit_code
        return _report_bug(error, debug=debug)
    if code == INTERRUPTED:
        say("error", "interrupted; nothing was released")
    return code if isinstance(code, int) else 0


def _check_clock() -> None:
    """Refuse a clock with which Python cannot work: half of its own modules ask for the time."""
    try:
        time.time()
    except OverflowError:
        raise UsageError(
            "the clock of this machine is not between the years 1678 and 2261; set it right"
        ) from None


def _help_hint(arguments: Sequence[str]) -> str:
    """Return the command that shows the help that is wanted here."""
    found = next((argument for argument in arguments if argument in COMMANDS), None)
    if found is None:
        return "dpsel --help"
    within = [argument for argument in arguments if argument in commands_within(found)]
    return " ".join(["dpsel", found, *within[:1], "--help"])


def _report_bug(error: BaseException, *, debug: bool) -> int:
    """Say where a bug is. Its message is kept back, since it may quote a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{type(error).__name__}, {frames[-1].name} in line {frames[-1].lineno}"
    say("error", f"this is a bug in dpsel ({place}); nothing was released")
    if debug:
        for frame in frames:
            say("debug", f"{frame.filename}:{frame.lineno} in {frame.name}")
    else:
        say("help", "run it again with --debug, and report what that prints")
    return BUG
