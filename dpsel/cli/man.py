"""Make the man page from the help texts.

    python -m dpsel.cli.man [YYYY-MM-DD] > man/dpsel.1

The date is today's (UTC) unless one is given.
"""

import sys
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import typer

from dpsel import __version__
from dpsel.budget.payment import REQUIRE_END_TO_END, REQUIRE_LEDGER
from dpsel.budget.place import FILE_VARIABLE, NAME_VARIABLE
from dpsel.cli.app import COMMANDS, command_line
from dpsel.cli.forms import arguments_of, options_of, plain_help
from dpsel.system.output import print_text

_WIDTH = 78
_VARIABLES = {
    NAME_VARIABLE: "The ledger to charge, without --ledger.",
    FILE_VARIABLE: "The SQLite file of the ledgers, without --ledger-file.",
    REQUIRE_LEDGER: "If 1: refuse to run without charging a ledger.",
    REQUIRE_END_TO_END: "If 1: refuse a guarantee that covers the selection only.",
}


def man_page(day: str) -> str:
    """Return the man page for all commands, in roff with the man(7) macros."""
    root = command_line(None)
    about, _, _ = root.help.partition(":")
    lines = [
        f'.TH DPSEL 1 {day} "dpsel {__version__}" "User Commands"',
        ".SH NAME",
        _text(f"dpsel - {about[0].lower()}{about[1:]}"),
        ".SH SYNOPSIS",
        ".B dpsel",
        r".RI [ OPTIONS ]\~ COMMAND \~[ OPTIONS ]\~[ ARGUMENTS ]",
        ".SH DESCRIPTION",
        _text(root.help),
        *(line for name, about in COMMANDS.items() for line in _entry(_bold(name), about)),
        ".SH OPTIONS",
        *_options(root, "dpsel"),
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = command_line(name, alone=True).commands[name]
        lines += _section(command, f"dpsel {name}")
        for within, one in getattr(command, "commands", {}).items():
            lines += _section(one, f"dpsel {name} {within}")
    lines += [".SH EXIT STATUS", _text(root.epilog.removeprefix("Exit codes: "))]
    lines.append(".SH ENVIRONMENT")
    lines += [line for name, about in _VARIABLES.items() for line in _entry(_bold(name), about)]
    return "\n".join(lines) + "\n"


def _section(command: Any, path: str) -> Iterator[str]:
    """Yield the lines of one command: synopsis, help, arguments and options."""
    arguments = arguments_of(command.params)
    words = " ".join([path, *(one.metavar for one in arguments), "[OPTIONS]"])
    if hasattr(command, "commands"):
        words = f"{path} COMMAND"
    yield f".SS {_escaped(words)}"
    for number, paragraph in enumerate((command.help or "").split("\n\n")):
        if number:
            yield ".PP"
        yield _text(paragraph)
    for argument in arguments:
        yield from _entry(f"\\fI{_escaped(argument.metavar)}\\fR", argument.help)
    if not hasattr(command, "commands"):
        yield from _options(command, path)


def _options(command: Any, path: str) -> Iterator[str]:
    """Yield the options of a command, grouped by the panels of its help."""
    context = typer.Context(command, info_name=path, help_option_names=["-h", "--help"])
    options = options_of(command.get_params(context))
    panels = list(dict.fromkeys(one.rich_help_panel for one in options))
    with plain_help(options):
        for panel in sorted(panels, key=lambda panel: panel is not None):
            if panel is not None:
                yield from (".PP", f"\\fI{_escaped(panel)}:\\fR")
            for option in options:
                if option.rich_help_panel == panel:
                    yield from _entry(_flags(option, context), _about(option, context))


def _flags(option: Any, context: Any) -> str:
    """Return the flags of an option and its metavar."""
    flags = ", ".join(_bold(flag) for flag in sorted(option.opts, key=len))
    metavar = option.display_type_rich(context)
    return f"{flags} \\fI{_escaped(metavar.strip('<>'))}\\fR" if metavar else flags


def _about(option: Any, context: Any) -> str:
    """Return the help of an option, with its default."""
    _, about = option.get_help_record(context)
    return " ".join(str(about).replace("\\[", "[").split())


def _entry(head: str, about: str) -> Sequence[str]:
    """Return a term and its description, indented."""
    return ".TP", head, _text(about)


def _bold(word: str) -> str:
    return f"\\fB{_escaped(word)}\\fR"


def _text(paragraph: str) -> str:
    """Return a paragraph as lines; each sentence starts a new one, as roff expects."""
    sentences = _escaped(paragraph).replace(". ", ".\n").replace("? ", "?\n").split("\n")
    lines = [
        line
        for sentence in sentences
        for line in textwrap.wrap(sentence, _WIDTH, break_on_hyphens=False, break_long_words=False)
    ]
    # At the start of a line, roff takes these two characters for a request.
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)


def _escaped(text: str) -> str:
    """Escape a text so that roff shows every character literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("^", "\\(ha")
    return "".join(sign if sign.isascii() else f"\\[u{ord(sign):04X}]" for sign in text)


def main() -> None:
    """Print the page."""
    day = sys.argv[1] if len(sys.argv) > 1 else f"{datetime.now(UTC):%Y-%m-%d}"
    print_text(man_page(day))


if __name__ == "__main__":
    main()
