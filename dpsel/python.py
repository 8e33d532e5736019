"""What the Python functions share: keywords become records, and messages name keywords.

Commands and functions have the same options, errors and notes. Messages are written once, with
flags as on the command line; this module rewrites `--exclude NAMES` to `exclude=NAMES`.
"""

import functools
import inspect
import numbers
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from dpsel.errors import DpselError, UsageError
from dpsel.options import KEY, Dataclass, Record
from dpsel.reporter import Reporter

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Records = tuple[type[Dataclass], ...]


def python_function(
    *records: type[Dataclass],
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Return a decorator that makes errors name the function's keywords instead of flags.

    Args:
        records: The records whose options the function takes as keywords.
    """

    def decorated(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            try:
                return function(*args, **kwargs)
            except DpselError as error:
                link: BaseException | None = error
                while isinstance(link, DpselError):
                    link.args = tuple(in_python(str(part), records) for part in link.args)
                    link = link.__cause__
                raise

        return called

    return decorated


class Warner(Reporter):
    """A reporter that turns notes into Python warnings, which name keywords."""

    def __init__(self, *records: type[Dataclass]) -> None:
        """Take the records whose options are keywords of the function."""
        self._records = records
        self._held: list[str] | None = None

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold warnings back to the end: a user may have made them errors, which end a run."""
        self._held = []
        try:
            yield
        finally:
            messages, self._held = self._held, None
            for message in messages:
                self.note(message)

    def note(self, message: str) -> None:
        """Issue a warning at the line that called the function."""
        if self._held is not None:
            self._held.append(message)
            return
        level, frame = 1, inspect.currentframe()
        while frame is not None and frame.f_back is not None:
            # Where a context of ours begins or ends, Python's own code is between ours.
            if not frame.f_globals["__name__"].startswith(("dpsel.", "contextlib")):
                break
            level, frame = level + 1, frame.f_back
        warnings.warn(in_python(message, self._records), UserWarning, stacklevel=level)

    def warn(self, message: str) -> None:
        """Issue a warning, as for any note."""
        self.note(message)


def record_of(record: type[Record], given: Mapping[str, Any]) -> Record:
    """Make a record from keywords, converted to the types of its fields.

    A choice may be given by name; a list of texts as one text, a list or another iterable.

    Raises:
        UsageError: If a value has the wrong type.
    """
    kinds = _kinds(record)
    return record(**{name: _value(given[name], kind, name) for name, kind in kinds.items()})


@functools.cache
def _kinds(record: type[Dataclass]) -> dict[str, Any]:
    """Return the type of every field of a record, by name."""
    hints = get_type_hints(record)
    return {about.name: hints[about.name] for about in fields(record)}


def _value(value: Any, kind: Any, name: str) -> Any:
    """Convert one value to the type of its field."""
    parts = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if value is None and NoneType in parts:
        return None
    if Mapping in [get_origin(part) for part in parts] or Path in parts:
        return value
    if any(get_origin(part) is tuple for part in parts):
        return value if isinstance(value, str) and str in parts else tuple(_texts(value))
    choices = [part for part in parts if isinstance(part, type) and issubclass(part, StrEnum)]
    if choices:
        if value not in tuple(choices[0]):
            raise UsageError(f"{name} must be one of {', '.join(choices[0])}, got {value!r}")
        return choices[0](value)
    if str in parts:
        return ",".join(_texts(value))
    if bool in parts:
        if value not in (True, False):
            raise UsageError(f"{name} must be True or False, got {value!r}")
        return bool(value)
    return _number(value, name, whole=int in parts)


def _texts(value: Any) -> list[str]:
    """Return one value, or each value of an iterable, as text."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str)
    return [str(one) for one in value] if is_list else [str(value)]


def _number(value: Any, name: str, *, whole: bool) -> Any:
    """Convert a number, such as one of numpy's, to a Python number."""
    if whole:
        try:
            return operator.index(value)
        except TypeError:
            raise UsageError(f"{name} must be a whole number, got {value!r}") from None
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise UsageError(f"{name} must be a number, got {value!r}")
    return value if isinstance(value, int) else float(value)


_QUOTED = r"(?<!\w)'[^']*'"
_COMMAND = r"`dpsel (?P<command>[a-z]+)(?P<rest>[^`]*)`"
_WORD = r"'[^']*'|[A-Z][A-Z,]*\b|[0-9]+\b|[a-z][a-z-]*\b(?:\|[a-z-]+)*"
_FLAG = rf"--(?P<flag>[a-z][a-z-]*[a-z]|[a-z])\b(?: (?P<word>{_WORD}))?"
_NAME = r"(?<![\w-])(?P<name>[a-z]+(?:-[a-z]+)+)(?![\w-])"
_TABLE = r"\b(?P<table>INPUT|TABLE)\b"
# Flags without a value, which messages of other functions name too.
_SWITCHES = ("as-is", "encode-target")
# The commands without a Python function.
_SHELL_ONLY = ("dictionary",)
_REWRITTEN = re.compile("|".join([_QUOTED, _COMMAND, _FLAG, _NAME, _TABLE]))


def in_python(message: str, records: Records = ()) -> str:
    """Rewrite a message: flags to keywords, commands to functions; quoted names stay."""
    known = _keywords(records)

    def rewritten(found: re.Match[str]) -> str:
        if found["table"]:
            return "table"
        if found["name"]:
            return known[found["name"]][0] if found["name"] in known else found[0]
        if found["command"]:
            given = list(re.finditer(_FLAG, found["rest"]))
            if found["command"] not in _SHELL_ONLY and len(given) > 1:
                return f"`dpsel.{found['command']}({_arguments(found['rest'], given)})`"
            rest = _REWRITTEN.sub(rewritten, found["rest"]).strip()
            return f"`{_function(found['command'], rest)}`"
        if not found["flag"]:
            return found[0]
        other = bool if found["flag"] in _SWITCHES else None
        name, kind = known.get(found["flag"], (found["flag"].replace("-", "_"), other))
        if kind is bool:
            return f"{name}=True{_after(found)}"
        value = _written(found["word"], kind)
        if value is not None:
            return f"{name}={value}"
        return f"{name}{'' if _is_subject(found) else '='}{_after(found)}"

    return _REWRITTEN.sub(rewritten, message)


def _keywords(records: Records) -> dict[str, tuple[str, Any]]:
    """Return the keyword and the type of every option, by its flag without dashes."""
    return {
        about.metadata[KEY].flag.removeprefix("--"): (about.name, _kinds(record)[about.name])
        for record in records
        for about in fields(record)
    }


def _is_subject(found: re.Match[str]) -> bool:
    """Return whether the flag is the subject of its sentence, as in `epsilon must be above 0`."""
    before, after = found.string[: found.start()], found.string[found.end("flag") :]
    begins = before.endswith((": ", "; ")) or not before
    return begins and after.startswith((":", " must ", " is "))


def _after(found: re.Match[str]) -> str:
    """Return the word after a flag, which is not its value."""
    return "" if found["word"] is None else f" {found['word']}"


def _written(word: str | None, kind: Any) -> str | None:
    """Return the word after a flag as a Python value; None if it is not a value."""
    if word is None or word[0] in "'0123456789":
        return word
    if word[0].isupper():
        return f"[{', '.join(map(repr, word.split(',')))}]" if "," in word else word
    kinds = [part for part in get_args(kind) or (kind,) if isinstance(part, type)]
    of_enum = {str(choice) for part in kinds if issubclass(part, StrEnum) for choice in part}
    if "|" in word:
        return "|".join(map(repr, word.split("|")))
    return repr(word) if word in of_enum else None


def _arguments(words: str, given: Sequence[re.Match[str]]) -> str:
    """Return the arguments of a call for the words after a command with several options."""
    listed = [repr(word) for word in words[: given[0].start()].split()]
    for found in given:
        word = found["word"]
        value = "True" if word is None else repr(word) if word[0].islower() else word
        listed.append(f"{found['flag'].replace('-', '_')}={value}")
    return ", ".join(listed)


def _function(command: str, rest: str) -> str:
    """Return the Python call that does what a command does."""
    if command in _SHELL_ONLY:
        return f"dpsel {command} {rest}".rstrip()
    if command == "budget":
        verb, _, words = rest.partition(" ")
        name, _, keywords = words.partition(" ")
        if verb == "init":
            return f"dpsel.Ledger.init({', '.join(filter(None, [repr(name), keywords]))})"
        return f"dpsel.Ledger({name!r}).{verb}()" if verb else "dpsel.Ledger"
    return f"dpsel.{command}" + (f"({rest})" if rest else "")
