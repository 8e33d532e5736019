"""The command line as a whole: it imports only the command that is run, and sets the exit code.

`run` is the one place where errors, interrupts and bugs become messages and exit codes.
"""

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
from dpsel.cli.forms import PlainCommand, PlainGroup, help_if_alone
from dpsel.cli.terminal import say
from dpsel.errors import DpselError, ReaderGoneError, UsageError
from dpsel.system.output import stdout_failure

COMMANDS = {
    "select": "Select the K features that matter most for a target, with differential privacy.",
    "plan": "Estimate what an epsilon will buy, from public guesses alone; no table is opened.",
    "dictionary": "Write public facts about columns once, and use them in every run with "
    "--dictionary FILE.",
    "preprocess": "Turn a raw table into a bounded one for `dpsel select`, and record what was "
    "done.",
    "baseline": "Select features with the methods that `dpsel select` is compared with.",
    "evaluate": "Try private selection on your own data: what does each method find at each "
    "epsilon?",
    "audit": "Test a guarantee from the outside: draw many times from neighboring inputs, and "
    "compare.",
    "budget": "Keep a privacy budget: ledgers with a limit, charged by every run with --ledger "
    "NAME.",
    "card": "Turn a record into a page for those who approve a release and those who read it.",
    "reproduce": "Run the paper's experiments again, with figures.",
}
"""Each command with the first paragraph of its help text."""
BUG = 70
"""The exit code after a bug."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as of a process that SIGINT ended."""
# A help text is printed by Typer and may meet these; commands write through `dpsel.system.output`,
# which turns them into messages of its own.
_STDOUT_ERRORS = (errno.EPIPE, errno.ENOSPC, errno.EBADF, errno.EIO)
_SHELL = "[SHELL]"
COMPLETION_OPTIONS = ("--install-completion", "--show-completion")


def add_name(app: typer.Typer, name: str) -> None:
    """Add a command by name only, for the list of commands; nothing is imported."""

    @app.command(name, help=COMMANDS[name])
    def listed() -> None:
        raise AssertionError("a command that was not asked for was called")


def add_command(app: typer.Typer, name: str) -> None:
    """Add a command, or a group of commands, with all its options."""
    command = _load(name)
    if not isinstance(command, typer.Typer):
        app.command(name, cls=PlainCommand, help=_unwrapped(command.__doc__))(command)
        return
    for registered in command.registered_commands:
        registered.cls = PlainCommand
        registered.help = _unwrapped(registered.callback.__doc__ if registered.callback else "")
    app.add_typer(
        command,
        name=name,
        cls=PlainGroup,
        help=COMMANDS[name],
        callback=help_if_alone,
        invoke_without_command=True,
    )


def commands_within(name: str) -> list[str]:
    """Return the names of the commands in a group; none if `name` is a command itself."""
    group = _load(name)
    if not isinstance(group, typer.Typer):
        return []
    return [
        command.name or (command.callback.__name__ if command.callback else "")
        for command in group.registered_commands
    ]


def _load(name: str) -> Any:
    """Import the function or the group of a command, from the module of the same name."""
    return getattr(import_module(f"dpsel.cli.{name}"), name)


def _unwrapped(docstring: str | None) -> str:
    """Return a docstring with one line per paragraph; the terminal wraps it."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (docstring or "").split("\n\n"))


def _print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(f"dpsel {__version__}")
        raise typer.Exit


def _show_completion(shell: str | None) -> None:
    """Print the completion script of a shell, and stop."""
    if shell is not None:
        from dpsel.cli.shells import script_of

        typer.echo(script_of(shell), nl=False)
        raise typer.Exit


def _install_completion(shell: str | None) -> None:
    """Install the completion script of a shell, and stop."""
    if shell is not None:
        from dpsel.cli.shells import install

        for line in install(shell):
            say("note", line)
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    install_completion: Annotated[
        str | None,
        typer.Option(
            "--install-completion",
            metavar=_SHELL,
            callback=_install_completion,
            is_eager=True,
            help="Install completion for bash, zsh or fish.",
        ),
    ] = None,
    show_completion: Annotated[
        str | None,
        typer.Option(
            "--show-completion",
            metavar=_SHELL,
            callback=_show_completion,
            is_eager=True,
            help="Print the completion script, to install it yourself.",
        ),
    ] = None,
) -> None:
    """Differentially private feature selection: find which columns matter, and expose no row."""


@cache
def command_line(asked: str | None, *, alone: bool = False) -> Any:
    """Return the command line with one command in full, and the others by name only.

    With `alone`, the others are left out.
    """
    app = typer.Typer(
        cls=PlainGroup,
        callback=root,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Exit codes: 0 done, 1 an audit did not pass, 2 usage, 3 input, 4 budget, 5 output, "
        "6 a cluster, 70 a bug, 130 interrupted, 141 the pipe was closed.",
    )
    for name in COMMANDS:
        if name == asked:
            add_command(app, name)
        elif not alone:
            add_name(app, name)
    return typer.main.get_command(app)


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors become one or two plain lines."""
    if arguments[:1] == ["--complete"]:  # A shell asks for completions.
        from dpsel.cli.shells import answer

        return answer(arguments[1:])
    debug = "--debug" in arguments
    if not debug:
        warnings.simplefilter("ignore")
    try:
        _check_clock()
        if len(arguments) == 1 and arguments[0] in COMPLETION_OPTIONS:
            from dpsel.cli.shells import this_shell

            arguments = [*arguments, this_shell()]
        command = _asked(arguments)
        code = command(args=list(arguments or ["--help"]), standalone_mode=False, prog_name="dpsel")
    except DpselError as error:
        return _report(error)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except SystemExit as leaving:
        cause = leaving.__context__
        if not isinstance(cause, OSError):
            return _report_bug(leaving, debug=debug)
        # Typer exits this way if the pipe is closed while it prints a help text.
        return _report(stdout_failure(cause))
    except typer.TyperException as error:  # about the arguments
        say("error", _usage_message(error))
        say("help", _help_hint(arguments))
        return UsageError.exit_code
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _STDOUT_ERRORS:
            return _report(stdout_failure(error))
        return _report_bug(error, debug=debug)
    if code == INTERRUPTED:
        say("error", "interrupted; nothing was released")
    return code if isinstance(code, int) else 0


def _asked(arguments: Sequence[str]) -> Any:
    """Return the command line with the command that is asked for."""
    # Options before the command take no values, so the first other word is the command.
    first = next((argument for argument in arguments if not argument.startswith("-")), None)
    name = first if first in COMMANDS else None
    # An option before the command, such as --help, may need the names of all commands.
    return command_line(name, alone=name is not None and arguments[0] == name)


def _report(error: DpselError) -> int:
    """Show an error and return its exit code; like other tools, say nothing to `| head`."""
    if not isinstance(error, ReaderGoneError):
        say("error", str(error))
    return error.exit_code


def _usage_message(error: Any) -> str:
    """Return what is wrong with the arguments; for an unknown option, with the nearest one."""
    near = getattr(error, "possibilities", None)
    if not near:
        # Typer lists the choices of a missing option one per line.
        return str(error.format_message()).replace("\n\t", " ").rstrip(".")
    best = next((flag for flag in near if flag.startswith(error.option_name)), near[0])
    return f"No such option: {error.option_name}; did you mean {best}?"


def _check_clock() -> None:
    """Refuse a system clock that Python cannot read: many of its own modules need the time."""
    try:
        time.time()
    except OverflowError:
        raise UsageError(
            "the clock of this machine is not between the years 1678 and 2261; set it right"
        ) from None


def _help_hint(arguments: Sequence[str]) -> str:
    """Return the command that shows the help for these arguments."""
    command = next((argument for argument in arguments if argument in COMMANDS), None)
    if command is None:
        return "dpsel --help"
    within = [argument for argument in arguments if argument in commands_within(command)]
    return " ".join(["dpsel", command, *within[:1], "--help"])


def _report_bug(error: BaseException, *, debug: bool) -> int:
    """Say where a bug is. The message of the exception is withheld: it may quote a cell."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{type(error).__name__}, {frames[-1].name} in line {frames[-1].lineno}"
    say("error", f"this is a bug in dpsel ({place}); nothing was released")
    if debug:
        for frame in frames:
            say("debug", f"{frame.filename}:{frame.lineno} in {frame.name}")
    else:
        say("help", "run it again with --debug, and report what that prints")
    return BUG
