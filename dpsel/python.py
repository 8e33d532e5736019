"""What the Python functions share: keywords become records, and messages speak of keywords.

The commands and the functions have the same options, errors and notes. These are written once, with
flags as on a command line; here `--exclude NAMES` becomes `exclude=NAMES`.
"""

import functools
import inspect
import numbers
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
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
    """Return a decorator: what a function raises names its keywords, not the flags of a command.

    Args:
        records: The options that the function has as keywords.
    """

    def decorated(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        @functools.wraps(function)
        def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            try:
                return function(*args, **kwargs)
            except DpselError as error:
                told: BaseException | None = error
                while isinstance(told, DpselError):
                    told.args = tuple(in_python(str(part), records) for part in told.args)
                    told = told.__cause__
                raise

        return called

    return decorated


class Warner(Reporter):
    """Turns notes into Python warnings, which name keywords."""

    def __init__(self, *records: type[Dataclass]) -> None:
        """Know the options that the function has as keywords."""
        self._records = records

    def note(self, message: str) -> None:
        """Warn, at the line that called the function."""
        level, frame = 1, inspect.currentframe()
        while frame is not None and frame.f_back is not None:
            if not frame.f_globals["__name__"].startswith("dpsel."):
                break
            level, frame = level + 1, frame.f_back
        warnings.warn(in_python(message, self._records), UserWarning, stacklevel=level)

    def warn(self, message: str) -> None:
        """Warn, like any note."""
        self.note(message)


def record_of(record: type[Record], given: Mapping[str, Any]) -> Record:
    """Return a record with the values of its own fields, as its types want them.

    Choices may be given by their names, lists of texts and numbers as lists, paths as paths.

    Raises:
        UsageError: If a value is of another kind.
    """
    kinds = get_type_hints(record)
    names = [about.name for about in fields(record)]
    return record(**{name: _value(given[name], kinds[name], name) for name in names})


def _value(value: Any, kind: Any, name: str) -> Any:
    """Return a value as its type wants it."""
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
    """Return one value, or all of a list, as texts."""
    several = isinstance(value, Iterable) and not isinstance(value, str)
    return [str(one) for one in value] if several else [str(value)]


def _number(value: Any, name: str, *, whole: bool) -> Any:
    """Return a number as one of Python's own."""
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
_SPOKEN = re.compile("|".join([_QUOTED, _COMMAND, _FLAG, _NAME, _TABLE]))


def in_python(message: str, records: Records = ()) -> str:
    """Return a message with flags as keywords and commands as functions; quoted names stay."""
    known = _keywords(records)

    def said(found: re.Match[str]) -> str:
        if found["table"]:
            return "table"
        if found["name"]:
            return known[found["name"]][0] if found["name"] in known else found[0]
        if found["command"]:
            return f"`{_function(found['command'], _SPOKEN.sub(said, found['rest']).strip())}`"
        if not found["flag"]:
            return found[0]
        name, kind = known.get(found["flag"], (found["flag"].replace("-", "_"), None))
        if kind is bool:
            return f"{name}=True{_after(found)}"
        value = _written(found["word"], kind)
        if value is not None:
            return f"{name}={value}"
        return f"{name}{'' if _is_subject(found) else '='}{_after(found)}"

    return _SPOKEN.sub(said, message)


def _keywords(records: Records) -> dict[str, tuple[str, Any]]:
    """Return the name and the type of every option, by its flag."""
    found = {}
    for record in records:
        kinds = get_type_hints(record)
        for about in fields(record):
            flag = about.metadata[KEY].flag.removeprefix("--")
            found[flag] = about.name, kinds[about.name]
    return found


def _is_subject(found: re.Match[str]) -> bool:
    """Return whether a sentence begins with this flag: `epsilon must be above 0`."""
    before, after = found.string[: found.start()], found.string[found.end("flag") :]
    begins = before.endswith((": ", "; ")) or not before
    return begins and after.startswith((":", " must ", " is "))


def _after(found: re.Match[str]) -> str:
    """Return a word after a flag that is no value of it."""
    return "" if found["word"] is None else f" {found['word']}"


def _written(word: str | None, kind: Any) -> str | None:
    """Return a word after a flag as a value in Python; None if it is none."""
    if word is None or word[0] in "'0123456789":
        return word
    if word[0].isupper():
        return f"[{', '.join(map(repr, word.split(',')))}]" if "," in word else word
    kinds = [part for part in get_args(kind) or (kind,) if isinstance(part, type)]
    of_enum = {str(choice) for part in kinds if issubclass(part, StrEnum) for choice in part}
    if "|" in word:
        return "|".join(map(repr, word.split("|")))
    return repr(word) if word in of_enum else None


def _function(command: str, rest: str) -> str:
    """Return a command as the function that does the same."""
    if command == "budget":
        verb, _, words = rest.partition(" ")
        name, _, keywords = words.partition(" ")
        if verb == "init":
            return f"dpsel.Ledger.init({', '.join(filter(None, [repr(name), keywords]))})"
        return f"dpsel.Ledger({name!r}).{verb}()" if verb else "dpsel.Ledger"
    return f"dpsel.{command}" + (f"({rest})" if rest else "")
