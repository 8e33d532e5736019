"""Which words can complete a command line: commands, options and their values.

`dpsel.cli.shells` asks for them, and writes them for each shell.
"""

from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from os.path import expanduser, expandvars
from typing import Any, get_type_hints

from dpsel.budget.place import is_there, ledger_place
from dpsel.cli.app import COMMANDS, COMPLETION_OPTIONS, command_line
from dpsel.cli.config import plain_kind
from dpsel.cli.forms import arguments_of, options_of
from dpsel.core.mechanisms import MECHANISM_NAMES
from dpsel.core.scores import GROUP, SCORE_NAMES
from dpsel.records import frozen
from dpsel.selection.options import Baseline, Method
from dpsel.tables.formats import FileFormat

SHELLS = ("bash", "zsh", "fish")
_TABLES = ("TABLE", "TABLE...", "INPUT")
_FILES = (*_TABLES, "FILE", "FOLDER", "DIR", "OUTPUT", "RECORD", "DICTIONARY")
_LEDGERS = ("NAME", "[NAME]")


@frozen
class Completions:
    """The completions: words, each with a short description, or any file."""

    words: tuple[tuple[str, str], ...] = ()
    files: bool = False


def completions_of(words: Sequence[str]) -> Completions:
    """Return the completions of the last word of a command line.

    Args:
        words: All words after `dpsel`; the last one, which may be empty, is to be completed.
    """
    *before, last = words
    if before and before[-1] in COMPLETION_OPTIONS:
        return _starting_with(last, [(name, "") for name in SHELLS])
    place = next((at for at, word in enumerate(before) if word in COMMANDS), None)
    if place is None:
        commands = list(COMMANDS.items())
        return _starting_with(
            last, _options(command_line(None), ()) if last.startswith("-") else commands
        )
    command = command_line(before[place], alone=True).commands[before[place]]
    rest = before[place + 1 :]
    if not hasattr(command, "commands"):
        return _of_command(command, rest, last)
    if rest and rest[0] in command.commands:
        return _of_command(command.commands[rest[0]], rest[1:], last)
    within = [(name, _sentence(one.help)) for name, one in command.commands.items()]
    return _starting_with(last, within)


def _of_command(command: Any, words: Sequence[str], last: str) -> Completions:
    """Return the completions of the last word after a command and some of its words."""
    line = _Line(command, words)
    if line.open is not None:
        return line.values(line.open, last)
    flag, sign, begun = last.partition("=")
    if sign and flag.startswith("--") and flag in line.options and not line.finished:
        values = line.values(line.options[flag], begun)
        words_with_flag = tuple((f"{flag}={word}", about) for word, about in values.words)
        return Completions(words_with_flag, values.files)
    argument = line.next_argument()
    if not line.finished and (argument is None or last.startswith("-")):
        return _starting_with(last, _options(command, line.given))
    return Completions() if argument is None else line.values(argument, last)


class _Line:
    """The words after a command, assigned to its options and arguments."""

    def __init__(self, command: Any, words: Sequence[str]) -> None:
        """Assign all words."""
        self._kinds = get_type_hints(command.callback, include_extras=True)
        self.options = {
            flag: option for option in options_of(command.params) for flag in option.opts
        }
        self._arguments = arguments_of(command.params)
        self.given: dict[str, str] = {}
        """The values of options, by name."""
        self._placed: list[str] = []
        self.open: Any = None
        """The option whose value comes next."""
        self.finished = False
        """Whether `--` ended the options."""
        for word in words:
            self._take(word)

    def _take(self, word: str) -> None:
        """Assign the next word."""
        if self.open is not None:
            self.given[self.open.name] = word
            self.open = None
        elif word == "--":
            self.finished = True
        elif self.finished or word == "-" or not word.startswith("-"):
            self._placed.append(word)
        else:
            flag, sign, value = word.partition("=")
            # If short flags are joined in one word, only the last can take a value.
            option = self.options.get(flag if word.startswith("--") else f"-{flag[-1]}")
            if option is not None:
                self.given[option.name] = value
                self.open = None if option.is_flag or sign else option

    def next_argument(self) -> Any:
        """Return the argument that the next word belongs to; None if all are taken."""
        repeated = [one for one in self._arguments if one.nargs < 0]
        return next(iter([*self._arguments[len(self._placed) :], *repeated]), None)

    def values(self, parameter: Any, last: str) -> Completions:
        """Return the completions of a value of a parameter."""
        if parameter.metavar in _FILES:
            return Completions(files=True)
        kind = plain_kind(self._kinds.get(parameter.name))
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _starting_with(last, [(str(choice.value), "") for choice in kind])
        words = self._words(parameter, last)
        if parameter.metavar not in ("NAMES", "LIST", "WHAT"):
            return _starting_with(last, [(word, "") for word in words])
        # A list with commas: only its last entry is to be completed.
        head, comma, _ = last.rpartition(",")
        others = [word for word in words if "," not in word and word not in head.split(",")]
        return _starting_with(last, [(head + comma + word, "") for word in others])

    def _words(self, parameter: Any, last: str) -> Iterator[str]:
        """Yield the known values of a parameter."""
        flag = parameter.opts[0]
        if parameter.metavar in ("COLUMN", "NAMES") or flag == "--truth":
            yield from self._columns()
        if flag == "--ledger" or (parameter.metavar in _LEDGERS and parameter in self._arguments):
            yield from self._ledgers()
        elif flag == "--score":
            yield from (*SCORE_NAMES, *_offered_scores())
        elif flag == "--mechanism":
            yield from MECHANISM_NAMES
        elif flag == "--method":
            yield from _methods(last.rpartition(",")[2])
        elif flag == "--cluster":
            yield from ("slurm", "tcp://", "tls://")
        elif flag == "--date":
            yield "today"
        if parameter.metavar == "WHAT":
            yield from ("lasso", "sis")

    def _columns(self) -> list[str]:
        """Return the column names of the table that is named so far."""
        from dpsel.tables.header import header_names

        arguments = zip(self._arguments, self._placed, strict=False)
        tables = [word for one, word in arguments if one.metavar in _TABLES]
        place = self.given.get("like") or next(iter(tables), "")
        options: dict[str, Any] = {
            name: self.given[name]
            for name in ("input_format", "separator", "decimal")
            if name in self.given
        }
        file_format = FileFormat(**options)
        return header_names(expanduser(expandvars(place)), file_format) if place else []

    def _ledgers(self) -> list[str]:
        """Return the names of the ledgers."""
        from dpsel.budget.database import ledger_names

        given = self.given.get("ledger_file")
        place = ledger_place(None if given is None else expanduser(expandvars(given)))
        return ledger_names(place) if is_there(place) else []


def _starting_with(last: str, words: Sequence[tuple[str, str]]) -> Completions:
    """Return those words that start like the last one."""
    return Completions(tuple(pair for pair in words if pair[0].startswith(last)))


def _options(command: Any, given: Collection[str]) -> list[tuple[str, str]]:
    """Return the options of a command that were not given yet, or can be repeated."""
    left = [
        (one.opts[0], _sentence(one.help))
        for one in options_of(command.params)
        if not one.hidden and (one.multiple or one.name not in given)
    ]
    return [*left, ("--help", "Show the help text.")]


def _sentence(help_text: str | None) -> str:
    """Return the first sentence of a help text."""
    return (help_text or "").partition("\n")[0].partition(". ")[0].rstrip(".")


def _offered_scores() -> list[str]:
    """Return the names of scores that installed packages provide."""
    from importlib.metadata import entry_points

    return sorted(point.name for point in entry_points(group=GROUP))


def _methods(last: str) -> list[str]:
    """Return the methods of `evaluate`: names, or after a slash pairs of score and mechanism."""
    if "/" in last:
        first = (*SCORE_NAMES, str(Baseline.TWO_STAGE))
        return [f"{score}/{mechanism}" for score in first for mechanism in MECHANISM_NAMES]
    return list(dict.fromkeys([*map(str, Method), *map(str, Baseline)]))
