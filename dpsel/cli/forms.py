"""From the words of a command line to values: texts, numbers, choices and lists of texts.

Typer does this with pydantic, whose import alone takes a third of the time of a small table's run,
and whose messages speak of inputs and strings.
"""

import re
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import typer

_WHOLE = re.compile(r"[+-]?[0-9]+")


def use_plain_values(command: Any) -> None:
    """Let a built command convert its words here, each by its type in its function's signature."""
    hints = get_type_hints(command.callback, include_extras=True) if command.callback else {}
    for parameter in command.params:
        kind, *about = get_args(hints[parameter.name])
        limited = any(info.min is not None or info.max is not None for info in about)
        convert = None if limited else _converter(kind)
        if convert is not None:
            parameter.process_value = partial(_process, parameter, convert)
    make_help_option = command.get_help_option

    def get_help_option(context: Any) -> Any:
        option = make_help_option(context)
        option.process_value = partial(_process, option, bool)
        return option

    command.get_help_option = get_help_option


def _process(parameter: Any, convert: Callable[[Any], Any], context: Any, given: Any) -> Any:
    """Do what a parameter does with what was given for it, or None."""
    try:
        value = None if given is None else convert(given)
    except ValueError as error:
        raise typer.BadParameter(str(error), ctx=context, param=parameter) from None
    if parameter.required and parameter.value_is_missing(value):
        # Typer's own complaint: nothing of ours converts None.
        return type(parameter).process_value(parameter, context, None)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def _converter(kind: Any) -> Callable[[Any], Any] | None:
    """Return what converts words to a type; None for types that, like limits, are Typer's."""
    if get_origin(kind) is list and get_args(kind) == (str,):
        return _texts
    if isinstance(kind, UnionType):
        kinds = [part for part in get_args(kind) if part is not type(None)]
        return _converter(kinds[0]) if len(kinds) == 1 else None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return partial(_choice, kind)
    plain: dict[Any, Callable[[Any], Any]] = {str: str, int: _whole_number, float: _number}
    return plain.get(kind)


def _texts(given: Any) -> list[str]:
    """Return all words of an option that can be repeated."""
    return [str(word) for word in given]


def _whole_number(given: Any) -> int:
    """Return a word as a whole number."""
    if isinstance(given, str) and not _WHOLE.fullmatch(given.strip()):
        raise ValueError(f"{given!r} is not a whole number")
    return int(given)


def _number(given: Any) -> float:
    """Return a word as a number."""
    try:
        if isinstance(given, str) and ("_" in given or not given.isascii()):
            raise ValueError
        return float(given)
    except ValueError:
        raise ValueError(f"{given!r} is not a number") from None


def _choice(kind: type[Enum], given: Any) -> Enum:
    """Return the choice that a word names."""
    choices = {str(choice.value): choice for choice in kind}
    word = str(given.value) if isinstance(given, Enum) else str(given)
    if word not in choices:
        raise ValueError(f"{word!r} is not one of {', '.join(map(repr, choices))}")
    return choices[word]
