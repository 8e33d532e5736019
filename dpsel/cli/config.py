"""Read `--config FILE`: options in a TOML file, by their long names.

target = "came_back"
k = 3
epsilon = 1
exclude = ["patient", "note_*"]
quiet = true
"""

from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

from dpsel.cli.forms import arguments_of, options_of
from dpsel.errors import InputError
from dpsel.system.text import did_you_mean, parsed, text_of

# Metavars of options that take a list with commas.
_LISTS = ("LIST", "NAMES", "A,B,C")
_COMMAND_LINE_ONLY = ("config", "debug", "help")


def options_by_word(parameters: Sequence[Any]) -> dict[str, Any]:
    """Return the options among a command's parameters, by long name without dashes."""
    return {option.opts[0].removeprefix("--"): option for option in options_of(parameters)}


def read_config(
    path: str, parameters: Sequence[Any], kinds: Mapping[str, Any]
) -> dict[str, str | list[str] | int | float | bool]:
    """Return the options that a file sets, by parameter name.

    Args:
        path: The file; no other file is read.
        parameters: The parameters of the command.
        kinds: The type of each parameter, by name.

    Raises:
        InputError: If the file cannot be read, a key is not an option, or a value has a wrong type.
    """
    label = Path(path).name
    options = options_by_word(parameters)
    arguments = [one.name for one in arguments_of(parameters)]
    values: dict[str, Any] = {}
    for key, value in parsed(text_of(path, "--config"), label, "TOML").items():
        word = str(key).replace("_", "-")
        if word in (*_COMMAND_LINE_ONLY, *arguments):
            raise InputError(f"{label}: '{word}' belongs on the command line")
        if isinstance(value, dict):
            raise InputError(f"{label}: [{key}]: options are not in sections")
        if word not in options:
            hint = did_you_mean(word, list(options))
            raise InputError(f"{label}: there is no option '{key}'{hint}")
        option, what = options[word], f"{label}: {word}"
        if isinstance(value, list) and option.metavar in _LISTS and not option.multiple:
            value = _joined(value, what)
        if option.name in values:
            raise InputError(f"{what} is there twice")
        values[option.name] = _checked(value, kinds[option.name], what)
    return values


def given_options(context: Any) -> dict[str, Any]:
    """Return the options that differ from their defaults, as JSON values by long name.

    It does not matter whether a flag or a config file set them.
    """
    options = options_by_word(context.command.get_params(context))
    given = {
        word: context.params[parameter.name]
        for word, parameter in options.items()
        if parameter.name in context.params
        and context.params[parameter.name] != parameter.default
        and word not in (*_COMMAND_LINE_ONLY, "dry-run")
    }
    return {
        word: value.value if isinstance(value, Enum) else value for word, value in given.items()
    }


def _checked(value: Any, kind: Any, what: str) -> Any:
    """Convert a TOML value to the type of its option, or refuse it."""
    kind = plain_kind(kind)
    if kind is bool:
        return _of(bool, value, f"{what} must be true or false")
    if kind is int:
        return _of(int, value, f"{what} must be a whole number")
    if kind is float:
        return _of((int, float), value, f"{what} must be a number")
    if get_origin(kind) is list:
        values = value if isinstance(value, list) else [value]
        return [_word(one, f"{what} must be a text, or a list of texts") for one in values]
    if isinstance(kind, type) and issubclass(kind, Enum):
        choices = [str(choice.value) for choice in kind]
        if value not in choices:
            raise InputError(f"{what} must be one of {', '.join(map(repr, choices))}")
        return value
    return _word(value, f"{what} must be a text")


def _joined(values: list[Any], what: str) -> str:
    """Join a list as it would be typed, with commas; refuse a word that contains one."""
    words = [_word(value, f"{what} must be a text, or a list of texts") for value in values]
    if any("," in word for word in words):
        raise InputError(f"{what} must be texts without commas")
    return ",".join(words)


def plain_kind(kind: Any) -> Any:
    """Return the type inside `Annotated[...]` and `... | None`."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, UnionType):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return kind


def _of(kinds: type | tuple[type, ...], value: Any, must: str) -> Any:
    """Return a value if it has one of these types; a boolean is not a number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise InputError(must)
    return value


def _word(value: Any, must: str) -> str:
    """Return a text, number or date as the word that would be typed."""
    if isinstance(value, bool) or not (isinstance(value, str | int | float) or type(value) is date):
        raise InputError(must)
    return str(value)
